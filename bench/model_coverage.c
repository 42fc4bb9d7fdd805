/* How often the intervals of the models of scaling hold the truth (script/bench coverage).
 *
 *   model_coverage [EXPERIMENTS]        20,000 unless given
 *
 * Makes up the trials of a curve by a known USL, fits it with the code that makes the tables
 * (lib/result/scaling.c), and counts. The numbers drawn are the same each time. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>

#include "base/parse.h"
#include "draws.h"
#include "result/scaling.h"

#define SEED 20181122
#define MAX_SIZES 6
#define MAX_TRIALS 10

enum shape {
    SHAPE_NORMAL,
    SHAPE_EXPONENTIAL, /* times have a tail to the right */
    SHAPE_UNEQUAL, /* normal, and three times as wide with the most trainers as with the fewest */
};
static const char *const shape_names[] = {"normal", "exponential", "unequal"};

/* The log of a throughput less its mean. */
static double draw(enum shape shape, double deviation, uint64_t *state)
{
    return deviation *
           (shape == SHAPE_EXPONENTIAL ? 1 + log(draw_uniform(state)) : draw_normal(state));
}

/* Of the i-th of n sizes. */
static double deviation_of(enum shape shape, double deviation, size_t i, size_t n)
{
    return shape == SHAPE_UNEQUAL ? deviation * (1 + 2 * (double)i / (double)(n - 1)) : deviation;
}

/* ---- the curves ---- */

static const struct truth {
    const char *name;
    double contention, coherency;
    double n[MAX_SIZES];
    size_t n_sizes;
} truths[] = {
    {"peak inside", 0.05, 0.01, {1, 2, 4, 8, 16}, 5},
    {"peak beyond", 0.02, 0.0005, {1, 2, 4, 8, 16}, 5},
    {"three sizes", 0.05, 0.01, {1, 4, 16}, 3},
    {"linear", 0, 0, {1, 2, 4, 8}, 4},
    {"far apart", 0.01, 0.0001, {1, 20, 40, 80, 100}, 5},
};
#define N_TRUTHS (sizeof(truths) / sizeof(truths[0]))
#define ALONE 100.0

static double relative(const struct truth *t, double n)
{
    return n / (1 + t->contention * (n - 1) + t->coherency * n * (n - 1));
}

static double true_peak(const struct truth *t)
{
    return t->coherency > 0 ? sqrt((1 - t->contention) / t->coherency) : INFINITY;
}

static double true_useful(const struct truth *t)
{
    const double limit = 2 * t->n[t->n_sizes - 1];
    double n = 1;
    while (n < limit && relative(t, n + 1) - relative(t, n) >= SCALING_USEFUL_GAIN) {
        n++;
    }
    return n;
}

static struct contrast measure(double mean, enum shape shape, double deviation, size_t n,
                               uint64_t *state)
{
    double values[MAX_TRIALS];
    for (size_t i = 0; i < n; i++) {
        values[i] = mean + draw(shape, deviation, state);
    }
    return significance_mean(&(struct sample){values, n});
}

/* ---- counting ---- */

enum kind { KIND_ALONE, KIND_CONTENTION, KIND_COHERENCY, KIND_PEAK, KIND_USEFUL };
#define KIND_COUNT 5
static const char *const kind_names[] = {"alone", "contention", "coherency", "peak", "useful"};

struct cell {
    int held[KIND_COUNT], misfits;
};

struct bar {
    double least, most;
};

/* Whole numbers cannot be held to exactly 95%, and a peak at infinity is in each interval without an
 * upper end, so these have only a lower bar. */
static struct bar bar_of(enum shape shape, enum kind kind)
{
    const double least = shape == SHAPE_UNEQUAL ? 88 : shape == SHAPE_EXPONENTIAL ? 93 : 94;
    const bool is_open = kind == KIND_PEAK || kind == KIND_USEFUL || shape == SHAPE_UNEQUAL;
    return (struct bar){least, is_open ? 100 : 97};
}

static bool holds(const struct scaling_range *x, double truth)
{
    return x->low <= truth && truth <= x->high;
}

static void experiment(const struct truth *t, enum shape shape, double deviation, size_t n_trials,
                       uint64_t *state, struct cell *cell)
{
    struct scaling_size sizes[MAX_SIZES];
    for (size_t i = 0; i < t->n_sizes; i++) {
        const double mean = log(ALONE * relative(t, t->n[i]));
        sizes[i] = (struct scaling_size){
            .n = t->n[i],
            .logs = measure(mean, shape, deviation_of(shape, deviation, i, t->n_sizes), n_trials,
                            state),
        };
    }
    const struct scaling_fit f = scaling_fit_model(SCALING_USL, sizes, t->n_sizes);
    if (f.gap != SCALING_FITTED) {
        return; /* counts as missed */
    }
    const double largest = t->n[t->n_sizes - 1];
    const struct scaling_peak peak = scaling_find_peak(&f, largest);
    const struct scaling_useful useful = scaling_find_useful(&f, largest);
    cell->held[KIND_ALONE] += holds(&f.parameters[0].range, ALONE);
    cell->held[KIND_CONTENTION] += holds(&f.parameters[1].range, t->contention);
    cell->held[KIND_COHERENCY] += holds(&f.parameters[2].range, t->coherency);
    cell->held[KIND_PEAK] += holds(&peak.at, true_peak(t));
    cell->held[KIND_USEFUL] += holds(&useful.upto, true_useful(t));
    cell->misfits += !scaling_fit_holds(&f);
}

struct report {
    int experiments;
    uint64_t random;
    size_t n_reached, n_all;
};

static void bench_row(struct report *r, const struct truth *t, enum shape shape, double deviation,
                      size_t n_trials)
{
    struct cell cell = {0};
    for (int i = 0; i < r->experiments; i++) {
        experiment(t, shape, deviation, n_trials, &r->random, &cell);
    }
    (void)printf("%-12s  %-12s%3.0f%%%4zu", t->name, shape_names[shape], 100 * deviation, n_trials);
    bool missed[KIND_COUNT];
    for (enum kind k = 0; k < KIND_COUNT; k++) {
        const double percent = 100.0 * cell.held[k] / r->experiments;
        const struct bar bar = bar_of(shape, k);
        missed[k] = percent < bar.least || percent > bar.most;
        r->n_all++;
        r->n_reached += !missed[k];
        (void)printf("%12.1f", percent);
    }
    (void)printf("%10.1f\n", 100.0 * cell.misfits / r->experiments);
    for (enum kind k = 0; k < KIND_COUNT; k++) {
        if (missed[k]) {
            (void)printf("MISSED  %s, %s %.0f%%, %zu trials, %s: bar %g to %g\n", t->name,
                         shape_names[shape], 100 * deviation, n_trials, kind_names[k],
                         bar_of(shape, k).least, bar_of(shape, k).most);
        }
    }
}

static void print_head(const struct report *r)
{
    (void)printf(
        "How many of %d made-up curves have the truth in their 95%% interval, in percent\n\n"
        "%-12s  %-12s%4s%4s",
        r->experiments, "CURVE", "NOISE", "", "n");
    for (enum kind k = 0; k < KIND_COUNT; k++) {
        (void)printf("%12s", kind_names[k]);
    }
    (void)printf("%10s\n", "misfits");
}

int main(int argc, char **argv)
{
    static const struct {
        enum shape shape;
        double deviation;
        size_t n_trials;
    } noises[] = {
        {SHAPE_NORMAL, 0.01, 3},      {SHAPE_NORMAL, 0.01, 5},  {SHAPE_NORMAL, 0.01, 10},
        {SHAPE_NORMAL, 0.05, 3},      {SHAPE_NORMAL, 0.05, 10}, {SHAPE_EXPONENTIAL, 0.01, 5},
        {SHAPE_EXPONENTIAL, 0.05, 5}, {SHAPE_UNEQUAL, 0.01, 5},
    };
    int64_t experiments = 20000;
    if (argc > 2 || (argc == 2 && parse_i64_in(argv[1], 1, 10000000, &experiments) < 0)) {
        (void)fprintf(stderr, "usage: model_coverage [EXPERIMENTS], 1 to 10000000\n");
        return 2;
    }
    struct report r = {.experiments = (int)experiments, .random = SEED};
    print_head(&r);
    for (size_t i = 0; i < N_TRUTHS; i++) {
        for (size_t j = 0; j < sizeof(noises) / sizeof(noises[0]); j++) {
            bench_row(&r, &truths[i], noises[j].shape, noises[j].deviation, noises[j].n_trials);
        }
    }
    (void)printf(
        "\nBars: 94 to 97, with an exponential tail 93 to 97, with unequal noise 88 to 100. "
        "Peak and useful have no upper bar:\nthey are whole numbers, or intervals "
        "without an upper end.\nmisfits: the F test of lack of fit rejects the true model at "
        "1%%.\nreached %zu of %zu\n",
        r.n_reached, r.n_all);
    return r.n_reached < r.n_all;
}
