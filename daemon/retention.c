/* See retention.h. */
#include "daemon/retention.h"

#include <errno.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"

/* More than can be in use at a time: those of 15 minutes. */
#define N_OLDEST 64

static bool is_in_use(const struct finished_run *run, const struct run_env *env,
                      const struct run_queue *q)
{
    return run_queue_find(q, run->uid) != NULL ||
           env->store->ops->probe_run(env->store, run->uid, NULL) == -EBUSY;
}

static struct retention_verdict decide(const struct retention *k, const struct run_env *env,
                                       const struct run_queue *q, const struct finished_runs *runs,
                                       int64_t now_unix_ms)
{
    struct retention_run oldest[N_OLDEST];
    size_t n = 0;
    vec_each (const struct finished_run, run, &runs->oldest) {
        oldest[n++] = (struct retention_run){run->ended_unix_ms, is_in_use(run, env, q)};
        if (!oldest[n - 1].is_in_use) {
            break; /* none after it goes before it */
        }
    }
    const struct retention_facts facts = {oldest, n, runs->n_all, k->used_bytes, now_unix_ms};
    return retention_decide(&k->policy, &facts);
}

/* For people: why this run, and which option says so. */
static void say_why(const struct retention *k, const struct finished_runs *runs,
                    const struct retention_verdict *v, char *why, size_t size)
{
    char date[CLOCK_RFC3339_SIZE];
    switch (v->reason) {
    case RETENTION_PAST_AGE:
        clock_format_rfc3339(runs->oldest.items[v->run].ended_unix_ms, date);
        text_put(why, size, "it ended at %s, longer ago than --keep allows", date);
        break;
    case RETENTION_PAST_COUNT:
        text_put(why, size, "the store has %zu finished runs, --keep-runs allows %lld", runs->n_all,
                 (long long)k->policy.n_runs);
        break;
    case RETENTION_PAST_SIZE:
        text_put(why, size, "the store has %lld bytes, --keep-bytes allows %lld",
                 (long long)k->used_bytes, (long long)k->policy.store_bytes);
        break;
    case RETENTION_ALL:
        break;
    }
}

static int erase(const struct retention *k, const struct run_env *env,
                 const struct finished_runs *runs, const struct retention_verdict *v,
                 struct err *err)
{
    const struct finished_run *run = &runs->oldest.items[v->run];
    char why[160] = "";
    say_why(k, runs, v, why, sizeof(why));
    int r = env->store->ops->delete_run(env->store, run->uid, err);
    if (r < 0) {
        return r == -ENOENT ? 1 : r; /* somebody was faster */
    }
    env->counters->runs_erased[v->reason]++;
    log_event(LOG_LEVEL_INFO, "the results of a run were erased", "run", run->name, "uid", run->uid,
              "why", why, NULL);
    if (run->has_object) {
        event_recorder_emit(env->events, run->name, run->uid, EVENT_NORMAL, "ResultsErased", why);
    }
    return 1;
}

int retention_erase_next(struct retention *k, const struct run_env *env, const struct run_queue *q,
                         int64_t now_unix_ms, struct err *err)
{
    struct store *store = env->store;
    int r = store->ops->get_used(store, &k->used_bytes, err);
    if (r < 0 || (k->policy.age_ms == 0 && k->policy.n_runs == 0 && k->policy.store_bytes == 0)) {
        return r;
    }
    _cleanup_(finished_runs_done) struct finished_runs runs = {0};
    r = store->ops->list_finished(store, RETENTION_FIRST_DATE_MS, N_OLDEST, &runs, err);
    if (r < 0) {
        return r;
    }
    const struct retention_verdict v = decide(k, env, q, &runs, now_unix_ms);
    r = v.reason == RETENTION_ALL ? 0 : erase(k, env, &runs, &v, err);
    return r;
}

/* ---- space ---- */

#define TRY_EVERY_NS (5 * INT64_C(1000000000))

enum space_news space_look(struct space *space, struct store *store, int64_t now_ns)
{
    struct store_space found;
    store->ops->get_space(store, &found);
    if (!space->is_full) {
        if (!found.is_full) {
            return SPACE_NO_NEWS;
        }
        space->is_full = true;
        space->try_ns = now_ns + TRY_EVERY_NS;
        log_event(LOG_LEVEL_ERROR,
                  "the disk of the store is full: runs wait until there is space; results can be "
                  "read and runs deleted",
                  NULL);
        return SPACE_IS_FULL;
    }
    if (now_ns < space->try_ns) {
        return SPACE_NO_NEWS;
    }
    space->try_ns = now_ns + TRY_EVERY_NS;
    if (store->ops->try_space(store, NULL) < 0) {
        return SPACE_NO_NEWS;
    }
    space->is_full = false;
    log_event(LOG_LEVEL_INFO, "the disk of the store has space again, runs continue", NULL);
    return SPACE_IS_BACK;
}
