/* When a plugin's credential is used and when the plugin runs; what it is given
 * and what it may answer. */
#include "cmocka_kube.h"

#include <errno.h>

#include "base/mem.h"
#include "kube/credentials.h"

#define WALL_MS INT64_C(1800000000000)

static void answer(struct kube_login *l, int64_t now_s, int64_t lifetime_s)
{
    struct kube_exec_credential credential = {
        .token = xstrdup("t"),
        .expires_unix_ms = lifetime_s < 0 ? -1 : WALL_MS + (now_s + lifetime_s) * 1000};
    l->is_running = true;
    kube_login_answered(l, now_s * S_NS, WALL_MS + now_s * 1000, &credential);
}

static void expect(const struct kube_login *l, int64_t now_s, enum kube_login_advice wanted)
{
    assert_int_equal(kube_login_look(l, now_s * S_NS), wanted);
}

TEST(renewed_before_it_is_over)
{
    _cleanup_(kube_login_done) struct kube_login l = {0};
    expect(&l, 1, KUBE_LOGIN_START);
    l.is_running = true;
    expect(&l, 1, KUBE_LOGIN_WAIT);
    answer(&l, 2, 900);
    expect(&l, 2, KUBE_LOGIN_USE);
    expect(&l, 841, KUBE_LOGIN_USE);
    expect(&l, 842, KUBE_LOGIN_RENEW); /* a minute before */
    l.is_running = true;
    expect(&l, 842, KUBE_LOGIN_USE); /* requests do not wait for it */
    expect(&l, 901, KUBE_LOGIN_USE);
    expect(&l, 902, KUBE_LOGIN_WAIT);
    answer(&l, 903, 40);
    expect(&l, 932, KUBE_LOGIN_USE);
    expect(&l, 933, KUBE_LOGIN_RENEW); /* the last quarter of a short life */
    expect(&l, 943, KUBE_LOGIN_START);
    answer(&l, 950, -1);
    expect(&l, 1000000, KUBE_LOGIN_USE);
}

TEST(a_wrong_clock)
{
    _cleanup_(kube_login_done) struct kube_login l = {0};
    struct kube_exec_credential over = {.token = xstrdup("t"), .expires_unix_ms = WALL_MS - 5000};
    l.is_running = true;
    kube_login_answered(&l, 10 * S_NS, WALL_MS, &over);
    expect(&l, 10, KUBE_LOGIN_USE); /* the server decides */
    expect(&l, 20, KUBE_LOGIN_START);
}

TEST(failures)
{
    _cleanup_(kube_login_done) struct kube_login l = {0};
    struct err err = {.code = EIO};
    l.is_running = true;
    kube_login_failed(&l, 10 * S_NS, &err);
    expect(&l, 10, KUBE_LOGIN_FAIL);
    expect(&l, 14, KUBE_LOGIN_FAIL);
    expect(&l, 15, KUBE_LOGIN_START);
    answer(&l, 20, 900);
    expect(&l, 870, KUBE_LOGIN_RENEW);
    l.is_running = true;
    kube_login_failed(&l, 870 * S_NS, &err);
    expect(&l, 871, KUBE_LOGIN_USE); /* the old one is still good */
    expect(&l, 875, KUBE_LOGIN_RENEW);
    expect(&l, 920, KUBE_LOGIN_START);
}

TEST(refusals)
{
    _cleanup_(kube_login_done) struct kube_login l = {0};
    answer(&l, 0, 900);
    assert_true(kube_login_refused(&l, 1 * S_NS, 1));
    expect(&l, 1, KUBE_LOGIN_START);
    assert_true(kube_login_refused(&l, 1 * S_NS, 1)); /* sent at the same time */
    l.is_running = true;
    expect(&l, 1, KUBE_LOGIN_WAIT);
    answer(&l, 2, 900);
    assert_true(kube_login_refused(&l, 2 * S_NS, 1)); /* of the old one: try the new one */
    expect(&l, 2, KUBE_LOGIN_USE);
    assert_false(kube_login_refused(&l, 3 * S_NS, 2)); /* a loop */
    expect(&l, 3, KUBE_LOGIN_USE);
    assert_true(kube_login_refused(&l, 11 * S_NS, 2));
    expect(&l, 11, KUBE_LOGIN_START);
}

#define V1 "client.authentication.k8s.io/v1"

TEST(documents)
{
    char *argv[] = {(char *)"x", NULL};
    const struct kube_exec exec = {.argv = argv, .api_version = (char *)V1};
#define HEAD "{\"kind\":\"ExecCredential\",\"apiVersion\":\"" V1 "\",\"status\":"
    static const struct {
        const char *name, *text, *error; /* NULL: it is good */
        const char *token;
        int64_t expires_unix_ms;
    } rows[] = {
        {"a token", HEAD "{\"token\":\"a.b\"}}", NULL, "a.b", -1},
        {"that was over before it began",
         HEAD "{\"token\":\"a\",\"expirationTimestamp\":\"0001-01-01T00:00:00Z\"}}", NULL, "a", 0},
        {"with a date that means never",
         HEAD "{\"token\":\"a\",\"expirationTimestamp\":\"9999-12-31T23:59:59Z\"}}", NULL, "a", -1},
        {"with a date", HEAD "{\"token\":\"a\",\"expirationTimestamp\":\"2027-01-15T08:00:00Z\"}}",
         NULL, "a", WALL_MS},
        {"a certificate",
         HEAD "{\"clientCertificateData\":\"-----BEGIN C\",\"clientKeyData\":\"-----BEGIN K\","
              "\"expirationTimestamp\":null}}",
         NULL, NULL, -1},
        {"nothing", "", "its output is not JSON", NULL, 0},
        {"words", "token: secret", "its output is not JSON", NULL, 0},
        {"another kind", "{\"kind\":\"Token\"}", "is not of kind ExecCredential", NULL, 0},
        {"another version",
         "{\"kind\":\"ExecCredential\",\"apiVersion\":\"client.authentication.k8s.io/v1beta1\"}",
         "has another apiVersion than the kubeconfig (" V1 ")", NULL, 0},
        {"no status", "{\"kind\":\"ExecCredential\",\"apiVersion\":\"" V1 "\"}", "has neither",
         NULL, 0},
        {"an empty status", HEAD "{}}", "neither a token nor a client certificate", NULL, 0},
        {"a line break in the token", HEAD "{\"token\":\"ab\\r\\nX: y\"}}", "byte 3 of its token",
         NULL, 0},
        {"half a pair", HEAD "{\"clientKeyData\":\"-----BEGIN K\"}}", "but not both", NULL, 0},
        {"no PEM",
         HEAD "{\"clientKeyData\":\"secret\",\"clientCertificateData\":\"-----BEGIN C\"}}",
         "is not PEM text", NULL, 0},
        {"no date", HEAD "{\"token\":\"a\",\"expirationTimestamp\":\"soon\"}}", "is not a date",
         NULL, 0},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        struct kube_exec_credential c = {0};
        struct err err = {0};
        const int r =
            kube_exec_credential_parse(&exec, rows[i].text, strlen(rows[i].text), &c, &err);
        if ((r < 0) != (rows[i].error != NULL) ||
            (r < 0 && strstr(err.msg, rows[i].error) == NULL)) {
            fail_msg("%s: got %d '%s'", rows[i].name, r, err.msg);
        }
        if (strstr(err.msg, "secret") != NULL) {
            fail_msg("%s: the error quotes the output: %s", rows[i].name, err.msg);
        }
        if (r == 0) {
            assert_int_equal(c.expires_unix_ms, rows[i].expires_unix_ms);
            assert_string_equal(c.token == NULL ? "" : c.token,
                                rows[i].token == NULL ? "" : rows[i].token);
            assert_int_equal(c.token == NULL, c.cert_pem != NULL);
            kube_exec_credential_done(&c);
        }
    }
}

TEST(info)
{
    char *argv[] = {(char *)"x", NULL};
    struct kube_exec exec = {.argv = argv, .api_version = (char *)V1};
    struct kube_config config = {.server = (char *)"https://h", .exec = &exec};
    _cleanup_(freep) char *small = kube_exec_info(&config, true);
    assert_string_equal(small, "{\"apiVersion\":\"" V1 "\",\"kind\":\"ExecCredential\",\"spec\":{"
                               "\"interactive\":true}}");
    exec.gets_cluster = true;
    config.ca_pem = (char *)"-----BEGIN X-----\na\n";
    config.tls_server_name = (char *)"kube";
    config.proxy_url = (char *)"http://p";
    config.exec_extension = (char *)"{\"audience\":\"a\"}";
    _cleanup_(freep) char *large = kube_exec_info(&config, false);
    assert_string_equal(
        large,
        "{\"apiVersion\":\"" V1 "\",\"kind\":\"ExecCredential\",\"spec\":{\"interactive\":false,"
        "\"cluster\":{\"server\":\"https://h\",\"tls-server-name\":\"kube\",\"proxy-url\":"
        "\"http://p\",\"certificate-authority-data\":\"LS0tLS1CRUdJTiBYLS0tLS0KYQo=\",\"config\":"
        "{\"audience\":\"a\"}}}}");
}
