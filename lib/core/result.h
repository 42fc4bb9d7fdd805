/* The result of a run, as tables and `-o json` show it (docs/contracts/result.md). Built anew from
 * the run's definition and its stored attempts; nothing in it is stored. Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "core/podspec.h"
#include "core/record.h"
#include "core/run_def.h"
#include "core/stats.h"

enum trial_phase {
    TRIAL_PENDING,
    TRIAL_RUNNING,
    TRIAL_SUCCEEDED,
    TRIAL_FAILED,
    TRIAL_METRICS_UNAVAILABLE,
};
const char *trial_phase_to_string(enum trial_phase phase); /* "Succeeded", ... */
int trial_phase_from_string(const char *s);

enum run_phase {
    RUN_PENDING,
    RUN_QUEUED,
    RUN_RUNNING,
    RUN_AGGREGATING,
    RUN_SUCCEEDED,
    RUN_PARTIALLY_FAILED,
    RUN_FAILED,
    RUN_CANCELLED,
    RUN_SUSPENDED,
};
const char *run_phase_to_string(enum run_phase phase);
int run_phase_from_string(const char *s);
bool run_phase_is_final(enum run_phase phase);

/* How an attempt ended, as the store keeps it. A trial is decided by its row that is not Void (the
 * lowest attempt's, should a foreign hand make two); with Void rows only it is not decided yet. */
enum attempt_outcome {
    ATTEMPT_SUCCEEDED,
    ATTEMPT_VOID,                /* does not count: the trial is tried again with another attempt */
    ATTEMPT_FAILED,              /* permanent failure that is not tried again, or no attempt left */
    ATTEMPT_METRICS_UNAVAILABLE, /* ended well but a summary is missing */
};
const char *attempt_outcome_to_string(enum attempt_outcome outcome);
int attempt_outcome_from_string(const char *s);

/* What the store keeps of one replica of an ended attempt (its log apart). */
struct replica_row {
    struct replica_id id;
    int exit_code;          /* -1: killed or never started */
    int signal;             /* 0: none */
    char *failure;          /* NULL, or one line for a person; owned */
    char *summary_json;     /* the summary record's line; NULL if none came; owned */
    char *environment_json; /* from the start record; NULL if none came; owned */
    uint64_t log_bytes;     /* uncompressed */
};

/* What the store keeps of one ended attempt. */
struct attempt_row {
    uint32_t point, trial, attempt;
    enum attempt_outcome outcome;
    int64_t started_unix_ms, ended_unix_ms;
    char *error; /* the cause for a person, naming the replica; NULL if it succeeded; owned */
    bool simulated;
    VEC(struct replica_row) replicas;
};
void attempt_row_done(struct attempt_row *row);

/* One figure: never a bare number. */
struct figure {
    struct estimate estimate;
    const char *unit;  /* "samples/s", "ratio"; static */
    const char *scope; /* "job" or "replica"; static */
};

/* One replica of a deciding attempt, its summary read. */
struct replica_result {
    const struct replica_row *row; /* borrowed */
    bool has_summary;
    struct summary summary;   /* without its series */
    struct figure throughput; /* trainers: samples / duration; scope "replica" */
};

struct trial_result {
    uint32_t trial, attempt; /* the deciding attempt */
    enum trial_phase phase;
    struct figure throughput;      /* a single value, no interval */
    char *error;                   /* why there is no throughput, for a person; NULL: none; owned */
    const struct attempt_row *row; /* borrowed; NULL if no attempt has ended */
    struct replica_result *replicas; /* of `row`, in its order; owned */
    size_t n_replicas;
};

struct point_result {
    const struct point *point; /* borrowed from the definition */
    enum trial_phase phase;    /* Succeeded if all trials did */
    struct figure throughput, speedup, efficiency;
    double throughput_min, throughput_max; /* over succeeded trials; NaN: none */
    struct trial_result *trials;           /* by trial; owned */
    size_t n_trials, n_succeeded;
};

enum threshold_verdict { THRESHOLD_PASSED, THRESHOLD_FAILED, THRESHOLD_UNKNOWN };
const char *threshold_verdict_to_string(enum threshold_verdict verdict); /* "Passed", ... */
struct threshold_result {
    const struct threshold *threshold; /* borrowed */
    uint32_t point;
    double value; /* NaN if unknown */
    enum threshold_verdict verdict;
};

/* A kind of machine that figures come from, as start records say it; NULL: not said. Owned. */
struct hardware {
    char *cpu_model, *blas_core, *kernel, *build;
    size_t n_replicas; /* of succeeded trials */
};

/* What a reader must know before believing the numbers (core/lint.h finds them). */
enum warning_code {
    WARNING_REHEARSAL,
    WARNING_SIMULATED,
    WARNING_ONE_TRIAL,
    WARNING_EFFICIENCY_ABOVE_ONE,
    WARNING_THROTTLED,
    WARNING_MIXED_HARDWARE,
};
const char *warning_code_to_string(enum warning_code code); /* "OneTrial", ... */
struct warning {
    enum warning_code code;
    char *message; /* one sentence without its end; owned */
};

struct result {
    const struct run_def *def; /* borrowed */
    enum run_phase phase;
    bool simulated;
    struct point_result *points; /* matrix.n_points; swept first, then baselines */
    VEC(struct threshold_result) thresholds;
    VEC(struct hardware) hardware;
    VEC(struct warning) warnings;
};

/* `rows` (borrowed for the result's life) in any order, every attempt of the run that has ended.
 * Rows of points or trials that the definition does not have are passed over. */
struct result *result_build(const struct run_def *def, enum run_phase phase,
                            const struct attempt_row *rows, size_t n_rows);
void result_free(struct result *r); /* NULL is fine */
/* The document of docs/contracts/result.md. Owned by the caller. */
json_t *result_to_json(const struct result *r);
/* "SingleNode, point 4: 1 trainer, no pserver, batch_size 16: 61.20 samples/s" for the line under a
 * table; p is any point that divides by it. */
void result_describe_baseline(const struct result *r, const struct point_result *p,
                              struct buf *out);
