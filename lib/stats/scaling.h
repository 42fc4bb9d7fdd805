/* The law by which the time of a step grows with the number of workers N, fitted to the trials of
 * one curve (docs/contracts/result.md, "Curves"). Pure; called by curves.c and forecast.c.
 *
 *     T = c0 B / N + c1 + c2 log2 N + c3 N        no coefficient below 0
 *
 * Computation of a batch of B samples, what any step takes, an exchange in a tree, and what every
 * worker adds: the four terms of Ernest (Venkataraman et al., NSDI 2016). Where each worker has as
 * many samples at all sizes, c1 is a part of computation: then its term is 1 - 1/N, which begins
 * with the second worker, as a ring does. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "stats/significance.h"

enum scaling_term {
    SCALING_COMPUTATION,
    SCALING_CONSTANT,
    SCALING_LOGARITHM,
    SCALING_LINEAR,
    SCALING_TERMS,
};

/* All trials with one number of workers. */
struct scaling_size {
    double n;             /* workers */
    double batch;         /* samples of all of them in a step */
    struct contrast logs; /* mean of ln of the throughput over the trials; df: trials - 1 */
};

/* 95%. */
struct scaling_range {
    double value, low, high; /* high may be infinity */
};

enum scaling_state {
    SCALING_FITTED,
    SCALING_FEW_SIZES,   /* fewer than 3 sizes; no law is set */
    SCALING_SUPERLINEAR, /* a term of N^2 improves the fit, and leads out of the interval */
    SCALING_UNSURE,      /* the high end of the interval is more than 3 times the low one */
};
extern const char *const scaling_state_names[]; /* "Fitted", "FewSizes", ... */
#define SCALING_MIN_SIZES 3
#define SCALING_MAX_RANGE 3
/* Sizes whose workers have batches within this factor do not show what a batch costs. */
#define SCALING_SAME_BATCH 1.26

#define SCALING_COLUMNS (SCALING_TERMS + 1) /* the last: N^2, of the test for SUPERLINEAR */
struct scaling_law {
    enum scaling_state state; /* at twice the largest size, with the batch that follows */
    size_t n_sizes;
    struct scaling_size smallest, largest; /* where there is a size */
    double least_each, most_each;          /* samples of a worker */
    bool is_weak;                          /* these hardly differ: the constant term is 1 - 1/N */
    bool is_strong;                        /* all sizes have one batch, which their workers share */
    double c[SCALING_COLUMNS]; /* seconds, if throughput is in samples of the batch a second */
    /* For scaling.c alone: least squares of relative errors, (c - x)' normal (c - x), and by how
     * much coefficients may exceed the least sum. */
    size_t n_terms, max_terms;
    double normal[SCALING_COLUMNS][SCALING_COLUMNS], right[SCALING_COLUMNS], least, allowed;
    double size_deviation;           /* 95%, of ln of the time of a further size from the law */
    double steeper[SCALING_COLUMNS]; /* with a term of N^2; all 0: it is not better */
};
/* `sizes` by rising n, each n once, each with df > 0. */
struct scaling_law scaling_fit(const struct scaling_size *sizes, size_t n_sizes);
/* The time of a step, and how much of it one term takes. Not of FEW_SIZES. */
double scaling_time(const struct scaling_law *law, double n, double batch);
struct scaling_range scaling_part(const struct scaling_law *law, enum scaling_term term, double n,
                                  double batch);
/* Throughput and its interval: of all combinations of terms that the trials do not contradict, and
 * of how far sizes lie from a law. *ret is set if the state is not FEW_SIZES. */
enum scaling_state scaling_predict(const struct scaling_law *law, double n, double batch,
                                   struct scaling_range *ret);
/* The number of workers with the highest throughput of a batch that is divided by all of them;
 * infinity: it only rises. At least 1. Not of FEW_SIZES. */
struct scaling_range scaling_peak(const struct scaling_law *law);
