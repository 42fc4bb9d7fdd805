/* A system that is a job object: a Job, a JobSet, a TrainJob or any other kind that makes pods by
 * itself. What its definition says of the object (docs/job-objects.md), and the object of a point.
 * Pure. */
#pragma once

#include <stdbool.h>

#include <jansson.h>

#include "base/err.h"
#include "base/vec.h"
#include "core/role.h"

struct point;
struct spec;
struct system;

/* A value that is set in the object; one of the last three. */
struct job_set {
    char *path;    /* JSON pointer, owned */
    char *from;    /* a name of the sweep, or one of struct point's numbers; owned, or NULL */
    char *object;  /* name of one of `objects`, owned, or NULL */
    json_t *value; /* null takes the field away */
};

/* The pods of a role. */
struct job_pods {
    char *template; /* JSON pointer to their template, owned; NULL: the object has no such pods */
    json_t *add;    /* a map, fields that the template gets; NULL: none */
    char *index;    /* their label with their number, owned; NULL: POD_INDEX_LABEL, or in the order
                       in which they come */
};

struct job {
    json_t *template; /* the object as a manifest has it */
    VEC(struct job_set) set;
    struct job_pods pods[ROLE_COUNT];
    char *succeeded, *failed; /* as json_condition_holds() takes them; owned */
    VEC(json_t *) objects;    /* that an attempt needs before; each has a name */
};
void job_free(struct job *job);

const char *job_kind(const struct job *job); /* "TrainJob" */
/* Which of `objects` has this metadata.name; -1: none. */
int job_find_object(const struct job *job, const char *name);

/* The object of a point, without names and labels of its own. `names`: those of `objects` as they
 * are in the cluster; NULL: as the definition has them. Owned. -EINVAL: a path leads nowhere. */
int job_object(const struct spec *spec, const struct point *point, const char *const *names,
               json_t **ret, struct err *err);
/* The pod template of a role in such an object, or in its template; NULL: it is not a whole one.
 * Borrowed. */
const json_t *job_pod_template(const struct job *job, const json_t *object, enum role role);
/* Does the object get a number or name of the sweep? `spec` says which role counts by it. */
bool job_takes(const struct spec *spec, const struct job *job, const char *name);
