/* The PodTemplateSpec of a role as one system runs it: the role's template, then what the system
 * has of its own. Pure. */
#pragma once

#include <jansson.h>

#include "base/err.h"
#include "spec/spec.h"

/* Owned. Without a template of the role: one with a single container. -EINVAL: a patch meets
 * something it cannot set. */
int system_template(const struct spec *spec, const struct system *system, enum role role,
                    json_t **ret, struct err *err);
/* Container 0, borrowed; NULL: none. Of a pod, too. */
json_t *template_container(const json_t *template);
/* Does it have a command? */
bool template_has_command(const json_t *template);
/* Which template it is, for comparisons, where a whole one is too long: 16 hexadecimal digits,
 * FNV-1a of the canonical text (sorted keys, no white space). It distinguishes templates and need
 * not resist attacks. NULL: "none". Owned. */
char *template_hash(const json_t *template);

/* In template_rules.c: what a PodTemplateSpec may not have: fields that benchd sets itself, and
 * everything that would give a replica the identity, the storage or the keys of benchd. Called
 * when a definition is read, and for every pod and job object, since their parameters may have set
 * anything. manifests/admission-policy.yaml refuses a pod for the same names. */
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
