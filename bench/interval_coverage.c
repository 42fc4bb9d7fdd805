/* How often the printed 95% intervals hold the truth (script/bench coverage).
 *
 *   interval_coverage [EXPERIMENTS]        20,000 unless given
 *
 * Makes up trials with a known truth, computes every interval with the code that makes the tables
 * (lib/stats/stats.c, lib/stats/paired.c), and counts. The numbers drawn
 * are the same each time. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>

#include "base/parse.h"
#include "base/splitmix.h"
#include "stats/paired.h"
#include "stats/stats.h"

#define MIN_N 3
#define MAX_N 10
#define POINTS 4 /* of a geometric mean */
#define SEED 20181120
#define SEED_PAIRED 20181122
#define STRAGGLERS 0.1    /* share of the trials */
#define STRAGGLER_LOG 0.2 /* by how much they are slower, in logs: 18% */

/* ---- noise: the log of a throughput less that of a machine without any ---- */

enum shape {
    SHAPE_NORMAL,
    SHAPE_SKEWED,      /* times have a tail to the right: gamma of order 4, skewness 1 */
    SHAPE_EXPONENTIAL, /* the same, skewness 2 */
    SHAPE_STRAGGLERS,  /* normal, and some trials are slower by far */
};
#define SHAPE_COUNT 4
static const char *const shape_names[] = {"normal", "skewed", "exponential", "stragglers"};

static double draw_uniform(uint64_t *state)
{
    return (double)((splitmix_next(state) >> 11) + 1) / 9007199254740992.0;
}

static double draw_normal(uint64_t *state)
{
    const double radius = sqrt(-2 * log(draw_uniform(state)));
    return radius * cos(2 * M_PI * draw_uniform(state));
}

/* `deviation` is that of the noise, without stragglers. */
static double draw(enum shape shape, double deviation, uint64_t *state)
{
    switch (shape) {
    case SHAPE_NORMAL:
        return deviation * draw_normal(state);
    case SHAPE_SKEWED: {
        const double product =
            draw_uniform(state) * draw_uniform(state) * draw_uniform(state) * draw_uniform(state);
        return deviation * log(product) / 2; /* a gamma number of order 4 deviates by 2 */
    }
    case SHAPE_EXPONENTIAL:
        return deviation * log(draw_uniform(state));
    case SHAPE_STRAGGLERS: {
        const double noise = deviation * draw_normal(state);
        return draw_uniform(state) <= STRAGGLERS ? noise - STRAGGLER_LOG : noise;
    }
    }
    return NAN;
}

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

static double median_of(enum shape shape, double deviation)
{
    switch (shape) {
    case SHAPE_NORMAL:
        return 0;
    case SHAPE_SKEWED:
        return -deviation * 3.672060748850896 / 2; /* the median of a gamma number of order 4 */
    case SHAPE_EXPONENTIAL:
        return -deviation * M_LN2;
    case SHAPE_STRAGGLERS:
        return median_with_stragglers(deviation);
    }
    return NAN;
}

/* ---- the intervals ---- */

enum kind {
    KIND_POINT,      /* throughput of a point */
    KIND_RATIO,      /* of a point in two runs, both with the same noise */
    KIND_EFFICIENCY, /* 4 trainers over a baseline with half the noise */
    KIND_GEOMEAN,    /* of the ratios of 4 points */
    KIND_PAIRED,     /* compare --axis: of pairs of one run */
    KIND_PAIRED_ALL, /* the same of 4 points together */
    KIND_MARGIN,     /* compare --margin: the lower limit, one-sided */
};
#define KIND_COUNT 7
static const char *const kind_names[] = {"point",  "ratio",      "efficiency", "geomean",
                                         "paired", "paired all", "margin"};

/* What must be reached, in percent: 94 to 97, but where that cannot be had. */
struct bar {
    double least, most;
};

static const struct exception {
    enum shape shape;
    bool is_point; /* else all ratios */
    size_t max_n;
    struct bar bar;
    const char *why;
} exceptions[] = {
    {SHAPE_EXPONENTIAL, true, 3, {93, 97}, "too narrow: so few trials do not show a long tail"},
    {SHAPE_EXPONENTIAL, false, MAX_N, {94, 98}, "too wide: Welch's t takes the tail for spread"},
    {SHAPE_STRAGGLERS, false, MAX_N, {94, 99.5}, "too wide: it takes stragglers for spread"},
};
#define N_EXCEPTIONS (sizeof(exceptions) / sizeof(exceptions[0]))

static struct bar bar_of(enum shape shape, enum kind kind, size_t n)
{
    for (size_t i = 0; i < N_EXCEPTIONS; i++) {
        const struct exception *e = &exceptions[i];
        if (e->shape == shape && e->is_point == (kind == KIND_POINT) && n <= e->max_n) {
            return e->bar;
        }
    }
    return (struct bar){94, 97};
}

struct cell {
    int held[KIND_COUNT];
    double width; /* sum of half the widths of a point's interval, in standard deviations */
};

static struct estimate measure(enum shape shape, double deviation, size_t n, uint64_t *state)
{
    double x[MAX_N];
    for (size_t i = 0; i < n; i++) {
        x[i] = 100 * exp(draw(shape, deviation, state));
    }
    return stats_median(x, n);
}

static bool holds(const struct estimate *e, double truth)
{
    return e->has_interval && e->low <= truth && truth <= e->high;
}

static void experiment(enum shape shape, double deviation, size_t n, uint64_t *state,
                       struct cell *cell)
{
    const double center = 100 * exp(median_of(shape, deviation));
    const double center_base = 100 * exp(median_of(shape, deviation / 2));
    struct estimate base[POINTS], candidate[POINTS], ratios[POINTS];
    for (size_t i = 0; i < POINTS; i++) {
        base[i] = measure(shape, deviation, n, state);
        candidate[i] = measure(shape, deviation, n, state);
        ratios[i] = stats_ratio(&candidate[i], &base[i], 1);
    }
    const struct estimate single = measure(shape, deviation / 2, n, state);
    const struct estimate efficiency = stats_ratio(&base[0], &single, 0.25);
    const struct estimate geomean = stats_geomean(ratios, POINTS);
    cell->width += log(base[0].high / base[0].low) / 2 / deviation;
    cell->held[KIND_POINT] += holds(&base[0], center);
    cell->held[KIND_RATIO] += holds(&ratios[0], 1);
    cell->held[KIND_EFFICIENCY] += holds(&efficiency, center / center_base / 4);
    cell->held[KIND_GEOMEAN] += holds(&geomean, 1);
}

/* The candidate is 3% slower, at each point. What a block has in common
 * cancels, so it is 0 here. */
static void paired_experiment(enum shape shape, double deviation, size_t n, uint64_t *state,
                              struct cell *cell)
{
    const double truth = log(0.97);
    double d[MAX_N], sums[MAX_N] = {0};
    for (size_t point = 0; point < POINTS; point++) {
        for (size_t i = 0; i < n; i++) {
            d[i] = truth + draw(shape, deviation, state) - draw(shape, deviation, state);
            sums[i] += d[i] / POINTS;
        }
        if (point == 0) {
            const struct paired p = paired_test_staged(d, n, n);
            const struct estimate ratio = paired_ratio(&p);
            cell->held[KIND_PAIRED] += holds(&ratio, exp(truth));
            cell->held[KIND_MARGIN] += paired_low_95(&p) <= truth;
        }
    }
    const struct paired all = paired_test_staged(sums, n, n);
    const struct estimate ratio = paired_ratio(&all);
    cell->held[KIND_PAIRED_ALL] += holds(&ratio, exp(truth));
}

/* ---- the report ---- */

struct report {
    int experiments;
    uint64_t random, random_paired;
    size_t n_reached, n_all;
};

static void print_missed(const struct report *r, const struct cell *cells, enum shape shape,
                         enum kind kind)
{
    for (size_t n = MIN_N; n <= MAX_N; n++) {
        const struct bar bar = bar_of(shape, kind, n);
        const double percent = 100.0 * cells[n].held[kind] / r->experiments;
        if (percent < bar.least || percent > bar.most) {
            (void)printf("MISSED  %s, %s, %zu trials: %.1f, bar %g to %g\n", shape_names[shape],
                         kind_names[kind], n, percent, bar.least, bar.most);
        }
    }
}

static void print_row(struct report *r, const struct cell *cells, enum shape shape,
                      double deviation, enum kind kind)
{
    (void)printf("%-12s%3.0f%%  %-12s", shape_names[shape], 100 * deviation, kind_names[kind]);
    for (size_t n = MIN_N; n <= MAX_N; n++) {
        const struct bar bar = bar_of(shape, kind, n);
        const double percent = 100.0 * cells[n].held[kind] / r->experiments;
        r->n_reached += percent >= bar.least && percent <= bar.most;
        r->n_all++;
        (void)printf("%6.1f%c", percent, percent < 94 ? '-' : percent > 97 ? '+' : ' ');
    }
    const struct bar bar = bar_of(shape, kind, MIN_N);
    (void)printf("  %g to %g\n", bar.least, bar.most);
}

/* Every further trial must make the interval of a point narrower. */
static void print_width(struct report *r, const struct cell *cells, enum shape shape,
                        double deviation)
{
    (void)printf("%-12s%3.0f%%  %-12s", shape_names[shape], 100 * deviation, "half width");
    for (size_t n = MIN_N; n <= MAX_N; n++) {
        r->n_reached += n > MIN_N && cells[n].width < cells[n - 1].width;
        r->n_all += n > MIN_N;
        (void)printf("%6.2f ", cells[n].width / r->experiments);
    }
    (void)printf("  falls\n");
    for (size_t n = MIN_N + 1; n <= MAX_N; n++) {
        if (cells[n].width >= cells[n - 1].width) {
            (void)printf("MISSED  %s, half width: %zu trials have no narrower one than %zu\n",
                         shape_names[shape], n, n - 1);
        }
    }
}

static void bench_noise(struct report *r, enum shape shape, double deviation)
{
    struct cell cells[MAX_N + 1] = {0};
    for (size_t n = MIN_N; n <= MAX_N; n++) {
        for (int i = 0; i < r->experiments; i++) {
            experiment(shape, deviation, n, &r->random, &cells[n]);
            paired_experiment(shape, deviation, n, &r->random_paired, &cells[n]);
        }
    }
    for (enum kind kind = 0; kind < KIND_COUNT; kind++) {
        print_row(r, cells, shape, deviation, kind);
    }
    if (shape == SHAPE_NORMAL) {
        print_width(r, cells, shape, deviation);
    }
    for (enum kind kind = 0; kind < KIND_COUNT; kind++) {
        print_missed(r, cells, shape, kind);
    }
}

static void print_head(const struct report *r)
{
    (void)printf("How many of %d made-up experiments have the truth in their 95%% interval, in "
                 "percent\n\n%-12s%4s  %-12s",
                 r->experiments, "NOISE", "", "INTERVAL");
    for (int n = MIN_N; n <= MAX_N; n++) {
        (void)printf("%*s%d ", n < 10 ? 5 : 4, "n=", n);
    }
    (void)printf("  BAR\n");
}

static void print_notes(void)
{
    (void)printf("\nBelow 94: -; above 97: +. Bars that are not 94 to 97:\n");
    for (size_t i = 0; i < N_EXCEPTIONS; i++) {
        const struct exception *e = &exceptions[i];
        (void)printf("  %s, %s, up to %zu trials: %g to %g, %s\n", shape_names[e->shape],
                     e->is_point ? "point" : "ratios", e->max_n, e->bar.least, e->bar.most, e->why);
    }
}

int main(int argc, char **argv)
{
    static const double deviations[] = {0.01, 0.05};
    int64_t experiments = 20000;
    if (argc > 2 || (argc == 2 && parse_i64_in(argv[1], 1, 10000000, &experiments) < 0)) {
        (void)fprintf(stderr, "usage: interval_coverage [EXPERIMENTS], 1 to 10000000\n");
        return 2;
    }
    struct report r = {
        .experiments = (int)experiments, .random = SEED, .random_paired = SEED_PAIRED};
    print_head(&r);
    for (enum shape shape = 0; shape < SHAPE_COUNT; shape++) {
        for (size_t i = 0; i < sizeof(deviations) / sizeof(deviations[0]); i++) {
            bench_noise(&r, shape, deviations[i]);
        }
    }
    print_notes();
    (void)printf("reached %zu of %zu\n", r.n_reached, r.n_all);
    return r.n_reached < r.n_all;
}
