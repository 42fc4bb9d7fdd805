/* Phases of runs and trials, outcomes of attempts, verdicts of thresholds, the row that the store
 * keeps of an ended attempt, and a run's status. The strings are those of stored rows, statuses and
 * `-o json`. Pure. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

#include "base/err.h"
#include "base/vec.h"
#include "core/environment.h"
#include "core/replica.h"

struct summary;

enum trial_phase {
    TRIAL_PENDING,
    TRIAL_RUNNING,
    TRIAL_SUCCEEDED,
    TRIAL_FAILED,
    TRIAL_METRICS_UNAVAILABLE,
};
const char *trial_phase_to_string(enum trial_phase phase); /* "Succeeded", ... */

enum run_phase {
    RUN_PENDING,
    RUN_QUEUED,
    RUN_RUNNING,
    RUN_SUCCEEDED,
    RUN_PARTIALLY_FAILED,
    RUN_FAILED,
    RUN_CANCELLED,
    RUN_SUSPENDED,
};
#define RUN_PHASE_COUNT 8
extern const char *const run_phase_names[RUN_PHASE_COUNT];
const char *run_phase_to_string(enum run_phase phase);
int run_phase_from_string(const char *s);
bool run_phase_is_final(enum run_phase phase);

/* How an attempt ended, as the store keeps it. The row that is neither Void nor Invalid decides the
 * trial (the lowest attempt's, if there are two); a trial without one is undecided. */
enum attempt_outcome {
    ATTEMPT_SUCCEEDED,
    ATTEMPT_VOID,   /* does not count: another attempt at the trial follows */
    ATTEMPT_FAILED, /* a permanent failure that is not retried, or no attempt is left */
    ATTEMPT_METRICS_UNAVAILABLE, /* succeeded, but a summary is missing */
    ATTEMPT_INVALID, /* succeeded, but on a noisy machine (core/summary.h): it is repeated */
};
#define ATTEMPT_OUTCOME_COUNT 5
extern const char *const attempt_outcome_names[ATTEMPT_OUTCOME_COUNT];
/* False: another attempt at the trial follows. */
bool attempt_outcome_decides(enum attempt_outcome outcome);
const char *attempt_outcome_to_string(enum attempt_outcome outcome);
int attempt_outcome_from_string(const char *s);

/* A point is given up once a trial of it has failed for good and none has succeeded: its
 * other trials would most likely fail alike. A point that has succeeded once can, so
 * there the others go on. */
bool point_is_given_up(uint32_t n_succeeded, uint32_t n_failed);

/* Of a threshold, or of all thresholds of a run together. */
enum threshold_verdict { THRESHOLD_PASSED, THRESHOLD_FAILED, THRESHOLD_UNKNOWN };
const char *threshold_verdict_to_string(enum threshold_verdict verdict); /* "Passed", ... */
int threshold_verdict_from_string(const char *s);

/* What follows from the step times of a summary; result/replicas.h computes it. */
struct step_times {
    double sum_s; /* of all measured steps; NaN: the summary has none */
    double fall;  /* ln of the median of the first half over that of the second: 0.05 if the later
                     steps were 5% faster; NaN: too few to say */
    double median_ns; /* NaN: the summary has none */
};

/* What the store keeps of one replica of an ended attempt (its log apart). */
struct replica_row {
    struct replica_id id;
    int exit_code;                  /* -1: killed or never started */
    int signal;                     /* 0: none */
    char *failure;                  /* NULL, or one line for a person; owned */
    struct summary *summary;        /* core/record.h; NULL if none came; owned */
    struct environment environment; /* owned */
    json_t *reading;         /* how a log rule read its log (logparse/reading.h), or NULL; owned */
    uint64_t log_bytes;      /* uncompressed */
    struct step_times steps; /* of a stored one: what follows from its step times */
    bool is_stored;
};

/* What the store keeps of one ended attempt. */
struct attempt_row {
    struct attempt_id id;
    enum attempt_outcome outcome;
    int64_t started_unix_ms, ended_unix_ms;
    char *error; /* the cause for a person, naming the replica; NULL if it succeeded; owned */
    bool simulated;
    VEC(struct replica_row) replicas;
};
void attempt_row_done(struct attempt_row *row);
void attempt_row_drop_replicas(struct attempt_row *row);

/* Which attempt a reader asks for; -1: not given. */
struct attempt_wanted {
    int64_t point, trial, number;
};
/* True if the attempt has every number that was given. */
bool attempt_wanted_matches(const struct attempt_wanted *wanted, const struct attempt_id *id);
/* The first trial that matches, and of that trial the last attempt. `rows` are ordered by point,
 * trial, attempt. NULL: no row matches. Borrowed. */
const struct attempt_row *attempt_rows_find(const struct attempt_row *rows, size_t n,
                                            const struct attempt_wanted *wanted);
/* The replica of a role; role -1: one that leads (replica.h), index -1: the first. NULL if none
 * exists. Borrowed. */
const struct replica_row *attempt_row_find_replica(const struct attempt_row *row, int role,
                                                   int64_t index);
/* The replica whose log says most about the attempt's failure: the one that `error` names
 * first, else the first that has a failure, else the first with another exit code than 0. NULL if
 * none exists. Borrowed. */
const struct replica_row *attempt_row_find_culprit(const struct attempt_row *row);

/* What measures one trial at a time: a run has as many as it may have trials under way. */
struct run_lane {
    bool has_current;
    struct attempt_id current; /* the attempt that runs, if has_current */
    bool is_cut_short;         /* and never ends: what is left of it goes, and it gets no row */
};
#define LANES_MAX 16

/* The run's status: a summary that each reconcile recomputes; written only if it changed. */
struct run_status {
    enum run_phase phase;
    char reason[64]; /* CamelCase: Completed, TooManyFailedTrials, DeadlineExceeded, ... */
    char message[ERR_MSG_SIZE]; /* for a person */
    uint32_t trials_done, trials_failed, trials_total;
    union {
        struct run_lane lanes[LANES_MAX];
        struct { /* those of lanes[0]: all that a run has which measures one trial at a time */
            bool has_current;
            struct attempt_id current;
            bool is_cut_short;
        };
    };
    /* 0: not yet. Of a run that is suspended, or waits as wait_stops_clock() says, `ended` is since
     * when; going on moves the start by that time. */
    int64_t started_unix_ms, ended_unix_ms;
};

/* The reason of a run whose figures were read from old logs: by it a list shows what the run is.
 * Its definition says so, too (spec_is_imported). */
#define RUN_REASON_IMPORTED "Imported"
bool run_status_is_imported(const struct run_status *status);

bool run_status_eq(const struct run_status *a, const struct run_status *b);
/* The lane of that attempt; NULL: the status does not name it. Borrowed. */
const struct run_lane *run_status_find(const struct run_status *status,
                                       const struct attempt_id *id);

/* Of an event for people. */
enum event_type { EVENT_NORMAL, EVENT_WARNING };
#define EVENT_NOTE_SIZE 1024 /* the API server refuses an event with a longer note */
