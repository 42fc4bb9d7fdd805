/* Two runs, compared with other runs of the base: is their difference more than that between any
 * two runs of the same thing? And if other programs of the machine took different shares of the
 * two, is it the machine's doing? The parts of compare.c that ask the history. Pure. */
#pragma once

#include "compare/comparison.h"

/* Of all comparisons of a thing with itself at most this share names a change. */
#define COMPARE_HISTORY_ALPHA 0.01

/* Did `other` succeed, and is it of the base's definition, machine and build? Everything that
 * `differs` looks at is the same, and so is what was asked for. */
bool compare_history_is_same(const struct result *base, const struct result *other);
/* Takes the runs of `history` that are the base's: the same definition, machine and build. Fills
 * n_base_runs and what is `between` of each point and of the whole. */
void compare_history_test(struct comparison *c, const struct result *const *history, size_t n);
/* What becomes of a change that the trials of the two runs show. */
enum change compare_history_judge(const struct comparison *c, const struct run_spread *between,
                                  double p_adjusted);

/* ---- a busy machine (docs/contracts/compare.md, "A busy machine") ----
 *
 * It is not asked inside one run, where what the machine did cancels.
 *
 * A trial whose gang lost the share s to others (others_cpu.h) would have made X / (1 - s) alone.
 * With y = ln X and z = y - ln(1 - s), of means over trials and, on the base's side, over its runs:
 *
 *   difference  candidate less base, of y       what was measured
 *   alone       candidate less base, of z       what remains once what others took is given back
 *   explained   difference - alone
 *
 * The change is the machine's doing unless something else is shown: `explained` points in its
 * direction and reaches the threshold, and what remains is either not shown itself (the same test
 * of the same runs, at the same 1%), or smaller than what is explained. The last condition is there
 * because others cost more than CPU time (caches, memory, clock), and that grows with what they
 * took. Under equal load `explained` is about 0, so a slower program stays Slower. Waiting for
 * one's own replicas or threads is not part of s. What is not known explains nothing. */

/* From both tests of a point or of all: fills `explained`. `lost`: the mean of -ln(1 - s) of the
 * candidate. */
void compare_busy_explain(struct compared_busy *busy, const struct run_spread *between,
                          double lost);
/* Is a change that `between` names the machine's doing? */
bool compare_busy_is_cause(const struct compared_busy *busy, const struct run_spread *between,
                           double threshold_ratio);
