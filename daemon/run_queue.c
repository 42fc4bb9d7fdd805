/* See run_queue.h. */
#include "daemon/run_queue.h"

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

int run_queue_bury(struct run_queue *q, struct err *err)
{
    int r = 0;
    for (size_t i = q->runs.len; i > 0 && r >= 0; i--) {
        struct run *run = q->runs.items[i - 1];
        if (run->asked.is_gone) {
            q->runs.items[i - 1] = q->runs.items[--q->runs.len];
            r = run_bury(run, err);
        }
    }
    return r;
}

int run_queue_accept(struct run_queue *q, const struct watches *watches, struct err *err)
{
    vec_each (struct run *, it, &q->runs) {
        struct run *run = *it;
        const json_t *bmr = watches_get(watches, WATCH_RUNS, run->name);
        if (bmr == NULL || run->asked.is_gone) {
            continue;
        }
        const json_t *benchmark = watches_get(watches, WATCH_BENCHMARKS, run->benchmark);
        int r = run_accept(run, bmr, benchmark, err);
        r = r < 0 ? r : run_steer(run, err);
        if (r < 0) {
            return err_wrap(err, r, "run '%s'", run->name);
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
    if (r < 0) {
        return err_wrap(err, r, "run '%s'", run->name);
    }
    return run_steer(run, err); /* it may be cancelled or suspended already */
}

int run_queue_advance(struct run_queue *q, struct err *err)
{
    struct run *active = run_queue_active(q);
    if (active != NULL && active->life == LIFE_DONE) {
        int r = run_stop(active, err);
        if (r < 0) {
            return r;
        }
    }
    if (q->runs.len > 0) {
        qsort(q->runs.items, q->runs.len, sizeof(q->runs.items[0]), by_turn);
    }
    for (size_t i = 0; run_queue_active(q) == NULL && i < q->runs.len; i++) {
        if (run_is_due(q->runs.items[i])) {
            int r = start(q->runs.items[i], err);
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
