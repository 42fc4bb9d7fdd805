/* The curves of a result: points that differ in the number of trainers alone, and what they say
 * about scaling. Pure; called by result_build.c. */
#pragma once

#include <jansson.h>

#include "result/result.h"

/* Fills r->curves. */
void curves_collect(struct result *r);
void curves_done(struct curves *curves);

/* The i-th size: the single one first. NULL: there is no such. */
const struct point_result *curve_size(const struct curve *c, size_t i);
/* Samples of all who train in a step: by the definition, or as its logs say; NaN: not known. */
double curve_batch(const struct point_result *p);
/* It has a throughput with an interval, in the unit of the others. */
bool curve_is_trusted(const struct curve *c, const struct point_result *p);
/* The measured point with the most trainers; NULL: none was measured. */
const struct point_result *curve_widest(const struct curve *c);

/* ---- with more workers than were measured: forecast.c ----
 *
 * docs/prediction.md, "From measured sizes". A step is taken to last a B / N + b log2 N, with N
 * workers and a batch of B samples: computation, and an exchange in a tree; these are two of the
 * four terms of Ernest (Venkataraman et al., NSDI 2016). Called by benchctl predict. */

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
