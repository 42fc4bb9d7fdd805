/* Answers as errors with texts, and when a request is sent again: the two tables. */
#include "cmocka_kube.h"

#include "kube/retry.h"
#include "kube/status.h"

#include "base/mem.h"

#define STATUS(code, reason, message)                                                              \
    "{\"kind\":\"Status\",\"code\":" #code ",\"reason\":\"" reason "\",\"message\":\"" message "\"}"

struct row {
    const char *name;
    int http;
    enum kube_failure failure;
    const char *type, *body;
    int64_t retry_after_s;
    int code;         /* of kube_check */
    const char *text; /* somewhere in it */
    enum kube_verdict verdict;
};

#define JSON "application/json"
static const struct row rows[] = {
    {"ok", 200, 0, JSON, "{}", -1, 0, "", KUBE_RETRY_NO},
    {"created", 201, 0, JSON, "{}", -1, 0, "", KUBE_RETRY_NO},
    {"fairness", 429, 0, "text/plain; charset=utf-8",
     "Too many requests, please try again later.\n", 1, -EBUSY,
     "create pod 'a': HTTP 429: Too many requests, please try again later.; the API server is "
     "busy: try again later",
     KUBE_RETRY_WAIT},
    {"wrong token", 401, 0, JSON, STATUS(401, "Unauthorized", "Unauthorized"), -1, -EACCES,
     "HTTP 401 Unauthorized: Unauthorized; the credentials were refused", KUBE_RETRY_REFRESH},
    {"no token", 403, 0, JSON,
     STATUS(403, "Forbidden", "pods is forbidden: User \\\"system:anonymous\\\" cannot create"), -1,
     -EACCES, "no credentials were accepted", KUBE_RETRY_REFRESH},
    {"no right", 403, 0, JSON,
     STATUS(403, "Forbidden", "User \\\"u\\\" cannot create resource \\\"pods\\\""), -1, -EACCES,
     "cannot create resource \"pods\"; ask an administrator for this right", KUBE_RETRY_NO},
    {"pod security", 403, 0, JSON,
     STATUS(403, "Forbidden", "pods \\\"a\\\" is forbidden: violates PodSecurity"), -1, -EACCES,
     "violates PodSecurity", KUBE_RETRY_NO},
    {"quota", 403, 0, JSON, STATUS(403, "Forbidden", "exceeded quota: q, requested: pods=1"), -1,
     -EDQUOT, "exceeded quota: q", KUBE_RETRY_NO},
    {"a quota that is not counted yet", 403, 0, JSON,
     STATUS(403, "Forbidden",
            "pods \\\"a\\\" is forbidden: status unknown for quota: q, resources: pods"),
     -1, -EDQUOT, "status unknown for quota: q", KUBE_RETRY_NO},
    {"namespace ends", 403, 0, JSON,
     "{\"kind\":\"Status\",\"reason\":\"Forbidden\",\"message\":\"being terminated\",\"details\":"
     "{\"causes\":[{\"reason\":\"NamespaceTerminating\"}]}}",
     -1, -ESHUTDOWN, "being terminated", KUBE_RETRY_NO},
    {"not found", 404, 0, JSON, STATUS(404, "NotFound", "pods \\\"a\\\" not found"), -1, -ENOENT,
     "HTTP 404 NotFound: pods \"a\" not found", KUBE_RETRY_NO},
    {"exists", 409, 0, JSON, STATUS(409, "AlreadyExists", "pods \\\"a\\\" already exists"), -1,
     -EEXIST, "already exists", KUBE_RETRY_NO},
    {"conflict", 409, 0, JSON, STATUS(409, "Conflict", "the object has been modified"), -1, -ESTALE,
     "has been modified", KUBE_RETRY_NO},
    {"expired", 410, 0, JSON, STATUS(410, "Expired", "too old resource version"), -1, -ESTALE,
     "too old", KUBE_RETRY_NO},
    {"strict decoding", 400, 0, JSON,
     STATUS(400, "BadRequest", "strict decoding error: unknown field \\\"spec.x\\\""), -1, -EINVAL,
     "unknown field \"spec.x\"", KUBE_RETRY_NO},
    {"invalid", 422, 0, JSON, STATUS(422, "Invalid", "spec.x: Invalid value"), -1, -EINVAL,
     "Invalid value", KUBE_RETRY_NO},
    {"too large", 413, 0, JSON, "", -1, -EINVAL, "HTTP 413 without a message", KUBE_RETRY_NO},
    {"kubelet gone", 500, 0, JSON,
     "{\"kind\":\"Status\",\"message\":\"dial tcp 10.0.0.1:10250: connect: connection refused\","
     "\"code\":500}",
     -1, -EIO, "HTTP 500: dial tcp", KUBE_RETRY_WAIT},
    {"a proxy's page", 502, 0, "text/html", "<html><h1>Bad Gateway</h1></html>", -1, -EIO,
     "is a proxy in between? <html>", KUBE_RETRY_WAIT},
    {"HTML without type", 500, 0, "", " \n<!doctype html>", -1, -EIO, "an HTML page",
     KUBE_RETRY_WAIT},
    {"half a status", 503, 0, JSON, "{\"kind\":\"Stat", -1, -EIO, "{\"kind\":\"Stat",
     KUBE_RETRY_WAIT},
    {"future version", 504, 0, JSON, STATUS(504, "Timeout", "Too large resource version"), 1,
     -ETIMEDOUT, "Too large resource version", KUBE_RETRY_WAIT},
    {"507 with Retry-After", 507, 0, "", "full", 3, -EIO, "full", KUBE_RETRY_WAIT},
    {"501", 501, 0, "", "no", -1, -EIO, "no", KUBE_RETRY_NO},
    {"redirect", 302, 0, "", "", -1, -EIO, "HTTP 302", KUBE_RETRY_NO},
    {"bytes that are no text", 500, 0, "text/plain", "a\xff\x1b[31m\n", -1, -EIO, "a? [31m",
     KUBE_RETRY_WAIT},
    {"refused", 0, KUBE_UNREACHABLE, "", "", -1, -EHOSTUNREACH,
     "create pod 'a': cannot reach the API server: words; is it running", KUBE_RETRY_WAIT},
    {"certificate", 0, KUBE_TLS, "", "", -1, -EPROTO, "certificate-authority", KUBE_RETRY_REFRESH},
    {"silence", 0, KUBE_TIMED_OUT, "", "", -1, -ETIMEDOUT, "no answer in time", KUBE_RETRY_WAIT},
    {"reset", 0, KUBE_BROKEN, "", "", -1, -ECONNRESET, "connection lost: words", KUBE_RETRY_WAIT},
    {"reset in the body", 200, KUBE_BROKEN, "", "{", -1, -ECONNRESET, "connection lost",
     KUBE_RETRY_WAIT},
    {"outgrown", 200, KUBE_TOO_LARGE, "", "", -1, -E2BIG, "too large", KUBE_RETRY_NO},
    {"own trouble", 0, KUBE_LOCAL, "", "", -1, -EIO, "words", KUBE_RETRY_NO},
};

static struct kube_response row_response(const struct row *row)
{
    struct kube_response res = response_of(row->failure, row->http, row->body);
    res.failure_text = row->failure == KUBE_ANSWERED ? NULL : "words";
    res.content_type = row->type;
    res.retry_after_s = row->retry_after_s;
    return res;
}

TEST(codes_and_texts)
{
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        const struct kube_request req = {.what = (char *)"create pod 'a'",
                                         .path = (char *)"/api/v1/namespaces/n/pods"};
        const struct kube_response res = row_response(&rows[i]);
        struct err err = {0};
        const int r = kube_check(&req, &res, &err);
        if (r != rows[i].code || strstr(err.msg, rows[i].text) == NULL) {
            fail_msg("%s: expected %d '%s', got %d '%s'", rows[i].name, rows[i].code, rows[i].text,
                     r, err.msg);
        }
        const bool is_right = strstr(err.msg, "ask an administrator for this right") != NULL;
        if (kube_lacks_right(&res) != is_right) {
            fail_msg("%s: expected kube_lacks_right() %d", rows[i].name, is_right);
        }
    }
}

TEST(missing_definition_says_what_to_do)
{
    const struct kube_request req = {.what = (char *)"list benchmarks in 'n'",
                                     .path = (char *)"/apis/benchd.io/v1alpha1/namespaces/n/x"};
    const struct kube_response res = {.http_code = 404,
                                      .content_type = "text/plain",
                                      .body = "404 page not found\n",
                                      .body_len = 19};
    struct err err;
    assert_int_equal(kube_check(&req, &res, &err), -ENOENT);
    assert_string_equal(err.msg, "list benchmarks in 'n': HTTP 404: 404 page not found; benchd's "
                                 "kinds are not installed: kubectl apply -f "
                                 "manifests/benchmark-crd.yaml");
}

TEST(long_messages_leave_room_for_the_advice)
{
    char body[2000] = "{\"kind\":\"Status\",\"reason\":\"Unauthorized\",\"message\":\"";
    memset(body + strlen(body), 'x', 1200);
    memcpy(body + strlen(body), "\"}", 3);
    char what[200];
    memset(what, 'w', sizeof(what) - 1);
    what[sizeof(what) - 1] = '\0';
    const struct kube_request req = {.what = what, .path = (char *)"/"};
    const struct kube_response res = {
        .http_code = 401, .content_type = JSON, .body = body, .body_len = strlen(body)};
    struct err err;
    assert_int_equal(kube_check(&req, &res, &err), -EACCES);
    assert_non_null(strstr(err.msg, "; the credentials were refused: log in again, or choose "
                                    "another context"));
}

/* Which fields a pod lacks is at the end of a long message. */
TEST(words_of_pod_security_are_whole)
{
    static const char words[] =
        "pods \\\"train-x7k2p-p0t0a0-worker-0\\\" is forbidden: violates PodSecurity "
        "\\\"restricted:latest\\\": allowPrivilegeEscalation != false (containers \\\"prepare\\\", "
        "\\\"main\\\", \\\"sidecar\\\" must set securityContext.allowPrivilegeEscalation=false), "
        "unrestricted capabilities (containers \\\"prepare\\\", \\\"main\\\", \\\"sidecar\\\" must "
        "set "
        "securityContext.capabilities.drop=[\\\"ALL\\\"]), runAsNonRoot != true (pod or containers "
        "\\\"prepare\\\", \\\"main\\\", \\\"sidecar\\\" must set "
        "securityContext.runAsNonRoot=true), "
        "seccompProfile (pod or containers \\\"prepare\\\", \\\"main\\\", \\\"sidecar\\\" must set "
        "securityContext.seccompProfile.type to \\\"RuntimeDefault\\\" or \\\"Localhost\\\")";
    _cleanup_(freep) char *body = xasprintf(
        "{\"kind\":\"Status\",\"reason\":\"Forbidden\",\"message\":\"%s\",\"code\":403}", words);
    const struct kube_request req = {.what = (char *)"create pod 'train-x7k2p-p0t0a0-worker-0'",
                                     .path = (char *)"/"};
    const struct kube_response res = {
        .http_code = 403, .content_type = JSON, .body = body, .body_len = strlen(body)};
    struct err err;
    assert_int_equal(kube_check(&req, &res, &err), -EACCES);
    assert_non_null(strstr(err.msg, "securityContext.seccompProfile.type to \"RuntimeDefault\" or "
                                    "\"Localhost\")"));
}

TEST(verdicts)
{
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        const struct kube_response res = row_response(&rows[i]);
        struct kube_retry retry;
        kube_retry_init(&retry, 10, 1);
        int64_t wait_ns = -1;
        const enum kube_verdict got = kube_retry_decide(&retry, &res, &wait_ns);
        if (got != rows[i].verdict) {
            fail_msg("%s: expected %d, got %d", rows[i].name, rows[i].verdict, got);
        }
        if (got == KUBE_RETRY_WAIT && rows[i].retry_after_s > 0) {
            assert_true(wait_ns >= rows[i].retry_after_s * S_NS);
            assert_true(wait_ns <= rows[i].retry_after_s * S_NS * 5 / 4);
        }
    }
}

TEST(gives_up_in_the_end)
{
    const struct kube_response res = {
        .http_code = 503, .retry_after_s = -1, .body = "", .content_type = ""};
    struct kube_retry retry;
    kube_retry_init(&retry, 4, 7);
    int64_t wait_ns = 0, before_ns = 0;
    for (int i = 0; i < 3; i++) {
        assert_int_equal(kube_retry_decide(&retry, &res, &wait_ns), KUBE_RETRY_WAIT);
        assert_true(wait_ns > 0 && wait_ns < 2 * S_NS);
        assert_true(i == 0 || wait_ns >= before_ns / 2);
        before_ns = wait_ns;
    }
    assert_int_equal(kube_retry_decide(&retry, &res, &wait_ns), KUBE_RETRY_NO);
}

TEST(refreshes_once)
{
    const struct kube_response res = {
        .http_code = 401, .retry_after_s = -1, .body = "", .content_type = ""};
    struct kube_retry retry;
    int64_t wait_ns;
    kube_retry_init(&retry, 1, 7);
    assert_int_equal(kube_retry_decide(&retry, &res, &wait_ns), KUBE_RETRY_REFRESH);
    assert_int_equal(kube_retry_decide(&retry, &res, &wait_ns), KUBE_RETRY_NO);
}

TEST(backoff_grows_to_its_limit)
{
    struct kube_backoff b;
    kube_backoff_init(&b, 100, 1000, 3);
    for (int round = 0; round < 2; round++) {
        int64_t expected = 100;
        for (int i = 0; i < 200; i++) {
            const int64_t got = kube_backoff_next(&b);
            assert_true(got >= expected / 2 && got <= expected);
            expected = expected * 2 > 1000 ? 1000 : expected * 2;
        }
        kube_backoff_reset(&b);
    }
}

/* 0 never means at once, and an hour is not obeyed. */
TEST(retry_after_has_bounds)
{
    static const struct {
        int64_t after_s, min_ns, max_ns;
    } waits[] = {
        {0, S_NS / 8, S_NS / 4}, /* the first back-off */
        {1, S_NS, 5 * S_NS / 4},        {299, 299 * S_NS, 374 * S_NS},
        {300, 300 * S_NS, 375 * S_NS},  {301, 300 * S_NS, 375 * S_NS},
        {3600, 300 * S_NS, 375 * S_NS}, {INT32_MAX, 300 * S_NS, 375 * S_NS},
    };
    for (size_t i = 0; i < N_ROWS(waits); i++) {
        const struct kube_response res = {
            .http_code = 429, .retry_after_s = waits[i].after_s, .body = "", .content_type = ""};
        struct kube_retry retry;
        int64_t wait_ns = -1;
        kube_retry_init(&retry, 10, 7);
        assert_int_equal(kube_retry_decide(&retry, &res, &wait_ns), KUBE_RETRY_WAIT);
        if (wait_ns < waits[i].min_ns || wait_ns > waits[i].max_ns) {
            fail_msg("Retry-After %lld: expected %lld to %lld ns, got %lld",
                     (long long)waits[i].after_s, (long long)waits[i].min_ns,
                     (long long)waits[i].max_ns, (long long)wait_ns);
        }
    }
}
