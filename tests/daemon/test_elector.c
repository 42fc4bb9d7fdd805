/* The Lease on a real loop, with a client without a network: a stop at any moment of a renewal gives it
 * up. The machine itself: tests/kube/test_lease.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <uv.h>

#include "base/clock.h"
#include "base/mem.h"
#include "daemon/elector.h"
#include "fake_kube.h"

#define S_NS INT64_C(1000000000)

static uv_loop_t loop;

struct uv_loop_s *kube_client_loop(const struct kube_client *c)
{
    (void)c;
    return &loop;
}

struct world {
    struct elector *elector;
    unsigned version; /* of the Lease on the server */
    unsigned n_changes, n_done;
    uv_prepare_t prepare;
    bool wants_call;
};

static void on_change(void *ctx)
{
    ((struct world *)ctx)->n_changes++;
}

static void on_done(void *ctx)
{
    ((struct world *)ctx)->n_done++;
}

/* Before the loop would sleep: stop if what the test waits for is there. */
static void on_prepare(uv_prepare_t *prepare)
{
    const struct world *w = prepare->data;
    if (w->n_done > 0 || (w->wants_call && fake_kube_open(0) != NULL)) {
        uv_stop(&loop);
    }
}

static struct kube_call *next_call(struct world *w)
{
    w->wants_call = true;
    (void)uv_run(&loop, UV_RUN_DEFAULT);
    w->wants_call = false;
    struct kube_call *call = fake_kube_open(0);
    assert_non_null(call);
    return call;
}

static void run_until_done(const struct world *w)
{
    (void)uv_run(&loop, UV_RUN_DEFAULT);
    assert_int_equal(w->n_done, 1);
}

/* As an API server that has the version `w->version` answers a write. */
static void answer_write(struct world *w, struct kube_call *call)
{
    json_t *lease = json_loads(call->req.body, 0, NULL);
    json_t *metadata = json_object_get(lease, "metadata");
    const char *version = json_string_value(json_object_get(metadata, "resourceVersion"));
    char expected[16] = "";
    if (call->req.method == KUBE_PUT) {
        (void)snprintf(expected, sizeof(expected), "%u", w->version);
        assert_string_equal(version, expected);
    }
    (void)snprintf(expected, sizeof(expected), "%u", ++w->version);
    json_object_set_new(metadata, "resourceVersion", json_string(expected));
    _cleanup_(freep) char *body = json_dumps(lease, 0);
    json_decref(lease);
    fake_kube_answer(call, 0, body);
}

static const char *holder_in(const struct kube_call *call)
{
    static char holder[16];
    json_t *lease = json_loads(call->req.body, 0, NULL);
    const char *text =
        json_string_value(json_object_get(json_object_get(lease, "spec"), "holderIdentity"));
    (void)snprintf(holder, sizeof(holder), "%s", text == NULL ? "?" : text);
    json_decref(lease);
    return holder;
}

/* Leader, with the next renewal open. */
static struct kube_call *lead(struct world *w)
{
    const struct kube_lease_params params = {
        .ns = "n", .name = "benchd", .identity = "me", .retry_ns = S_NS / 20, .seed = 1};
    w->elector = elector_new(NULL, &params, on_change, w);
    fake_kube.http_code = 404;
    fake_kube_answer(next_call(w), -ENOENT, "{}");
    answer_write(w, next_call(w));
    assert_true(elector_may_write(w->elector));
    assert_int_equal(w->n_changes, 1);
    return next_call(w);
}

static int setup(void **state)
{
    fake_kube_reset();
    assert_int_equal(uv_loop_init(&loop), 0);
    struct world *w = xnew(struct world);
    assert_int_equal(uv_prepare_init(&loop, &w->prepare), 0);
    w->prepare.data = w;
    assert_int_equal(uv_prepare_start(&w->prepare, on_prepare), 0);
    *state = w;
    return 0;
}

static int teardown(void **state)
{
    struct world *w = *state;
    elector_free(w->elector);
    uv_close((uv_handle_t *)&w->prepare, NULL);
    (void)uv_run(&loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&loop), 0);
    assert_int_equal(fake_kube_n_open(), 0);
    fake_kube_reset();
    free(w);
    return 0;
}

static void test_stop_between_renewals(void **state)
{
    struct world *w = *state;
    answer_write(w, lead(w));
    elector_release(w->elector, on_done, w);
    assert_false(elector_may_write(w->elector));
    struct kube_call *call = next_call(w);
    assert_string_equal(holder_in(call), "");
    assert_int_equal(w->n_done, 0);
    answer_write(w, call);
    run_until_done(w);
    assert_int_equal(w->n_changes, 1); /* on_change reports no loss */
}

static void test_stop_while_renewing(void **state)
{
    struct world *w = *state;
    struct kube_call *renewal = lead(w);
    elector_release(w->elector, on_done, w);
    (void)uv_run(&loop, UV_RUN_NOWAIT);
    assert_true(renewal->is_open); /* else nobody would know the version */
    assert_int_equal(fake_kube_n_open(), 1);
    answer_write(w, renewal);
    struct kube_call *call = next_call(w);
    assert_string_equal(holder_in(call), "");
    answer_write(w, call);
    run_until_done(w);
}

static void test_stop_when_nothing_answers(void **state)
{
    struct world *w = *state;
    (void)lead(w);
    const int64_t before_ns = clock_monotonic_ns();
    elector_release(w->elector, on_done, w);
    run_until_done(w);
    const int64_t took_ns = clock_monotonic_ns() - before_ns;
    assert_true(took_ns > 3 * S_NS && took_ns < 6 * S_NS);
    assert_int_equal(fake_kube_n_open(), 0);
}

static void test_stop_before_leading(void **state)
{
    struct world *w = *state;
    const struct kube_lease_params params = {.ns = "n", .name = "benchd", .identity = "me"};
    w->elector = elector_new(NULL, &params, on_change, w);
    elector_release(w->elector, on_done, w);
    assert_int_equal(w->n_done, 0); /* never from inside the call */
    run_until_done(w);
    assert_int_equal(fake_kube.n, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_stop_between_renewals, setup, teardown),
        cmocka_unit_test_setup_teardown(test_stop_while_renewing, setup, teardown),
        cmocka_unit_test_setup_teardown(test_stop_when_nothing_answers, setup, teardown),
        cmocka_unit_test_setup_teardown(test_stop_before_leading, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
