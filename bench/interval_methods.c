/* What the 95% intervals of ratios could be made with instead, and what that would cost (script/bench coverage).
 *
 *   interval_methods [EXPERIMENTS]        20,000 unless given
 *
 * Makes up the logs of trials of two sides that do not differ, or by a known loss. Each method says whether its interval holds
 * the truth, and the p of the same test. The first method of a design is the one that the tables use; a figure is reached
 * if no other one misses fewer demands. The numbers drawn are the same each time. */
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/parse.h"
#include "core/student.h"
#include "draws.h"
#include "result/outlier.h"
#include "result/significance.h"

#define MIN_N 3
#define MAX_N 10
#define USUAL_N 5 /* repeats of a cluster's benchmarks, at which alarms and power are counted */
#define MAX_DIFFERENCES (MAX_N * MAX_N)
#define SEED 20181123
#define ALPHA 0.05
#define OUTLIER_ALPHA 0.02
#define ALPHA_NAMED 0.01 /* of a change that compare names in one run */

/* ---- noise: the log of a throughput less the median of all possible ones on both sides ---- */

enum shape {
    SHAPE_NORMAL,
    SHAPE_HALF,        /* normal, and the base deviates by half */
    SHAPE_SKEWED,      /* times have a tail to the right: gamma of order 4, skewness 1 */
    SHAPE_EXPONENTIAL, /* the same, skewness 2 */
    SHAPE_STRAGGLERS,  /* normal, and one trial in ten is 18% slower */
    SHAPE_MODES,       /* normal, and three trials in ten are 5% slower */
};
#define SHAPE_COUNT 6
static const struct kind_of_noise {
    const char *title;
    double deviation;
    double share, shift; /* of the trials that are slower, and by how much, in logs */
} noises[SHAPE_COUNT] = {
    [SHAPE_NORMAL] = {"normal 1%", 0.01, 0, 0},
    [SHAPE_HALF] = {"base .5%", 0.01, 0, 0},
    [SHAPE_SKEWED] = {"skewed 5%", 0.05, 0, 0},
    [SHAPE_EXPONENTIAL] = {"expon. 5%", 0.05, 0, 0},
    [SHAPE_STRAGGLERS] = {"stragglers", 0.01, 0.1, 0.2},
    [SHAPE_MODES] = {"two modes", 0.01, 0.3, 0.05},
};

static double draw(enum shape shape, uint64_t *state)
{
    const struct kind_of_noise *noise = &noises[shape];
    switch (shape) {
    case SHAPE_SKEWED:
        return noise->deviation *
               log(draw_uniform(state) * draw_uniform(state) * draw_uniform(state) *
                   draw_uniform(state)) /
               2;
    case SHAPE_EXPONENTIAL:
        return noise->deviation * log(draw_uniform(state));
    case SHAPE_NORMAL:
    case SHAPE_HALF:
    case SHAPE_STRAGGLERS:
    case SHAPE_MODES:
        break;
    }
    const double value = noise->deviation * draw_normal(state);
    return noise->share > 0 && draw_uniform(state) <= noise->share ? value - noise->shift : value;
}

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* ---- what a method says ---- */

struct answer {
    bool known;          /* there is a 95% interval */
    bool holds;          /* 0 */
    double p;            /* of the test that the interval comes from */
    double variance, df; /* of Student's t; df 0: it was none, and `half` is known */
    double half;
};

static struct answer student_answer(double value, double variance, double df)
{
    const double p = student_two_sided(value / sqrt(variance), df);
    return (struct answer){
        .known = true, .holds = p > ALPHA, .p = p, .variance = variance, .df = df};
}

static double half_width(const struct answer *a)
{
    return a->df > 0 ? student_quantile(a->df, ALPHA) * sqrt(a->variance) : a->half;
}

/* ---- a centre and how far it may lie off, of sorted values ---- */

static struct contrast mean_of(const double *sorted, size_t n)
{
    return significance_mean(&(struct sample){sorted, n});
}

/* Without each trial that OutlierTrial names, one after another. */
static struct contrast without_outliers(const double *sorted, size_t n)
{
    for (int side; (side = outlier_side(sorted, n)) != 0; n--) {
        sorted += side < 0;
    }
    return mean_of(sorted, n);
}

/* Rosner, Technometrics 25 (1983) 165-172: what the i-th of the extremes has to exceed, in deviations of those that are left
 * with it, where up to i of n are outliers; at 2%. */
static double rosner_limit(size_t n, size_t i)
{
    static double known[MAX_N + 1][MAX_N];
    if (known[n][i] <= 0) {
        const double left = (double)(n - i + 1); /* with the i-th */
        const double t = student_quantile(left - 2, OUTLIER_ALPHA / left);
        known[n][i] = (left - 1) * t / sqrt((left - 2 + t * t) * left);
    }
    return known[n][i];
}

/* Without outliers by Rosner's test, which two that hide each other do not escape: at most half of the trials, and two of
 * three remain. */
static struct contrast without_many(const double *sorted, size_t n)
{
    const size_t most = (n - 1) / 2;
    struct contrast result = mean_of(sorted, n);
    const double *from = sorted;
    for (size_t i = 1; i <= most; i++) {
        const size_t left = n - i + 1;
        const struct contrast c = mean_of(from, left);
        const double below = c.value - from[0], above = from[left - 1] - c.value;
        const bool is_outlier = fmax(below, above) > rosner_limit(n, i) * sqrt(c.common);
        from += below > above;
        if (is_outlier) {
            result = mean_of(from, left - 1);
        }
    }
    return result;
}

/* Without what lies more than 3.5 deviations off the median, a deviation being 1.4826 times the median distance from it:
 * Iglewicz and Hoaglin, How to Detect and Handle Outliers (1993). At least two of three remain. */
static struct contrast near_median(const double *sorted, size_t n)
{
    double distances[MAX_N];
    const double median = (sorted[(n - 1) / 2] + sorted[n / 2]) / 2;
    for (size_t i = 0; i < n; i++) {
        distances[i] = fabs(sorted[i] - median);
    }
    qsort(distances, n, sizeof(*distances), by_value);
    const double most = 3.5 * 1.4826 * (distances[(n - 1) / 2] + distances[n / 2]) / 2;
    while (median - sorted[0] > most) {
        sorted++;
        n--;
    }
    while (sorted[n - 1] - median > most) {
        n--;
    }
    return mean_of(sorted, n);
}

/* Yuen, Biometrika 61 (1974) 165-170: the mean without a fifth at either end, and the spread of all with these moved to the
 * nearest that is left. Under five trials nothing is cut. */
static struct contrast trimmed(const double *sorted, size_t n)
{
    const size_t cut = n / 5, left = n - 2 * cut;
    double moved[MAX_N];
    for (size_t i = 0; i < n; i++) {
        moved[i] = sorted[i < cut ? cut : i >= n - cut ? n - cut - 1 : i];
    }
    const double h = (double)left, squares = mean_of(moved, n).common * (double)(n - 1);
    return (struct contrast){
        .value = mean_of(sorted + cut, left).value,
        .variance = squares / (h * (h - 1)),
        .df = h - 1,
    };
}

/* ---- ranks: Mann and Whitney, Wilcoxon ---- */

/* P(T = t) of a rank statistic where there is no change, t = 0 to most. */
struct ranks {
    double share[MAX_DIFFERENCES + 1];
    size_t most;
};

/* Of n of the numbers 1 to 2n, their sum less the least one. */
static void ranks_of_two(size_t n, struct ranks *ret)
{
    double ways[MAX_N + 1][MAX_DIFFERENCES + 1] = {{0}}; /* of k numbers, less the least sum of k */
    ways[0][0] = 1;
    double all = 1;
    for (size_t i = 0; i < n; i++) {
        all = all * (double)(n + i + 1) / (double)(i + 1);
    }
    for (size_t number = 1; number <= 2 * n; number++) {
        for (size_t k = number < n ? number : n; k > 0; k--) {
            for (size_t t = number - k; t <= n * n; t++) { /* number - k more than the least k-th */
                ways[k][t] += ways[k - 1][t - (number - k)];
            }
        }
    }
    ret->most = n * n;
    for (size_t t = 0; t <= ret->most; t++) {
        ret->share[t] = ways[n][t] / all;
    }
}

/* Of the numbers 1 to n, each with an even chance: their sum. */
static void ranks_of_signs(size_t n, struct ranks *ret)
{
    *ret = (struct ranks){.share = {1}, .most = n * (n + 1) / 2};
    for (size_t number = 1; number <= n; number++) {
        for (size_t t = ret->most + 1; t-- > 0;) {
            ret->share[t] = (ret->share[t] + (t >= number ? ret->share[t - number] : 0)) / 2;
        }
    }
}

/* The interval goes from one to another of the sorted differences, of which there are r->most, with a part of the way to the
 * next, so that it holds 95%; p is exact. */
static struct answer rank_answer(const struct ranks *r, double *differences)
{
    const size_t n = r->most;
    qsort(differences, n, sizeof(*differences), by_value);
    size_t below = 0;
    for (size_t i = 0; i < n; i++) {
        below += differences[i] < 0;
    }
    double tail = 0;
    for (size_t t = 0; t <= (below < n - below ? below : n - below); t++) {
        tail += r->share[t];
    }
    struct answer a = {.p = fmin(1, 2 * tail)};
    size_t k = 0;
    for (tail = 0; tail + r->share[k] <= ALPHA / 2; k++) {
        tail += r->share[k];
    }
    if (k > 0) {
        const double part = (ALPHA / 2 - tail) / r->share[k];
        const double low = differences[k - 1] + part * (differences[k] - differences[k - 1]);
        const double high =
            differences[n - k] - part * (differences[n - k] - differences[n - k - 1]);
        a.known = true;
        a.holds = low <= 0 && 0 <= high;
        a.half = (high - low) / 2;
    }
    return a;
}

static struct answer mann_whitney(const double *a, const double *b, size_t n)
{
    static struct ranks known[MAX_N + 1];
    double differences[MAX_DIFFERENCES];
    if (known[n].most == 0) {
        ranks_of_two(n, &known[n]);
    }
    for (size_t i = 0; i < n * n; i++) {
        differences[i] = b[i % n] - a[i / n];
    }
    return rank_answer(&known[n], differences);
}

static struct answer wilcoxon(const double *d, size_t n)
{
    static struct ranks known[MAX_N + 1];
    double means[MAX_DIFFERENCES];
    size_t n_means = 0;
    if (known[n].most == 0) {
        ranks_of_signs(n, &known[n]);
    }
    for (size_t i = 0; i < n; i++) {
        for (size_t j = i; j < n; j++) {
            means[n_means++] = (d[i] + d[j]) / 2;
        }
    }
    return rank_answer(&known[n], means);
}

/* ---- the methods ---- */

enum combine {
    COMBINE_WELCH,      /* df by Satterthwaite */
    COMBINE_WELCH_1947, /* Welch, Biometrika 34 (1947) 28-35: v^2 / (sum of v_i^2 / (df_i + 2)) - 2, which is right on average */
    COMBINE_STUDENT,    /* one deviation for both sides */
    COMBINE_RANKS,
};

static const struct method {
    const char *name;
    struct contrast (*center)(const double *sorted, size_t n);
    enum combine combine;
    bool is_for_pairs; /* too: there is but one side */
} methods[] = {
    {"Welch, Student (printed)", mean_of, COMBINE_WELCH, true},
    {"Welch's df of 1947", mean_of, COMBINE_WELCH_1947, false},
    {"Student, one deviation", mean_of, COMBINE_STUDENT, false},
    {"without OutlierTrial", without_outliers, COMBINE_WELCH, true},
    {"without Rosner's outliers", without_many, COMBINE_WELCH, true},
    {"within 3.5 of the median", near_median, COMBINE_WELCH, true},
    {"trimmed by a fifth", trimmed, COMBINE_WELCH, true},
    {"ranks", NULL, COMBINE_RANKS, true},
};
#define N_METHODS (sizeof(methods) / sizeof(methods[0]))

static double doubt(const struct contrast *c)
{
    return c->variance * c->variance / (c->df + 2);
}

/* a and b sorted. */
static struct answer answer_of_two(const struct method *m, const double *a, const double *b,
                                   size_t n)
{
    if (m->combine == COMBINE_RANKS) {
        return mann_whitney(a, b, n);
    }
    const struct contrast ca = m->center(a, n), cb = m->center(b, n);
    const struct contrast c = significance_sum(&cb, -1, &ca);
    switch (m->combine) {
    case COMBINE_WELCH_1947:
        return student_answer(c.value, c.variance,
                              c.variance * c.variance / (doubt(&ca) + doubt(&cb)) - 2);
    case COMBINE_STUDENT:
        return student_answer(c.value, c.common * c.scale, c.common_df);
    case COMBINE_WELCH:
    case COMBINE_RANKS:
        break;
    }
    return student_answer(c.value, c.variance, c.df);
}

/* d sorted. */
static struct answer answer_of_pairs(const struct method *m, const double *d, size_t n)
{
    if (m->combine == COMBINE_RANKS) {
        return wilcoxon(d, n);
    }
    const struct contrast c = m->center(d, n);
    return student_answer(c.value, c.variance, c.df);
}

/* ---- experiments ---- */

struct experiment {
    bool is_paired;
    enum shape shape;
    size_t n;
    double loss; /* of the candidate, in logs */
};

struct tally {
    double held, named; /* percent; held NAN: there is no interval */
    double half;        /* mean half width, in percent of the ratio */
};

static void simulate(const struct experiment *e, int times, uint64_t *state,
                     struct tally ret[static N_METHODS])
{
    struct {
        int known, held, named;
        double half;
    } sums[N_METHODS] = {0};
    const bool wants_width = e->n == USUAL_N && e->loss <= 0;
    for (int i = 0; i < times; i++) {
        double a[MAX_N], b[MAX_N], d[MAX_N];
        for (size_t j = 0; j < e->n; j++) {
            a[j] = draw(e->shape, state) * (e->shape == SHAPE_HALF ? 0.5 : 1);
            b[j] = draw(e->shape, state) - e->loss;
            d[j] = b[j] - a[j];
        }
        qsort(a, e->n, sizeof(*a), by_value);
        qsort(b, e->n, sizeof(*b), by_value);
        qsort(d, e->n, sizeof(*d), by_value);
        for (size_t m = 0; m < N_METHODS; m++) {
            if (e->is_paired && !methods[m].is_for_pairs) {
                continue;
            }
            const struct answer answer = e->is_paired ? answer_of_pairs(&methods[m], d, e->n)
                                                      : answer_of_two(&methods[m], a, b, e->n);
            sums[m].known += answer.known;
            sums[m].held += answer.known && answer.holds;
            sums[m].named += answer.p <= ALPHA_NAMED;
            sums[m].half += wants_width && answer.known ? half_width(&answer) : 0;
        }
    }
    for (size_t m = 0; m < N_METHODS; m++) {
        ret[m] = (struct tally){
            .held = sums[m].known > 0 ? 100.0 * sums[m].held / times : NAN,
            .named = 100.0 * sums[m].named / times,
            .half = sums[m].known > 0 ? 100 * expm1(sums[m].half / times) : NAN,
        };
    }
}

/* All that one design says of a method. */
struct figures {
    bool has_all;                                 /* intervals from MIN_N trials on */
    double least[SHAPE_COUNT], most[SHAPE_COUNT]; /* held, over numbers of trials */
    struct tally usual[SHAPE_COUNT];              /* of USUAL_N trials */
    double sees_5, sees_half;                     /* named, of USUAL_N trials, and of one less */
};

static void measure(bool is_paired, int times, uint64_t *state,
                    struct figures ret[static N_METHODS])
{
    struct tally tallies[N_METHODS];
    for (size_t m = 0; m < N_METHODS; m++) {
        ret[m] = (struct figures){.has_all = true};
    }
    for (enum shape shape = 0; shape < SHAPE_COUNT; shape++) {
        for (size_t m = 0; m < N_METHODS; m++) {
            ret[m].least[shape] = INFINITY;
            ret[m].most[shape] = -INFINITY;
        }
        for (size_t n = MIN_N; n <= MAX_N; n++) {
            simulate(&(struct experiment){is_paired, shape, n, 0}, times, state, tallies);
            for (size_t m = 0; m < N_METHODS; m++) {
                ret[m].has_all = ret[m].has_all && !isnan(tallies[m].held);
                ret[m].least[shape] = fmin(ret[m].least[shape], tallies[m].held); /* not NAN */
                ret[m].most[shape] = fmax(ret[m].most[shape], tallies[m].held);
                ret[m].usual[shape] = n == USUAL_N ? tallies[m] : ret[m].usual[shape];
            }
        }
    }
    simulate(&(struct experiment){is_paired, SHAPE_NORMAL, USUAL_N, -log1p(-0.05)}, times, state,
             tallies);
    for (size_t m = 0; m < N_METHODS; m++) {
        ret[m].sees_5 = tallies[m].named;
    }
    simulate(&(struct experiment){is_paired, SHAPE_NORMAL, USUAL_N - 1, M_LN2}, times, state,
             tallies);
    for (size_t m = 0; m < N_METHODS; m++) {
        ret[m].sees_half = tallies[m].named;
    }
}

/* ---- the demands ---- */

#define N_DEMANDS 6
static const char *const demands[N_DEMANDS] = {
    "a 95% interval from 3 trials on",
    "it holds the truth in 94% at least, with each of these noises and numbers of trials",
    "and in 97% at most; with the exponential tail and two modes it may be more",
    "p is at most 1% in 1% of the cases where nothing changed, with each of these noises, 5 trials",
    "and in 95% where the candidate is 5% slower, noise 1%, 5 trials",
    "and where it is half as fast, 4 trials",
};

/* A letter for each demand that is missed, from 'a'. Returns their number. */
static size_t missed(const struct figures *f, int times, char ret[static N_DEMANDS + 1])
{
    bool is_met[N_DEMANDS] = {f->has_all, true, true, true, f->sees_5 >= 95, f->sees_half >= 95};
    const double alarms = 1 + 200 * sqrt(0.01 * 0.99 / times); /* two deviations of such a count */
    for (size_t i = 0; i < SHAPE_COUNT; i++) {
        is_met[1] = is_met[1] && f->least[i] >= 94;
        is_met[2] = is_met[2] && (f->most[i] <= 97 || i == SHAPE_EXPONENTIAL || i == SHAPE_MODES);
        is_met[3] = is_met[3] && f->usual[i].named <= alarms;
    }
    size_t n = 0;
    for (size_t i = 0; i < N_DEMANDS; i++) {
        if (!is_met[i]) {
            ret[n++] = (char)('a' + i);
        }
    }
    ret[n] = '\0';
    return n;
}

/* ---- the report ---- */

static void print_coverage(bool is_paired, const struct figures figures[static N_METHODS])
{
    (void)printf("%-26s", is_paired ? "OF PAIRS" : "OF TWO POINTS");
    for (size_t i = 0; i < SHAPE_COUNT; i++) {
        (void)printf("%12s", noises[i].title);
    }
    (void)printf("\n");
    for (size_t m = 0; m < N_METHODS; m++) {
        if (is_paired && !methods[m].is_for_pairs) {
            continue;
        }
        (void)printf("%-26s", methods[m].name);
        for (size_t i = 0; i < SHAPE_COUNT; i++) {
            (void)printf("%7.1f %4.1f", figures[m].least[i], figures[m].most[i]);
        }
        (void)printf("\n");
    }
}

static void print_width(double percent, int columns)
{
    if (isnan(percent)) {
        (void)printf("%*s", columns, "-");
    } else {
        (void)printf("%*.2f%%", columns - 1, percent);
    }
}

/* Returns whether no method misses fewer demands than the first. */
static bool print_costs(bool is_paired, const struct figures figures[static N_METHODS], int times)
{
    (void)printf("\n%-26s%9s%11s%9s%9s%11s%9s%9s%10s  MISSES\n", "", "WIDTH", "WIDTH", "A/A", "A/A",
                 "A/A", "A/A", "-5%", "-50%");
    (void)printf("%-26s%9s%11s%9s%9s%11s%9s%9s%10s\n", "", "normal", "stragglers", "normal",
                 "skewed", "stragglers", "modes", "", "4 trials");
    size_t of_first = 0;
    bool is_best = true;
    for (size_t m = 0; m < N_METHODS; m++) {
        if (is_paired && !methods[m].is_for_pairs) {
            continue;
        }
        const struct figures *f = &figures[m];
        char letters[N_DEMANDS + 1];
        const size_t n = missed(f, times, letters);
        of_first = m == 0 ? n : of_first;
        is_best = is_best && n >= of_first;
        (void)printf("%-26s", methods[m].name);
        print_width(f->usual[SHAPE_NORMAL].half, 9);
        print_width(f->usual[SHAPE_STRAGGLERS].half, 11);
        (void)printf("%8.2f%%%8.2f%%%10.2f%%%8.2f%%", f->usual[SHAPE_NORMAL].named,
                     f->usual[SHAPE_SKEWED].named, f->usual[SHAPE_STRAGGLERS].named,
                     f->usual[SHAPE_MODES].named);
        (void)printf("%8.2f%%%9.2f%%  %s\n", f->sees_5, f->sees_half, n == 0 ? "none" : letters);
    }
    if (!is_best) {
        (void)printf("MISSED  another method misses fewer demands than the one that is printed\n");
    }
    return is_best;
}

int main(int argc, char **argv)
{
    int64_t times = 20000;
    if (argc > 2 || (argc == 2 && parse_i64_in(argv[1], 1, 10000000, &times) < 0)) {
        (void)fprintf(stderr, "usage: interval_methods [EXPERIMENTS], 1 to 10000000\n");
        return 2;
    }
    (void)printf("How many of %lld made-up experiments have the truth in the 95%% interval of a "
                 "ratio, in percent:\nthe least and the most of 3 to 10 trials a side\n",
                 (long long)times);
    uint64_t state = SEED;
    size_t n_reached = 0;
    for (int is_paired = 0; is_paired < 2; is_paired++) {
        struct figures figures[N_METHODS];
        measure(is_paired != 0, (int)times, &state, figures);
        (void)printf("\n");
        print_coverage(is_paired != 0, figures);
        n_reached += print_costs(is_paired != 0, figures, (int)times);
        (void)fflush(stdout);
    }
    (void)printf(
        "\nWIDTH: mean half width of 5 trials. A/A, -5%%, -50%%: p is at most 1%%, of 5 trials. "
        "Demands that are missed:\n");
    for (size_t i = 0; i < N_DEMANDS; i++) {
        (void)printf("  %c: %s\n", (int)('a' + i), demands[i]);
    }
    (void)printf("reached %zu of 2\n", n_reached);
    return n_reached < 2;
}
