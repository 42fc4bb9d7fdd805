/* See stream.h. */
#include "daemon/web/stream.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>

#include "base/mem.h"
#include "base/str.h"
#include "base/vec_walk.h"
#include "daemon/web/response_body.h"
#include "daemon/web/live_events.h"

#define CHUNK_BYTES 1024
#define SEND_BUFFER_BYTES 16384 /* the kernel keeps so much (doubled) for one that does not read */
#define UNREAD_MS 15000u        /* then the kernel gives such a connection up */

/* One run that somebody follows, or the list. */
struct topic {
    char *run; /* owned; "": the list */
    size_t n_users;
    char id[LIVE_ID_SIZE];
    struct body *event; /* referenced; the newest */
    bool is_last;
};

struct stream {
    struct streams *all;
    struct MHD_Connection *connection;
    struct topic *topic;   /* used */
    struct body *sending;  /* referenced; NULL: all is sent */
    size_t sent;           /* bytes of it */
    char id[LIVE_ID_SIZE]; /* of the last event that was begun; "": none */
    uint64_t sent_ms;      /* when something was sent last */
    bool is_asleep;        /* suspended */
};

struct streams {
    struct streams_params params;
    uv_timer_t tick;
    VEC(struct stream *) list;
    VEC(struct topic *) topics;
    struct daemon_runs *seen; /* referenced: the topics show it; NULL: none yet */
    struct body *hello, *beat;
    bool is_stopping;
};

/* ---- topics ---- */

static void topic_refresh(struct topic *t, const struct daemon_runs *runs)
{
    _cleanup_(live_event_done) struct live_event event = {0};
    if (live_event_make(runs, t->run, &event, NULL) < 0) {
        t->is_last = true; /* it is not shown any more: what was sent is the end of it */
        return;
    }
    /* Also where it is shown again as it was: one that reads slowly keeps the topic. */
    t->is_last = event.is_last;
    if (!str_eq(t->id, event.id)) {
        memcpy(t->id, event.id, sizeof(t->id));
        body_unref(t->event);
        t->event = body_new(&event.text, LIVE_TYPE);
    }
}

/* Reads what the daemon shows; makes the events of what is followed if that
 * is not what was seen. */
static void read_view(struct streams *s)
{
    _cleanup_(daemon_snapshot_done) struct daemon_snapshot now = {0};
    daemon_view_read(s->params.view, &now);
    if (now.runs != s->seen) { /* a list is never changed, and this one is kept: another is news */
        daemon_runs_unref(s->seen);
        s->seen = daemon_runs_ref(now.runs);
        vec_each (struct topic *, t, &s->topics) {
            topic_refresh(*t, s->seen);
        }
    }
}

static struct topic *topic_use(struct streams *s, const char *run)
{
    struct topic *t = vec_find_item(&s->topics, it, str_eq(it->run, run));
    if (t == NULL) {
        t = xnew(struct topic);
        t->run = xstrdup(run);
        topic_refresh(t, s->seen);
        *vec_push(&s->topics) = t;
    }
    t->n_users++;
    return t;
}

static void topic_leave(struct streams *s, struct topic *topic)
{
    if (--topic->n_users > 0) {
        return;
    }
    vec_take_out(&s->topics, topic);
    body_unref(topic->event);
    free(topic->run);
    free(topic);
}

/* ---- one follower ---- */

/* What is to be sent next; NULL: nothing is due. */
static struct body *find_due(const struct stream *stream)
{
    const struct streams *s = stream->all;
    const struct topic *t = stream->topic;
    if (t->event != NULL && !str_eq(stream->id, t->id)) {
        return t->event;
    }
    return uv_now(s->params.loop) - stream->sent_ms >= STREAM_BEAT_MS ? s->beat : NULL;
}

static bool is_over(const struct stream *stream)
{
    return stream->all->is_stopping || stream->topic->is_last;
}

/* Asked by MHD when the socket takes more. */
static ssize_t on_read(void *ctx, uint64_t position, char *out, size_t max)
{
    struct stream *stream = ctx;
    (void)position;
    if (stream->sending == NULL) {
        struct body *due = find_due(stream);
        if (due == NULL && is_over(stream)) {
            return MHD_CONTENT_READER_END_OF_STREAM;
        }
        if (due == NULL) {
            stream->is_asleep = true;
            MHD_suspend_connection(stream->connection); /* on_tick resumes it, on this thread */
            return 0;
        }
        stream->sending = body_ref(due);
        stream->sent = 0;
        if (due == stream->topic->event) {
            memcpy(stream->id, stream->topic->id, sizeof(stream->id));
        }
    }
    const size_t left = stream->sending->len - stream->sent, n = left < max ? left : max;
    memcpy(out, stream->sending->data + stream->sent, n);
    stream->sent += n;
    if (n == left) {
        body_unref(stream->sending);
        stream->sending = NULL;
    }
    stream->sent_ms = uv_now(stream->all->params.loop);
    return (ssize_t)n;
}

/* MHD has done with the response: the client left, or was closed. */
static void on_gone(void *ctx)
{
    struct stream *stream = ctx;
    struct streams *s = stream->all;
    vec_take_out(&s->list, stream);
    if (s->list.len == 0) {
        (void)uv_timer_stop(&s->tick); /* never fails */
        daemon_view_set_followed(s->params.view, false);
    }
    body_unref(stream->sending);
    topic_leave(s, stream->topic);
    free(stream);
}

static bool wake_due(struct streams *s)
{
    bool is_any = false;
    vec_each (struct stream *, stream, &s->list) {
        if ((*stream)->is_asleep && (find_due(*stream) != NULL || is_over(*stream))) {
            (*stream)->is_asleep = false;
            MHD_resume_connection((*stream)->connection);
            is_any = true;
        }
    }
    return is_any;
}

static void on_tick(uv_timer_t *tick)
{
    struct streams *s = tick->data;
    read_view(s);
    if (wake_due(s)) {
        s->params.on_resumed(s->params.ctx);
    }
}

/* What a follower does not read waits in the kernel: little, and not for long. */
static void bound_socket(struct MHD_Connection *connection)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    const int bytes = SEND_BUFFER_BYTES;
    const unsigned unread_ms = UNREAD_MS;
    if (info != NULL) { /* these fail on no socket of TCP; the limits of MHD hold without them */
        (void)setsockopt(info->connect_fd, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof(bytes));
        (void)setsockopt(info->connect_fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &unread_ms,
                         sizeof(unread_ms));
    }
}

struct MHD_Response *streams_open(struct streams *s, struct MHD_Connection *connection,
                                  const char *run, const char *last_id)
{
    if (s->list.len == STREAMS_MAX || s->is_stopping) {
        return NULL;
    }
    read_view(s);
    struct stream *stream = xnew(struct stream);
    *stream = (struct stream){.all = s, .connection = connection, .topic = topic_use(s, run)};
    stream->sending = body_ref(s->hello);
    stream->sent_ms = uv_now(s->params.loop);
    if (last_id != NULL && str_eq(last_id, stream->topic->id)) {
        memcpy(stream->id, stream->topic->id, sizeof(stream->id));
    }
    *vec_push(&s->list) = stream;
    struct MHD_Response *response =
        MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, CHUNK_BYTES, on_read, stream, on_gone);
    if (response == NULL) {
        on_gone(stream);
        return NULL;
    }
    bound_socket(connection);
    /* Not closing: cannot fail. One that ticks already goes on as it does. */
    if (!uv_is_active((uv_handle_t *)&s->tick)) {
        (void)uv_timer_start(&s->tick, on_tick, STREAM_TICK_MS, STREAM_TICK_MS);
        daemon_view_set_followed(s->params.view, true);
    }
    return response;
}

/* ---- all ---- */

static struct body *comment(const char *text)
{
    struct buf buf = BUF_INIT;
    buf_puts(&buf, text);
    return body_new(&buf, LIVE_TYPE);
}

struct streams *streams_new(const struct streams_params *params)
{
    struct streams *s = xnew(struct streams);
    s->params = *params;
    (void)uv_timer_init(params->loop, &s->tick); /* sets fields only */
    s->tick.data = s;
    s->hello = comment(": benchd\nretry: 2000\n\n");
    s->beat = comment(": still here\n\n");
    return s;
}

void streams_stop(struct streams *s)
{
    s->is_stopping = true;
    (void)wake_due(s);
    uv_close((uv_handle_t *)&s->tick, NULL);
}

void streams_free(struct streams *s)
{
    if (s == NULL) {
        return;
    }
    daemon_runs_unref(s->seen);
    body_unref(s->hello);
    body_unref(s->beat);
    vec_done(&s->list);
    vec_done(&s->topics);
    free(s);
}

size_t streams_count(const struct streams *s)
{
    return s->list.len;
}
