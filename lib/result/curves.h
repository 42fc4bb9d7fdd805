/* The curves of a result: points that differ in the number of trainers alone, and what they say
 * about scaling. Pure; called by result_build.c. */
#pragma once

#include <jansson.h>

#include "result/result.h"

/* Fills r->curves. */
void curves_collect(struct result *r);
void curves_done(struct curves *curves);

/* Samples of all who train in a step: by the definition, or as its logs say; NaN: not known. */
double curve_batch(const struct point_result *p);
/* "Strong": the sizes in the fit have one batch; "Weak": each who trains has as many samples at all
 * of them; NULL: neither, or unknown. */
const char *curve_scaling(const struct curve *c);
/* In a step of the largest size. `share` is NaN without a law. */
struct curve_term {
    const char *name, *of;        /* "Computation", "B / N"; static */
    double share;                 /* of the step */
    struct scaling_range seconds; /* NaN where the unit of throughput says no time of a step */
};
struct curve_term curve_term(const struct curve *c, enum scaling_term term);
/* By how much a step of this size lasts longer than by the law. */
double curve_residual(const struct curve *c, const struct scaling_size *s);
/* With a batch that all workers share, the number of workers with the highest throughput; value
 * NaN: each worker has its own batch. */
struct scaling_range curve_peak(const struct curve *c);
/* What throughput stays below with any number of workers, each with a batch of its own; value NaN:
 * no term of N is shown. */
struct scaling_range curve_ceiling(const struct curve *c);
json_t *curve_law_to_json(const struct curve *c);

/* The measured point with the most trainers; NULL: none was measured. */
const struct point_result *curve_widest(const struct curve *c);

/* ---- with more workers than were measured: forecast.c ----
 *
 * docs/prediction.md, "From measured sizes". Called by benchctl predict. */

#define FORECAST_MAX_FACTOR 4 /* times the most workers that were measured */

struct forecast {
    const struct curve *curve; /* borrowed */
    double n, batch;           /* workers, and samples of all in a step; NaN: not known */
    struct figure throughput;  /* never in batches/s, for these differ; not known: `why` */
    double straight;           /* n times what one did at the smallest size; NaN */
    const struct point_result *measured; /* which the fit left out; borrowed; NULL: none */
    char *why;                           /* owned; NULL */
};

/* A batch of NaN: that of the job if it was the same at all sizes, else each worker has as many
 * samples as with the most workers that were measured. `without`: a point that does not count, and
 * becomes `measured`; NULL: none. */
struct forecast forecast_make(const struct curve *c, double n, double batch,
                              const struct point_result *without);
void forecast_done(struct forecast *f);
json_t *forecast_to_json(const struct forecast *f); /* owned */
