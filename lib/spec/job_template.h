/* A system that is a job object: a Job, a JobSet, a TrainJob or another kind of job_kinds.c. What
 * its definition says of the object (docs/job-objects.md) stays JSON, as job_read.c has checked it;
 * here is the object of a point. Pure. */
#pragma once

#include <stdbool.h>

#include <jansson.h>

#include "base/err.h"
#include "core/role.h"
#include "doc/reader.h"

struct point;
struct spec;

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

/* job_read.c: checks what a definition, or with `is_profile` a profile, says of a job object, and
 * gives it as JSON; without `template` where something was noted. NULL: absent or no map. Owned. */
json_t *job_read(struct diags *d, const struct place *place, bool is_profile);
