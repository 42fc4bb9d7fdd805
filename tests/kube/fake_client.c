/* See fake_client.h. */
#include "fake_client.h"

#define NS_PER_MS 1000000

struct fake_client fake_client;

/* --- the clock and the only timer --- */

uint64_t __wrap_uv_hrtime(void);
uint64_t __wrap_uv_hrtime(void)
{
    return (uint64_t)fake_client.now_ns;
}

uint64_t __wrap_uv_now(const uv_loop_t *loop);
uint64_t __wrap_uv_now(const uv_loop_t *loop)
{
    (void)loop;
    return (uint64_t)(fake_client.now_ns / NS_PER_MS);
}

int __wrap_uv_timer_start(uv_timer_t *handle, uv_timer_cb on_timer, uint64_t wait_ms,
                          uint64_t repeat_ms);
int __wrap_uv_timer_start(uv_timer_t *handle, uv_timer_cb on_timer, uint64_t wait_ms,
                          uint64_t repeat_ms)
{
    assert_int_equal(repeat_ms, 0);
    fake_client.timer.handle = handle;
    fake_client.timer.on_timer = on_timer;
    fake_client.timer.due_ns = fake_client.now_ns + (int64_t)wait_ms * NS_PER_MS;
    return 0;
}

int __wrap_uv_timer_stop(uv_timer_t *handle);
int __wrap_uv_timer_stop(uv_timer_t *handle)
{
    assert_true(fake_client.timer.handle == NULL || fake_client.timer.handle == handle);
    fake_client.timer.handle = NULL;
    return 0;
}

void fake_client_pass(int64_t ns)
{
    const int64_t end_ns = fake_client.now_ns + ns;
    for (int i = 0; fake_client.timer.handle != NULL && fake_client.timer.due_ns <= end_ns; i++) {
        if (i > 1000) {
            fail_msg("a timer fires in a busy loop");
        }
        uv_timer_t *handle = fake_client.timer.handle;
        fake_client.timer.handle = NULL;
        fake_client.now_ns = fake_client.timer.due_ns;
        fake_client.timer.on_timer(handle);
    }
    fake_client.now_ns = end_ns;
}

void fake_client_init(void)
{
    fake_client = (struct fake_client){.now_ns = 100 * S_NS};
    assert_int_equal(uv_loop_init(&fake_client.loop), 0);
}

void fake_client_done(void)
{
    for (size_t i = 0; i < fake_client.n_calls; i++) {
        assert_false(fake_client.calls[i].is_open);
        kube_request_done(&fake_client.calls[i].req);
    }
    for (size_t i = 0; i < fake_client.n_streams; i++) {
        assert_false(fake_client.streams[i].is_open);
        kube_request_done(&fake_client.streams[i].req);
    }
    (void)uv_run(&fake_client.loop, UV_RUN_DEFAULT); /* close callbacks */
    assert_int_equal(uv_loop_close(&fake_client.loop), 0);
}

/* --- the client --- */

struct uv_loop_s *kube_client_loop(const struct kube_client *c)
{
    (void)c;
    return &fake_client.loop;
}

struct kube_call *kube_call(struct kube_client *c, struct kube_request *req,
                            const struct kube_call_options *options, kube_done_fn on_done,
                            void *ctx)
{
    (void)c;
    assert_true(fake_client.n_calls < FAKE_CLIENT_MAX);
    struct kube_call *call = &fake_client.calls[fake_client.n_calls++];
    *call = (struct kube_call){.req = *req, .on_done = on_done, .ctx = ctx, .is_open = true};
    if (options != NULL) {
        call->options = *options;
    }
    *req = (struct kube_request){0};
    return call;
}

void kube_call_cancel(struct kube_call *call)
{
    if (call != NULL) {
        assert_true(call->is_open); /* a finished call is forgotten by its owner */
        call->is_open = false;
    }
}

struct kube_stream *kube_stream_open(struct kube_client *c, struct kube_request *req,
                                     enum kube_pool pool, const struct kube_stream_ops *ops,
                                     void *ctx)
{
    (void)c;
    (void)pool;
    assert_true(fake_client.n_streams < FAKE_CLIENT_MAX);
    struct kube_stream *s = &fake_client.streams[fake_client.n_streams++];
    *s = (struct kube_stream){.req = *req, .ops = *ops, .ctx = ctx, .is_open = true};
    *req = (struct kube_request){0};
    return s;
}

void kube_stream_cancel(struct kube_stream *s)
{
    if (s != NULL) {
        assert_true(s->is_open);
        s->is_open = false;
    }
}

void kube_stream_abandon(struct kube_stream *s)
{
    kube_stream_cancel(s);
    s->is_abandoned = true;
}

/* --- the server --- */

struct kube_stream *fake_client_stream(void)
{
    struct kube_stream *found = NULL;
    for (size_t i = 0; i < fake_client.n_streams; i++) {
        if (fake_client.streams[i].is_open) {
            assert_null(found); /* else two are open */
            found = &fake_client.streams[i];
        }
    }
    assert_non_null(found);
    return found;
}

void fake_client_data(struct kube_stream *s, const char *data)
{
    s->ops.on_data(s->ctx, data, strlen(data));
}

static struct kube_response response(int http_code, const char *body)
{
    struct kube_response res =
        response_of(http_code == 0 ? KUBE_UNREACHABLE : KUBE_ANSWERED, http_code, body);
    res.failure_text = "";
    return res;
}

void fake_client_end(struct kube_stream *s, int http_code)
{
    assert_true(s->is_open);
    s->is_open = false;
    struct err err = {0};
    const struct kube_response res = response(http_code, "");
    s->ops.on_end(s->ctx, kube_check(&s->req, &res, &err), &res, &err);
}

void fake_client_answer(struct kube_call *call, int http_code, const char *body)
{
    assert_true(call->is_open);
    call->is_open = false;
    struct err err = {0};
    const struct kube_response res = response(http_code, body);
    call->on_done(call->ctx, kube_check(&call->req, &res, &err), &res, &err);
}
