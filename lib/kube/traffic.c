/* See traffic.h. */
#include "kube/traffic.h"

#include <string.h>

#include "base/str.h"

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

const char *const kube_verb_names[] = {"GET", "LIST", "WATCH", "POST", "PUT", "PATCH", "DELETE"};

/* Of a path of a namespace, "pods", "x" and "log"; "" what it lacks. */
struct parts {
    char plural[64], name[256], sub[64];
};

static const char *take_part(const char *at, char *ret, size_t size)
{
    const size_t len = strcspn(at, "/?");
    text_put(ret, size, "%.*s", (int)len, at);
    return at + len + (at[len] == '/');
}

static struct parts parts_of(const char *path)
{
    struct parts p = {0};
    const char *ns = strstr(path, NAMESPACES);
    if (ns != NULL && ns < path + strcspn(path, "?")) {
        const char *at = take_part(ns + strlen(NAMESPACES), p.name, sizeof(p.name));
        at = take_part(at, p.plural, sizeof(p.plural));
        at = take_part(at, p.name, sizeof(p.name));
        (void)take_part(at, p.sub, sizeof(p.sub)); /* the last */
    }
    return p;
}

size_t kube_target_of(const struct kube_request *req)
{
    const struct parts p = parts_of(req->path);
    char text[sizeof(p.plural) + sizeof(p.sub)];
    text_put(text, sizeof(text), "%s%s%s", p.plural, p.sub[0] == '\0' ? "" : "/", p.sub);
    const int found = str_index(text, kube_targets, KUBE_N_TARGETS);
    return found < 0 ? KUBE_N_TARGETS - 1 : (size_t)found;
}

enum kube_verb kube_verb_of(const struct kube_request *req)
{
    static const enum kube_verb verbs[KUBE_N_METHODS] = {
        KUBE_VERB_GET, KUBE_VERB_POST, KUBE_VERB_PUT, KUBE_VERB_PATCH, KUBE_VERB_DELETE};
    const struct parts p = parts_of(req->path);
    if (req->method != KUBE_GET || p.plural[0] == '\0' || p.name[0] != '\0') {
        return verbs[req->method];
    }
    return strstr(req->path, "?watch=1") != NULL ? KUBE_VERB_WATCH : KUBE_VERB_LIST;
}

static size_t code_of(const struct kube_response *res)
{
    char text[16] = "<error>";
    if (res->failure == KUBE_ANSWERED || res->http_code != 0) {
        text_put(text, sizeof(text), "%d", res->http_code);
    }
    const int found = str_index(text, kube_codes, KUBE_N_CODES);
    return found < 0 ? KUBE_N_CODES - 2 : (size_t)found;
}

void kube_traffic_count(struct kube_traffic *t, const struct kube_request *req,
                        const struct kube_response *res, int64_t took_ns)
{
    t->answers[req->method][code_of(res)]++;
    histogram_add(&t->times[kube_target_of(req)][kube_verb_of(req)], took_ns);
}
