/* Tests of significance between two runs (docs/contracts/compare.md, "Statistics"). They are given
 * logarithms of throughput, because errors of logarithms add. Called by compare.c. Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sample { /* borrowed */
    const double *values;
    size_t n;
};

/* ---- one point ---- */

/* A mean of a sample, or a sum of such means, each times a factor. */
struct contrast {
    double value;
    double variance; /* of the value: its standard error, squared */
    double df;       /* of the variance, by Satterthwaite; 0: too few values to know it */
    bool is_staged;  /* a stop rule chose the number of values by the variance (spec/stop_rule.h) */
    /* If all values of all samples deviate alike: */
    double common;    /* the square of that deviation, as all samples together show it */
    double common_df; /* of it; 0: not known */
    double scale;     /* the variance of the value, in squares of that deviation */
};
struct contrast significance_mean(const struct sample *s); /* df 0 under two values */
/* a + factor * b, of independent samples. */
struct contrast significance_sum(const struct contrast *a, double factor, const struct contrast *b);

/* How far a contrast's value may lie off: its interval and its test are Student's with these. */
struct uncertainty {
    double variance, df;
};
/* The contrast's own, or where a stop rule chose the numbers of values the
 * wider of two 95% intervals:
 *
 *   variance, df               Welch's. Right where the numbers do not depend on the deviations;
 *                              too narrow where they follow them, since the side with a deviation
 *                              that is small by chance then has few values.
 *   common * scale, common_df  Stein's (Ann. Math. Statist. 16 (1945) 243-258, of a linear function
 *                              of means with one deviation). The numbers depend on the squares
 *                              alone, and the standardized value does not depend on these:
 *                              whatever the rule, it is Student's t where both sides deviate alike.
 *                              Too narrow where they do not and the numbers are the same. */
struct uncertainty significance_uncertainty(const struct contrast *c);

struct welch {
    bool known; /* two values on each side, or more */
    double t;   /* mean of b less mean of a, over its standard error; infinite where neither side
                   varies and they differ, 0 where they do not */
    double df, p;
};
/* Do the means of both sides differ? Known where both have a variance. Welch, Biometrika 34 (1947)
 * 28-35; degrees of freedom by Satterthwaite, Biometrics Bulletin 2 (1946) 110-114. Interval: value
 * +- quantile * sqrt(variance) of the contrast's uncertainty holds 0 exactly where p > 0.05. Of a
 * staged contrast p is the larger one of both hypotheses. */
struct welch significance_welch_of(const struct contrast *a, const struct contrast *b);

/* Benjamini and Hochberg, J. R. Statist. Soc. B 57 (1995) 289-300: ret_adjusted[i] <= q exactly
 * where their procedure rejects p[i] at the false discovery rate q. ret_adjusted may be p. */
void significance_adjust(const double *p, size_t n, double *ret_adjusted);

/* ---- numbers in ascending order: for tests by rank and corrections of many p ---- */

struct ranked {
    double value;
    size_t at; /* its index among those that were given */
};
/* Ascending; values that are alike in any order. Owned. */
struct ranked *ranked_sort(const double *values, size_t n);

/* ---- Student's t ---- */

/* I_x(a, b), the regularized incomplete beta function, within 1e-12; a, b > 0, 0 <= x <= 1. */
double student_incomplete_beta(double a, double b, double x);
/* P(|T| >= |t|) for Student's t; df > 0, not only whole numbers. 0 where t is infinite. */
double student_two_sided(double t, double df);
/* The value that |T| exceeds with a probability of alpha (0.05: half of a 95% interval, in standard
 * errors). df > 0, not only whole numbers; 0 < alpha <= 0.2; the inverse of the function above. */
double student_quantile(double df, double alpha);
