/* Which points of a rehearsal had fewer CPUs than they keep busy, and what that means
 * for the verdict. Pure. */
#pragma once

#include "report/layout.h"

/* Has a swept point more threads that compute than the run had CPUs? */
bool prose_cpus_any(const struct run_def *def);
/* Some sentences, each with its end. Call it for a rehearsal of real trainers. `fastest` is the
 * point with the highest throughput; NULL: none was measured. */
void prose_cpus_describe(const struct layout *l, const struct point_result *fastest,
                         struct buf *out);
/* Which points they are: "point 0 (a, 1 pserver) with 3 threads, which used 1.70 CPUs;
 * point 2 (b, 1 pserver) with 3 threads", without the CPUs where a replica does not say
 * its time; four at most. */
void prose_cpus_list(const struct layout *l, struct buf *out);
