/* Checks what a definition, or a profile, says of a job object (job_template.h). Pure. */
#pragma once

#include <jansson.h>

#include "doc/reader.h"

/* systems[].job, or with `is_profile` the part of a profile, as JSON; without `template` where
 * something was noted. NULL: absent or no map. Owned. */
json_t *job_read(struct diags *d, const struct place *place, bool is_profile);
