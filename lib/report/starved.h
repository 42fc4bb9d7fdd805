/* Which points of a rehearsal had fewer CPUs than they keep busy, and what that means for the verdict. Pure. */
#pragma once

#include "report/layout.h"

/* Some sentences, each with its end. Call it for a rehearsal of real trainers. `fastest` is the point with the highest throughput;
 * NULL: none was measured. */
void starved_describe(const struct layout *l, const struct point_result *fastest, struct buf *out);
