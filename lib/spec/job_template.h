/* A system that is a job object: a Job, a JobSet, a TrainJob or another kind of job_kinds.c. What
 * its definition says of the object (docs/job-objects.md) stays JSON, as spec_job.c has checked it;
 * here is the object of a point. Pure. */
#pragma once

#include <stdbool.h>

#include <jansson.h>

#include "base/err.h"
#include "core/replica.h"
#include "doc/reader.h"
#include "spec/system_template.h"

struct point;

const char *job_kind(const json_t *job); /* "TrainJob" */
/* Where the object has the pods of a role, `template`, and what they are, `add` and `index`; NULL:
 * it has none. Borrowed, like all that follows. */
const json_t *job_pods(const json_t *job, enum role role);
/* The same, `template` alone. */
const char *job_pods_path(const json_t *job, enum role role);

/* The object of a point, without names and labels of its own. The names of `objects` in it end with
 * "-" and the attempt's name; NULL: they are as in the definition. Owned. -EINVAL: a path leads
 * nowhere. */
int job_object(const struct spec *spec, const struct point *point, const char *attempt,
               json_t **ret, struct err *err);
/* The pods of a role in the object, made if they are a new item of a list, with `add`. Borrowed.
 * NULL: the object has no pod template there (*err). */
json_t *job_enter_pods(const json_t *job, json_t *object, enum role role, struct err *err);
/* The pod template of a role in such an object, or in its template; NULL: it is not a whole one. */
const json_t *job_pod_template(const json_t *job, const json_t *object, enum role role);
/* A copy of it, of the object of a point; *ret is NULL without one. Owned. */
int job_point_template(const struct spec *spec, const struct point *point, enum role role,
                       json_t **ret, struct err *err);
/* Does the object get a number or name of the sweep? `spec` says which role counts by it. */
bool job_takes(const struct spec *spec, const json_t *job, const char *name);

/* spec_job.c: checks what a definition, or with `is_profile` a profile, says of a job object, and
 * gives it as JSON; without `template` where something was noted. NULL: absent or no map. Owned. */
json_t *job_read(struct diags *d, const struct place *place, bool is_profile);

/* In job_kinds.c: the kinds of objects that benchd makes for a system that is a job object. benchd
 * makes them for every account that may create a BenchmarkRun, so it refuses all other kinds.
 * Called when a definition is read, and for each object before it is sent: parameters may have set
 * anything. */
enum job_use { JOB_ITSELF, JOB_EXTRA }; /* job.template; an item of job.objects */

/* 0, or -EINVAL and the problem: of kind and apiVersion alone, and of a whole object as its
 * definition has it. */
int job_kind_check(const json_t *object, enum job_use use, struct template_problem *ret);
int job_object_check(const json_t *object, enum job_use use, struct template_problem *ret);
/* May the path lead to a part of a pod template, without containers? An override of a TrainJob is
 * one. */
bool job_kind_has_part_at(const json_t *object, const char *path);
