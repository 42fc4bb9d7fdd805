/* The attempts of a run with their replicas, read a point at a time: all replicas of a large run do
 * not fit into memory. */
#pragma once

#include "core/phase.h"
#include "result/result_build.h"
#include "store/store.h"

struct run_walk {
    struct store *store;            /* borrowed; NULL: the rows have their replicas */
    const char *uid;                /* borrowed */
    const struct attempt_row *rows; /* of the run, by point, trial and attempt; borrowed */
    size_t n_rows;
    /* The attempts of the last point that was asked for, with their replicas; of those that `rows`
     * has. Borrowed until the next point is. */
    const struct attempt_row *list;
    size_t n;
    size_t at;                /* of rows: where a later point begins */
    size_t next;              /* of list */
    struct attempt_row *read; /* `list`, if it came from the store */
};
void run_walk_done(struct run_walk *w); /* not needed once run_walk_next was not 1 */
/* Points are asked for in rising order. -ENOENT: an attempt is not there any more. */
int run_walk_to(struct run_walk *w, uint32_t point, struct err *err);
/* The next attempt, borrowed until the one after it is asked for. 1; 0: all have been seen. */
int run_walk_next(struct run_walk *w, const struct attempt_row **ret, struct err *err);
/* As run_walk_to. *ret is a copy of the point that has the replicas of its trials, for
 * point_close. */
int run_walk_point(struct run_walk *w, const struct result *r, uint32_t point,
                   struct point_result *ret, struct err *err);
/* The document of docs/contracts/result.md. After an error it has no end. */
int run_walk_put_json(struct run_walk *walk, const struct result *r, struct buf *out,
                      struct err *err);
