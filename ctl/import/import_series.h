/* The entries of a round of MLPerf Training, and which of them are sizes of one thing: what a
 * series is, docs/import.md says. Edge: reads folders and the files that describe systems. */
#pragma once

#include <stdint.h>

#include <jansson.h>

#include "base/err.h"
#include "base/texts.h"

struct mlperf_entry { /* a benchmark on a system: a folder of logs; all owned */
    char *submitter, *system, *benchmark;
    char *accelerator, *framework, *cpu; /* NULL: not said */
    int64_t nodes, accelerators;         /* 0: unknown */
    struct texts logs;                   /* paths, in the order of their numbers */
    char *series;                        /* equal texts are one series */
};
struct mlperf_round {
    VEC(struct mlperf_entry) entries;
};
void mlperf_round_done(struct mlperf_round *round);

/* All entries below a folder, by path: SUBMITTER/results/SYSTEM/BENCHMARK/result_N.txt and
 * SUBMITTER/systems/SYSTEM.json. -ENOENT: it has no such log. */
int mlperf_round_read(const char *folder, struct mlperf_round *ret, struct err *err);
/* Keeps the entries with one of the names as submitter, system or benchmark; all without names.
 * -EINVAL: no entry has one of them; *ret_fix is owned, or NULL. */
int mlperf_round_keep(struct mlperf_round *round, const char *const *names, size_t n_names,
                      char **ret_fix, struct err *err);
/* Says of which series each entry is, and puts those of a series next to each other, the smallest
 * first. */
void mlperf_round_split(struct mlperf_round *round);
