/* What the company check of a run shows (spec/run_def.h; docs/contracts/result.md, "companyCheck"):
 * the throughput in company over that alone, from pairs of trials of one point. A pair counts if
 * its one trial was alone, and at least half of the other lanes measured during its other trial, by
 * the times that are stored. Pure. */
#pragma once

#include "base/buf.h"
#include "result/result.h"

/* The run is shown independent where the whole interval is from 95% to 105%: 5% is also from where
 * on lints call a replica, a node or a trial slow. */
#define COMPANY_TOLERANCE 0.05

/* When the points have their trials. */
void company_check_conclude(struct result *r);
/* Runs compare where this is equal: 1 of one that measured one trial at a time, or is shown
 * independent; else it follows from its lanes and its check. */
uint32_t result_lanes(const struct result *r);
/* `before` and "shown independent: in company, point 2 has 99.8% of its throughput alone (95%:
 * 99.1..100.5%; 5 pairs of trials, 2.9 other trials at a time)", or how few pairs count; nothing
 * without a check. */
void company_check_put(const struct result *r, const char *before, struct buf *out);
/* NULL: the run has no check. */
json_t *company_check_to_json(const struct result *r);
