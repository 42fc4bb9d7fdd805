/* Kubeconfigs, good and wrong; the files of a pod; tokens that are replaced. */
#include "cmocka_kube.h"

#include <errno.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/mem.h"
#include "kube/config.h"
#include "kube/credentials.h"

#define PEM_BASE64 "LS0tLS1CRUdJTiBYLS0tLS0KYQo=" /* "-----BEGIN X-----\na\n" */
#define CONTEXT "current-context: c\ncontexts: [{name: c, context: {cluster: k, user: u}}]\n"
#define CLUSTER(fields) "clusters: [{name: k, cluster: {server: 'https://h:6443', " fields "}}]\n"
#define V1BETA1 "client.authentication.k8s.io/v1beta1"
#define USER(fields) "users: [{name: u, user: {" fields "}}]\n"

static char *shown(const struct kube_config *c)
{
    struct buf b = BUF_INIT;
    const struct {
        const char *name, *value;
    } fields[] = {
        {"server", c->server},   {"ns", c->ns},
        {"context", c->context}, {"name", c->tls_server_name},
        {"ca", c->ca_pem},       {"ca_file", c->ca_file},
        {"cert", c->cert_pem},   {"cert_file", c->cert_file},
        {"key", c->key_pem},     {"key_file", c->key_file},
        {"token", c->token},     {"token_file", c->token_file},
        {"proxy", c->proxy_url}, {"extension", c->exec_extension},
    };
    for (size_t i = 0; i < N_ROWS(fields); i++) {
        if (fields[i].value != NULL) {
            buf_printf(&b, "%s=%s ", fields[i].name, fields[i].value);
        }
    }
    for (char **line = c->impersonation; line != NULL && *line != NULL; line++) {
        buf_printf(&b, "<%s> ", *line);
    }
    for (char **arg = c->exec == NULL ? NULL : c->exec->argv; arg != NULL && *arg != NULL; arg++) {
        buf_printf(&b, "[%s] ", *arg);
    }
    for (char **v = c->exec == NULL ? NULL : c->exec->env; v != NULL && *v != NULL; v++) {
        buf_printf(&b, "{%s} ", *v);
    }
    if (c->exec != NULL) {
        buf_printf(&b, "mode=%d %s%s", (int)c->exec->mode, c->exec->gets_cluster ? "cluster " : "",
                   c->exec->install_hint == NULL ? "" : "hint ");
    }
    buf_puts(&b, c->is_insecure ? "insecure" : "checked");
    buf_puts(&b, c->is_uncompressed ? " plain" : "");
    return buf_take(&b);
}

static int parse(const char *path, const char *text, const char *context, struct kube_config *ret,
                 struct err *err)
{
    const struct kube_config_text one = {path, text, strlen(text)};
    return kube_config_parse(&one, 1, context, ret, err);
}

TEST(good_ones)
{
    static const struct {
        const char *name, *context, *text, *shown;
    } rows[] = {
        {"token", NULL, CONTEXT CLUSTER("") USER("token: abc"),
         "server=https://h:6443 context=c token=abc checked"},
        {"inline data", NULL,
         CONTEXT CLUSTER("certificate-authority-data: " PEM_BASE64)
             USER("client-certificate-data: " PEM_BASE64 ", client-key-data: " PEM_BASE64),
         "server=https://h:6443 context=c ca=-----BEGIN X-----\na\n cert=-----BEGIN X-----\na\n "
         "key=-----BEGIN X-----\na\n checked"},
        {"files beside it, and absolute", NULL,
         CONTEXT CLUSTER("certificate-authority: pki/ca.crt, tls-server-name: kube")
             USER("client-certificate: /x/c.crt, client-key: c.key, tokenFile: t"),
         "server=https://h:6443 context=c name=kube ca_file=/home/u/.kube/pki/ca.crt "
         "cert_file=/x/c.crt key_file=/home/u/.kube/c.key token_file=/home/u/.kube/t checked"},
        {"padding and white space", NULL,
         CONTEXT CLUSTER("certificate-authority-data: \" LS0t\\nLS1CRUdJTiBYLS0tLS0KYQ==\\n\"")
             USER(""),
         "server=https://h:6443 context=c ca=-----BEGIN X-----\na checked"},
        {"data wins over a file", NULL,
         CONTEXT CLUSTER("certificate-authority: x, certificate-authority-data: " PEM_BASE64)
             USER(""),
         "server=https://h:6443 context=c ca=-----BEGIN X-----\na\n checked"},
        {"another context, JSON, no user", "d",
         "{\"current-context\":\"c\",\"contexts\":[{\"name\":\"d\",\"context\":{\"cluster\":\"k\","
         "\"namespace\":\"team\"}}],\"clusters\":[{\"name\":\"k\",\"cluster\":{\"server\":"
         "\"http://h/base/\",\"insecure-skip-tls-verify\":true}}]}",
         "server=http://h/base ns=team context=d insecure"},
        {"checked, in so many words", NULL,
         CONTEXT CLUSTER("insecure-skip-tls-verify: false, certificate-authority: /ca") USER(""),
         "server=https://h:6443 context=c ca_file=/ca checked"},
        {"the first of equal names", NULL,
         CONTEXT "clusters: [{name: k, cluster: {server: 'https://one'}}, "
                 "{name: k, cluster: {server: 'https://two'}}]\n" USER("exec: null"),
         "server=https://one context=c checked"},
        {"what is refused may be there and empty", NULL,
         CONTEXT CLUSTER("proxy-url: ''") USER("username: '', as: '', token: abc"),
         "server=https://h:6443 context=c token=abc checked"},
        {"a proxy, no compression", NULL,
         CONTEXT CLUSTER("proxy-url: 'socks5://u:p@proxy:99', disable-compression: true") USER(""),
         "server=https://h:6443 context=c proxy=socks5://u:p@proxy:99 checked plain"},
        {"acting as another", NULL,
         CONTEXT CLUSTER("") USER("token: t, as: jane@example.com, as-uid: '7', as-groups: [a, "
                                  "'b c'], as-user-extra: {reason/x: [one, two], 'a b': []}"),
         "server=https://h:6443 context=c token=t <Impersonate-User: jane@example.com> "
         "<Impersonate-Uid: 7> <Impersonate-Group: a> <Impersonate-Group: b c> "
         "<Impersonate-Extra-reason%2Fx: one> <Impersonate-Extra-reason%2Fx: two> checked"},
        {"acting as nobody else", NULL,
         CONTEXT CLUSTER("") USER("as: '', as-groups: [], as-uid: null, as-user-extra: {}"),
         "server=https://h:6443 context=c checked"},
        {"a plugin of PATH", NULL,
         CONTEXT CLUSTER("extensions: [{name: client.authentication.k8s.io/exec, extension: {a: "
                         "[1]}}]")
             USER("exec: {apiVersion: " V1BETA1 ", command: aws, args: [a, 'b c'], "
                  "env: [{name: X, value: Y1}, {name: E, value: ''}], installHint: "
                  "h, provideClusterInfo: true}"),
         "server=https://h:6443 context=c extension={\"a\":[1]} [aws] [a] [b c] {X=Y1} {E=} mode=0 "
         "cluster hint checked"},
        {"a plugin beside the kubeconfig", NULL,
         CONTEXT CLUSTER("")
             USER("exec: {apiVersion: client.authentication.k8s.io/v1, command: ./bin/login, args: "
                  "null, env: null, interactiveMode: Never}"),
         "server=https://h:6443 context=c [/home/u/.kube/./bin/login] mode=1 checked"},
        {"a token is there: no plugin", NULL,
         CONTEXT CLUSTER("") USER("token: t, exec: {apiVersion: " V1BETA1 ", command: x}"),
         "server=https://h:6443 context=c token=t checked"},
        {"as kubectl writes it", NULL,
         "apiVersion: v1\nkind: Config\npreferences: {}\n" CONTEXT
         "clusters:\n- cluster:\n    server: https://127.0.0.1:6443\n  name: k\nusers:\n"
         "- name: u\n  user:\n    token: a.b-c_d\n",
         "server=https://127.0.0.1:6443 context=c token=a.b-c_d checked"},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        struct kube_config c;
        struct err err = {0};
        if (parse("/home/u/.kube/config", rows[i].text, rows[i].context, &c, &err) < 0) {
            fail_msg("%s: %s", rows[i].name, err.msg);
        }
        _cleanup_(kube_config_done) struct kube_config copy = kube_config_copy(&c);
        kube_config_done(&c);
        _cleanup_(freep) char *got = shown(&copy);
        if (strcmp(got, rows[i].shown) != 0) {
            fail_msg("%s: expected '%s', got '%s'", rows[i].name, rows[i].shown, got);
        }
    }
}

TEST(wrong_ones)
{
    static const struct {
        const char *name, *text, *error;
    } rows[] = {
        {"nothing", "", "/k:"},
        {"a list", "[]", "/k:1:1: this is not a kubeconfig"},
        {"no YAML", "a: [", "/k:"},
        {"no context", "a: 1", "/k: no current-context: choose one with --context"},
        {"unknown context", "current-context: x\ncontexts: []", "/k:1:18: no 'x' in contexts"},
        {"unknown cluster", CONTEXT "clusters: []", "no 'k' in clusters"},
        {"unknown user", CONTEXT CLUSTER("") "users: []", "no 'u' in users"},
        {"no server", CONTEXT "clusters: [{name: k, cluster: {}}]", "the cluster has no server"},
        {"server without scheme", CONTEXT "clusters: [{name: k, cluster: {server: h}}]",
         "server must be https://HOST:PORT (got 'h')"},
        {"a number as token", CONTEXT CLUSTER("") USER("token: 12"),
         "token must be a string, not a whole number"},
        {"a line break in a token", CONTEXT CLUSTER("") USER("token: \"a\\r\\nHost: x\""),
         "token: byte 2 is not allowed in a token"},
        {"a control character", CONTEXT CLUSTER("") USER("token: \"ab\\x7f\""),
         "token: byte 3 is not allowed in a token"},
        {"bad base64", CONTEXT CLUSTER("certificate-authority-data: '!!'"),
         "certificate-authority-data must be PEM text in base64"},
        {"base64 of something else", CONTEXT CLUSTER("certificate-authority-data: AAAA"),
         "must be PEM text"},
        {"base64 of a NUL", CONTEXT CLUSTER("certificate-authority-data: LS0tLS1CRUdJTiAA"),
         "must be PEM text"},
        {"base64 of nothing", CONTEXT CLUSTER("certificate-authority-data: '='"),
         "must be PEM text"},
        {"base64 cut", CONTEXT CLUSTER("certificate-authority-data: " PEM_BASE64 "A"),
         "must be PEM text"},
        {"base64 of 21 characters",
         CONTEXT CLUSTER("certificate-authority-data: LS0tLS1CRUdJTiBYLS0tQ"),
         "must be PEM text in base64"},
        {"key without certificate", CONTEXT CLUSTER("") USER("client-key: x"),
         "client-key without client-certificate"},
        {"certificate without key", CONTEXT CLUSTER("") USER("client-certificate: x"),
         "client-certificate without client-key"},
        {"both insecure and CA",
         CONTEXT CLUSTER("insecure-skip-tls-verify: true, "
                         "certificate-authority: x"),
         "remove one"},
        {"insecure as a text", CONTEXT CLUSTER("insecure-skip-tls-verify: 'true'"),
         "must be true or false"},
        {"a proxy without scheme", CONTEXT CLUSTER("proxy-url: 'me:secret@p:1'"),
         "/k:3:69: proxy-url must be http://HOST:PORT, https://HOST:PORT or socks5://HOST:PORT"},
        {"a proxy of another kind", CONTEXT CLUSTER("proxy-url: 'ftp://p'"), "proxy-url must be"},
        {"a proxy without host", CONTEXT CLUSTER("proxy-url: 'http://'"), "proxy-url must be"},
        {"compression as a number", CONTEXT CLUSTER("disable-compression: 1"),
         "disable-compression must be true or false"},
        {"exec without command", CONTEXT CLUSTER("") USER("exec: {apiVersion: " V1BETA1 "}"),
         "/k:4:32: exec has no command"},
        {"exec of an old version",
         CONTEXT CLUSTER("") USER("exec: {command: aws, apiVersion: client.authentication.k8s.io/"
                                  "v1alpha1}"),
         "/k:4:59: apiVersion of exec must be client.authentication.k8s.io/v1 or v1beta1 (got "
         "'client.authentication.k8s.io/v1alpha1'); write the kubeconfig again"},
        {"exec without version", CONTEXT CLUSTER("") USER("exec: {command: aws}"), "(got '')"},
        {"exec as a text", CONTEXT CLUSTER("") USER("exec: aws"), "exec must be a map"},
        {"exec v1 without a mode",
         CONTEXT CLUSTER("")
             USER("exec: {command: a, apiVersion: client.authentication.k8s.io/v1}"),
         "interactiveMode of exec must be Never, IfAvailable or Always (got '')"},
        {"a mode that does not exist",
         CONTEXT CLUSTER("")
             USER("exec: {command: a, interactiveMode: no!, apiVersion: " V1BETA1 "}"),
         "(got 'no!')"},
        {"an argument as a number",
         CONTEXT CLUSTER("") USER("exec: {command: a, args: [1], apiVersion: " V1BETA1 "}"),
         "an argument must be a string, not a whole number"},
        {"a variable without name",
         CONTEXT CLUSTER("") USER("exec: {command: a, env: [{value: x}], apiVersion: " V1BETA1 "}"),
         "an entry of env must be {name: NAME, value: 'a string'}"},
        {"a name with =",
         CONTEXT CLUSTER("")
             USER("exec: {command: a, env: [{name: A=B, value: x}], apiVersion: " V1BETA1 "}"),
         "an entry of env"},
        {"auth-provider", CONTEXT CLUSTER("") USER("auth-provider: {name: gcp}"),
         "auth-provider is not supported: Kubernetes 1.26 removed it; use the exec plugin of your "
         "provider (GKE: gke-gcloud-auth-plugin"},
        {"password", CONTEXT CLUSTER("") USER("username: x, password: z"), "username is not"},
        {"groups of nobody", CONTEXT CLUSTER("") USER("as-groups: [x]"),
         "/k:4:26: as-groups without as: name the user to act as, too"},
        {"a uid of nobody", CONTEXT CLUSTER("") USER("as-uid: x"), "as-uid without as"},
        {"groups as a text", CONTEXT CLUSTER("") USER("as: x, as-groups: some"),
         "as-groups must be a list of strings"},
        {"a group as a number", CONTEXT CLUSTER("") USER("as: x, as-groups: [1]"),
         "must be a string, not a whole number"},
        {"extras as a list", CONTEXT CLUSTER("") USER("as: x, as-user-extra: [some]"),
         "as-user-extra must be a map of lists"},
        {"a header of one's own", CONTEXT CLUSTER("") USER("as: \"x\\r\\nImpersonate-Group: g\""),
         "control characters are not allowed"},
        {"an entry without a body", CONTEXT "clusters: [{name: k}]", "has no 'cluster'"},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        struct kube_config c;
        struct err err = {0};
        const int r = parse("/k", rows[i].text, NULL, &c, &err);
        if (r != -EINVAL || strstr(err.msg, rows[i].error) == NULL) {
            fail_msg("%s: expected '%s', got %d '%s'", rows[i].name, rows[i].error, r, err.msg);
        }
    }
}

/* --- several files --- */

#define ENTRY(list, key, name, fields) list ": [{name: " name ", " key ": {" fields "}}]\n"

TEST(merged_ones)
{
    static const struct {
        const char *name, *context, *texts[3], *result; /* what is shown, or the error */
    } rows[] = {
        {"one of each",
         NULL,
         {ENTRY("contexts", "context", "c", "cluster: k, user: u"),
          "current-context: c\n" ENTRY("clusters", "cluster", "k",
                                       "server: 'https://h', certificate-authority: ca"),
          ENTRY("users", "user", "u", "tokenFile: t")},
         "server=https://h context=c ca_file=/f1/ca token_file=/f2/t checked"},
        {"the first file wins, entry by entry",
         NULL,
         {"current-context: c\n" ENTRY("contexts", "context", "c", "cluster: k, user: u")
              ENTRY("users", "user", "u", "as: first"),
          "current-context: d\n" ENTRY("contexts", "context", "c", "cluster: x, namespace: other")
              ENTRY("clusters", "cluster", "k", "server: 'https://second'")
                  ENTRY("users", "user", "u", "token: other"),
          ENTRY("clusters", "cluster", "k", "server: 'https://third', tls-server-name: other")},
         "server=https://second context=c <Impersonate-User: first> checked"},
        {"a context of the last file",
         "d",
         {"current-context: c", " \n",
          ENTRY("contexts", "context", "d", "cluster: k")
              ENTRY("clusters", "cluster", "k", "server: 'https://h'")},
         "server=https://h context=d checked"},
        {"nothing but space", NULL, {"", "\n", " "}, "/f2/config:2:1: the file is empty"},
        {"an error has the place in its own file",
         NULL,
         {"current-context: c", ENTRY("contexts", "context", "c", "cluster: k"),
          "\n" ENTRY("clusters", "cluster", "k", "server: h")},
         "/f2/config:2:40: server must be"},
        {"a name that no file has",
         NULL,
         {"a: 1", "current-context: c", ENTRY("contexts", "context", "c", "cluster: k")},
         "/f2/config:1:41: no 'k' in clusters"},
        {"no file has a current context", NULL, {"a: 1", "b: 1", "c: 1"}, "/f0/config: no current"},
        {"a damaged file", NULL, {"current-context: c", "a: [", ""}, "/f1/config:"},
    };
    static const char *const paths[] = {"/f0/config", "/f1/config", "/f2/config"};
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        struct kube_config_text texts[3];
        for (size_t k = 0; k < 3; k++) {
            texts[k] =
                (struct kube_config_text){paths[k], rows[i].texts[k], strlen(rows[i].texts[k])};
        }
        struct kube_config c;
        struct err err = {0};
        if (kube_config_parse(texts, 3, rows[i].context, &c, &err) < 0) {
            if (strncmp(err.msg, rows[i].result, strlen(rows[i].result)) != 0) {
                fail_msg("%s: expected '%s', got '%s'", rows[i].name, rows[i].result, err.msg);
            }
            continue;
        }
        _cleanup_(freep) char *got = shown(&c);
        kube_config_done(&c);
        if (strcmp(got, rows[i].result) != 0) {
            fail_msg("%s: expected '%s', got '%s'", rows[i].name, rows[i].result, got);
        }
    }
}

/* --- files --- */

struct folder {
    char path[32];
};

static struct folder *folder_new(void)
{
    struct folder *f = xnew(struct folder);
    (void)snprintf(f->path, sizeof(f->path), "/tmp/benchd-config-XXXXXX");
    assert_non_null(mkdtemp(f->path));
    return f;
}

static char *in(const struct folder *f, const char *name)
{
    return xasprintf("%s/%s", f->path, name);
}

static void put(const struct folder *f, const char *name, const char *text)
{
    test_write_file(text, "%s/%s", f->path, name);
}

static void folder_freep(struct folder **p)
{
    assert_int_equal(test_remove_folder((*p)->path), 0);
    free(*p);
}

TEST(loads_the_files_that_it_names)
{
    _cleanup_(folder_freep) struct folder *f = folder_new();
    _cleanup_(kube_config_done) struct kube_config c;
    struct err err = {0};
    _cleanup_(freep) char *path = in(f, "config");
    assert_int_equal(kube_config_load(path, NULL, &c, &err), -ENOENT);
    assert_non_null(strstr(err.msg, "/config: No such file"));
    put(f, "config",
        CONTEXT CLUSTER("certificate-authority: ca.crt")
            USER("client-certificate: c.crt, client-key: c.key"));
    put(f, "ca.crt", "comment\n-----BEGIN CERTIFICATE-----\n1\n");
    put(f, "c.crt", "-----BEGIN CERTIFICATE-----\n2\n");
    assert_int_equal(kube_config_load(path, NULL, &c, &err), -ENOENT);
    assert_non_null(strstr(err.msg, "context 'c': open "));
    put(f, "c.key", "no key");
    assert_int_equal(kube_config_load(path, NULL, &c, &err), -EINVAL);
    assert_non_null(strstr(err.msg, "c.key: not PEM text"));
    put(f, "c.key", "-----BEGIN KEY-----\n3\n");
    assert_int_equal(kube_config_load(path, NULL, &c, &err), 0);
    assert_string_equal(c.ca_pem, "comment\n-----BEGIN CERTIFICATE-----\n1\n");
    assert_string_equal(c.key_pem, "-----BEGIN KEY-----\n3\n");
    assert_int_equal(kube_config_reload(&c, &err), 0);
    put(f, "ca.crt", "-----BEGIN CERTIFICATE-----\n4\n");
    assert_int_equal(kube_config_reload(&c, &err), 1);
    assert_string_equal(c.ca_pem, "-----BEGIN CERTIFICATE-----\n4\n");
    put(f, "c.crt", "-----BEGIN CERTIFICATE-----\n5\n");
    assert_int_equal(kube_config_reload(&c, &err), 1);
    put(f, "c.key", "-----BEGIN KEY-----\n6\n");
    assert_int_equal(kube_config_reload(&c, &err), 1);
    assert_string_equal(c.cert_pem, "-----BEGIN CERTIFICATE-----\n5\n");
    assert_string_equal(c.key_pem, "-----BEGIN KEY-----\n6\n");
    assert_int_equal(kube_config_reload(&c, &err), 0);
}

static int load_list(const struct folder *f, const char *const names[2], struct kube_config *ret,
                     struct err *err)
{
    _cleanup_(freep) char *list =
        xasprintf(":%s/%s:%s/%s:%s/%s:", f->path, names[0], f->path, names[1], f->path, names[0]);
    return kube_config_load_list(list, NULL, ret, err);
}

TEST(loads_a_list)
{
    _cleanup_(folder_freep) struct folder *f = folder_new();
    struct kube_config c;
    struct err err = {0};
    assert_int_equal(kube_config_load_list(":", NULL, &c, &err), -ENOENT);
    assert_int_equal(load_list(f, (const char *const[]){"token", "config"}, &c, &err), -ENOENT);
    assert_non_null(strstr(err.msg, "/token: No such file"));
    put(f, "token", CLUSTER("") "users: [{name: u, user: {token: t}}]\n");
    put(f, "config", CONTEXT);
    static const char *const rows[][2] = {{"token", "config"}, {"config", "token"}};
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        assert_int_equal(load_list(f, rows[i], &c, &err), 0);
        _cleanup_(freep) char *got = shown(&c);
        kube_config_done(&c);
        assert_string_equal(got, "server=https://h:6443 context=c token=t checked");
    }
    /* Whatever else is wrong with a file is not passed over. */
    _cleanup_(freep) char *folder = xasprintf("%s/config:%s", f->path, f->path);
    assert_int_equal(kube_config_load_list(folder, NULL, &c, &err), -EISDIR);
}

/* A path may name anything, such as a log or a device. */
TEST(reads_no_more_than_its_limit)
{
    _cleanup_(folder_freep) struct folder *f = folder_new();
    _cleanup_(freep) char *path = in(f, "token");
    _cleanup_(freep) char *large = xmalloc(KUBE_FILE_MAX + 2);
    memset(large, 'x', KUBE_FILE_MAX + 1);
    for (size_t over = 0; over <= 1; over++) {
        large[KUBE_FILE_MAX + over] = '\0';
        put(f, "token", large);
        large[KUBE_FILE_MAX + over] = 'x';
        _cleanup_(freep) char *text = NULL;
        size_t len = 0;
        struct err err = {0};
        assert_int_equal(kube_file_read(path, &text, &len, &err), over == 0 ? 0 : -E2BIG);
        assert_int_equal(len, over == 0 ? KUBE_FILE_MAX : 0);
        assert_int_equal(strstr(err.msg, "more than ") != NULL, over == 1);
    }
}

TEST(in_a_pod)
{
    _cleanup_(folder_freep) struct folder *f = folder_new();
    struct kube_config c;
    struct err err = {0};
    assert_int_equal(kube_config_in_cluster(f->path, NULL, NULL, &c, &err), -ENOENT);
    assert_non_null(strstr(err.msg, "KUBERNETES_SERVICE_HOST is not set"));
    put(f, "ca.crt", "-----BEGIN CERTIFICATE-----\n");
    assert_int_equal(kube_config_in_cluster(f->path, "10.0.0.1", "443", &c, &err), -ENOENT);
    assert_non_null(strstr(err.msg, "service account: open "));
    put(f, "token", "t\n");
    put(f, "namespace", "benchd\n");
    assert_int_equal(kube_config_in_cluster(f->path, "10.0.0.1", "443", &c, &err), 0);
    assert_string_equal(c.server, "https://10.0.0.1:443");
    assert_string_equal(c.ns, "benchd");
    kube_config_done(&c);
    assert_int_equal(kube_config_in_cluster(f->path, "fd00::1", "443", &c, &err), 0);
    assert_string_equal(c.server, "https://[fd00::1]:443");
    kube_config_done(&c);
}

static void expect_token(struct kube_credentials *c, int64_t now_ns, const char *wanted)
{
    const char *token;
    assert_int_equal(kube_credentials_get(c, now_ns, &token, NULL), 0);
    assert_string_equal(token, wanted);
}

TEST(tokens)
{
    _cleanup_(folder_freep) struct folder *f = folder_new();
    _cleanup_(freep) char *path = in(f, "token");
    struct kube_credentials c = {.fixed = "fixed"};
    const char *token;
    struct err err;
    expect_token(&c, 0, "fixed");
    kube_credentials_done(&c);

    c = (struct kube_credentials){.fixed = "fixed", .file = path}; /* the file wins */
    assert_int_equal(kube_credentials_get(&c, 0, &token, &err), -ENOENT);
    put(f, "token", " \n");
    assert_int_equal(kube_credentials_get(&c, 0, &token, &err), -EINVAL);
    put(f, "token", "a\nb");
    assert_int_equal(kube_credentials_get(&c, 0, &token, &err), -EINVAL);
    put(f, "token", "one \n");
    expect_token(&c, S_NS, "one");
    put(f, "token", "two");
    expect_token(&c, 60 * S_NS, "one"); /* read a minute ago at most */
    expect_token(&c, 61 * S_NS, "two");
    put(f, "token", "three");
    expect_token(&c, 62 * S_NS, "two");
    kube_credentials_refused(&c);
    expect_token(&c, 62 * S_NS, "three"); /* at once */
    assert_int_equal(unlink(path), 0);
    kube_credentials_refused(&c);
    expect_token(&c, 63 * S_NS, "three"); /* better than none */
    kube_credentials_done(&c);

    c = (struct kube_credentials){0};
    assert_int_equal(kube_credentials_get(&c, 0, &token, &err), 0);
    assert_null(token);
    kube_credentials_done(&c);
}
