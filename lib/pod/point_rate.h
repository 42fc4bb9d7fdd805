/* What the replicas of a point take of a machine or a cluster, for `plan`. Pure. */
#pragma once

#include <stdint.h>

#include "base/err.h"
#include "spec/run_def.h"

struct point_rate {
    int64_t cpu_millicores; /* all replicas' requests; 0: none given */
    int64_t mem_bytes;      /* the same */
    int64_t n_replicas;
};
/* -EINVAL: a parameter does not fit its template. */
int point_rate_of(const struct run_def *def, uint32_t point, struct point_rate *ret,
                  struct err *err);
