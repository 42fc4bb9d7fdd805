/* See scaling.h. A face is a set of terms, as bits: those whose coefficients may differ from 0.
 * With at most five terms all faces are tried. The least squares with coefficients of at least 0
 * are those of the best face that has no negative coefficient, and so is every end of an interval
 * (Karush, Kuhn and Tucker). */
#include "stats/scaling.h"

#include <math.h>
#include <string.h>

#define ROUNDS 12 /* of least squares, which converge in fewer unless sizes contradict a law */
#define SMALL_STEP 1e-9 /* of a number of workers */
#define SINGULAR 1e-10  /* what is left of a column that the others make up, as a share */
#define ALPHA 0.05      /* of all intervals */
/* Of the two-sided test for a term of N^2, which can only be positive. */
#define SUPERLINEAR_ALPHA 0.10
/* A size lies so far from any law for reasons of its own, one standard deviation of ln T: the least
 * that leaves the intervals of published series right (docs/mlperf.md). */
#define SIZE_DEVIATION 0.003
#define BELIEVED 2 /* times the largest size: where the state is that of the law */
#define MOST_WORKERS 1e9
#define COLUMNS SCALING_COLUMNS
#define ALL_TERMS ((1U << SCALING_TERMS) - 1)
#define SQUARE (1U << SCALING_TERMS)

const char *const scaling_state_names[] = {"Fitted", "FewSizes", "Superlinear", "Unsure"};

static void basis_of(const struct scaling_law *law, double n, double batch, double ret[COLUMNS])
{
    ret[SCALING_COMPUTATION] = batch / n;
    ret[SCALING_CONSTANT] = law->is_weak ? 1 - 1 / n : 1;
    ret[SCALING_LOGARITHM] = log2(n);
    ret[SCALING_LINEAR] = n;
    ret[SCALING_TERMS] = n * n;
}

static double dot(const double a[COLUMNS], const double b[COLUMNS])
{
    double sum = 0;
    for (size_t i = 0; i < COLUMNS; i++) {
        sum += a[i] * b[i];
    }
    return sum;
}

double scaling_time(const struct scaling_law *law, double n, double batch)
{
    double h[COLUMNS];
    basis_of(law, n, batch, h);
    return dot(law->c, h);
}

/* A step must take time at every size: of one worker, some terms are 0. */
static bool is_face(const struct scaling_law *law, unsigned face, unsigned allowed)
{
    const unsigned positive = 1U << SCALING_COMPUTATION | 1U << SCALING_LINEAR | SQUARE |
                              (law->is_weak ? 0 : 1U << SCALING_CONSTANT);
    return (face & ~allowed) == 0 && (face & positive) != 0 &&
           (size_t)__builtin_popcount(face) <= law->max_terms;
}

/* Solves normal x = right within a face; false if the sizes do not distinguish its terms. */
static bool solve(const struct scaling_law *law, unsigned face, const double right[COLUMNS],
                  double ret[COLUMNS])
{
    double a[COLUMNS][COLUMNS + 1] = {{0}};
    double scale[COLUMNS]; /* a unit diagonal makes pivots comparable */
    for (size_t i = 0; i < COLUMNS; i++) {
        scale[i] = (face >> i & 1) != 0 ? 1 / sqrt(law->normal[i][i]) : 0;
    }
    for (size_t i = 0; i < COLUMNS; i++) {
        for (size_t j = 0; j < COLUMNS; j++) {
            a[i][j] = law->normal[i][j] * scale[i] * scale[j];
        }
        a[i][i] = scale[i] > 0 ? a[i][i] : 1;
        a[i][COLUMNS] = right[i] * scale[i];
    }
    for (size_t i = 0; i < COLUMNS; i++) {
        if (!(a[i][i] > SINGULAR)) {
            return false;
        }
        for (size_t j = 0; j < COLUMNS; j++) {
            const double factor = j == i ? 0 : a[j][i] / a[i][i];
            for (size_t k = i; k <= COLUMNS; k++) {
                a[j][k] -= factor * a[i][k];
            }
        }
    }
    for (size_t i = 0; i < COLUMNS; i++) {
        ret[i] = a[i][COLUMNS] / a[i][i] * scale[i];
    }
    return true;
}

static bool is_possible(const double c[COLUMNS])
{
    bool is = true;
    for (size_t i = 0; i < COLUMNS; i++) {
        is = is && c[i] >= 0;
    }
    return is;
}

/* By how much the squares at c exceed those of no law at all; below 0. */
static double squares_at(const struct scaling_law *law, const double c[COLUMNS])
{
    double sum = -2 * dot(c, law->right);
    for (size_t i = 0; i < COLUMNS; i++) {
        sum += c[i] * dot(law->normal[i], c);
    }
    return sum;
}

/* ---- least squares ---- */

static void take_best(struct scaling_law *law, unsigned allowed)
{
    law->least = INFINITY;
    for (unsigned face = 1; face <= allowed; face++) {
        double c[COLUMNS];
        if (is_face(law, face, allowed) && solve(law, face, law->right, c) && is_possible(c) &&
            squares_at(law, c) < law->least) {
            law->least = squares_at(law, c);
            law->n_terms = (size_t)__builtin_popcount(face);
            memcpy(law->c, c, sizeof(c));
        }
    }
}

/* Of a size from the law, in ln T; `noise` is that of a trial. */
static double variance_of(const struct scaling_size *s, double noise)
{
    return noise / (s->logs.df + 1) + SIZE_DEVIATION * SIZE_DEVIATION;
}

/* ln of the time of a step, as measured, over that of the law. */
static double residual_of(const struct scaling_law *law, const struct scaling_size *s)
{
    return log(s->batch) - s->logs.value - log(scaling_time(law, s->n, s->batch));
}

/* Makes the squares of the residuals least, over their variances, and returns them. Each round
 * linearises the logarithms at the law of the round before, the first at what was measured. */
static double minimise(struct scaling_law *law, const struct scaling_size *sizes, size_t n_sizes,
                       double noise, unsigned allowed)
{
    double squares = 0;
    for (int round = 0; round < ROUNDS; round++) {
        const struct scaling_law before = *law;
        memset(law->normal, 0, sizeof(law->normal));
        memset(law->right, 0, sizeof(law->right));
        for (size_t i = 0; i < n_sizes; i++) {
            const struct scaling_size *s = &sizes[i];
            const double variance = variance_of(s, noise);
            const double off = round == 0 ? 0 : residual_of(&before, s);
            const double at = s->batch / exp(s->logs.value + off);
            double h[COLUMNS];
            basis_of(law, s->n, s->batch, h);
            for (size_t j = 0; j < COLUMNS; j++) {
                law->right[j] += (1 + off) * h[j] / at / variance;
                for (size_t k = 0; k < COLUMNS; k++) {
                    law->normal[j][k] += h[j] * h[k] / (at * at) / variance;
                }
            }
        }
        take_best(law, allowed);
    }
    for (size_t i = 0; i < n_sizes; i++) {
        squares += pow(residual_of(law, &sizes[i]), 2) / variance_of(&sizes[i], noise);
    }
    return squares;
}

/* The mean over all faces that fit about as well, by Akaike's weights: a further term must make the
 * squares less by 2. */
static void take_mean(struct scaling_law *law, double inflation)
{
    double sum = 0, mean[COLUMNS] = {0};
    for (unsigned face = 1; face <= ALL_TERMS; face++) {
        double c[COLUMNS];
        if (!is_face(law, face, ALL_TERMS) || !solve(law, face, law->right, c) || !is_possible(c)) {
            continue;
        }
        const double more = squares_at(law, c) - law->least;
        const double weight = exp(-more / inflation / 2 - __builtin_popcount(face));
        sum += more > law->allowed ? 0 : weight;
        for (size_t i = 0; i < COLUMNS && more <= law->allowed; i++) {
            mean[i] += weight * c[i];
        }
    }
    for (size_t i = 0; i < COLUMNS; i++) {
        law->c[i] = mean[i] / sum;
    }
}

static struct scaling_law law_of(const struct scaling_size *sizes, size_t n_sizes)
{
    struct scaling_law law = {.state = SCALING_FEW_SIZES,
                              .n_sizes = n_sizes,
                              .least_each = INFINITY,
                              .is_strong = true,
                              .max_terms = n_sizes - 1};
    for (size_t i = 0; i < n_sizes; i++) {
        law.smallest = sizes[0];
        law.largest = sizes[i];
        law.least_each = fmin(law.least_each, sizes[i].batch / sizes[i].n);
        law.most_each = fmax(law.most_each, sizes[i].batch / sizes[i].n);
        law.is_strong = law.is_strong && sizes[i].batch == sizes[0].batch;
    }
    law.is_weak = law.most_each < SCALING_SAME_BATCH * law.least_each;
    return law;
}

struct scaling_law scaling_fit(const struct scaling_size *sizes, size_t n_sizes)
{
    struct scaling_law law = law_of(sizes, n_sizes), steeper = law;
    double pure = 0, df = 0, variance = 0;
    if (n_sizes < SCALING_MIN_SIZES) {
        return law;
    }
    for (size_t i = 0; i < n_sizes; i++) {
        pure += sizes[i].logs.variance * (sizes[i].logs.df + 1) * sizes[i].logs.df;
        df += sizes[i].logs.df;
    }
    for (size_t i = 0; i < n_sizes; i++) {
        variance += variance_of(&sizes[i], pure / df) / (double)n_sizes;
    }
    const double squares = minimise(&law, sizes, n_sizes, pure / df, ALL_TERMS);
    const double less = minimise(&steeper, sizes, n_sizes, pure / df, ALL_TERMS | SQUARE);
    if (steeper.c[SCALING_TERMS] > 0 &&
        student_two_sided(sqrt(fmax(0, squares - less)), df) <= SUPERLINEAR_ALPHA) {
        memcpy(law.steeper, steeper.c, sizeof(law.steeper));
    }
    /* Sizes that lie further from the law than their variances say show how far sizes do. */
    const double left = (double)(n_sizes - law.n_terms);
    const double inflation = fmax(1, squares / left);
    const double t = student_quantile(inflation > 1 ? left : df, ALPHA);
    law.allowed = t * t * inflation;
    law.size_deviation = t * sqrt(inflation * variance);
    take_mean(&law, inflation);
    struct scaling_range unused;
    law.state = scaling_predict(&law, BELIEVED * law.largest.n,
                                (law.is_strong ? 1 : BELIEVED) * law.largest.batch, &unused);
    return law;
}

/* ---- what it says ---- */

/* A sum of coefficients, and its ends where the squares exceed the least ones by what is
 * allowed. */
static struct scaling_range range_of(const struct scaling_law *law, const double h[COLUMNS])
{
    const double value = dot(law->c, h);
    struct scaling_range x = {value, value, value};
    for (unsigned face = 1; face <= ALL_TERMS; face++) {
        double c[COLUMNS], step[COLUMNS];
        if (!is_face(law, face, ALL_TERMS) || !solve(law, face, law->right, c) ||
            !solve(law, face, h, step)) {
            continue;
        }
        const double spare = law->allowed + law->least - squares_at(law, c);
        const double length = dot(h, step) > 0 ? sqrt(fmax(0, spare) / dot(h, step)) : 0;
        for (int sign = -1; sign <= 1 && spare >= 0; sign += 2) {
            double end[COLUMNS];
            for (size_t i = 0; i < COLUMNS; i++) {
                end[i] = c[i] + sign * length * step[i];
            }
            if (is_possible(end)) {
                x.low = fmin(x.low, dot(end, h));
                x.high = fmax(x.high, dot(end, h));
            }
        }
    }
    return x;
}

struct scaling_range scaling_part(const struct scaling_law *law, enum scaling_term term, double n,
                                  double batch)
{
    double h[COLUMNS], part[COLUMNS] = {0};
    basis_of(law, n, batch, h);
    part[term] = h[term];
    return range_of(law, part);
}

/* The deviation of a product of two factors, in logarithms. hypot would need glibc 2.35. */
static double deviation_of_both(double a, double b)
{
    return sqrt(a * a + b * b);
}

enum scaling_state scaling_predict(const struct scaling_law *law, double n, double batch,
                                   struct scaling_range *ret)
{
    double h[COLUMNS];
    if (law->n_sizes < SCALING_MIN_SIZES) {
        return SCALING_FEW_SIZES;
    }
    basis_of(law, n, batch, h);
    const struct scaling_range t = range_of(law, h);
    const double less = deviation_of_both(log(t.high / t.value), law->size_deviation);
    const double more = deviation_of_both(log(t.value / t.low), law->size_deviation);
    *ret = (struct scaling_range){batch / t.value, batch / t.value * exp(-less),
                                  batch / t.value * exp(more)};
    const bool is_unsure = ret->high > SCALING_MAX_RANGE * ret->low;
    const double steep = batch / dot(law->steeper, h); /* infinite: there is no such term */
    return steep < (is_unsure ? ret->value : ret->low) ? SCALING_SUPERLINEAR
           : is_unsure                                 ? SCALING_UNSURE
                                                       : SCALING_FITTED;
}

/* Where N^2 dT / dN becomes positive, which only rises with N; `end` of its range: -1 low, 0 value,
 * 1 high. */
static double turning_point(const struct scaling_law *law, int end)
{
    double low = 1, high = MOST_WORKERS;
    while (high - low > SMALL_STEP * high) {
        const double n = sqrt(low * high);
        const struct scaling_range slope =
            range_of(law, (double[COLUMNS]){-law->largest.batch, 0, n / log(2), n * n, 0});
        const double x = end < 0 ? slope.low : end > 0 ? slope.high : slope.value;
        *(x > 0 ? &high : &low) = n;
    }
    return high < MOST_WORKERS ? high : INFINITY;
}

/* The steeper the slope, the earlier it turns. */
struct scaling_range scaling_peak(const struct scaling_law *law)
{
    return (struct scaling_range){turning_point(law, 0), turning_point(law, 1),
                                  turning_point(law, -1)};
}
