/* The curves of a result: points that differ in the number of trainers alone, and what they say
 * about scaling. Pure; called by result.c. */
#pragma once

#include <stdint.h>

#include "base/vec.h"
#include "core/record.h"
#include "stats/scaling.h"
#include "stats/stats.h"

struct result;
struct point_result;

/* Between two neighbours of a curve: where the throughput of a trainer falls most. */
struct curve_loss {
    const struct point_result *from, *to; /* NULL: it falls nowhere, or nothing is known */
    struct estimate kept;                 /* of a trainer's throughput: 0.82 is a loss of 18% */
    bool has_phases;                      /* both say what a step consists of; what follows: */
    const char *phase;                    /* which grew most: "exchange", "computation" or "data" */
    double phase_ns, step_ns;             /* by how much it and the whole step grew */
};

struct curve {
    /* Swept points by rising number of trainers, each number once; at least one. */
    VEC(const struct point_result *) points;
    /* Their baseline, where it is one trainer and no point of the curve is: the first size of the
     * fits. NULL: none. */
    const struct point_result *single;
    size_t n_sizes;   /* numbers of trainers that have been measured */
    size_t n_trusted; /* of these, with an interval (3 trials): those in the fits */
    struct scaling_fit fits[SCALING_MODEL_COUNT];
    struct scaling_peak peak; /* this and `useful` only where the USL holds */
    struct scaling_useful useful;
    struct scaling_range exchange_share; /* of a step at the last point; NaN: not known */
    struct curve_loss loss;
};

/* Names of parameters that distinguish curves; those that follow from the number of trainers do
 * not. Borrowed from the points. */
struct curves {
    VEC(struct curve) list; /* by their first point; only those with two sizes or more */
    VEC(const char *) names;
};
/* Fills r->curves. */
void curves_collect(struct result *r);
void curves_done(struct curves *curves);

/* The measured point with the most trainers; NULL: none was measured. */
const struct point_result *curve_widest(const struct curve *c);
/* What the busiest link of a point's exchange carries, in sizes of the model: a server's N /
 * servers (at least 1, which each trainer's own link carries), each worker's 2 (N - 1) / N in a
 * ring, 0 without an exchange. NaN: not known. Over its batch, in batches of `like`. */
double curve_load(const struct point_result *p, const struct point_result *like);
