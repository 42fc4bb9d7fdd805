/* See traffic.h. */
#include "kube/traffic.h"

#include <string.h>

#define NAMESPACES "/namespaces/"

const char *const kube_targets[KUBE_N_TARGETS] = {
    "benchmarkruns",   "benchmarkruns/status",
    "benchmarks",      "endpointslices",
    "events",          "leases",
    "networkpolicies", "pods",
    "pods/log",        "secrets",
    "services",        "other",
};

/* client-go's word for a request without an answer is "<error>". */
const char *const kube_codes[KUBE_N_CODES] = {"200", "201", "202", "400",   "401",    "403",
                                              "404", "409", "410", "422",   "429",    "500",
                                              "502", "503", "504", "other", "<error>"};
#define CODE_OTHER (KUBE_N_CODES - 2)
#define CODE_NONE (KUBE_N_CODES - 1)

const char *const kube_verb_names[] = {"GET", "LIST", "WATCH", "POST", "PUT", "PATCH", "DELETE"};

/* The part of a path after its namespace, "pods/x/log", without the query. */
struct tail {
    const char *at;
    size_t len; /* 0: the path is not of a namespace */
};

static struct tail tail_of(const char *path)
{
    const char *ns = strstr(path, NAMESPACES);
    const size_t end = strcspn(path, "?");
    if (ns == NULL || (size_t)(ns - path) >= end) {
        return (struct tail){"", 0};
    }
    ns += strlen(NAMESPACES);
    const char *at = ns + strcspn(ns, "/?");
    at += *at == '/';
    return (struct tail){at, (size_t)(path + end - at)};
}

/* Cuts off the first part up to a slash. */
static struct tail take_part(struct tail *t)
{
    const char *slash = memchr(t->at, '/', t->len);
    const size_t len = slash == NULL ? t->len : (size_t)(slash - t->at);
    const struct tail part = {t->at, len};
    const size_t skip = len + (slash != NULL);
    *t = (struct tail){t->at + skip, t->len - skip};
    return part;
}

static bool is_target(const char *target, const struct tail *plural, const struct tail *sub)
{
    const size_t len = plural->len + (sub->len > 0) + sub->len;
    return strlen(target) == len && memcmp(target, plural->at, plural->len) == 0 &&
           (sub->len == 0 || (target[plural->len] == '/' &&
                              memcmp(target + plural->len + 1, sub->at, sub->len) == 0));
}

size_t kube_target_of(const struct kube_request *req)
{
    struct tail rest = tail_of(req->path);
    const struct tail plural = take_part(&rest);
    (void)take_part(&rest); /* the name */
    size_t i = 0;
    while (i + 1 < KUBE_N_TARGETS && !is_target(kube_targets[i], &plural, &rest)) {
        i++;
    }
    return i;
}

enum kube_verb kube_verb_of(const struct kube_request *req)
{
    static const enum kube_verb verbs[KUBE_N_METHODS] = {
        KUBE_VERB_GET, KUBE_VERB_POST, KUBE_VERB_PUT, KUBE_VERB_PATCH, KUBE_VERB_DELETE};
    struct tail rest = tail_of(req->path);
    const struct tail plural = take_part(&rest);
    if (req->method != KUBE_GET || plural.len == 0 || rest.len > 0) {
        return verbs[req->method];
    }
    return strstr(req->path, "?watch=1") != NULL ? KUBE_VERB_WATCH : KUBE_VERB_LIST;
}

static size_t code_of(const struct kube_response *res)
{
    if (res->failure != KUBE_ANSWERED && res->http_code == 0) {
        return CODE_NONE;
    }
    size_t i = 0;
    for (; i < CODE_OTHER; i++) {
        const char *code = kube_codes[i];
        if (res->http_code == (code[0] - '0') * 100 + (code[1] - '0') * 10 + (code[2] - '0')) {
            break;
        }
    }
    return i;
}

void kube_traffic_count(struct kube_traffic *t, const struct kube_request *req,
                        const struct kube_response *res, int64_t took_ns)
{
    t->answers[req->method][code_of(res)]++;
    histogram_add(&t->times[kube_target_of(req)][kube_verb_of(req)], took_ns);
}
