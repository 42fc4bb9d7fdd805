/* See student.h. */
#include "stats/student.h"

#include <float.h>
#include <math.h>

#define FRACTION_MAX_TERMS 1000 /* of order sqrt(max(a, b)): enough for a million trials */
#define FRACTION_PRECISION 1e-15
#define QUANTILE_MAX_STEPS 100 /* 5 to 10 are taken from df = 1 on */

/* One step of Lentz's method: a continued fraction from the front, kept off zero. */
static double lentz(double *c, double *d, double numerator)
{
    *d = 1 + numerator * *d;
    *c = 1 + numerator / *c;
    *d = fabs(*d) < DBL_MIN ? DBL_MIN : *d;
    *c = fabs(*c) < DBL_MIN ? DBL_MIN : *c;
    *d = 1 / *d;
    return *c * *d;
}

/* The continued fraction of DLMF 8.17.22, which converges fast for x < (a + 1) / (a + b + 2). */
static double beta_fraction(double a, double b, double x)
{
    double c = 1, d = 1 / (1 - (a + b) * x / (a + 1)), fraction = d;
    for (int m = 1; m < FRACTION_MAX_TERMS; m++) {
        const double at = a + 2 * m;
        fraction *= lentz(&c, &d, m * (b - m) * x / ((at - 1) * at));
        const double step = lentz(&c, &d, -(a + m) * (a + b + m) * x / (at * (at + 1)));
        fraction *= step;
        if (fabs(step - 1) < FRACTION_PRECISION) {
            break;
        }
    }
    return fraction;
}

double student_incomplete_beta(double a, double b, double x)
{
    if (x <= 0 || x >= 1) {
        return x <= 0 ? 0 : 1;
    }
    if (x > (a + 1) / (a + b + 2)) { /* DLMF 8.17.4 */
        return 1 - student_incomplete_beta(b, a, 1 - x);
    }
    int sign;
    const double ln_beta = lgamma_r(a, &sign) + lgamma_r(b, &sign) - lgamma_r(a + b, &sign);
    return exp(a * log(x) + b * log1p(-x) - ln_beta) / a * beta_fraction(a, b, x);
}

double student_two_sided(double t, double df)
{
    if (isinf(t)) {
        return 0;
    }
    /* Abramowitz and Stegun 26.7.1 with 26.5.27. */
    return student_incomplete_beta(df / 2, 0.5, df / (df + t * t));
}

/* Newton's steps from below: p falls and is convex in t > 0, so that they never pass the root. */
double student_quantile(double df, double alpha)
{
    const double precision = 1e-13;
    int sign;
    const double ln_beta =
        lgamma_r(df / 2, &sign) + lgamma_r(0.5, &sign) - lgamma_r((df + 1) / 2, &sign);
    double t = 1; /* below the quantile for any df */
    for (int i = 0; i < QUANTILE_MAX_STEPS; i++) {
        const double density = exp(-(df + 1) / 2 * log1p(t * t / df) - ln_beta) / sqrt(df);
        const double step = (student_two_sided(t, df) - alpha) / (2 * density);
        t += step;
        if (fabs(step) <= precision * t) {
            break;
        }
    }
    return t;
}
