/* Results from the bytes of figures_pack.h. Pure. */
#pragma once

#include "base/err.h"
#include "result/figures_pack.h"

/* What comparisons and histories need: what result_end_points and result_forget_replicas leave.
 * -EBADMSG: these are no such bytes, or another definition's. */
int figures_unpack_points(const struct run_def *def, enum run_phase phase,
                          const struct figures_bytes *bytes, struct result **ret, struct err *err);
/* What tables need: the whole. `rows` are all attempts of the run without their replicas, which are
 * added to those that decide a trial, but for the texts of their summaries and environments;
 * borrowed for the result's life. */
int figures_unpack(const struct run_def *def, enum run_phase phase,
                   const struct figures_bytes *bytes, struct attempt_row *rows, size_t n_rows,
                   struct result **ret, struct err *err);
