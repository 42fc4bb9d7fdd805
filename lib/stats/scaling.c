/* See scaling.h. Least squares by Gauss and Newton, on logarithms; the ratios of coefficients that
 * a reader wants have the intervals of Fieller, J. R. Statist. Soc. B 16 (1954) 175-185. */
#include "stats/scaling.h"

#include <math.h>
#include <string.h>

#include "stats/stats.h"

#define MAX_ROUNDS 100
#define MAX_HALVINGS 40
#define SMALL_STEP 1e-12 /* of ln X: converged */
#define ROUNDING 1e-20   /* a sum of squares of ln X that is 0 */
#define SINGULAR 1e-10   /* what is left of a column that the others make up, as a share */
#define ALPHA 0.05       /* of all intervals */
#define BELIEVED 2       /* times the largest n */
#define MAX SCALING_MAX_COEFFICIENTS
#define NO_RANGE ((struct scaling_range){NAN, NAN, NAN})

const char *const scaling_gap_names[] = {"Fitted", "FewSizes", "NoMinimum"};

/* ---- least squares ---- */

static void basis_of(enum scaling_model model, double n, double load, double ret[MAX])
{
    ret[0] = 1;
    ret[1] = model == SCALING_USL ? n - 1 : load;
    ret[2] = model == SCALING_USL ? n * (n - 1) : 0;
}

static double dot(const double a[MAX], const double b[MAX])
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

/* ln (N / X) */
static double observed(const struct scaling_size *s)
{
    return log(s->n) - s->logs.value;
}

static double trials_of(const struct scaling_size *s)
{
    return s->logs.df + 1;
}

/* The inverse of a symmetric matrix of n rows, each with a positive diagonal:
 * false where it has none. */
static bool invert(double m[MAX][MAX], size_t n, double ret[MAX][MAX])
{
    double a[MAX][2 * MAX] = {{0}};
    double scale[MAX]; /* a unit diagonal makes pivots comparable */
    for (size_t i = 0; i < n; i++) {
        if (!(m[i][i] > 0)) {
            return false;
        }
        scale[i] = 1 / sqrt(m[i][i]);
    }
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < n; j++) {
            a[i][j] = m[i][j] * scale[i] * scale[j];
        }
        a[i][n + i] = 1;
    }
    for (size_t i = 0; i < n; i++) {
        if (!(a[i][i] > SINGULAR)) {
            return false;
        }
        const double pivot = a[i][i];
        for (size_t k = 0; k < 2 * n; k++) {
            a[i][k] /= pivot;
        }
        for (size_t j = 0; j < n; j++) {
            const double factor = a[j][i];
            for (size_t k = 0; k < 2 * n && j != i; k++) {
                a[j][k] -= factor * a[i][k];
            }
        }
    }
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < n; j++) {
            ret[i][j] = a[i][n + j] * scale[i] * scale[j];
        }
    }
    return true;
}

/* A fit under way. */
struct work {
    const struct scaling_size *sizes; /* borrowed */
    size_t n_sizes;
    struct scaling_fit *fit;
    double inverse[MAX][MAX]; /* of the normal matrix at fit->c */
    double squares;           /* of the means' logarithms from the model, times their trials */
};

static double model_at(const struct work *w, const double c[MAX], const struct scaling_size *s)
{
    double h[MAX];
    basis_of(w->fit->model, s->n, s->load, h);
    return dot(c, h);
}

/* Infinity where the model is not positive. */
static double squares_at(const struct work *w, const double c[MAX])
{
    double sum = 0;
    for (size_t i = 0; i < w->n_sizes; i++) {
        const double m = model_at(w, c, &w->sizes[i]);
        if (!(m > 0)) {
            return INFINITY;
        }
        const double r = observed(&w->sizes[i]) - log(m);
        sum += trials_of(&w->sizes[i]) * r * r;
    }
    return sum;
}

/* The step of Gauss and Newton from c. `at` is what the logarithms are linearised at: the model, or
 * (at the start, where c is 0) what was observed. */
static bool find_step(struct work *w, bool is_start, double ret_step[MAX])
{
    const size_t n = w->fit->n_coefficients;
    double normal[MAX][MAX] = {{0}}, right[MAX] = {0};
    for (size_t i = 0; i < w->n_sizes; i++) {
        const struct scaling_size *s = &w->sizes[i];
        const double y = observed(s);
        const double at = is_start ? exp(y) : model_at(w, w->fit->c, s);
        const double r = is_start ? 1 : y - log(at);
        double h[MAX];
        basis_of(w->fit->model, s->n, s->load, h);
        for (size_t j = 0; j < n; j++) {
            right[j] += trials_of(s) * r * h[j] / at;
            for (size_t k = 0; k < n; k++) {
                normal[j][k] += trials_of(s) * h[j] * h[k] / (at * at);
            }
        }
    }
    if (!invert(normal, n, w->inverse)) {
        return false;
    }
    for (size_t j = 0; j < MAX; j++) {
        ret_step[j] = j < n ? dot(w->inverse[j], right) : 0;
    }
    return true;
}

/* How far the step moves ln of the model, at most. */
static double length_of(const struct work *w, const double step[MAX])
{
    double longest = 0;
    for (size_t i = 0; i < w->n_sizes; i++) {
        const struct scaling_size *s = &w->sizes[i];
        const double moved = model_at(w, step, s) / model_at(w, w->fit->c, s);
        longest = fmax(longest, fabs(moved));
    }
    return longest;
}

/* Linear least squares; where they lead out of what the model can be, a constant. */
static bool find_start(struct work *w)
{
    if (!find_step(w, true, w->fit->c)) {
        return false;
    }
    w->squares = squares_at(w, w->fit->c);
    if (isinf(w->squares)) {
        w->fit->c[0] = exp(observed(&w->sizes[0]));
        w->fit->c[1] = w->fit->c[2] = 0;
        w->squares = squares_at(w, w->fit->c);
    }
    return isfinite(w->squares);
}

/* Goes as far along the step as makes the squares less. False: no way at all. */
static bool walk(struct work *w, const double step[MAX])
{
    double share = 1;
    for (int i = 0; i < MAX_HALVINGS; i++, share /= 2) {
        double c[MAX];
        for (size_t j = 0; j < MAX; j++) {
            c[j] = w->fit->c[j] + share * step[j];
        }
        const double squares = squares_at(w, c);
        if (squares < w->squares) {
            w->squares = squares;
            memcpy(w->fit->c, c, sizeof(c));
            return true;
        }
    }
    return false;
}

static bool minimise(struct work *w)
{
    if (!find_start(w)) {
        return false;
    }
    for (int round = 0; round < MAX_ROUNDS; round++) {
        double step[MAX];
        if (!find_step(w, false, step)) {
            return false;
        }
        const double length = length_of(w, step);
        if (length < SMALL_STEP) {
            return true;
        }
        if (!walk(w, step)) { /* rounding alone keeps it from going on */
            return length < sqrt(SMALL_STEP);
        }
    }
    return false;
}

/* ---- intervals ---- */

static double covariance_of(const struct scaling_fit *f, const double a[MAX], const double b[MAX])
{
    double sum = 0;
    for (size_t i = 0; i < MAX; i++) {
        sum += a[i] * dot(f->covariance[i], b);
    }
    return sum;
}

/* Where u c / w c may lie: the roots of (u - x w)^2 = t^2 var(u - x w) in x. Without ends where w
 * is not shown to differ from 0. */
struct fieller {
    double value, a, b, c; /* a x^2 - 2 b x + c <= 0 */
};

static struct fieller fieller_of(const struct scaling_fit *f, const double u[MAX],
                                 const double w[MAX])
{
    const double t = student_quantile(f->df, ALPHA), t2 = t * t;
    const double top = dot(u, f->c), bottom = dot(w, f->c);
    return (struct fieller){
        .value = top / bottom,
        .a = bottom * bottom - t2 * covariance_of(f, w, w),
        .b = top * bottom - t2 * covariance_of(f, u, w),
        .c = top * top - t2 * covariance_of(f, u, u),
    };
}

static struct scaling_range range_of(const struct fieller *x)
{
    if (!isfinite(x->value)) {
        return NO_RANGE;
    }
    if (!(x->a > 0)) {
        return (struct scaling_range){x->value, -INFINITY, INFINITY};
    }
    const double root = sqrt(fmax(0, x->b * x->b - x->a * x->c));
    return (struct scaling_range){
        .value = x->value,
        .low = fmin(x->value, (x->b - root) / x->a), /* rounding must not push the value out */
        .high = fmax(x->value, (x->b + root) / x->a),
    };
}

static struct scaling_range ratio_range(const struct scaling_fit *f, const double u[MAX],
                                        const double w[MAX])
{
    const struct fieller x = fieller_of(f, u, w);
    return range_of(&x);
}

/* What one trainer makes alone: 1 / c0. */
static struct scaling_range alone_of(const struct scaling_fit *f)
{
    static const double one[MAX] = {1, 0, 0};
    if (!(f->c[0] > 0)) {
        return NO_RANGE;
    }
    const double deviation = sqrt(covariance_of(f, one, one)) / f->c[0];
    const double half = student_quantile(f->df, ALPHA) * deviation;
    return (struct scaling_range){
        .value = exp(-log(f->c[0])),
        .low = exp(-log(f->c[0]) - half),
        .high = exp(-log(f->c[0]) + half),
    };
}

static void name_parameters(struct scaling_fit *f)
{
    static const double alone[MAX] = {1, 0, 0}, first[MAX] = {0, 1, 0}, second[MAX] = {0, 0, 1};
    f->parameters[0] = (struct scaling_parameter){"alone", alone_of(f)};
    f->parameters[1] = (struct scaling_parameter){"contention", ratio_range(f, first, alone)};
    f->parameters[2] = (struct scaling_parameter){"coherency", ratio_range(f, second, alone)};
}

/* P of such squares about the model, or more, if it holds. */
static double misfit_of(const struct work *w, double pure, double pure_df)
{
    const double df = w->fit->misfit_df;
    if (df < 1) {
        return NAN;
    }
    if (w->squares < ROUNDING) {
        return 1;
    }
    if (pure < ROUNDING) { /* trials that are all equal */
        return 0;
    }
    const double f = w->squares / df / (pure / pure_df);
    return student_incomplete_beta(pure_df / 2, df / 2, pure_df / (pure_df + df * f));
}

static void finish(struct work *w)
{
    struct scaling_fit *f = w->fit;
    double pure = 0, pure_df = 0;
    for (size_t i = 0; i < w->n_sizes; i++) {
        const struct contrast *logs = &w->sizes[i].logs;
        pure += logs->variance * trials_of(&w->sizes[i]) * logs->df;
        pure_df += logs->df;
    }
    f->df = pure_df + (double)w->n_sizes - (double)f->n_coefficients;
    const double variance = (pure + w->squares) / f->df;
    for (size_t i = 0; i < f->n_coefficients; i++) {
        for (size_t j = 0; j < f->n_coefficients; j++) {
            f->covariance[i][j] = variance * w->inverse[i][j];
        }
    }
    f->deviation = sqrt(variance);
    f->misfit_df = (double)w->n_sizes - (double)f->n_coefficients;
    f->misfit = fmax(w->squares / f->misfit_df, variance);
    f->trials = (pure_df + (double)w->n_sizes) / (double)w->n_sizes;
    f->misfit_p = misfit_of(w, pure, pure_df);
    if (f->model == SCALING_USL) {
        name_parameters(f);
    }
}

struct scaling_fit scaling_fit_model(enum scaling_model model, const struct scaling_size *sizes,
                                     size_t n_sizes)
{
    struct scaling_fit f = {.model = model, .n_coefficients = model == SCALING_USL ? 3 : 2};
    if (n_sizes < SCALING_MIN_SIZES) {
        f.gap = SCALING_FEW_SIZES;
        return f;
    }
    struct work w = {.sizes = sizes, .n_sizes = n_sizes, .fit = &f};
    /* One trainer alone has no time, or less: nothing can be said as a share of it. */
    if (!minimise(&w) || !(f.c[0] > 0)) {
        f.gap = SCALING_NO_MINIMUM;
        return f;
    }
    finish(&w);
    return f;
}

bool scaling_fit_holds(const struct scaling_fit *f)
{
    return f->gap == SCALING_FITTED && !(f->misfit_p <= SCALING_MISFIT_ALPHA);
}

struct scaling_range scaling_predict(const struct scaling_fit *f, double n, double load)
{
    double h[MAX];
    basis_of(f->model, n, load, h);
    const double share = dot(f->c, h); /* of n / X */
    if (f->gap != SCALING_FITTED || !(share > 0) || !(f->misfit_df > 0)) {
        return NO_RANGE;
    }
    const double of_fit = covariance_of(f, h, h) / (share * share); /* of trials alone */
    const double scale = f->deviation > 0 ? f->misfit / (f->deviation * f->deviation) : 0;
    const double deviation = sqrt(scale * of_fit + f->misfit / f->trials);
    const double factor = exp(student_quantile(f->misfit_df, ALPHA) * deviation);
    return (struct scaling_range){n / share, n / share / factor, n / share * factor};
}

/* ---- what the USL says ---- */

/* X is highest where c0 - c1 = c2 N^2, so the interval is that of a ratio of sums of coefficients,
 * of N^2. Where c2 is not shown to be above 0 it has a low end at most. */
struct scaling_peak scaling_find_peak(const struct scaling_fit *usl, double largest_n)
{
    static const double less[MAX] = {1, -1, 0}, second[MAX] = {0, 0, 1};
    const struct fieller x = fieller_of(usl, less, second);
    const double root = sqrt(fmax(0, x.b * x.b - x.a * x.c));
    double low = 0, high = INFINITY; /* of N^2 */
    if (x.a > 0) {
        low = (x.b - root) / x.a;
        high = (x.b + root) / x.a;
    } else if (x.c > 0 && x.a < 0) {
        low = (x.b - root) / x.a; /* the other root is negative */
    }
    struct scaling_peak peak = {.limit = BELIEVED * largest_n};
    if (usl->c[2] > 0) {
        peak.at.value = fmax(1, sqrt(fmax(0, x.value)));
        peak.at.low = fmax(1, sqrt(fmax(0, low)));
        peak.at.high = fmax(1, sqrt(fmax(0, high)));
    } else { /* the further, the more; a significant c2 below 0 leaves no peak at all */
        peak.at = (struct scaling_range){INFINITY, INFINITY, INFINITY};
        peak.at.low = x.a > 0 ? INFINITY : fmax(1, sqrt(fmax(0, low)));
    }
    peak.at.low = fmin(peak.at.low, peak.at.value);
    peak.at.high = fmax(peak.at.high, peak.at.value);
    peak.is_within = peak.at.value <= peak.limit;
    return peak;
}
