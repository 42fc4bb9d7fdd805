/* How often the 95% interval of a point that stops early holds the truth (script/bench coverage).
 *
 *   stop_coverage [EXPERIMENTS]        20,000 unless given
 *
 * Makes up trials with a known truth, lets the rule (lib/spec/stop_rule.c) end them, computes the interval with
 * the code that makes the tables (lib/result/stats.c), and counts. For comparison it does what the rule
 * does not: it makes Student's interval anew after each trial and stops at the first that is narrow enough.
 * The numbers drawn are the same each time. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>

#include "base/parse.h"
#include "core/student.h"
#include "draws.h"
#include "result/paired.h"
#include "result/stats.h"
#include "spec/stop_rule.h"

#define MAX_N 100
#define SEED 20181121
#define STRAGGLERS 0.1    /* share of the trials */
#define STRAGGLER_LOG 0.2 /* by how much they are slower, in logs: 18% */
#define LEAST 94.0        /* percent */
#define MOST 97.0
#define MOST_STRAGGLERS 99.0 /* of ratios and pairs */

enum shape {
    SHAPE_NORMAL,
    SHAPE_SKEWED,     /* times have a tail to the right: gamma of order 4, skewness 1 */
    SHAPE_STRAGGLERS, /* normal, and some trials are slower by far */
};
#define SHAPE_COUNT 3
static const char *const shape_names[] = {"normal", "skewed", "stragglers"};
#define SKEWED_MEDIAN                                                                              \
    (-3.672060748850896) /* of its log, before it is divided by its deviation, 2 */

/* Half of all stragglers and others lie below: by bisection. */
static double median_with_stragglers(double deviation)
{
    double low = -STRAGGLER_LOG, high = 0;
    while (high - low > 1e-12) {
        const double x = (low + high) / 2;
        const double below = (1 - STRAGGLERS) * erfc(-x / deviation / M_SQRT2) / 2 +
                             STRAGGLERS * erfc(-(x + STRAGGLER_LOG) / deviation / M_SQRT2) / 2;
        *(below < 0.5 ? &low : &high) = x;
    }
    return low;
}

/* The log of a throughput. */
static double draw(enum shape shape, double deviation, uint64_t *state)
{
    switch (shape) {
    case SHAPE_NORMAL:
        return deviation * draw_normal(state);
    case SHAPE_SKEWED: {
        const double product =
            draw_uniform(state) * draw_uniform(state) * draw_uniform(state) * draw_uniform(state);
        return deviation * (log(product) - SKEWED_MEDIAN) / 2;
    }
    case SHAPE_STRAGGLERS: {
        const double noise = deviation * draw_normal(state);
        return draw_uniform(state) <= STRAGGLERS ? noise - STRAGGLER_LOG : noise;
    }
    }
    return NAN;
}

/* Of `draw`, over all possible trials. */
static double median_of(enum shape shape, double deviation)
{
    return shape == SHAPE_STRAGGLERS ? median_with_stragglers(deviation) : 0;
}

struct counts {
    int n_held, n_ratios_held, n_efficiencies_held, n_pairs_held, n_peeks_held;
    int n_full;           /* that have repeats.max trials */
    double trials, peeks; /* sums */
};

/* A point as the rule stops it. */
static struct estimate measure(const struct spec *spec, const double *x, size_t *ret_n)
{
    size_t n = (size_t)spec->min_repeats;
    const uint32_t needed = stop_rule_needed(spec, x, n);
    n = needed > n ? needed : n;
    const struct first_stage first = stop_rule_first_stage(spec, x, n);
    *ret_n = n;
    return stats_two_stage(x, n, first.variance, first.n);
}

/* Of n values; looked up, since each experiment asks for many. */
static double quantile_of(size_t n)
{
    static double known[MAX_N + 1];
    if (known[n] <= 0) {
        known[n] = student_quantile((double)(n - 1), 0.05);
    }
    return known[n];
}

/* The same stopped at the first interval that is narrow enough: does the last one hold `truth`? */
static bool peek(const struct spec *spec, const double *x, double truth, size_t *ret_n)
{
    double sum = 0, squares = 0, low = 0, high = 0;
    size_t n = 0;
    while (n < (size_t)spec->repeats) {
        const double value = log(x[n]), before = n == 0 ? value : sum / (double)n;
        n++;
        sum += value;
        squares += (value - before) * (value - sum / (double)n); /* Welford */
        if (n < (size_t)spec->min_repeats) {
            continue;
        }
        const double df = (double)(n - 1);
        const double half = quantile_of(n) * sqrt(squares / df / (double)n);
        low = sum / (double)n - half;
        high = sum / (double)n + half;
        if (half <= log1p(spec->stop.half_width_ratio)) {
            break;
        }
    }
    *ret_n = n;
    return low <= log(truth) && log(truth) <= high;
}

/* compare --axis: the pairs of the blocks in which both points have a trial. */
static bool pairs_hold(const struct spec *spec, const double *x, const double *y, size_t n)
{
    double d[MAX_N];
    for (size_t i = 0; i < n; i++) {
        d[i] = log(x[i] / y[i]);
    }
    const struct paired p = paired_test_staged(d, n, (size_t)spec->min_repeats);
    const struct estimate ratio = paired_ratio(&p);
    return ratio.low <= 1 && 1 <= ratio.high;
}

static void experiment(const struct spec *spec, enum shape shape, double deviation, uint64_t *state,
                       struct counts *counts)
{
    const double truth = 100 * exp(median_of(shape, deviation));
    const double truth_calm = 100 * exp(median_of(shape, deviation / 2));
    double x[MAX_N], y[MAX_N], calm[MAX_N];
    for (int64_t i = 0; i < spec->repeats; i++) {
        x[i] = 100 * exp(draw(shape, deviation, state));
        y[i] = 100 * exp(draw(shape, deviation, state));
        calm[i] = 100 * exp(draw(shape, deviation / 2, state));
    }
    size_t n = 0, n_other = 0, n_calm = 0, n_peek = 0;
    const struct estimate a = measure(spec, x, &n), b = measure(spec, y, &n_other);
    const struct estimate single = measure(spec, calm, &n_calm);
    const struct estimate ratio = stats_ratio(&a, &b, 1);
    const struct estimate efficiency = stats_ratio(&a, &single, 0.25);
    counts->n_held += a.low <= truth && truth <= a.high;
    counts->n_ratios_held += ratio.low <= 1 && 1 <= ratio.high;
    counts->n_efficiencies_held +=
        efficiency.low <= truth / truth_calm / 4 && truth / truth_calm / 4 <= efficiency.high;
    counts->n_pairs_held += pairs_hold(spec, x, y, n < n_other ? n : n_other);
    counts->n_peeks_held += peek(spec, x, truth, &n_peek);
    counts->n_full += n == (size_t)spec->repeats;
    counts->trials += (double)n;
    counts->peeks += (double)n_peek;
}

struct report {
    int experiments;
    uint64_t random;
    size_t n_reached, n_all;
};

static void judge(struct report *r, const char *what, double percent, double most)
{
    const bool is_reached = percent >= LEAST && percent <= most;
    r->n_reached += is_reached;
    r->n_all++;
    if (!is_reached) {
        (void)printf("MISSED  %s: %.1f, bar %g to %g\n", what, percent, LEAST, most);
    }
}

static void bench(struct report *r, const struct spec *spec, enum shape shape, double deviation)
{
    struct counts c = {0};
    for (int i = 0; i < r->experiments; i++) {
        experiment(spec, shape, deviation, &r->random, &c);
    }
    const double all = r->experiments, point = 100 * c.n_held / all,
                 ratio = 100 * c.n_ratios_held / all,
                 efficiency = 100 * c.n_efficiencies_held / all,
                 paired = 100 * c.n_pairs_held / all,
                 most = shape == SHAPE_STRAGGLERS ? MOST_STRAGGLERS : MOST;
    (void)printf("%-11s%3.0f%%%5lld%5lld%7.0f%%%8.1f%8.0f%%%8.1f%8.1f%12.1f%8.1f%10.1f%8.1f\n",
                 shape_names[shape], 100 * deviation, (long long)spec->min_repeats,
                 (long long)spec->repeats, 100 * spec->stop.half_width_ratio, c.trials / all,
                 100 * c.n_full / all, point, ratio, efficiency, paired, c.peeks / all,
                 100 * c.n_peeks_held / all);
    judge(r, "point", point, MOST);
    judge(r, "paired", paired, most);
    judge(r, "ratio", ratio, most);
    judge(r, "efficiency", efficiency, most);
}

int main(int argc, char **argv)
{
    static const double deviations[] = {0.01, 0.05}, widths[] = {0.01, 0.02, 0.05};
    static const struct {
        int64_t min, max;
    } ranges[] = {{3, 10}, {5, 10}, {3, 30}, {3, 100}};
    int64_t experiments = 20000;
    if (argc > 2 || (argc == 2 && parse_i64_in(argv[1], 1, 10000000, &experiments) < 0)) {
        (void)fprintf(stderr, "usage: stop_coverage [EXPERIMENTS], 1 to 10000000\n");
        return 2;
    }
    struct report r = {.experiments = (int)experiments, .random = SEED};
    (void)printf("How many of %d made-up experiments with stopWhen have the truth in their 95%% "
                 "interval, in percent\n\n%-11s%4s%5s%5s%8s%8s%9s%8s%8s%12s%8s%10s%8s\n",
                 r.experiments, "NOISE", "", "MIN", "MAX", "WIDTH", "TRIALS", "AT MAX", "POINT",
                 "RATIO", "EFFICIENCY", "PAIRED", "PEEKING", "POINT");
    for (enum shape shape = 0; shape < SHAPE_COUNT; shape++) {
        for (size_t i = 0; i < 2; i++) {
            for (size_t k = 0; k < sizeof(ranges) / sizeof(ranges[0]); k++) {
                for (size_t w = 0; w < 3; w++) {
                    const struct spec spec = {.min_repeats = ranges[k].min,
                                              .repeats = ranges[k].max,
                                              .stop = {true, widths[w]}};
                    bench(&r, &spec, shape, deviations[i]);
                }
            }
        }
    }
    (void)printf("\nBars: 94 to 97; of ratios and pairs with stragglers 94 to 99, too wide: a "
                 "straggler among the "
                 "first trials of either side\nis taken for spread. The truth is the median of all "
                 "possible trials.\n");
    (void)printf("reached %zu of %zu\n", r.n_reached, r.n_all);
    return r.n_reached < r.n_all;
}
