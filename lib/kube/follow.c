/* One container's log to its end, see follow.h. Edge file: libuv's timer.
 *
 *   OPEN --stream ends--> container ended? --yes--> over
 *     ^                        | no, or a failure
 *     '------ back-off --------' */
#include "kube/follow.h"

#include <uv.h>

#include "base/mem.h"
#include "kube/retry.h"

#define NS_PER_MS INT64_C(1000000)
#define BACKOFF_MIN_NS (200 * NS_PER_MS)
#define BACKOFF_MAX_NS (3000 * NS_PER_MS)
#define LATE_MS 10000 /* how long a stream may outlive its container */
#define TRIES_AFTER_END 5 /* a node that is gone does not give its log any more */

struct kube_follow {
    struct kube_client *client;
    struct kube_follow_params params;
    char *ns, *pod, *container; /* copies */
    struct kube_log_cursor cursor;
    struct kube_backoff backoff;
    uv_timer_t timer;
    struct kube_stream *stream; /* NULL: between two */
    bool has_container_ended, is_over;
    unsigned tries_after_end;
};

static void open_stream(struct kube_follow *f);

static void on_timer(uv_timer_t *timer)
{
    open_stream(timer->data);
}

static void wait_then_open(struct kube_follow *f, int64_t wait_ns)
{
    if (f->has_container_ended) {
        open_stream(f); /* a few more tries, at once: the timer guards the end now */
        return;
    }
    uv_update_time(kube_client_loop(f->client)); /* timers count from the loop's idea of now */
    (void)uv_timer_start(&f->timer, on_timer, (uint64_t)(wait_ns / NS_PER_MS), 0); /* not closing */
}

static void on_data(void *ctx, const char *data, size_t len)
{
    struct kube_follow *f = ctx;
    kube_backoff_reset(&f->backoff);
    kube_log_cursor_feed(&f->cursor, data, len);
}

static void end(struct kube_follow *f, int r, const struct err *err)
{
    kube_log_cursor_end(&f->cursor);
    f->is_over = true;
    (void)uv_timer_stop(&f->timer); /* cannot fail */
    f->params.on_end(f->params.ctx, r, err);
}

static void on_end(void *ctx, int r, const struct kube_response *res, const struct err *err)
{
    (void)res;
    struct kube_follow *f = ctx;
    f->stream = NULL;
    f->tries_after_end += f->has_container_ended;
    if (r == -ENOENT || r == -EACCES || (r == 0 && f->has_container_ended) ||
        f->tries_after_end >= TRIES_AFTER_END) {
        end(f, r, err);
        return;
    }
    wait_then_open(f, kube_backoff_next(&f->backoff));
}

/* A lost node can leave the stream open for ever. */
static void on_late(uv_timer_t *timer)
{
    struct kube_follow *f = timer->data;
    if (f->stream != NULL) {
        kube_stream_cancel(f->stream);
        f->stream = NULL;
    }
    struct err err;
    const int r = err_set(&err, ETIMEDOUT, "follow the log of pod '%s': no end within %d s",
                          f->pod, (int)(LATE_MS / 1000));
    end(f, r, &err);
}

static void open_stream(struct kube_follow *f)
{
    static const struct kube_stream_ops ops = {.on_data = on_data, .on_end = on_end};
    char since[KUBE_LOG_SINCE_SIZE];
    struct kube_log_options options = {
        .container = f->container, .follow = true, .timestamps = true,
        .since_time = kube_log_cursor_reopen(&f->cursor, since) ? since : NULL};
    struct kube_request req;
    kube_request_log(f->ns, f->pod, &options, &req);
    f->stream = kube_stream_open(f->client, &req, KUBE_POOL_FOLLOW, &ops, f);
}

struct kube_follow *kube_follow_new(struct kube_client *client,
                                    const struct kube_follow_params *params)
{
    struct kube_follow *f = xnew(struct kube_follow);
    f->client = client;
    f->params = *params;
    f->ns = xstrdup(params->ns);
    f->pod = xstrdup(params->pod);
    f->container = params->container == NULL ? NULL : xstrdup(params->container);
    kube_log_cursor_init(&f->cursor, 0, params->on_line, params->ctx);
    kube_backoff_init(&f->backoff, BACKOFF_MIN_NS, BACKOFF_MAX_NS, params->seed);
    (void)uv_timer_init(kube_client_loop(client), &f->timer); /* cannot fail */
    f->timer.data = f;
    open_stream(f);
    return f;
}

void kube_follow_container_ended(struct kube_follow *f)
{
    if (f->has_container_ended || f->is_over) {
        return;
    }
    f->has_container_ended = true;
    if (f->stream == NULL) {
        open_stream(f);
    }
    uv_update_time(kube_client_loop(f->client)); /* as above */
    (void)uv_timer_start(&f->timer, on_late, LATE_MS, 0); /* not closing */
}

static void on_closed(uv_handle_t *handle)
{
    struct kube_follow *f = handle->data;
    free(f);
}

void kube_follow_free(struct kube_follow *f)
{
    if (f == NULL) {
        return;
    }
    if (f->stream != NULL) {
        kube_stream_cancel(f->stream);
    }
    kube_log_cursor_done(&f->cursor);
    free(f->ns);
    free(f->pod);
    free(f->container);
    uv_close((uv_handle_t *)&f->timer, on_closed);
}
