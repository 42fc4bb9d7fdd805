/* What a definition would do, before it does it. Pure: a frozen definition in, text out. */
#pragma once

#include <jansson.h>

#include "base/buf.h"
#include "base/err.h"
#include "spec/run_def.h"

struct plan_point {
    uint32_t point;
    uint32_t replicas;      /* all roles */
    int64_t cpu_millicores; /* all replicas' requests; 0: none given */
    int64_t mem_bytes;
    int64_t busy_threads;
};

/* Sums of one point. -EINVAL when a parameter does not fit its template. */
int plan_point_measure(const struct run_def *def, uint32_t point, struct plan_point *ret,
                       struct err *err);

struct plan_opts {
    bool is_local;
    bool is_wide; /* everything, nothing cut */
    bool no_headers;
};
int plan_text(const struct run_def *def, const struct plan_opts *opts, struct buf *out,
              struct err *err);
/* kind BenchmarkPlan; owned. */
int plan_json(const struct run_def *def, bool is_local, json_t **ret, struct err *err);

/* "rehearsal: point 3 needs 4 busy threads, this machine gives 2 CPUs ..."; nothing if it is
 * none. */
void plan_rehearsal(const struct run_def *def, struct buf *out);
