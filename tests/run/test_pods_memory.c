/* What ten thousand pods take in the cache. benchd has 32 MiB for all it does with them. */
#include <malloc.h>

#include "tests/test.h"
#include "kube/cache.h"
#include "pod/facts.h"

#define N_PODS (IS_SANITIZED ? 5000 : 10000)

/* A running one; `version` differs with each change. */
static json_t *make_pod(unsigned i, unsigned version)
{
    _cleanup_(freep) char *text = xasprintf(
        "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"sweep-x7k2p-p0t0a0-"
        "trainer-%u\",\"uid\":\"4e2bd7a4-7d0f-4a4a-9d57-%012u\",\"resourceVersion\":\"%u\","
        "\"creationTimestamp\":\"2026-01-01T00:00:00Z\",\"labels\":{"
        "\"app.kubernetes.io/managed-by\":\"benchd\",\"benchd.io/run\":\"sweep-x7k2p\","
        "\"benchd.io/replica-index\":\"%u\",\"benchd.io/role\":\"trainer\",\"benchd.io/point\":"
        "\"0\"},\"ownerReferences\":[{\"kind\":\"BenchmarkRun\",\"name\":\"sweep-x7k2p\",\"uid\":"
        "\"0b7a5c1e-0000-4000-8000-000000000001\",\"controller\":true}]},\"spec\":{\"nodeName\":"
        "\"node-%u\",\"containers\":[{\"name\":\"worker\",\"resources\":{\"limits\":{\"cpu\":"
        "\"10\"}}}]},\"status\":{\"phase\":\"Running\",\"podIP\":\"10.0.%u.%u\","
        "\"containerStatuses\":[{\"name\":\"worker\",\"image\":\"registry.example/benchd/worker\","
        "\"restartCount\":0,\"imageID\":\"registry.example/benchd/worker@sha256:"
        "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef\",\"state\":{\"running\":"
        "{\"startedAt\":\"2026-01-01T00:00:10Z\"}}}]}}",
        i, i, version, i, i % 400, i / 250, i % 250);
    json_t *pod = json_loads(text, 0, NULL);
    assert_non_null(pod);
    return pod;
}

TEST(ten_thousand_pods_take_few_bytes)
{
    struct kube_cache c;
    kube_cache_init(&c, &(struct kube_cache_params){.decode = pod_facts_decode});
    (void)malloc_trim(0);
    const size_t before_bytes = mallinfo2().uordblks;
    for (unsigned version = 1; version <= 3; version++) { /* an update leaves nothing behind */
        kube_cache_begin_list(&c);
        for (unsigned i = 0; i < N_PODS; i++) {
            _cleanup_(json_decrefp) json_t *pod = make_pod(i, version);
            if (version == 2) {
                assert_true(kube_cache_put(&c, pod));
            } else {
                kube_cache_add_listed(&c, pod);
            }
        }
        assert_true(kube_cache_end_list(&c, SIZE_MAX));
        assert_int_equal(c.objects.len, N_PODS);
    }
    const size_t a_pod_bytes = (mallinfo2().uordblks - before_bytes) / N_PODS;
    const struct kube_object *last = kube_cache_get(&c, "sweep-x7k2p-p0t0a0-trainer-4321");
    assert_string_equal(last->resource_version, "3");
    assert_string_equal(((const struct pod_facts *)last->facts)->node, "node-321");
    kube_cache_done(&c);
    if (a_pod_bytes > 600) { /* under a sanitizer: always 0 */
        fail_msg("%zu bytes a pod", a_pod_bytes);
    }
}
