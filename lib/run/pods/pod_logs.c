/* Logs of pods, see pod_logs.h. Records of a followed log go to on_record directly, not through the
 * tick: no decision depends on them. Where a system has a log rule, its reader makes the records,
 * and the summary when the log has ended. */
#include "run/pods/pod_logs.h"

#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "core/replica.h"
#include "core/record.h"
#include "kube/follow.h"
#include "run/pods/pods_internal.h"
#include "spec/log_rule.h"

#define ATTEMPT_MAX_BYTES ((size_t)64 << 20) /* shared by its members */
#define MEMBER_MAX_BYTES ((size_t)10 << 20)
/* Of a log that is read once. A kubelet rotates at 10 MiB unless configured otherwise; of more, the
 * head of the newest file is read. */
#define FETCH_MAX_BYTES ((uint64_t)32 << 20)
#define FETCH_TIMEOUT_NS (120 * INT64_C(1000000000))

/* Before the first line of the container there may be some of the kubelet without a time. */
static int64_t line_ns(const struct pod_member *m)
{
    const int64_t ns = kube_follow_line_ns(m->log.follow);
    return ns > 0 ? ns : 0;
}

/* A record of a log that is followed. */
static void report_record(struct pod_member *m, const struct record *record)
{
    const struct launcher *l = &m->owner->base;
    if (record->type == RECORD_STEP && !record->step.warmup) {
        m->log.measured_to_ns = line_ns(m);
        m->log.measured_from_ns = m->log.measured_to_ns - record->step.t_ns;
    }
    if (l->on_record != NULL) {
        l->on_record(l->ctx, &m->id, record);
    }
}

static void on_line(void *ctx, const char *line, size_t len)
{
    struct pod_member *m = ctx;
    struct record record;
    if (m->log.reader != NULL || line[0] != '{' || record_read(line, len, &record, NULL) <= 0) {
        return;
    }
    const struct record_who *who = &record.who;
    const bool is_its = who->role == m->id.role && who->index == m->id.index &&
                        who->attempt == m->id.attempt.number;
    if (is_its && record.type == RECORD_START) {
        json_decref(m->environment);
        m->environment = json_incref(record.start.environment);
    }
    if (is_its && m->log.step == POD_LOG_FOLLOWING) {
        report_record(m, &record);
    }
    record_done(&record);
}

/* The limit of one member's log; an attempt shares ATTEMPT_MAX_BYTES. */
static size_t max_bytes(const struct pod_member *m)
{
    const size_t n_gang = member_count(m->gang->spec.replicas);
    const size_t n = n_gang > 0 ? n_gang : m->owner->members.len;
    const size_t share = ATTEMPT_MAX_BYTES / (n > 0 ? n : 1);
    return share > MEMBER_MAX_BYTES ? MEMBER_MAX_BYTES : share;
}

/* A step that the log rule has found. */
static void on_step(void *ctx, const struct record *record)
{
    struct pod_member *m = ctx;
    report_record(m, record);
    if (log_reader_steps(m->log.reader) != LOG_STEPS_TOO_FEW) {
        pods_tick_soon(m->owner);
    }
}

/* Half a log may be half a result if none exists. */
static void end_reader(struct pod_member *m, const char *failure)
{
    log_reader_end_done(&m->log.end);
    if (failure == NULL) {
        log_reader_end(m->log.reader, line_ns(m), &m->log.end);
    } else {
        m->log.end.why = xasprintf("the log could not be read: %s", failure);
    }
}

/* `failure` NULL: the log was read to its end. */
static void finish(struct pod_member *m, const char *failure)
{
    if (failure != NULL) {
        _cleanup_(freep) char *line = xasprintf("benchd: the log could not be read: %s\n", failure);
        capture_feed(m->log.capture, CAPTURE_STDERR, line, strlen(line));
        m->log.is_explained = true; /* what it printed is unknown */
    }
    capture_end(m->log.capture);
    m->log.step = POD_LOG_THERE;
    m->has_news = true;
    pods_tick_soon(m->owner);
}

/* A line of benchd's own, at the place in the log where something is missing. */
static void mark(struct pod_member *m, const char *line)
{
    capture_feed(m->log.capture, CAPTURE_STDERR, line, strlen(line));
}

static void note_restarts(struct pod_member *m)
{
    if (m->state.n_restarts > m->log.n_restarts) {
        m->log.n_restarts = m->state.n_restarts;
        mark(m, "[benchd: the container was started again here; output may be missing]\n");
    }
}

static void drop_capture(struct pod_log *log)
{
    if (log->capture != NULL) {
        capture_done(log->capture);
        free(log->capture);
        log->capture = NULL;
    }
}

static void begin_capture(struct pod_member *m)
{
    m->log.capture = xnew(struct capture);
    capture_init(m->log.capture, max_bytes(m), on_line, m);
}

/* ---- following ---- */

static void on_follow_line(void *ctx, const char *line, size_t len)
{
    struct pod_member *m = ctx;
    m->log.output_unix_ms = clock_steady_unix_ms();
    capture_feed(m->log.capture, CAPTURE_STDOUT, line, len);
    capture_feed(m->log.capture, CAPTURE_STDOUT, "\n", 1);
    if (m->log.reader != NULL) {
        const int64_t t_ns = line_ns(m);
        log_reader_feed(m->log.reader, LOG_STDOUT, line, len, t_ns);
        log_reader_feed(m->log.reader, LOG_STDOUT, "\n", 1, t_ns);
    }
}

/* Whether it wrote in between is unknown, so its silence begins anew. */
static void on_follow_break(void *ctx)
{
    struct pod_member *m = ctx;
    m->log.output_unix_ms = clock_steady_unix_ms();
}

static void on_follow_end(void *ctx, int r, const struct err *err)
{
    struct pod_member *m = ctx;
    if (m->log.reader != NULL) {
        end_reader(m, r < 0 ? err->msg : NULL);
    }
    if (m->log.reader != NULL && r < 0 && r != -EACCES && m->state.state == REPLICA_SUCCEEDED) {
        pod_member_fail(m, FAILURE_INFRASTRUCTURE, m->log.end.why, m->owner->params.now_ns());
    }
    kube_follow_free(m->log.follow);
    finish(m, r < 0 ? err->msg : NULL);
}

/* Where a webhook added others. Borrowed; NULL: its pod is not known, and has one. */
static const char *container_of(const struct pod_member *m)
{
    const struct kube_object *object = kube_cache_get(m->owner->params.cache, m->name);
    const struct pod_facts *pod = object == NULL ? NULL : object->facts;
    return pod == NULL || *pod->container == '\0' ? NULL : pod->container;
}

static void start_follow(struct pod_member *m)
{
    const struct pods_params *params = &m->owner->params;
    begin_capture(m);
    if (pod_logs_has_figures(m)) {
        const struct log_parser_params rule = log_rule_params(params->def, &m->id);
        m->log.reader = log_reader_new(&rule, &m->id, on_step, m);
    }
    m->log.step = POD_LOG_FOLLOWING;
    m->log.output_unix_ms = clock_steady_unix_ms();
    m->log.follow = kube_follow_new(
        params->client, &(struct kube_follow_params){
                            .ns = params->ns,
                            .pod = m->name,
                            .container = container_of(m),
                            .on_line = on_follow_line,
                            .on_break = on_follow_break,
                            .on_end = on_follow_end,
                            .ctx = m,
                            .seed = params->seed,
                            .file_bytes = m->log.reader != NULL ? params->log_file_bytes : 0,
                            .saw_wait = !m->was_running,
                            .started_unix_ms = m->state.started_unix_ms,
                        });
}

/* ---- programs that benchd ends after their steps ---- */

static enum log_reader_steps steps_of(const struct pod_member *m)
{
    return m->log.reader == NULL ? LOG_STEPS_TOO_FEW : log_reader_steps(m->log.reader);
}

static bool is_peer(const struct pod_member *m, const struct pod_member *other)
{
    return attempt_id_eq(&m->id.attempt, &other->id.attempt) && pod_logs_leads(other);
}

static void complete(struct pod_member *m)
{
    if (m->log.step == POD_LOG_FOLLOWING && !pod_member_has_ended(m)) {
        end_reader(m, NULL);
        kube_follow_free(m->log.follow);
        finish(m, NULL);
        pod_member_complete(m);
    }
}

void pod_logs_end_after_steps(struct pods *l)
{
    vec_each (struct pod_member *, it, &l->members) {
        const enum log_reader_steps steps = steps_of(*it);
        const bool is_over = steps == LOG_STEPS_ENOUGH_FOR_ALL ||
                             (steps == LOG_STEPS_ENOUGH &&
                              vec_all(&l->members, m, !is_peer(*it, *m) || steps_of(*m) == steps));
        vec_each (struct pod_member *, m, &l->members) {
            if (is_over && is_peer(*it, *m)) {
                complete(*m);
            }
        }
    }
}

/* ---- reading once ---- */

static void begin_fetch(struct pod_member *m)
{
    begin_capture(m);
    m->log.n_restarts = 0;
    m->log.n_fetched = 0;
    note_restarts(m);
}

static void on_piece(void *ctx, const char *data, size_t len)
{
    struct pod_member *m = ctx;
    m->log.n_fetched += len;
    capture_feed(m->log.capture, CAPTURE_STDOUT, data, len);
}

/* What came of the first answer comes again. */
static void on_again(void *ctx)
{
    struct pod_member *m = ctx;
    drop_capture(&m->log);
    begin_fetch(m);
}

static void on_fetched(void *ctx, int r, const struct kube_response *res, const struct err *err)
{
    struct pod_member *m = ctx;
    (void)res; /* on_piece had its body */
    if (r == 0 && m->log.n_fetched >= FETCH_MAX_BYTES) {
        mark(m, "\n[benchd: the rest of the log was not read: it has more than 32 MiB]\n");
    }
    finish(m, r < 0 ? err->msg : NULL);
}

static void start_fetch(struct pod_member *m)
{
    const struct pods_params *params = &m->owner->params;
    begin_fetch(m);
    m->log.step = POD_LOG_FETCHING;
    struct kube_request req;
    kube_request_log(
        params->ns, m->name,
        &(struct kube_log_options){.container = container_of(m), .limit_bytes = FETCH_MAX_BYTES},
        &req);
    m->log.call = kube_call(params->client, &req,
                            &(struct kube_call_options){.pool = KUBE_POOL_FOLLOW,
                                                        .timeout_ns = FETCH_TIMEOUT_NS,
                                                        .max_tries = 3,
                                                        .on_data = on_piece,
                                                        .on_again = on_again},
                            on_fetched, m);
}

int64_t pod_logs_last_output(const struct pod_member *m)
{
    return m->log.step == POD_LOG_FOLLOWING ? m->log.output_unix_ms : 0;
}

/* ---- what is due ---- */

bool pod_logs_leads(const struct pod_member *m)
{
    const struct matrix *matrix = &m->owner->params.def->matrix;
    const uint32_t point = m->id.attempt.point;
    return point < matrix->n_points && role_leads(m->id.role, matrix->points[point].replicas);
}

bool pod_logs_has_figures(const struct pod_member *m)
{
    return pod_logs_leads(m) && !m->state.is_simulated &&
           log_rule_params(m->owner->params.def, &m->id).rule != NULL;
}

bool pod_logs_is_awaited(const struct pod_member *m)
{
    const bool is_complete = m->log.step == POD_LOG_THERE || m->log.step == POD_LOG_CLOSED;
    return m->state.state == REPLICA_SUCCEEDED && !is_complete && pod_logs_has_figures(m);
}

static bool is_shown_live(const struct pod_member *m)
{
    return pod_logs_leads(m) && m->id.index == 0 && m->state.has_started &&
           !m->state.is_simulated && m->state.state == REPLICA_RUNNING;
}

/* A short program may have ended before it was seen to run. */
static bool is_read_for_figures(const struct pod_member *m)
{
    const bool runs_or_ran =
        m->state.state == REPLICA_RUNNING || m->state.state == REPLICA_SUCCEEDED;
    return m->state.has_started && runs_or_ran && member_life_has_uid(m->life) &&
           pod_logs_has_figures(m);
}

void pod_logs_tick(struct pod_member *m)
{
    if (m->log.step == POD_LOG_NONE && (is_shown_live(m) || is_read_for_figures(m))) {
        start_follow(m);
    } else if (m->log.step == POD_LOG_WANTED) {
        start_fetch(m);
    }
    if (m->log.step == POD_LOG_FOLLOWING) {
        note_restarts(m);
    }
    if (m->log.step == POD_LOG_FOLLOWING && pod_member_has_ended(m)) {
        kube_follow_container_ended(m->log.follow);
    }
}

int pod_logs_collect(struct pod_member *m)
{
    const bool has_log =
        member_life_has_uid(m->life) && m->state.has_started && !m->state.is_simulated;
    switch (m->log.step) {
    case POD_LOG_NONE:
        if (!has_log) {
            return 0;
        }
        m->log.step = POD_LOG_WANTED;
        pods_tick_soon(m->owner);
        return -EAGAIN;
    case POD_LOG_FOLLOWING:
        /* The follow ends with its container; one that lives on is cut here. */
        return pod_member_has_ended(m) ? -EAGAIN : 0;
    case POD_LOG_WANTED:
    case POD_LOG_FETCHING:
        return -EAGAIN;
    case POD_LOG_THERE:
    case POD_LOG_CLOSED:
        return 0;
    }
    return 0;
}

/* The first trainer's output is used for those of all: trying the rules takes
 * some 10 ms of the loop. */
void pod_logs_explain(struct pod_member *m)
{
    const bool is_missed = m->log.reader != NULL && m->log.end.why != NULL;
    const bool is_unread = m->log.reader == NULL && m->state.summary == NULL &&
                           m->state.message == NULL && m->environment == NULL;
    if (m->state.state != REPLICA_SUCCEEDED || !pod_logs_leads(m) || m->id.index > 0 ||
        m->state.is_simulated || m->log.is_explained || m->log.capture == NULL ||
        (!is_missed && !is_unread)) {
        return;
    }
    const struct log_parser_params who = log_rule_params(m->owner->params.def, &m->id);
    size_t len;
    const char *text = capture_text(m->log.capture, &len);
    m->log.end.why = log_reader_advise(m->log.end.why, text, len, &who);
    m->log.is_explained = true;
}

const char *pod_logs_text(struct pod_member *m, size_t *ret_len)
{
    *ret_len = 0;
    return m->log.capture != NULL ? capture_text(m->log.capture, ret_len) : "";
}

void pod_logs_close(struct pod_member *m)
{
    if (m->log.step == POD_LOG_FOLLOWING) {
        kube_follow_free(m->log.follow);
    } else if (m->log.step == POD_LOG_FETCHING) {
        kube_call_cancel(m->log.call);
    }
    drop_capture(&m->log);
    log_reader_free(m->log.reader);
    m->log.reader = NULL;
    log_reader_end_done(&m->log.end);
    m->log.step = POD_LOG_CLOSED;
}
