/* The job object of an attempt and the objects that it needs before, as JSON for the API server
 * (spec/job_template.h). Its controller makes the pods: benchd's labels in their templates say
 * which replica of which attempt each is, so that the watch, the leftovers and the NetworkPolicy of
 * pods hold for them too. Pure. Used by run/pods/pod_jobs.c. */
#pragma once

#include <jansson.h>

#include "base/err.h"
#include "core/replica.h"
#include "spec/job_template.h"
#include "spec/run_def.h"

/* NULL: the point's system is no job object. */
const struct job *job_of_point(const struct run_def *def, uint32_t point);

/* `account`: the ServiceAccount of pods of which the template names none; NULL: the default one.
 * Owned. -EINVAL: a template may not be so, or a path leads nowhere. */
int job_body(const struct run_def *def, const struct attempt_id *attempt, const char *account,
             json_t **ret, struct err *err);
/* One of job->objects, with a name of the attempt. Owned. */
json_t *job_object_body(const struct run_def *def, const struct attempt_id *attempt, size_t i);
/* Which attempt of the run an object is of, by its labels; its owner is not looked at. */
bool job_identify(const struct run_def *def, const json_t *object, struct attempt_id *ret);
