/* One benchmark over time: a figure a run, where it changed, and what else changed there
 * (docs/contracts/history.md). Pure; called by `benchctl history`. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"
#include "stats/change_points.h"
#include "compare/comparison.h"
#include "result/result.h"

/* A run of the series. Texts are owned. */
struct run_history_entry {
    char *name, *uid, *benchmark;
    int64_t created_unix_ms;
    bool is_rehearsal, is_imported;
    double value; /* of the point, or the geometric mean over points */
    double log_value;
    size_t level; /* how many changes came before or at it */
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
    const char *unit; /* of values: as the newest run's definition wants it printed */
    VEC(struct run_history_entry) entries; /* the oldest first */
    VEC(char *) skipped; /* names, owned: lacks a point, or cannot be compared with the newest */
    VEC(struct run_history_change) changes;
};

/* A run as it is added. Its result is looked at and not kept: a thousand results would take
 * hundreds of megabytes. */
struct run_history_run {
    const char *name, *uid;
    int64_t created_unix_ms;
    const struct result
        *result; /* its def may be another run's with the same definition and CPUs */
};
/* `point`: one of the newest run's; NULL: all. */
void run_history_begin(struct run_history *h, const struct result *newest, const uint32_t *point);
/* The oldest first, the newest last. */
void run_history_add(struct run_history *h, const struct run_history_run *run);
/* Finds the changes; run_history_explain completes each. */
void run_history_end(struct run_history *h);
/* What else differs at a change: the run before it, and its first run. */
void run_history_explain(struct run_history_change *change, const struct result *before,
                         const struct result *after);
void run_history_done(struct run_history *h);
