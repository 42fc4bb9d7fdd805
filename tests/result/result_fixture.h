/* Results for tests: a run from a short definition, and attempts made by hand. Used by tests of
 * core and of report. */
#pragma once

#include "result/result.h"
#include "tests/core/summary_fixture.h"

struct fixture {
    struct run_def *def;
    VEC(struct attempt_row) rows; /* changed by hand where a test needs it */
    struct result *result;        /* NULL until fixture_build */
};

/* "demo-7k3fq" of the benchmark "demo" with these keys of `spec` (YAML text; systems, workload and
 * roles have defaults). cpus as in run_def_params. Fails the test on diagnostics. */
void fixture_init(struct fixture *f, const char *sweep, const char *more, int64_t cpus);
void fixture_done(struct fixture *f);

/* Before attempts are added: a ring of workers in the place of all trainers and servers. */
void fixture_make_workers(struct fixture *f);

/* An attempt with all its replicas and their summaries: trainer or worker i trained 128 samples in
 * seconds[i]. The row may be changed until the next one is added. */
struct attempt_row *fixture_succeed(struct fixture *f, uint32_t point, uint32_t trial,
                                    uint32_t attempt, const double *seconds);
/* The same for one trainer or several alike, so that the job makes this throughput. */
struct attempt_row *fixture_throughput(struct fixture *f, uint32_t point, uint32_t trial,
                                       double samples_per_s);
/* Its summaries come from a log rule and count this instead of samples. */
void fixture_count(struct attempt_row *row, enum summary_unit unit);
/* The same, by a rule of this name. */
void fixture_count_by(struct attempt_row *row, enum summary_unit unit, const char *rule);
/* An attempt that ended otherwise, without replicas. `error` may be NULL. */
struct attempt_row *fixture_end(struct fixture *f, uint32_t point, uint32_t trial, uint32_t attempt,
                                enum attempt_outcome outcome, const char *error);

/* The i-th replica of an attempt wrote this summary. */
void fixture_say(struct attempt_row *row, size_t i, const struct summary *s);
/* Says of the i-th replica of an attempt where it ran (NULL: nobody knows), and how long it worked
 * in a step: in forward of a trainer, in update of a pserver. */
void fixture_place(struct attempt_row *row, size_t i, const char *node, double work_ms);

/* The start record of a replica of the row-th attempt said this of its machine;
 * NULL: nothing was stored. */
void fixture_set_environment(struct fixture *f, size_t row, size_t replica, const char *json);

/* All replicas of an attempt worked so long in forward and waited so long, in ms a
 * step; no other phase. */
void fixture_spend(struct attempt_row *row, double forward_ms, double wait_ms);

/* More runs of the same thing: each has the trials of `base` times a factor. Borrows from it. */
#define FIXTURE_HISTORY 5
struct fixture_history {
    struct run_def defs[FIXTURE_HISTORY];
    struct result results[FIXTURE_HISTORY];
    const struct result *list[FIXTURE_HISTORY];
};
void fixture_history_init(struct fixture_history *h, const struct result *base,
                          const double factors[static FIXTURE_HISTORY]);
void fixture_history_done(struct fixture_history *h);

/* The document of a result whose rows have their replicas; and the same read back. */
void result_json_put(const struct result *r, struct buf *out);
json_t *result_to_json(const struct result *r);
/* Builds anew from the rows; borrowed. */
struct result *fixture_build(struct fixture *f, enum run_phase phase);
