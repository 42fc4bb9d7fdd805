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
/* Its image, borrowed; NULL: none. */
const char *template_image(const json_t *template);
/* Does it have a command? */
bool template_has_command(const json_t *template);
/* Which template it is, for comparisons, where a whole one is too long: 16 hexadecimal digits,
 * FNV-1a of the canonical text (sorted keys, no white space). It distinguishes templates and need
 * not resist attacks. NULL: "none". Owned. */
char *template_hash(const json_t *template);
