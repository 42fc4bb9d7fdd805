/* See daemon_view.h. */
#include "daemon/web/daemon_view.h"

#include <math.h>
#include <string.h>

#include <uv.h>

#include "base/str.h"

struct daemon_view {
    uv_mutex_t mutex;
    struct daemon_snapshot now; /* under the mutex */
};

/* ---- a run ---- */

struct daemon_run *daemon_run_new(const char *name, const char *uid, const char *benchmark)
{
    struct daemon_run *run = xnew(struct daemon_run);
    run->n_users = 1;
    run->name = xstrdup(name);
    run->uid = xstrdup(uid);
    run->benchmark = xstrdup(benchmark);
    run->progress.loss = NAN;
    return run;
}

struct daemon_run *daemon_run_ref(struct daemon_run *run)
{
    atomic_fetch_add(&run->n_users, 1);
    return run;
}

void daemon_run_unref(struct daemon_run *run)
{
    if (run == NULL || atomic_fetch_sub(&run->n_users, 1) > 1) {
        return;
    }
    free(run->name);
    free(run->uid);
    free(run->benchmark);
    free(run);
}

/* ---- a list ---- */

struct daemon_runs *daemon_runs_new(void)
{
    struct daemon_runs *runs = xnew(struct daemon_runs);
    runs->n_users = 1;
    return runs;
}

void daemon_runs_unref(struct daemon_runs *runs)
{
    if (runs == NULL || atomic_fetch_sub(&runs->n_users, 1) > 1) {
        return;
    }
    vec_each (struct daemon_run *, run, &runs->list) {
        daemon_run_unref(*run);
    }
    vec_done(&runs->list);
    free(runs);
}

bool daemon_runs_are_same(const struct daemon_runs *a, const struct daemon_runs *b)
{
    const size_t n = a->list.len; /* of pointers: a run that changes is replaced, never written */
    return n == b->list.len &&
           (n == 0 || memcmp(a->list.items, b->list.items, n * sizeof(*a->list.items)) == 0);
}

const struct daemon_run *daemon_runs_find(const struct daemon_runs *runs, const char *name_or_uid)
{
    return vec_find_item(&runs->list, run,
                         str_eq(run->name, name_or_uid) || str_eq(run->uid, name_or_uid));
}

/* ---- between the threads ---- */

struct daemon_view *daemon_view_new(void)
{
    struct daemon_view *v = xnew(struct daemon_view);
    (void)uv_mutex_init(&v->mutex); /* a plain mutex: it allocates nothing and cannot fail */
    v->now.runs = daemon_runs_new();
    v->now.facts.is_healthy = true;
    (void)err_set(&v->now.facts.not_ready, EAGAIN, "benchd is starting");
    return v;
}

void daemon_view_free(struct daemon_view *v)
{
    if (v == NULL) {
        return;
    }
    daemon_runs_unref(v->now.runs);
    uv_mutex_destroy(&v->mutex);
    free(v);
}

void daemon_view_publish(struct daemon_view *v, const struct daemon_facts *facts,
                         struct daemon_runs *runs_take)
{
    struct daemon_runs *before = NULL;
    uv_mutex_lock(&v->mutex);
    v->now.facts = *facts;
    if (runs_take != NULL) {
        before = v->now.runs;
        v->now.runs = runs_take;
    }
    uv_mutex_unlock(&v->mutex);
    daemon_runs_unref(before); /* outside: it may be the last user of many runs */
}

void daemon_view_read(const struct daemon_view *v, struct daemon_snapshot *ret)
{
    uv_mutex_t *mutex = (uv_mutex_t *)&v->mutex;
    uv_mutex_lock(mutex);
    *ret = v->now;
    atomic_fetch_add(&ret->runs->n_users, 1);
    uv_mutex_unlock(mutex);
}

void daemon_snapshot_done(struct daemon_snapshot *snapshot)
{
    daemon_runs_unref(snapshot->runs);
    *snapshot = (struct daemon_snapshot){0};
}

/* ---- health ---- */

bool daemon_facts_are_healthy(const struct daemon_facts *facts, int64_t now_ns, struct err *why)
{
    if (!facts->is_healthy) {
        if (why != NULL) {
            *why = facts->not_healthy;
        }
        return false;
    }
    if (facts->look_ns != 0 && now_ns - facts->look_ns > DAEMON_STALL_NS) {
        (void)err_set(why, ETIMEDOUT, "the loop has not turned for %lld s",
                      (long long)((now_ns - facts->look_ns) / 1000000000));
        return false;
    }
    return true;
}

bool daemon_facts_are_ready(const struct daemon_facts *facts, int64_t now_ns, struct err *why)
{
    if (!daemon_facts_are_healthy(facts, now_ns, why)) {
        return false;
    }
    if (!facts->is_ready && why != NULL) {
        *why = facts->not_ready;
    }
    return facts->is_ready;
}
