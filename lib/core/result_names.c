/* Names of phases and outcomes, and the end of an attempt_row; see result.h. The names are those of
 * the stored rows, of the status and of `-o json`: one table each way. */
#include "core/result.h"

#include <errno.h>
#include <string.h>

static const char *const trial_phases[] = {
    [TRIAL_PENDING] = "Pending",
    [TRIAL_RUNNING] = "Running",
    [TRIAL_SUCCEEDED] = "Succeeded",
    [TRIAL_FAILED] = "Failed",
    [TRIAL_METRICS_UNAVAILABLE] = "MetricsUnavailable",
};

static const char *const run_phases[] = {
    [RUN_PENDING] = "Pending",     [RUN_QUEUED] = "Queued",
    [RUN_RUNNING] = "Running",     [RUN_AGGREGATING] = "Aggregating",
    [RUN_SUCCEEDED] = "Succeeded", [RUN_PARTIALLY_FAILED] = "PartiallyFailed",
    [RUN_FAILED] = "Failed",       [RUN_CANCELLED] = "Cancelled",
    [RUN_SUSPENDED] = "Suspended",
};

static const char *const attempt_outcomes[] = {
    [ATTEMPT_SUCCEEDED] = "Succeeded",
    [ATTEMPT_VOID] = "Void",
    [ATTEMPT_FAILED] = "Failed",
    [ATTEMPT_METRICS_UNAVAILABLE] = "MetricsUnavailable",
};

static const char *const threshold_verdicts[] = {
    [THRESHOLD_PASSED] = "Passed",
    [THRESHOLD_FAILED] = "Failed",
    [THRESHOLD_UNKNOWN] = "Unknown",
};

#define N(array) (sizeof(array) / sizeof((array)[0]))

static int find(const char *const *names, size_t n, const char *s)
{
    for (size_t i = 0; i < n; i++) {
        if (strcmp(names[i], s) == 0) {
            return (int)i;
        }
    }
    return -EINVAL;
}

const char *trial_phase_to_string(enum trial_phase phase)
{
    return trial_phases[phase];
}

int trial_phase_from_string(const char *s)
{
    return find(trial_phases, N(trial_phases), s);
}

const char *run_phase_to_string(enum run_phase phase)
{
    return run_phases[phase];
}

int run_phase_from_string(const char *s)
{
    return find(run_phases, N(run_phases), s);
}

bool run_phase_is_final(enum run_phase phase)
{
    return phase == RUN_SUCCEEDED || phase == RUN_PARTIALLY_FAILED || phase == RUN_FAILED ||
           phase == RUN_CANCELLED;
}

const char *attempt_outcome_to_string(enum attempt_outcome outcome)
{
    return attempt_outcomes[outcome];
}

int attempt_outcome_from_string(const char *s)
{
    return find(attempt_outcomes, N(attempt_outcomes), s);
}

const char *threshold_verdict_to_string(enum threshold_verdict verdict)
{
    return threshold_verdicts[verdict];
}

void attempt_row_done(struct attempt_row *row)
{
    vec_each (struct replica_row, r, &row->replicas) {
        free(r->failure);
        free(r->summary_json);
        free(r->environment_json);
    }
    vec_done(&row->replicas);
    free(row->error);
    row->error = NULL;
}
