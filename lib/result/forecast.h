/* What a curve would give with more workers than were measured (docs/prediction.md, "From measured
 * sizes"). A step is taken to last a B / N + b log2 N, with N workers and a batch of B samples:
 * computation, and an exchange in a tree; these are two of the four terms of Ernest (Venkataraman
 * et al., NSDI 2016). Pure; called by benchctl predict. */
#pragma once

#include <jansson.h>

#include "result/result.h"

#define FORECAST_MAX_FACTOR 4   /* times the most workers that were measured */
#define FORECAST_MAX_BATCH 1.26 /* times what was measured on a worker, or its inverse */
#define FORECAST_MAX_RANGE 10   /* times the low end of an interval */

struct forecast {
    const struct curve *curve; /* borrowed */
    double n, batch;           /* workers, and samples of all in a step; NaN: not known */
    struct figure throughput;  /* never in batches/s, for these differ; not known: `why` */
    double straight;           /* n times what one did at the smallest size; NaN */
    const struct point_result *measured; /* which the fit left out; borrowed; NULL: none */
    char *why;                           /* owned; NULL */
};

/* A batch of NaN: each worker has as many samples as with the most workers that were measured.
 * `without`: a point that does not count, which becomes `measured`; NULL: none. */
struct forecast forecast_make(const struct curve *c, double n, double batch,
                              const struct point_result *without);
/* Of the point with the most workers, by the others. */
struct forecast forecast_check(const struct curve *c);
void forecast_done(struct forecast *f);
json_t *forecast_to_json(const struct forecast *f); /* owned */
