/* Models of how throughput grows with the number of trainers, fitted to the trials of one curve
 * (docs/contracts/result.md, "Curves"). Pure; called by curves.c.
 *
 * Each model is linear in its coefficients c: of the time that a trainer needs for a sample,
 * N / X. The noise of X is a factor, so what is minimised are squares of logarithms. Intervals of
 * ratios of coefficients are Fieller's; they may have no end. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "stats/significance.h"

enum scaling_model {
    SCALING_USL,  /* N / X = c0 + c1 (N - 1) + c2 N (N - 1) */
    SCALING_LOAD, /* N / X = c0 + c1 load */
};

/* All trials with one number of trainers. */
struct scaling_size {
    double n;             /* trainers */
    double load;          /* SCALING_LOAD alone reads it; the caller defines its meaning */
    struct contrast logs; /* mean of ln X over the trials; df: trials - 1 */
};

/* 95%. */
struct scaling_range {
    double value, low, high; /* low may be -infinity, high infinity; value NaN: not known */
};

enum scaling_gap {
    SCALING_FITTED,
    SCALING_FEW_SIZES, /* fewer than 3 numbers of trainers have enough trials */
    /* no coefficients make the squares least, or one trainer alone had no time */
    SCALING_NO_MINIMUM,
};
extern const char *const scaling_gap_names[]; /* "Fitted", "FewSizes", ... */
#define SCALING_MIN_SIZES 3

#define SCALING_MAX_COEFFICIENTS 3
struct scaling_parameter {
    const char *name; /* in JSON and tables; static */
    struct scaling_range range;
};
struct scaling_fit {
    enum scaling_model model;
    enum scaling_gap gap; /* what follows is set only where this is SCALING_FITTED */
    size_t n_coefficients;
    double c[SCALING_MAX_COEFFICIENTS];
    double covariance[SCALING_MAX_COEFFICIENTS][SCALING_MAX_COEFFICIENTS];
    double df;        /* trials less coefficients */
    double deviation; /* of ln X from the model, one standard deviation */
    /* variance of ln X of a trial about the model: as the sizes show it, at least `deviation`'s */
    double misfit, misfit_df;
    double trials;   /* of a size, mean */
    double misfit_p; /* of "the model holds", by the F test of lack of fit; NaN: as many sizes as
                         coefficients, so nothing is left over to test it */
    struct scaling_parameter parameters[SCALING_MAX_COEFFICIENTS]; /* only of SCALING_USL */
};
#define SCALING_MISFIT_ALPHA 0.01

/* `sizes` by rising n, each n once, each with df > 0. */
struct scaling_fit scaling_fit_model(enum scaling_model model, const struct scaling_size *sizes,
                                     size_t n_sizes);
/* Is it fitted, and do the trials not contradict it? */
bool scaling_fit_holds(const struct scaling_fit *f);
/* Throughput of n trainers with this load, and its 95% interval: how far sizes lie from the model
 * decides, not how far trials lie from each other. Value NaN: the fit has as many sizes as
 * coefficients, or no throughput there. */
struct scaling_range scaling_predict(const struct scaling_fit *f, double n, double load);

/* ---- what the fitted USL says ---- */

/* The number of trainers with the highest throughput. */
struct scaling_peak {
    bool is_within; /* it is at `limit` at most */
    struct scaling_range
        at;       /* value: infinity where throughput only rises; low, high: at least 1 */
    double limit; /* twice the largest n measured: as far as a model is believed */
};
struct scaling_peak scaling_find_peak(const struct scaling_fit *usl, double largest_n);
