/* One benchmark over time: a figure a run, where it changed, and what else changed there (docs/contracts/history.md).
 * Pure; called by `benchctl history`. */
#pragma once

#include <stddef.h>

#include "base/vec.h"
#include "result/change_points.h"
#include "result/compare.h"
#include "result/result.h"

struct run_history_entry {
    const struct result *result; /* borrowed */
    double value;                /* of the point, or the geometric mean over points */
    size_t level;                /* how many changes came before or at it */
};
struct run_history_change {
    size_t at;    /* index of the first entry of the new level */
    double ratio; /* the new level over the one before, each the geometric mean of its runs */
    double p;
    VEC(struct difference) differences; /* of that run from the one before it */
};
struct run_history {
    const struct result *newest; /* borrowed; its points are those of the series */
    bool has_point;              /* else the geometric mean over all its points */
    uint32_t point;
    const char *unit;
    VEC(struct run_history_entry) entries; /* the oldest first */
    VEC(const struct result *) skipped; /* lacks a point, or cannot be compared with the newest */
    VEC(struct run_history_change) changes;
};

/* `runs` (n > 0, the oldest first) are borrowed for the history's life. `point`: one of the newest run's; NULL: all. */
void run_history_init(struct run_history *h, const struct result *const *runs, size_t n,
                      const uint32_t *point);
void run_history_done(struct run_history *h);
