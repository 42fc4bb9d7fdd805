/* Reading what a definition, or a profile, says of a job object (job_template.h). Pure. */
#pragma once

#include "doc/reader.h"
#include "spec/job_template.h"

/* systems[].job, or with `is_profile` the part of a profile. NULL: absent or no map. Owned. */
struct job *job_read(struct diags *d, const struct place *place, bool is_profile);
