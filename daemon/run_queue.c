/* See run_queue.h. */
#include "daemon/run_queue.h"

#include <errno.h>
#include <string.h>

#include "base/str.h"
#include "daemon/run_accept.h"
#include "daemon/run_drive.h"
#include "daemon/run_publish.h"
#include "daemon/run_remove.h"

void run_queue_done(struct run_queue *q)
{
    vec_each (struct run *, it, &q->runs) {
        run_free(*it);
    }
    vec_done(&q->runs);
}

struct run *run_queue_find(const struct run_queue *q, const char *uid)
{
    vec_each (struct run *, it, &q->runs) {
        if (str_eq((*it)->uid, uid)) {
            return *it;
        }
    }
    return NULL;
}

struct run *run_queue_active(const struct run_queue *q)
{
    vec_each (struct run *, it, &q->runs) {
        if (run_is_driven(*it)) {
            return *it;
        }
    }
    return NULL;
}

void run_queue_add(struct run_queue *q, struct run *run_take)
{
    *vec_push(&q->runs) = run_take;
}

/* The disk or the file's place, and not one run's rows, name or definition. */
static bool is_of_the_whole_store(int r)
{
    return r == -ENOSPC || r == -EIO || r == -EROFS || r == -EACCES || r == -EPERM;
}

/* Takes the answer `r` of a function of `run`: only an error of the whole store is passed on. */
static int contain(struct run *run, int r, const struct err *why, struct err *err)
{
    if (r >= 0) {
        return 0;
    }
    if (is_of_the_whole_store(r)) {
        return err_set(err, -r, "run '%s': %s", run->name, why->msg);
    }
    run_park(run, why);
    return 0;
}

int run_queue_bury(struct run_queue *q, struct err *err)
{
    for (size_t i = q->runs.len; i > 0; i--) {
        struct run *run = q->runs.items[i - 1];
        if (!run->asked.is_gone || run_is_parked(run)) {
            continue;
        }
        struct err why = {0};
        if (run_is_driven(
                run)) { /* its pods must go first, or the next run would share their CPUs */
            (void)run_steer(run, &why); /* a driver that is asked cannot fail */
            continue;
        }
        int r = run_bury(run, &why);
        if (r == 0) {
            q->runs.items[i - 1] = q->runs.items[--q->runs.len];
            continue;
        }
        r = contain(run, r, &why, err);
        if (r < 0) {
            return r;
        }
    }
    return 0;
}

int run_queue_accept(struct run_queue *q, const struct watches *watches, struct err *err)
{
    vec_each (struct run *, it, &q->runs) {
        struct run *run = *it;
        const json_t *bmr = watches_get(watches, WATCH_RUNS, run->name);
        if (bmr == NULL || run->asked.is_gone || run_is_parked(run)) {
            continue;
        }
        const json_t *benchmark = watches_get(watches, WATCH_BENCHMARKS, run->benchmark);
        struct err why = {0};
        int r = run_accept(run, bmr, benchmark, &why);
        r = r < 0 ? r : run_steer(run, &why);
        r = contain(run, r, &why, err);
        if (r < 0) {
            return r;
        }
    }
    return 0;
}

static int by_turn(const void *pa, const void *pb)
{
    const struct run *a = *(struct run *const *)pa, *b = *(struct run *const *)pb;
    const bool a_runs = a->status.phase == RUN_RUNNING, b_runs = b->status.phase == RUN_RUNNING;
    if (a_runs != b_runs) {
        return a_runs ? -1 : 1;
    }
    const int r = strcmp(a->created, b->created);
    return r != 0 ? r : strcmp(a->name, b->name);
}

static int start(struct run *run, struct err *err)
{
    int r = run_start(run, err);
    return r < 0 ? r : run_steer(run, err); /* it may be cancelled or suspended already */
}

int run_queue_advance(struct run_queue *q, struct err *err)
{
    struct run *active = run_queue_active(q);
    struct err why = {0};
    if (active != NULL && active->life == LIFE_DONE) {
        int r = contain(active, run_stop(active, &why), &why, err);
        if (r < 0) {
            return r;
        }
    }
    if (q->runs.len > 0) {
        qsort(q->runs.items, q->runs.len, sizeof(q->runs.items[0]), by_turn);
    }
    for (size_t i = 0; run_queue_active(q) == NULL && i < q->runs.len; i++) {
        if (run_is_due(q->runs.items[i])) {
            int r = contain(q->runs.items[i], start(q->runs.items[i], &why), &why, err);
            if (r < 0) {
                return r;
            }
        }
    }
    return 0;
}

void run_queue_publish(struct run_queue *q)
{
    vec_each (struct run *, it, &q->runs) {
        run_publish(*it);
        run_expire(*it);
    }
}
