/* The definition that `benchctl init -f` prints, of a job object's manifest. Pure. */
#pragma once

#include "base/buf.h"
#include "base/err.h"
#include "doc/tree.h"
#include "spec/profile.h"

struct init_job_params {
    const char *path; /* of the manifest, for comments */
    const char *name; /* of the benchmark; NULL: that of the object */
    const struct node *manifest;
    const struct profiles *profiles;
};
/* -EINVAL: no profile is for an object of its kind. */
int init_job_format(const struct init_job_params *params, struct buf *out, struct err *err);
