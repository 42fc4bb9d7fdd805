/* What goes in comes out, and words leave with the last object that says them. */
#include "cmocka_kube.h"

#include <malloc.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/str.h"
#include "kube/cache.h"

static const struct kube_pack_own own = {{"pod-1", "uid-1", ""}};

static size_t n_words(const struct kube_words *w)
{
    size_t n = 0;
    vec_each (const struct kube_word, it, &w->list) {
        n += it->text != NULL;
    }
    return n;
}

TEST(what_goes_in_comes_out)
{
    static const char *const rows[] = {
        "{}",
        "[]",
        "\"\"",
        "[null,true,false,0,1,30,31,32,158,159,160,4294967295,9223372036854775807]",
        "[-1,-31,-32,-33,-9223372036854775808,0.5,-1e300]",
        "[\"a\",\"pod-1\",\"uid-1\",\"pod-1x\",\"pod\"]",
        "{\"pod-1\":{\"uid-1\":\"pod-1\"},\"\":[[[{}]]],\"a\":{\"a\":\"a\"}}",
        "[\"same\",\"same\",\"same\",{\"same\":\"same\"}]",
        "[\"nul \\u0000 inside\",\"nul \\u0000 inside\",\"\\u00e9\\ud83d\\ude00\"]",
    };
    struct kube_words w = {0};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        json_t *in = json_loads(rows[i], JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
        assert_non_null(in);
        struct buf packed[2] = {BUF_INIT, BUF_INIT};
        for (size_t k = 0; k < 2; k++) { /* the second time its texts are words */
            kube_pack(&w, in, &own, &packed[k]);
        }
        for (size_t k = 0; k < 2; k++) {
            json_t *out = kube_unpack(&w, packed[k].data, &own);
            if (!json_equal(in, out)) {
                fail_msg("%s: got %s", rows[i], json_dumps(out, JSON_ENCODE_ANY));
            }
            json_decref(out);
        }
        assert_true(packed[1].len <= packed[0].len);
        kube_packed_forget(&w, packed[0].data, packed[0].len);
        json_t *out = kube_unpack(&w, packed[1].data, &own);
        assert_true(json_equal(in, out));
        json_decref(out);
        kube_packed_forget(&w, packed[1].data, packed[1].len);
        assert_int_equal(n_words(&w), 0);
        buf_done(&packed[0]);
        buf_done(&packed[1]);
        json_decref(in);
    }
    kube_words_done(&w);
}

TEST(long_texts_and_many_members)
{
    struct kube_words w = {0};
    json_t *in = json_object();
    for (unsigned i = 0; i < 300; i++) {
        _cleanup_(freep) char *key = xasprintf("key-%0*u", (int)i + 1, i);
        json_object_set_new(in, key, json_string(key));
    }
    struct buf packed = BUF_INIT;
    kube_pack(&w, in, &own, &packed);
    json_t *out = kube_unpack(&w, packed.data, &own);
    assert_true(json_equal(in, out));
    kube_packed_forget(&w, packed.data, packed.len);
    assert_int_equal(n_words(&w), 0);
    kube_words_done(&w);
    buf_done(&packed);
    json_decref(out);
    json_decref(in);
}

/* As pod_prune leaves a running one. */
static json_t *make_pod(unsigned i, unsigned version)
{
    _cleanup_(freep) char *text = xasprintf(
        "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"sweep-x7k2p-p0t0a0-"
        "trainer-%u\","
        "\"uid\":\"4e2bd7a4-7d0f-4a4a-9d57-%012u\",\"resourceVersion\":\"%u\","
        "\"creationTimestamp\":"
        "\"2026-01-01T00:00:00Z\",\"labels\":{\"app.kubernetes.io/managed-by\":\"benchd\","
        "\"benchd.io/run\":\"sweep-x7k2p\",\"benchd.io/replica-index\":\"%u\",\"benchd.io/role\":"
        "\"trainer\",\"benchd.io/point\":\"0\"},\"ownerReferences\":[{\"apiVersion\":"
        "\"benchd.io/v1alpha1\",\"kind\":\"BenchmarkRun\",\"name\":\"sweep-x7k2p\",\"uid\":"
        "\"0b7a5c1e-0000-4000-8000-000000000001\",\"controller\":true}]},\"spec\":{\"nodeName\":"
        "\"node-%u\",\"containers\":[{\"name\":\"worker\",\"resources\":{\"limits\":{\"cpu\":"
        "\"10\"}}}]},"
        "\"status\":{\"phase\":\"Running\",\"podIP\":\"10.0.%u.%u\",\"containerStatuses\":[{"
        "\"name\":"
        "\"worker\",\"restartCount\":0,\"imageID\":\"registry.example/benchd/worker@sha256:"
        "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef\",\"state\":{\"running\":"
        "{\"startedAt\":\"2026-01-01T00:00:10Z\"}}}]}}",
        i, i, version, i, i % 400, i / 250, i % 250);
    json_t *pod = json_loads(text, 0, NULL);
    assert_non_null(pod);
    return pod;
}

/* Each pod changes a few times in a row; its address is said by nobody else. */
TEST(what_one_object_repeats_is_no_word)
{
    struct kube_cache c;
    kube_cache_init(&c, &(struct kube_cache_params){0});
    size_t n_first = 0;
    for (unsigned i = 0; i < 100; i++) {
        for (unsigned version = 1; version <= 3; version++) {
            json_t *pod = make_pod(i, version);
            assert_true(kube_cache_put(&c, pod));
            json_decref(pod);
        }
        n_first = i == 9 ? n_words(&c.words) : n_first;
    }
    assert_true(n_first > 20); /* keys, and what all pods say */
    assert_int_equal(n_words(&c.words), n_first);
    kube_cache_done(&c);
}

#define N_PODS 10000

TEST(ten_thousand_pods_take_few_bytes)
{
    struct kube_cache c;
    kube_cache_init(&c, &(struct kube_cache_params){0});
    (void)malloc_trim(0);
    const size_t before_bytes = mallinfo2().uordblks;
    for (unsigned version = 1; version <= 3; version++) { /* an update leaves nothing behind */
        kube_cache_begin_list(&c);
        for (unsigned i = 0; i < N_PODS; i++) {
            json_t *pod = make_pod(i, version);
            if (version == 2) {
                assert_true(kube_cache_put(&c, pod));
            } else {
                kube_cache_add_listed(&c, pod);
            }
            json_decref(pod);
        }
        assert_true(kube_cache_end_list(&c, SIZE_MAX));
        assert_int_equal(c.entries.len, N_PODS);
    }
    const size_t a_pod_bytes = (mallinfo2().uordblks - before_bytes) / N_PODS;
    json_t *expected = make_pod(4321, 3);
    json_t *kept = kube_cache_json(&c, kube_cache_get(&c, "sweep-x7k2p-p0t0a0-trainer-4321"));
    assert_true(json_equal(kept, expected));
    json_decref(kept);
    json_decref(expected);
    kube_cache_done(&c);
    if (a_pod_bytes > 330) { /* under a sanitizer: always 0 */
        fail_msg("%zu bytes a pod", a_pod_bytes);
    }
}
