/* What a PodTemplateSpec may not say, because benchd says it. Pure; for pod_body.c. */
#pragma once

#include <jansson.h>

#include "base/err.h"

/* -EINVAL names the field, what it says and what to do. */
int pod_check_template(const json_t *template, struct err *err);
