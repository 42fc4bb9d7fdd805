/* The job object of an attempt and the objects that it needs before, as JSON for the API server
 * (spec/job_template.h), and what it says of itself. Its controller makes the pods: benchd's
 * labels in their templates say which replica of which attempt each is, so that the watch, the
 * leftovers and the NetworkPolicy of pods hold for them too. Pure. Used by run/pods/pod_jobs.c. */
#pragma once

#include <jansson.h>

#include "base/err.h"
#include "core/replica.h"
#include "spec/run_def.h"

/* The ServiceAccount that makes, lists and deletes them: with its rights, and not with benchd's, so
 * that the API server refuses what these checks might not. */
#define JOB_ACCOUNT "benchd-jobs"
#define JOB_RIGHTS_ADVICE "apply manifests/rbac.yaml and its Role of manifests/jobs"

/* NULL: the point's system is no job object. Borrowed. */
const json_t *job_of_point(const struct run_def *def, uint32_t point);

/* `account`: the ServiceAccount of pods of which the template names none; NULL: the default one.
 * Owned. -EINVAL: a template may not be so, or a path leads nowhere. */
int job_body(const struct run_def *def, const struct attempt_id *attempt, const char *account,
             json_t **ret, struct err *err);
/* One of job.objects, with a name of the attempt. The job object with this uid owns it, so both are
 * deleted together. Owned. NULL: there are no more. */
json_t *job_extra_body(const struct run_def *def, const struct attempt_id *attempt, size_t i,
                       const char *job_uid);
/* Which attempt of the run an object is of, by its labels; its owner is not looked at. */
bool job_identify(const struct run_def *def, const json_t *object, struct attempt_id *ret);

enum job_verdict { JOB_GOES_ON, JOB_SUCCEEDED, JOB_FAILED };
struct job_state { /* all zero: nothing was read */
    enum job_verdict verdict;
    bool is_suspended;
    int64_t made_unix_ms; /* by the clock of the API server */
    char *uid;            /* owned */
    char *why;            /* of JOB_FAILED, for a person; owned, else NULL */
    char *held_by;        /* object_held_by(); owned */
};
/* `job`: as job_of_point() has it. Replaces *ret. */
void job_state_read(const json_t *job, const json_t *object, struct job_state *ret);
void job_state_done(struct job_state *state);
