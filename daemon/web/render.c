/* See render.h. */
#include "daemon/web/render.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include <uv.h>

#include "base/clock.h"
#include "base/str.h"
#include "daemon/web/cpu_budget.h"

#define REST_AFTER_NS (10 * INT64_C(1000000000))

struct queue {
    struct render_job *first, **last; /* last: where the next one goes */
    size_t len;
};

struct renderer {
    struct render_params params;
    uv_thread_t thread;
    uv_mutex_t mutex;
    uv_cond_t has_work;
    struct queue waiting;     /* under the mutex */
    int64_t submitter_cpu_ns; /* the submitting thread's, or 0; under the mutex */
    atomic_bool is_stopping;
    /* The render thread alone uses the rest. */
    struct site site;
    struct cpu_budget budget;
    int64_t give_up_ns; /* the limit of the current job */
    bool is_warm;       /* something was read since the last rest */
};

/* ---- queues ---- */

static void queue_init(struct queue *q)
{
    *q = (struct queue){.last = &q->first};
}

static void queue_push(struct queue *q, struct render_job *job)
{
    job->next = NULL;
    *q->last = job;
    q->last = &job->next;
    q->len++;
}

static struct render_job *queue_pop(struct queue *q)
{
    struct render_job *job = q->first;
    if (job != NULL) {
        q->first = job->next;
        q->len--;
        if (q->first == NULL) {
            q->last = &q->first;
        }
    }
    return job;
}

/* ---- one job ---- */

/* Asked by SQLite while it reads. */
static bool must_stop(void *ctx)
{
    const struct renderer *r = ctx;
    return atomic_load(&r->is_stopping) || clock_monotonic_ns() >= r->give_up_ns;
}

/* One read transaction a job, so that a document shows one state of the store. */
static struct body *read_body(struct renderer *r, const struct render_job *job,
                              struct web_response *res)
{
    struct store *s = r->site.store;
    struct err err = {0};
    if (s->ops->begin_read(s, &err) < 0) {
        web_fail(res, 500, "%s", err.msg);
        return body_of_response(res);
    }
    routes_answer(&r->site, &job->route, &job->req, res);
    s->ops->end_read(s);
    return body_of_response(res);
}

static void answer(struct renderer *r, struct render_job *job)
{
    struct web_response res = {0};
    r->give_up_ns = job->give_up_ns;
    if (must_stop(r)) {
        web_fail_busy(&res, "too many requests; try again later");
        job->body = body_of_response(&res);
    } else {
        r->is_warm = true;
        daemon_view_read(r->params.view, &r->site.now);
        job->body = read_body(r, job, &res);
        daemon_snapshot_done(&r->site.now);
    }
    job->code = res.code;
    job->must_retry_later = res.must_retry_later;
}

/* ---- the thread ---- */

static bool is_driving(const struct renderer *r)
{
    _cleanup_(daemon_snapshot_done) struct daemon_snapshot now = {0};
    daemon_view_read(r->params.view, &now);
    return now.facts.runs[RUN_RUNNING] > 0;
}

/* Is called with the mutex held. Returns memory to the system after a while without a job. */
static void wait_for_work(struct renderer *r)
{
    if (!r->is_warm) {
        uv_cond_wait(&r->has_work, &r->mutex);
        return;
    }
    if (uv_cond_timedwait(&r->has_work, &r->mutex, (uint64_t)REST_AFTER_NS) == 0) {
        return;
    }
    uv_mutex_unlock(&r->mutex);
    r->is_warm = false;
    r->site.store->ops->rest(r->site.store);
    uv_mutex_lock(&r->mutex);
}

/* With the mutex held: how long the first job in `waiting` must still wait. 0 also where it has
 * timed out: it gets its 503 now. */
static int64_t rest_ns(struct renderer *r)
{
    const int64_t now_ns = clock_monotonic_ns();
    const int64_t patience_ns = r->waiting.first->give_up_ns - now_ns;
    const int64_t wait_ns = cpu_budget_wait_ns(
        &r->budget, now_ns, clock_thread_cpu_ns() + r->submitter_cpu_ns, is_driving(r));
    return patience_ns <= 0 ? 0 : wait_ns < patience_ns ? wait_ns : patience_ns;
}

/* Is called with the mutex held. Returns NULL after a wait; the caller asks again. */
static struct render_job *next_job(struct renderer *r)
{
    if (r->waiting.first == NULL) {
        wait_for_work(r);
        return NULL;
    }
    const int64_t wait_ns = rest_ns(r);
    if (wait_ns == 0) {
        return queue_pop(&r->waiting);
    }
    (void)uv_cond_timedwait(&r->has_work, &r->mutex, (uint64_t)wait_ns); /* or the end */
    return NULL;
}

static void work(void *ctx)
{
    struct renderer *r = ctx;
    uv_mutex_lock(&r->mutex);
    cpu_budget_init(&r->budget, clock_monotonic_ns(), clock_thread_cpu_ns() + r->submitter_cpu_ns);
    while (!atomic_load(&r->is_stopping)) {
        struct render_job *job = next_job(r);
        if (job == NULL) {
            continue;
        }
        uv_mutex_unlock(&r->mutex);
        answer(r, job);
        uv_mutex_lock(&r->mutex);
        r->params.on_done(job); /* then it is the HTTP thread's */
    }
    uv_mutex_unlock(&r->mutex);
}

int renderer_new(const struct render_params *params, struct renderer **ret, struct err *err)
{
    struct renderer *r = xnew(struct renderer);
    r->params = *params;
    r->give_up_ns = INT64_MAX; /* opening the store is not interrupted */
    r->site.store_path = params->store_url + strlen("sqlite:"); /* it is open already */
    int code = store_open_reader(params->store_url, must_stop, r, &r->site.store, err);
    if (code < 0) {
        free(r);
        return code;
    }
    queue_init(&r->waiting);
    code = uv_mutex_init(&r->mutex);
    if (code == 0 && (code = uv_cond_init(&r->has_work)) == 0) {
        code = uv_thread_create(&r->thread, work, r);
    }
    if (code <
        0) { /* only without memory or threads: what was made is left to the end of the process */
        return err_set(err, EAGAIN, "the render thread cannot start: %s", uv_strerror(code));
    }
    *ret = r;
    return 0;
}

bool renderer_submit(struct renderer *r, struct render_job *job)
{
    job->give_up_ns = clock_monotonic_ns() + RENDER_TIMEOUT_NS;
    uv_mutex_lock(&r->mutex);
    if (r->params.counts_submitter) {
        r->submitter_cpu_ns = clock_thread_cpu_ns();
    }
    const bool is_taken = !atomic_load(&r->is_stopping) && r->waiting.len < r->params.max_waiting;
    if (is_taken) {
        queue_push(&r->waiting, job);
        if (r->waiting.len == 1) { /* with more, the thread works or waits for its share */
            uv_cond_signal(&r->has_work);
        }
    }
    uv_mutex_unlock(&r->mutex);
    return is_taken;
}

void renderer_stop(struct renderer *r)
{
    uv_mutex_lock(&r->mutex);
    atomic_store(&r->is_stopping, true);
    uv_cond_signal(&r->has_work);
    uv_mutex_unlock(&r->mutex);
    (void)uv_thread_join(&r->thread); /* it was created: cannot fail */
    for (struct render_job *job; (job = queue_pop(&r->waiting)) != NULL;) {
        answer(r, job);
        r->params.on_done(job);
    }
}

void renderer_free(struct renderer *r)
{
    if (r == NULL) {
        return;
    }
    store_close(r->site.store);
    site_done(&r->site);
    uv_cond_destroy(&r->has_work);
    uv_mutex_destroy(&r->mutex);
    free(r);
}
