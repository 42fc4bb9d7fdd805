/* What a PodTemplateSpec may not have: fields that benchd sets itself, and everything that would
 * give a replica the identity, the storage or the keys of benchd. Called when a definition is read,
 * and for every pod and job object, since their parameters may have set anything. Pure.
 * manifests/admission-policy.yaml refuses a pod for the same names. */
#pragma once

#include <jansson.h>

struct template_problem {
    char path[192];    /* "spec.volumes[1].secret.secretName" */
    char message[256]; /* what is wrong, and why */
    char fix[96];      /* what to do */
};

/* Writes all but the path. -EINVAL. */
int template_problem_set(struct template_problem *p, const char *fix, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* 0, or -EINVAL and the first problem. */
int template_rules_check(const json_t *template, struct template_problem *ret);
/* The same of an object whose controller makes pods, or that these need, without the fields that
 * benchd sets in pods of its own. */
int template_rules_check_object(const json_t *object, struct template_problem *ret);
