/* The entries of a round of MLPerf Training, and which of them are sizes of one thing: what a
 * series is, docs/import.md says. Edge: reads folders and the files that describe systems. */
#pragma once

#include <stdint.h>

#include <jansson.h>

#include "base/err.h"
#include "ctl/import/import_log.h"

struct mlperf_log {
    char *path;             /* owned; NULL: this copy of the round lacks it */
    struct import_log *log; /* owned; NULL: it was not read */
    const char *refusal;    /* why it does not count; static; NULL: it does */
};

struct mlperf_entry { /* a benchmark on a system: a folder of logs; all owned */
    char *submitter, *system, *benchmark;
    json_t *environment;         /* as a run records it; null where the system does not say it */
    int64_t accelerators;        /* 0: unknown */
    VEC(struct mlperf_log) logs; /* in the order of their numbers */
    char *series;                /* equal texts are one series */
    bool is_alone;               /* but another one of it has this size: each is one of its own */
};
void mlperf_entry_forget(struct mlperf_entry *e); /* its logs, when they are stored */

struct mlperf_round {
    VEC(struct mlperf_entry) entries;
};
void mlperf_round_done(struct mlperf_round *round);

/* The entries below a folder, by path: SUBMITTER/results/SYSTEM/BENCHMARK/result_N.txt and
 * SUBMITTER/systems/SYSTEM.json, and of which series each is; those of one are next to each other,
 * the smallest first. With names, only those with one of them as submitter, system or benchmark.
 * -ENOENT: there is no such log; -EINVAL: no entry has one of the names. */
int mlperf_round_read(const char *folder, const char *const *names, size_t n_names,
                      struct mlperf_round *ret, struct err *err);
/* After the last entry of the series that begins there. */
size_t mlperf_series_end(const struct mlperf_round *round, size_t begin);
