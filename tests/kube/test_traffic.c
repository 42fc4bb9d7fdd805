/* Which verb and kind a request is of, as /metrics names them, and what its answer counts as. */
#include "base/mem.h"
#include "base/str.h"
#include "cmocka_kube.h"
#include "kube/traffic.h"

TEST(a_request_has_a_verb_and_a_kind)
{
    static const struct {
        const char *name;
        enum kube_method method;
        const char *path, *verb, *target;
    } rows[] = {
        {"list", KUBE_GET, "/api/v1/namespaces/x/pods?limit=500", "LIST", "pods"},
        {"a selector that looks like a watch", KUBE_GET,
         "/api/v1/namespaces/x/pods?labelSelector=watch%3D1", "LIST", "pods"},
        {"watch", KUBE_GET, "/api/v1/namespaces/x/pods?watch=1&allowWatchBookmarks=true", "WATCH",
         "pods"},
        {"get", KUBE_GET, "/apis/coordination.k8s.io/v1/namespaces/x/leases/benchd", "GET",
         "leases"},
        {"renew", KUBE_PUT, "/apis/coordination.k8s.io/v1/namespaces/x/leases/benchd?a=b", "PUT",
         "leases"},
        {"create", KUBE_POST, "/api/v1/namespaces/x/pods?fieldValidation=Strict", "POST", "pods"},
        {"a namespace called pods", KUBE_POST, "/api/v1/namespaces/pods/secrets", "POST",
         "secrets"},
        {"policy", KUBE_POST, "/apis/networking.k8s.io/v1/namespaces/x/networkpolicies", "POST",
         "networkpolicies"},
        {"log", KUBE_GET, "/api/v1/namespaces/x/pods/p/log?follow=true", "GET", "pods/log"},
        {"status", KUBE_PATCH, "/apis/benchd.io/v1alpha1/namespaces/x/benchmarkruns/r/status?f=b",
         "PATCH", "benchmarkruns/status"},
        {"an object", KUBE_DELETE, "/apis/benchd.io/v1alpha1/namespaces/x/benchmarkruns/r",
         "DELETE", "benchmarkruns"},
        {"an unknown subresource", KUBE_POST, "/api/v1/namespaces/x/pods/p/eviction", "POST",
         "other"},
        {"an unknown kind", KUBE_GET, "/api/v1/namespaces/x/configmaps", "LIST", "other"},
        {"a kind that begins like one", KUBE_GET, "/api/v1/namespaces/x/podtemplates", "LIST",
         "other"},
        {"not of a namespace", KUBE_GET, "/version", "GET", "other"},
        {"a namespace in a query", KUBE_GET, "/version?a=/namespaces/x/pods", "GET", "other"},
        {"the namespace itself", KUBE_GET, "/api/v1/namespaces/x", "GET", "other"},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        _cleanup_(freep) char *path = xstrdup(rows[i].path);
        const struct kube_request req = {.method = rows[i].method, .path = path};
        const char *verb = kube_verb_names[kube_verb_of(&req)];
        const char *target = kube_targets[kube_target_of(&req)];
        if (!str_eq(verb, rows[i].verb) || !str_eq(target, rows[i].target)) {
            fail_msg("%s: expected %s %s, got %s %s", rows[i].name, rows[i].verb, rows[i].target,
                     verb, target);
        }
    }
}

TEST(an_answer_counts_as_its_code)
{
    static const struct {
        const char *name;
        enum kube_failure failure;
        int http_code;
        const char *code;
    } rows[] = {
        {"created", KUBE_ANSWERED, 201, "201"},
        {"too many requests", KUBE_ANSWERED, 429, "429"},
        {"a code that is not listed", KUBE_ANSWERED, 418, "other"},
        {"no connection", KUBE_UNREACHABLE, 0, "<error>"},
        {"no answer in time", KUBE_TIMED_OUT, 0, "<error>"},
        {"lost after its headers", KUBE_BROKEN, 200, "200"},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        char path[] = "/api/v1/namespaces/x/pods";
        const struct kube_request req = {.method = KUBE_POST, .path = path};
        const struct kube_response res = {.failure = rows[i].failure,
                                          .http_code = rows[i].http_code};
        static struct kube_traffic t;
        t = (struct kube_traffic){0};
        kube_traffic_count(&t, &req, &res, 2000000);
        for (size_t k = 0; k < KUBE_N_CODES; k++) {
            if (t.answers[KUBE_POST][k] != str_eq(kube_codes[k], rows[i].code)) {
                fail_msg("%s: code %s counts %d", rows[i].name, kube_codes[k],
                         (int)t.answers[KUBE_POST][k]);
            }
        }
        const struct histogram *h = &t.times[kube_target_of(&req)][KUBE_VERB_POST];
        assert_int_equal(histogram_count(h), 1);
        assert_int_equal(h->sum_ns, 2000000);
    }
}
