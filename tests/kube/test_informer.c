/* What the informer does with what its reflector wants: requests, the end of a watch, the timer.
 * What the reflector wants: test_reflector.c. */
#include "fake_client.h"

#include "kube/informer.h"

#define LIST(version) "{\"metadata\":{\"resourceVersion\":\"" version "\"},\"items\":[]}"
#define ADDED                                                                                      \
    "{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"name\":\"a\",\"uid\":\"u\",\"resourceVersion" \
    "\":\"6\"}}}\n"
#define BOOKMARK "{\"type\":\"BOOKMARK\",\"object\":{\"metadata\":{\"resourceVersion\":\"9\"}}}\n"

/* An informer whose first list has come. */
static struct kube_informer *start(void)
{
    fake_client_init();
    struct kube_informer *i = kube_informer_new(
        NULL, &(struct kube_reflector_params){.resource = &kube_pods, .ns = "n", .seed = 1});
    assert_int_equal(fake_client.n_calls, 1);
    assert_int_equal(fake_client.calls[0].options.max_tries, 1); /* the reflector retries */
    fake_client_answer(&fake_client.calls[0], 200, LIST("5"));
    assert_non_null(strstr(fake_client_stream()->req.path, "resourceVersion=5"));
    return i;
}

static void finish(struct kube_informer *i)
{
    kube_informer_free(i);
    fake_client_done();
}

static void open_watch(void)
{
    const struct kube_stream *s = fake_client_stream();
    const struct kube_response res = {.http_code = 200};
    s->ops.on_open(s->ctx, &res);
}

TEST(a_silent_watch_is_abandoned)
{
    struct kube_informer *i = start();
    struct kube_stream *first = fake_client_stream();
    open_watch();
    fake_client_data(first, ADDED);
    assert_non_null(kube_cache_get(kube_informer_cache(i), "a"));
    fake_client_pass(89 * S_NS);
    assert_true(first->is_open);
    fake_client_pass(S_NS);
    assert_true(first->is_abandoned); /* its connection may be dead */
    assert_non_null(strstr(fake_client_stream()->req.path, "resourceVersion=6"));
    finish(i);
}

TEST(a_watch_that_is_due_for_a_list_is_cancelled)
{
    struct kube_informer *i = start();
    struct kube_stream *first = fake_client_stream();
    open_watch();
    for (int minute = 0; minute < 60; minute++) {
        fake_client_pass(60 * S_NS);
        if (first->is_open) {
            fake_client_data(first, BOOKMARK);
        }
    }
    assert_false(first->is_open);
    assert_false(first->is_abandoned); /* its connection is good */
    assert_int_equal(fake_client.n_calls, 2);
    finish(i); /* with the list open */
}

TEST(nonsense_ends_a_watch)
{
    struct kube_informer *i = start();
    struct kube_stream *first = fake_client_stream();
    open_watch();
    fake_client_data(first, "<html>\n");
    assert_false(first->is_open);
    fake_client_pass(S_NS / 2); /* the first back-off */
    assert_int_equal(fake_client.n_streams, 2);
    fake_client_end(fake_client_stream(), 410);
    fake_client_pass(S_NS);
    assert_int_equal(fake_client.n_calls, 2);
    struct kube_informer_stats stats;
    kube_informer_get_stats(i, &stats);
    assert_int_equal(stats.lists, 2);
    assert_int_equal(stats.watches, 2);
    fake_client_answer(&fake_client.calls[1], 200, LIST("9"));
    assert_non_null(strstr(fake_client_stream()->req.path, "resourceVersion=9"));
    finish(i);
}
