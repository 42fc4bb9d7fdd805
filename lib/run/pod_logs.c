/* Logs of pods: trainer 0 is followed for the live view, the others are read once, when their
 * attempt has ended and before they are deleted. Numbers do not depend on them. See pods_parts.h. */
#include <errno.h>
#include <string.h>

#include "base/mem.h"
#include "core/record.h"
#include "run/pods_parts.h"

static void on_line(void *ctx, const char *line, size_t len)
{
    struct pod_member *m = ctx;
    struct pods *l = m->owner;
    struct record record;
    if (line[0] != '{' || record_read(line, len, &record, NULL) <= 0) {
        return;
    }
    const struct record_who *who = &record.who;
    const bool is_its = who->role == m->id.role && who->index == m->id.index &&
                        who->attempt == m->id.attempt.number;
    if (is_its && record.type == RECORD_START) {
        free(m->environment_json);
        m->environment_json = record_environment_canonical(record.start.environment);
    }
    if (is_its && m->log == LOG_FOLLOWING && l->base.on_record != NULL) {
        l->base.on_record(l->base.ctx, &m->id, &record);
    }
    record_done(&record);
}

/* What one member may keep: all of an attempt fit into POD_LOGS_MAX. */
static size_t log_limit(const struct pods *l)
{
    size_t n = 0;
    for (enum role role = 0; role < ROLE_COUNT; role++) {
        n += l->gang.replicas[role];
    }
    n = n > 0 ? n : l->members.len;
    const size_t share = POD_LOGS_MAX / (n > 0 ? n : 1);
    return share < POD_LOG_MIN ? POD_LOG_MIN : share > POD_LOG_MAX ? POD_LOG_MAX : share;
}

static void start_capture(struct pod_member *m)
{
    if (!m->has_capture) {
        capture_init(&m->capture, log_limit(m->owner), on_line, m);
        m->has_capture = true;
    }
}

static void note_failure(struct pod_member *m, const char *why)
{
    _cleanup_(freep) char *line = xasprintf("benchd: the log could not be read: %s\n", why);
    capture_feed(&m->capture, CAPTURE_STDERR, line, strlen(line));
}

static void finish(struct pod_member *m)
{
    capture_end(&m->capture);
    m->log = LOG_THERE;
    pods_changed(m->owner);
}

/* ---- following ---- */

static void on_follow_line(void *ctx, const char *line, size_t len)
{
    struct pod_member *m = ctx;
    capture_feed(&m->capture, CAPTURE_STDOUT, line, len);
    capture_feed(&m->capture, CAPTURE_STDOUT, "\n", 1);
}

static void on_follow_end(void *ctx, int r, const struct err *err)
{
    struct pod_member *m = ctx;
    kube_follow_free(m->follow);
    m->follow = NULL;
    if (r < 0) {
        note_failure(m, err->msg);
    }
    finish(m);
}

static void start_follow(struct pod_member *m)
{
    struct pods *l = m->owner;
    start_capture(m);
    m->log = LOG_FOLLOWING;
    m->follow = kube_follow_new(l->params.client, &(struct kube_follow_params){
                                                      .ns = l->params.ns,
                                                      .pod = m->name,
                                                      .container = m->container,
                                                      .on_line = on_follow_line,
                                                      .on_end = on_follow_end,
                                                      .ctx = m,
                                                      .seed = l->params.seed,
                                                  });
}

void pods_logs_update(struct pod_member *m)
{
    const bool is_followed = m->id.role == ROLE_TRAINER && m->id.index == 0;
    const bool has_ended = m->state.state >= REPLICA_SUCCEEDED;
    if (is_followed && m->log == LOG_NONE && m->state.has_started && !m->state.is_simulated &&
        m->state.state == REPLICA_RUNNING) {
        start_follow(m);
    }
    if (m->follow != NULL && has_ended) {
        kube_follow_container_ended(m->follow);
    }
}

/* ---- reading once ---- */

static void on_fetched(void *ctx, int r, const struct kube_response *res, const struct err *err)
{
    struct pod_member *m = ctx;
    m->log_call = NULL;
    if (r == 0) {
        capture_feed(&m->capture, CAPTURE_STDOUT, res->body, res->body_len);
    } else {
        note_failure(m, err->msg);
    }
    finish(m);
}

static void start_fetch(struct pod_member *m)
{
    struct pods *l = m->owner;
    start_capture(m);
    m->log = LOG_FETCHING;
    struct kube_request req;
    kube_request_log(
        l->params.ns, m->name,
        &(struct kube_log_options){.container = m->container, .limit_bytes = log_limit(l)}, &req);
    m->log_call =
        kube_call(l->params.client, &req,
                  &(struct kube_call_options){.max_bytes = log_limit(l) + 65536, .max_tries = 3},
                  on_fetched, m);
}

int pods_logs_collect(struct pod_member *m)
{
    const bool has_ended = m->state.state >= REPLICA_SUCCEEDED;
    const bool has_log = m->step == MEMBER_THERE && m->state.has_started &&
                         !m->state.is_simulated && m->state.state != REPLICA_LOST;
    switch (m->log) {
    case LOG_NONE:
        if (!has_log) {
            return 0;
        }
        start_fetch(m);
        return -EAGAIN;
    case LOG_FETCHING:
        return -EAGAIN;
    case LOG_FOLLOWING:
        /* The follow ends with its container; one that lives on is cut here. */
        return has_ended ? -EAGAIN : 0;
    case LOG_THERE:
        return 0;
    }
    return 0;
}

void pods_logs_done(struct pod_member *m)
{
    if (m->follow != NULL) {
        kube_follow_free(m->follow);
        m->follow = NULL;
    }
    if (m->log_call != NULL) {
        kube_call_cancel(m->log_call);
        m->log_call = NULL;
    }
    if (m->has_capture) {
        capture_done(&m->capture);
        m->has_capture = false;
    }
    m->log = LOG_THERE;
}
