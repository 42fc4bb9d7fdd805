/* What a PodTemplateSpec may not have: fields that benchd sets itself, and whatever would give a
 * replica the identity, the storage or the keys of benchd. Called when a definition is read,
 * and for every pod, since its parameters may have set anything. Pure. */
#pragma once

#include <jansson.h>

struct template_problem {
    char path[192];    /* "spec.volumes[1].secret.secretName" */
    char message[256]; /* what is wrong, and why */
    char fix[96];      /* what to do */
};

/* 0, or -EINVAL and the first problem. */
int template_rules_check(const json_t *template, struct template_problem *ret);
/* The same of a pod that the controller of a job object makes: only what is benchd's own, a token,
 * and places that are not for replicas. */
int template_rules_check_owned(const json_t *template, struct template_problem *ret);
