/* Which fields of a PodTemplateSpec benchd sets itself, so that a template may not. Called by
 * body.c. Pure. */
#pragma once

#include <jansson.h>

#include "base/err.h"

/* -EINVAL names the field, its value and what to do. */
int pod_check_template(const json_t *template, struct err *err);
