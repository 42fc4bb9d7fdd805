/* One container's log to its end, see follow.h. Edge file: libuv's timer.
 *
 *   OPEN --stream ends--> container ended? --yes--> must it be whole? --no--> over
 *     ^                        | no, or a failure         | yes               ^
 *     '------ back-off --------'                          '--> HEAD is read --' */
#include "kube/follow.h"

#include <uv.h>

#include "base/mem.h"
#include "kube/retry.h"

#define NS_PER_MS INT64_C(1000000)
#define BACKOFF_MIN_NS (200 * NS_PER_MS)
#define BACKOFF_MAX_NS (3000 * NS_PER_MS)
#define LATE_MS 10000U    /* how long a stream may be silent after its container's end */
#define TRIES_AFTER_END 5 /* answers: a node that is gone cannot serve its log */
/* Less than a file was printed in that time, which follows from what was printed after it. */
#define UNSEEN_MAX_NS (10000 * NS_PER_MS)
/* The start is known to the second, and benchd needs some time to open the log. */
#define UNSEEN_MIN_NS (3000 * NS_PER_MS)
#define HEAD_BYTES 64 /* has a time stamp */

struct kube_follow {
    struct kube_client *client;
    struct kube_follow_params params;
    char *ns, *pod, *container; /* copies */
    struct kube_log_cursor cursor;
    struct kube_backoff backoff;
    uv_timer_t timer;
    struct kube_stream *stream; /* NULL: between two streams */
    struct kube_call *head;     /* NULL: not being read */
    bool has_container_ended, is_over, has_begun;
    uint64_t opened_ns; /* the latest stream, of uv_hrtime() */
    int64_t waited_ns;  /* from then until the first line came */
    uint64_t late_ms;   /* in the loop's time: when to give up, once the container has ended */
    unsigned tries_after_end;
};

static void open_stream(struct kube_follow *f);
static void give_up(struct kube_follow *f);
static void wake_in(struct kube_follow *f, uint64_t wait_ms);

static void on_timer(uv_timer_t *timer)
{
    struct kube_follow *f = timer->data;
    if (f->has_container_ended && uv_now(kube_client_loop(f->client)) >= f->late_ms) {
        give_up(f);
    } else if (f->stream == NULL) {
        open_stream(f);
    } else {
        wake_in(f, LATE_MS); /* bytes have come since */
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
    if (f->has_container_ended) {
        f->late_ms = uv_now(kube_client_loop(f->client)) + LATE_MS;
    }
    kube_log_cursor_feed(&f->cursor, data, len);
}

/* ---- is it whole? ---- */

static bool may_lack_lines(const struct kube_follow *f, int64_t unseen_max_ns)
{
    const bool saw_wait = f->params.saw_wait;
    const int64_t start_ns = f->params.started_unix_ms * NS_PER_MS;
    return f->cursor.first_ns == INT64_MIN /* no line at all */
               ? !saw_wait
               : f->cursor.first_ns - start_ns - (saw_wait ? f->waited_ns : 0) > unseen_max_ns;
}

static void on_line(void *ctx, const char *line, size_t len)
{
    struct kube_follow *f = ctx;
    if (!f->has_begun && f->cursor.first_ns != INT64_MIN) {
        f->has_begun = true;
        f->waited_ns = (int64_t)(uv_hrtime() - f->opened_ns);
        if (f->params.file_bytes > 0 && may_lack_lines(f, UNSEEN_MAX_NS)) {
            f->params.on_line(f->params.ctx, KUBE_LOG_GAP, sizeof(KUBE_LOG_GAP) - 1);
        }
    }
    f->params.on_line(f->params.ctx, line, len);
}

/* `head`: how the newest file begins. */
static int check_whole(const struct kube_follow *f, const char *head, size_t len, struct err *err)
{
    const struct kube_log_cursor *c = &f->cursor;
    const int64_t seen_ns = f->waited_ns + (c->last_ns - c->first_ns);
    const int64_t unseen_max_ns = seen_ns > UNSEEN_MIN_NS ? seen_ns : UNSEEN_MIN_NS;
    const bool is_replaced = kube_log_line_time(head, len) != c->first_ns || c->has_gap;
    const bool is_fast =
        c->early_bytes >= f->params.file_bytes / (UNSEEN_MAX_NS / KUBE_LOG_EARLY_NS);
    if (!is_replaced && !is_fast) {
        return !may_lack_lines(f, unseen_max_ns < UNSEEN_MAX_NS ? unseen_max_ns : UNSEEN_MAX_NS)
                   ? 0
                   : err_set(err, ENODATA,
                             "lines may be missing, since it was not read from the start of its "
                             "container on; the next attempt may be read whole");
    }
    return err_set(err, ENODATA,
                   "lines may be missing, since the kubelet %s its file; print less than "
                   "containerLogMaxSize of the node (10 MiB by default), or raise it",
                   is_replaced ? "has replaced" : "may have replaced");
}

static void end(struct kube_follow *f, int r, const struct err *err)
{
    f->is_over = true;
    f->params.on_end(f->params.ctx, r, err);
}

static void on_head(void *ctx, int r, const struct kube_response *res, const struct err *err)
{
    struct kube_follow *f = ctx;
    struct err why = {0};
    f->head = NULL;
    r = r < 0 ? r : check_whole(f, res->body, res->body_len, &why);
    end(f, r, why.code != 0 ? &why : err);
}

/* The log has no more lines, or cannot be read. */
static void end_lines(struct kube_follow *f, int r, const struct err *err)
{
    kube_log_cursor_end(&f->cursor, r == 0);
    (void)uv_timer_stop(&f->timer); /* cannot fail */
    if (r < 0 || f->params.file_bytes == 0) {
        end(f, r, err);
        return;
    }
    struct kube_request req;
    kube_request_log(f->ns, f->pod,
                     &(struct kube_log_options){
                         .container = f->container, .timestamps = true, .limit_bytes = HEAD_BYTES},
                     &req);
    f->head = kube_call(f->client, &req, NULL, on_head, f);
}

static void on_end(void *ctx, int r, const struct kube_response *res, const struct err *err)
{
    struct kube_follow *f = ctx;
    const bool is_answer = res->failure == KUBE_ANSWERED;
    f->stream = NULL;
    f->tries_after_end += f->has_container_ended && is_answer;
    if (r == -ENOENT || r == -EACCES || (r == 0 && f->has_container_ended) ||
        f->tries_after_end >= TRIES_AFTER_END) {
        end_lines(f, r, err);
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
    const int r = err_set(&err, ETIMEDOUT, "follow the log of pod '%s': nothing came for %u s",
                          f->pod, LATE_MS / 1000);
    end_lines(f, r, &err);
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
    f->opened_ns = uv_hrtime();
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
    kube_log_cursor_init(&f->cursor, 0, on_line, f);
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
    kube_call_cancel(f->head);
    kube_log_cursor_done(&f->cursor);
    free(f->ns);
    free(f->pod);
    free(f->container);
    uv_close((uv_handle_t *)&f->timer, on_closed);
}
