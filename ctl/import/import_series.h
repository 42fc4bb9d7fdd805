/* The entries of a round of MLPerf Training, and which of them are sizes of one thing: what a
 * series is, docs/import.md says. Edge: reads folders and the files that describe systems. */
#pragma once

#include "ctl/import/import.h"

struct mlperf_entry { /* a benchmark on a system: a folder of logs; all owned */
    char *submitter, *system, *benchmark;
    json_t *environment;  /* as a run records it; null where the system does not say it */
    int64_t accelerators; /* 0 if it is unknown */
    VEC(struct import_trial) trials; /* one for each log, in the order of their numbers */
    char *series;                    /* equal texts are one series */
    bool is_alone;                   /* another entry of its series has the same size */
};

struct mlperf_round {
    VEC(struct mlperf_entry) entries;
};
void mlperf_round_done(struct mlperf_round *round);

/* The entries below a folder, by path: SUBMITTER/results/SYSTEM/BENCHMARK/result_N.txt and
 * SUBMITTER/systems/SYSTEM.json, and of which series each is; those of one are next to each other,
 * the smallest first. With names, only those with one of them as submitter, system or benchmark.
 * -ENOENT if no such log exists; -EINVAL if no entry has one of the names. */
int mlperf_round_read(const char *folder, const char *const *names, size_t n_names,
                      struct mlperf_round *ret, struct err *err);
/* After the last entry of the series that begins there. */
size_t mlperf_series_end(const struct mlperf_round *round, size_t begin);
