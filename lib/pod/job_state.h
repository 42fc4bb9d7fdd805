/* What a job object says of itself. Pure: its JSON in, a verdict out. Used by
 * run/pods/pod_jobs.c. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

#include "spec/job_template.h"

enum job_verdict { JOB_GOES_ON, JOB_SUCCEEDED, JOB_FAILED };

struct job_state {
    enum job_verdict verdict;
    bool is_suspended;
    int64_t made_unix_ms; /* by the clock of the API server */
    char *uid;            /* owned */
    char *why;            /* of JOB_FAILED, for a person; owned, else NULL */
};
void job_state_read(const struct job *job, const json_t *object, struct job_state *ret);
void job_state_done(struct job_state *state);
