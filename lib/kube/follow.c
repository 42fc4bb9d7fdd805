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
#define LATE_MS 10000U    /* how long a stream may outlive its container */
#define TRIES_AFTER_END 5 /* answers: a node that is gone cannot serve its log */

struct kube_follow {
    struct kube_client *client;
    struct kube_follow_params params;
    char *ns, *pod, *container; /* copies */
    struct kube_log_cursor cursor;
    struct kube_backoff backoff;
    uv_timer_t timer;
    struct kube_stream *stream; /* NULL: between two streams */
    bool has_container_ended, is_over;
    uint64_t late_ms; /* in the loop's time: when to give up, once the container has ended */
    unsigned tries_after_end;
};

static void open_stream(struct kube_follow *f);

static void give_up(struct kube_follow *f);

static void on_timer(uv_timer_t *timer)
{
    struct kube_follow *f = timer->data;
    if (f->has_container_ended && uv_now(kube_client_loop(f->client)) >= f->late_ms) {
        give_up(f);
    } else if (f->stream == NULL) {
        open_stream(f);
    }
}

/* Not later than late_ms. */
static void wake_in(struct kube_follow *f, uint64_t wait_ms)
{
    uv_loop_t *loop = kube_client_loop(f->client);
    uv_update_time(loop); /* timers count from the loop's cached time */
    if (f->has_container_ended) {
        const uint64_t left_ms = f->late_ms > uv_now(loop) ? f->late_ms - uv_now(loop) : 0;
        wait_ms = wait_ms < left_ms ? wait_ms : left_ms;
    }
    (void)uv_timer_start(&f->timer, on_timer, wait_ms, 0); /* not closing */
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
    struct kube_follow *f = ctx;
    const bool is_answer = res->failure == KUBE_ANSWERED;
    f->stream = NULL;
    f->tries_after_end += f->has_container_ended && is_answer;
    if (r == -ENOENT || r == -EACCES || (r == 0 && f->has_container_ended) ||
        f->tries_after_end >= TRIES_AFTER_END) {
        end(f, r, err);
        return;
    }
    if (f->params.on_break != NULL) {
        f->params.on_break(f->params.ctx);
    }
    /* After the container's end a node that refuses keeps refusing, so there is no reason to wait;
     * a server that is unreachable may come back. */
    wake_in(f, f->has_container_ended && is_answer
                   ? 0
                   : (uint64_t)(kube_backoff_next(&f->backoff) / NS_PER_MS));
}

/* A lost node can leave the stream open forever. */
static void give_up(struct kube_follow *f)
{
    if (f->stream != NULL) {
        kube_stream_abandon(f->stream);
        f->stream = NULL;
    }
    struct err err;
    const int r = err_set(&err, ETIMEDOUT, "follow the log of pod '%s': no end within %u s", f->pod,
                          LATE_MS / 1000);
    end(f, r, &err);
}

static void open_stream(struct kube_follow *f)
{
    static const struct kube_stream_ops ops = {.on_data = on_data, .on_end = on_end};
    char since[KUBE_LOG_SINCE_SIZE];
    struct kube_log_options options = {
        .container = f->container,
        .follow = true,
        .timestamps = true,
        .since_time = kube_log_cursor_reopen(&f->cursor, since) ? since : NULL};
    struct kube_request req;
    kube_request_log(f->ns, f->pod, &options, &req);
    f->stream = kube_stream_open(f->client, &req, KUBE_POOL_FOLLOW, &ops, f);
    if (f->has_container_ended) {
        wake_in(f, LATE_MS);
    }
}

struct kube_follow *kube_follow_new(struct kube_client *client,
                                    const struct kube_follow_params *params)
{
    struct kube_follow *f = xnew(struct kube_follow);
    f->client = client;
    f->params = *params;
    f->ns = xstrdup(params->ns);
    f->pod = xstrdup(params->pod);
    f->container = xstrdup_or_null(params->container);
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
    uv_update_time(kube_client_loop(f->client));
    f->late_ms = uv_now(kube_client_loop(f->client)) + LATE_MS;
    wake_in(f, f->stream == NULL ? 0 : LATE_MS);
}

static void on_closed(uv_handle_t *handle)
{
    free(handle->data);
}

int64_t kube_follow_line_ns(const struct kube_follow *f)
{
    return f->cursor.last_ns;
}

void kube_follow_free(struct kube_follow *f)
{
    if (f == NULL) {
        return;
    }
    kube_stream_cancel(f->stream);
    kube_log_cursor_done(&f->cursor);
    free(f->ns);
    free(f->pod);
    free(f->container);
    uv_close((uv_handle_t *)&f->timer, on_closed);
}
