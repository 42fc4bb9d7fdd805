#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "result/compare.h"

#include <math.h>
#include <string.h>

#include "../golden_json.h"
#include "base/splitmix.h"
#include "result_fixture.h"

#define N_ROWS(a) (sizeof(a) / sizeof((a)[0]))
#define GRID "{grid: {pservers: [1], trainers: [1, 2, 4, 8]}}"
#define POINT_BASELINE "  baseline: {kind: Point, where: {trainers: 1}}\n"

static const struct compare_params defaults = {.threshold_ratio = COMPARE_THRESHOLD_RATIO};

/* What trials of one point are apart, as factors: a spread of 0.3%. */
static const double spread[] = {1, 1.004, 0.997, 1.002, 0.999, 1.003, 0.996, 1.001};

static void rename_run(struct fixture *f, const char *name)
{
    free(f->def->name);
    f->def->name = xstrdup(name);
}

/* A run of GRID with as many trials; `shift` moves which trial has which factor, so that two runs
 * do not have the same values by accident. */
static void make_run(struct fixture *f, const char *name, size_t n, const double x[4], size_t shift)
{
    _cleanup_(freep) char *more = xasprintf("%s  repeats: {min: %zu}\n", POINT_BASELINE, n);
    fixture_init(f, GRID, more, 16);
    rename_run(f, name);
    for (uint32_t p = 0; p < 4; p++) {
        for (uint32_t t = 0; t < n && x[p] > 0; t++) {
            fixture_throughput(f, p, t, x[p] * spread[(t + p + shift) % N_ROWS(spread)]);
        }
    }
    fixture_build(f, RUN_SUCCEEDED);
}

/* Runs of the base that came out as it did: any change is beyond what they differ by. */
static const double steady[FIXTURE_HISTORY] = {1, 1, 1, 1, 1};
static const double usual[FIXTURE_HISTORY] = {1.004, 0.997, 1.002, 0.999, 1.003};

/* `factors`: how other runs of the base came out. */
static struct comparison *compare_beside(const struct fixture *a, const struct fixture *b,
                                         const struct compare_params *params,
                                         const double factors[static FIXTURE_HISTORY])
{
    struct comparison *c = NULL;
    const char *fix = NULL;
    struct err err = {0};
    struct fixture_history history;
    fixture_history_init(&history, a->result, factors);
    struct compare_params all = *params;
    all.history = history.list;
    all.n_history = FIXTURE_HISTORY;
    const int r = comparison_new(a->result, b->result, &all, &c, &fix, &err);
    fixture_history_done(&history);
    if (r < 0) {
        fail_msg("refused: %s", err.msg);
    }
    return c;
}

static struct comparison *compare(const struct fixture *a, const struct fixture *b,
                                  const struct compare_params *params)
{
    return compare_beside(a, b, params, steady);
}

/* ---- verdicts ---- */

static void verdicts(void **state)
{
    (void)state;
    /* clang-format off */
    static const struct {
        const char *name;
        size_t n_a, n_b;
        double a[4], b[4]; /* throughput; 0: no trial of the point */
        double threshold_ratio;
        const char *changes; /* S slower, F faster, i inconclusive, - none shown, t too few, x not
                                measured */
        enum change whole;
        size_t repeats_for_all, repeats_for_one, repeats_to_decide;
    } rows[] = {
        {"nothing changed", 4, 4, {40, 70, 120, 200}, {40, 70, 120, 200}, 0.02, "----",
         CHANGE_NONE, 0, 0},
        {"one is 6% slower", 4, 4, {40, 70, 120, 200}, {40, 70, 113, 200}, 0.02, "--S-",
         CHANGE_SLOWER, 0, 0},
        {"one is 6% faster", 4, 5, {40, 70, 113, 200}, {40, 70, 120, 200}, 0.02, "--F-",
         CHANGE_FASTER, 0, 0},
        {"one alone, three trials", 3, 3, {40, 70, 120, 200}, {40, 70, 113, 200}, 0.02, "--i-",
         CHANGE_INCONCLUSIVE, 0, 4, 4},
        {"one alone half as fast, three trials", 3, 3, {40, 70, 120, 200}, {40, 70, 60, 200}, 0.02,
         "--i-", CHANGE_INCONCLUSIVE, 0, 4, 4},
        {"one alone half as fast, two trials", 2, 2, {40, 70, 120, 200}, {40, 70, 60, 200}, 0.02,
         "ttit", CHANGE_INCONCLUSIVE, 0, 4, 4},
        {"nothing changed, two trials: nothing bounds a change", 2, 2, {40, 70, 120, 200},
         {40, 70, 120, 200}, 0.02, "tttt", CHANGE_INCONCLUSIVE, 0, 4, 4},
        {"nothing changed, three trials", 3, 3, {40, 70, 120, 200}, {40, 70, 120, 200}, 0.02,
         "----", CHANGE_NONE, 0, 4, 0},
        {"faster, and a point that only one side measured", 4, 4, {40, 70, 120, 200},
         {44, 70, 120, 0}, 0.02, "F--x", CHANGE_INCONCLUSIVE, 0, 0, 0},
        {"a point that the base did not measure", 4, 4, {40, 70, 0, 200}, {40, 70, 120, 200}, 0.02,
         "--x-", CHANGE_INCONCLUSIVE, 0, 0, 0},
        {"slower and faster: they do not cancel", 4, 4, {40, 70, 120, 200}, {44, 63, 120, 200},
         0.02, "FS--", CHANGE_SLOWER, 0, 0},
        {"all slower", 5, 3, {40, 70, 120, 200}, {38, 66, 113, 190}, 0.02, "SSSS", CHANGE_SLOWER,
         0, 0},
        {"1.5% slower everywhere: not worth a word", 8, 8, {40, 70, 120, 200},
         {39.4, 68.95, 118.2, 197}, 0.02, "----", CHANGE_NONE, 0, 0},
        {"the same with a threshold of 1%", 8, 8, {40, 70, 120, 200}, {39.4, 68.95, 118.2, 197},
         0.01, "SSSS", CHANGE_SLOWER, 0, 0},
        {"5.1% of the smaller are 4.9% of the larger", 8, 8, {40, 70, 120, 200},
         {42.04, 66.603, 126.12, 190.295}, 0.05, "FSFS", CHANGE_SLOWER, 0, 0},
        {"4.9% of the smaller", 8, 8, {40, 70, 120, 200}, {41.96, 66.73, 125.88, 190.66}, 0.05,
         "----", CHANGE_NONE, 0, 0},
        {"one trial each", 1, 1, {40, 70, 120, 200}, {30, 60, 100, 100}, 0.02, "tttt",
         CHANGE_INCONCLUSIVE, 2, 4, 4},
        {"one trial on one side", 8, 1, {40, 70, 120, 200}, {30, 60, 100, 100}, 0.02, "tttt",
         CHANGE_INCONCLUSIVE, 2, 4, 4},
        {"two each at four points", 2, 2, {40, 70, 120, 200}, {30, 52, 90, 150}, 0.02, "SSSS",
         CHANGE_SLOWER, 0, 4},
        {"two each at one point", 2, 2, {40, 0, 0, 0}, {30, 0, 0, 0}, 0.02, "txxx", CHANGE_INCONCLUSIVE,
         4, 4, 4},
        {"three each at one point", 3, 3, {40, 0, 0, 0}, {30, 0, 0, 0}, 0.02, "txxx",
         CHANGE_INCONCLUSIVE, 4, 4, 4},
        {"four each at one point", 4, 4, {40, 0, 0, 0}, {30, 0, 0, 0}, 0.02, "Sxxx", CHANGE_SLOWER,
         0, 0},
        {"two each at two points", 2, 2, {40, 70, 0, 0}, {30, 52, 0, 0}, 0.02, "ttxx",
         CHANGE_INCONCLUSIVE, 3, 4, 4},
        {"a point that only one side measured", 4, 4, {40, 0, 120, 200}, {36, 70, 0, 200}, 0.02,
         "Sxx-", CHANGE_SLOWER, 0, 0},
    };
    /* clang-format on */
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        print_message("# row '%s'\n", rows[i].name);
        struct fixture a, b;
        make_run(&a, "demo-7k3fq", rows[i].n_a, rows[i].a, 0);
        make_run(&b, "demo-q2v8n", rows[i].n_b, rows[i].b, 3);
        const struct compare_params params = {.threshold_ratio = rows[i].threshold_ratio};
        struct comparison *c = compare(&a, &b, &params);
        char changes[5] = "";
        size_t counts[CHANGE_COUNT] = {0};
        assert_int_equal(c->points.len, 4);
        for (size_t p = 0; p < 4; p++) {
            changes[p] = "SFiuU-tx"[c->points.items[p].change];
            counts[c->points.items[p].change]++;
        }
        assert_string_equal(changes, rows[i].changes);
        assert_memory_equal(counts, c->counts, sizeof(counts));
        assert_int_equal(c->change, rows[i].whole);
        assert_int_equal(c->repeats_for_all, rows[i].repeats_for_all);
        assert_int_equal(c->repeats_for_one, rows[i].repeats_for_one);
        assert_int_equal(c->repeats_to_decide, rows[i].repeats_to_decide);
        comparison_free(c);
        fixture_done(&a);
        fixture_done(&b);
    }
}

/* A run beside one with the same trials: every ratio is 1, nothing is flagged, p is 1. */
static void the_same_trials_twice(void **state)
{
    (void)state;
    static const double x[] = {40, 70, 120, 200};
    for (size_t n = 1; n <= 8; n++) {
        struct fixture a, b;
        make_run(&a, "demo-7k3fq", n, x, 0);
        make_run(&b, "demo-q2v8n", n, x, 0);
        const struct compare_params params = {.threshold_ratio = 0};
        struct comparison *c = compare(&a, &b, &params);
        vec_each (struct compared_point, p, &c->points) {
            assert_true(p->ratio.estimate.value == 1);
            assert_int_equal(p->change, n <= 2 ? CHANGE_TOO_FEW : CHANGE_NONE);
            assert_true(!p->welch.known || (p->welch.t == 0 && p->welch.p == 1));
        }
        assert_true(c->gate.p == 1);
        assert_true(c->geomean_ratio.estimate.value == 1);
        assert_int_equal(c->differences.len, 0);
        comparison_free(c);
        fixture_done(&a);
        fixture_done(&b);
    }
}

static enum change mirrored(enum change change)
{
    return change == CHANGE_SLOWER   ? CHANGE_FASTER
           : change == CHANGE_FASTER ? CHANGE_SLOWER
                                     : change;
}

static void near(const char *what, double expected, double actual)
{
    if (!(fabs(actual - expected) <= 1e-9 * fabs(expected))) {
        fail_msg("%s: expected %.15g, got %.15g", what, expected, actual);
    }
}

/* Exchanging base and candidate turns ratios over and verdicts round; p-values stay. */
static void exchanging_mirrors(void **state)
{
    (void)state;
    uint64_t seed = 99;
    size_t flagged = 0;
    for (int round = 0; round < 60; round++) {
        double x[4], y[4];
        for (size_t p = 0; p < 4; p++) { /* up to 5% apart, about a threshold of 2% */
            x[p] = 40 * (double)(p + 1);
            y[p] = x[p] * (0.95 + 0.001 * splitmix_below(&seed, 101));
        }
        struct fixture a, b;
        make_run(&a, "demo-7k3fq", 2 + splitmix_below(&seed, 5), x, 0);
        make_run(&b, "demo-q2v8n", 2 + splitmix_below(&seed, 5), y, 3);
        struct comparison *c = compare(&a, &b, &defaults), *d = compare(&b, &a, &defaults);
        assert_true(c->gate.p == d->gate.p);
        for (size_t p = 0; p < 4; p++) {
            const struct compared_point *k = &c->points.items[p], *l = &d->points.items[p];
            near("ratio", 1 / k->ratio.estimate.value, l->ratio.estimate.value);
            assert_int_equal(k->ratio.estimate.has_interval, l->ratio.estimate.has_interval);
            if (k->ratio.estimate.has_interval) {
                near("low", 1 / k->ratio.estimate.high, l->ratio.estimate.low);
                near("high", 1 / k->ratio.estimate.low, l->ratio.estimate.high);
            }
            assert_true(k->p_adjusted == l->p_adjusted);
            assert_int_equal(mirrored(k->change), l->change);
            flagged += k->change == CHANGE_SLOWER || k->change == CHANGE_FASTER;
        }
        near("geomean", 1 / c->geomean_ratio.estimate.value, d->geomean_ratio.estimate.value);
        comparison_free(c);
        comparison_free(d);
        fixture_done(&a);
        fixture_done(&b);
    }
    assert_in_range(flagged, 60, 200); /* of 240: the rounds hold both kinds */
}

/* The promise behind the gate: of comparisons without any change, at most about 5% flag a point. */
static void without_change_few_are_flagged(void **state)
{
    (void)state;
    uint64_t seed = 20181120;
    const int experiments = 300;
    int flagged = 0, inconclusive = 0;
    for (int round = 0; round < experiments; round++) {
        struct fixture f[2];
        for (size_t side = 0; side < 2; side++) {
            fixture_init(&f[side], GRID, POINT_BASELINE "  repeats: {min: 3}\n", 16);
            for (uint32_t p = 0; p < 4; p++) {
                for (uint32_t t = 0; t < 3; t++) {
                    double noise = 0;
                    for (int i = 0; i < 12; i++) { /* nearly normal */
                        noise += (double)(splitmix_next(&seed) >> 11) / 9007199254740992.0 - 0.5;
                    }
                    fixture_throughput(&f[side], p, t, 50 * exp(0.05 * noise));
                }
            }
            fixture_build(&f[side], RUN_SUCCEEDED);
        }
        struct comparison *c = compare(&f[0], &f[1], &defaults);
        flagged += c->change == CHANGE_SLOWER || c->change == CHANGE_FASTER;
        inconclusive += c->change == CHANGE_INCONCLUSIVE;
        comparison_free(c);
        fixture_done(&f[0]);
        fixture_done(&f[1]);
    }
    print_message("# %d of %d flagged, %d inconclusive\n", flagged, experiments, inconclusive);
    /* Each test alone rejects 5%, so both together leave at most 10% where one does. */
    assert_true(inconclusive <= experiments * 0.1 + 2 * sqrt(experiments * 0.1 * 0.9));
    assert_true(flagged <= experiments * 0.05 + 2 * sqrt(experiments * 0.05 * 0.95));
}

/* Medians rise by 3%, means of logs fall by a third, and both tests are sure of a difference: a
 * verdict of either direction would be wrong. */
static void skewed_trials_have_no_direction(void **state)
{
    (void)state;
    static const double trials[2][9] = {
        {100, 100.1, 99.9, 100.2, 99.8, 150, 151, 149, 152},
        {103, 103.1, 102.9, 103.2, 102.8, 60, 61, 59, 62},
    };
    struct fixture f[2];
    for (size_t side = 0; side < 2; side++) {
        fixture_init(&f[side], "{grid: {pservers: [1], trainers: [1]}}",
                     POINT_BASELINE "  repeats: {min: 9}\n", 16);
        for (uint32_t t = 0; t < 9; t++) {
            fixture_throughput(&f[side], 0, t, trials[side][t]);
        }
        fixture_build(&f[side], RUN_SUCCEEDED);
    }
    for (size_t base = 0; base < 2; base++) {
        struct comparison *c = compare(&f[base], &f[1 - base], &defaults);
        const struct compared_point *p = &c->points.items[0];
        const double ratio = p->ratio.estimate.value;
        assert_true(base == 0 ? ratio > 1.025 && p->welch.t < 0 : ratio < 0.98 && p->welch.t > 0);
        assert_true(c->gate_rejects && p->p_adjusted <= COMPARE_ALPHA);
        assert_string_equal(change_to_string(p->change), change_to_string(CHANGE_NONE));
        comparison_free(c);
    }
    fixture_done(&f[0]);
    fixture_done(&f[1]);
}

/* ---- figures ---- */

/* The interval of a ratio is the one of the test that names changes: where p of a point is at most
 * 5%, the interval lies on one side of 1, and nowhere else. */
static void verdicts_and_intervals_agree(void **state)
{
    (void)state;
    uint64_t seed = 20181120;
    size_t n_named = 0, n_near = 0;
    for (size_t run = 0; run < 60; run++) {
        const size_t n = 3 + run % 6;
        struct fixture runs[2];
        for (size_t side = 0; side < 2; side++) {
            _cleanup_(freep) char *more = xasprintf("%s  repeats: {min: %zu}\n", POINT_BASELINE, n);
            fixture_init(&runs[side], GRID, more, 16);
            rename_run(&runs[side], side == 0 ? "demo-7k3fq" : "demo-q2v8n");
            for (uint32_t i = 0; i < 4 * n; i++) {
                const double u = (double)(splitmix_next(&seed) >> 11) / 9007199254740992.0;
                const double v = (double)(splitmix_next(&seed) >> 11) / 9007199254740992.0;
                const double change = side == 1 ? 0.94 : 1;
                fixture_throughput(&runs[side], i % 4, i / 4,
                                   100 * change * (1 + 0.06 * (u + v - 1)));
            }
            fixture_build(&runs[side], RUN_SUCCEEDED);
        }
        struct comparison *c = compare(&runs[0], &runs[1], &defaults);
        vec_each (const struct compared_point, p, &c->points) {
            const struct estimate *e = &p->ratio.estimate;
            const bool is_apart = e->low > 1 || e->high < 1;
            const bool is_signed_alike = (p->welch.t > 0) == (e->value > 1);
            if ((is_apart && p->welch.p > 0.05) ||
                (!is_apart && p->welch.p <= 0.05 && is_signed_alike)) {
                fail_msg("n %zu: p %.6f, but the interval is %.6f..%.6f", n, p->welch.p, e->low,
                         e->high);
            }
            assert_true(e->low <= e->value && e->value <= e->high);
            const bool is_named = p->change == CHANGE_SLOWER || p->change == CHANGE_FASTER;
            assert_true(!is_named || is_apart);
            n_named += is_named;
            n_near += fabs(p->welch.p - 0.05) < 0.02;
        }
        comparison_free(c);
        fixture_done(&runs[0]);
        fixture_done(&runs[1]);
    }
    print_message("# %zu named, %zu with p near 5%%\n", n_named, n_near);
    assert_true(n_named > 100 && n_near > 10);
}

static void figures_by_hand(void **state)
{
    (void)state;
    static const double x[] = {40, 70, 120, 200}, y[] = {50, 70, 60, 200};
    struct fixture a, b;
    make_run(&a, "demo-7k3fq", 1, x, 0);
    make_run(&b, "demo-q2v8n", 1, y, 0);
    struct comparison *c = compare(&a, &b, &defaults);
    const double ratios[] = {1.25, 1, 0.5, 1};
    for (size_t p = 0; p < 4; p++) {
        const struct figure *ratio = &c->points.items[p].ratio;
        near("ratio", ratios[p], ratio->estimate.value);
        assert_false(ratio->estimate.has_interval);
        assert_string_equal(ratio->unit, "ratio");
        assert_string_equal(ratio->scope, "job");
    }
    near("geomean of ratios", pow(1.25 * 0.5, 0.25), c->geomean_ratio.estimate.value);
    near("their quotient", c->geomean_candidate.estimate.value / c->geomean_base.estimate.value,
         c->geomean_ratio.estimate.value);
    assert_string_equal(c->geomean_base.unit, "samples/s");
    assert_int_equal(c->n_measured, 4);
    comparison_free(c);
    fixture_done(&a);
    fixture_done(&b);
    make_run(&a, "demo-7k3fq", 3, x, 0);
    make_run(&b, "demo-q2v8n", 4, y, 0);
    c = compare(&a, &b, &defaults);
    assert_true(c->points.items[0].ratio.estimate.has_interval);
    assert_true(c->geomean_ratio.estimate.has_interval);
    assert_false(c->geomean_base.estimate.has_interval);
    comparison_free(c);
    fixture_done(&a);
    fixture_done(&b);
}

/* ---- points ---- */

static void add_trials(struct fixture *f)
{
    for (uint32_t p = 0; p < f->def->matrix.n_points; p++) {
        fixture_throughput(f, p, 0, 40 + 10.0 * p);
    }
    fixture_build(f, RUN_SUCCEEDED);
}

/* "0=1 2=0 -1 +2": point 0 of the base is 1 of the candidate, 1 is the base's alone, ... */
static char *matches_text(const struct comparison *c)
{
    struct buf text = BUF_INIT;
    vec_each (struct compared_point, p, &c->points) {
        buf_printf(&text, "%u=%u ", p->base->point->index, p->candidate->point->index);
    }
    vec_each (const struct point_result *, p, &c->only_base) {
        buf_printf(&text, "-%u ", (*p)->point->index);
    }
    vec_each (const struct point_result *, p, &c->only_candidate) {
        buf_printf(&text, "+%u ", (*p)->point->index);
    }
    return buf_take(&text);
}

#define SINGLE "  baseline: {kind: SingleNode}\n  repeats: {min: 1}\n"
#define CPU_PARAMETER                                                                              \
    "  parameters: [{name: cpu, targets: [{roles: [trainer], paths: [/metadata/labels/cpu]}]}]\n"
#define TWO_SYSTEMS(first, second)                                                                 \
    "  systems: [{name: " first ", profile: benchworker}, {name: " second                          \
    ", profile: benchworker}]\n"

static void points_are_matched_by_what_ran(void **state)
{
    (void)state;
    static const struct {
        const char *name, *sweep_a, *more_a, *sweep_b, *more_b, *matches;
    } rows[] = {
        {"the same", "{grid: {pservers: [1], trainers: [2, 4]}}", SINGLE,
         "{grid: {pservers: [1], trainers: [2, 4]}}", SINGLE, "0=0 1=1 2=2 "},
        {"another order", "{grid: {pservers: [1], trainers: [2, 4]}}", SINGLE,
         "{grid: {pservers: [1], trainers: [4, 2]}}", SINGLE, "0=1 1=0 2=2 "},
        {"another kind of sweep", "{grid: {pservers: [1], trainers: [2, 4]}}", SINGLE,
         "{zip: {pservers: [3, 1], trainers: [8, 4]}}", SINGLE, "1=1 2=2 -0 +0 "},
        {"a batch size that is swept here and fixed there",
         "{grid: {pservers: [1], trainers: [2], batch_size: [8, 16]}}", SINGLE,
         "{grid: {pservers: [1], trainers: [2]}}", SINGLE, "1=0 3=1 -0 -2 "},
        {"other counts of servers", "{grid: {pservers: [1], trainers: [2]}}", SINGLE,
         "{grid: {pservers: [2], trainers: [2]}}", SINGLE, "1=1 -0 +0 "},
        {"a parameter with a value of its own", "{grid: {pservers: [1], trainers: [2], cpu: [1]}}",
         SINGLE CPU_PARAMETER, "{grid: {pservers: [1], trainers: [2], cpu: [2, 1]}}",
         SINGLE CPU_PARAMETER, "0=1 1=3 +0 +2 "},
        {"a parameter that one side lacks", "{grid: {pservers: [1], trainers: [2], cpu: [1]}}",
         SINGLE CPU_PARAMETER, "{points: [{pservers: 1, trainers: 2}]}", SINGLE, NULL},
        {"a parameter that the base lacks", "{points: [{pservers: 1, trainers: 2}]}", SINGLE,
         "{grid: {pservers: [1], trainers: [2], cpu: [1]}}", SINGLE CPU_PARAMETER, NULL},
        {"systems by name", "{grid: {pservers: [1], trainers: [2]}}", SINGLE TWO_SYSTEMS("a", "b"),
         "{grid: {pservers: [1], trainers: [2]}}", SINGLE TWO_SYSTEMS("b", "c"),
         "1=0 3=2 -0 -2 +1 +3 "},
        {"nothing in common", "{grid: {pservers: [1], trainers: [2]}}", SINGLE,
         "{grid: {pservers: [1], trainers: [2]}}", SINGLE TWO_SYSTEMS("b", "c"), NULL},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        print_message("# row '%s'\n", rows[i].name);
        struct fixture a, b;
        fixture_init(&a, rows[i].sweep_a, rows[i].more_a, 0);
        fixture_init(&b, rows[i].sweep_b, rows[i].more_b, 0);
        rename_run(&b, "demo-q2v8n");
        add_trials(&a);
        add_trials(&b);
        struct comparison *c = NULL;
        const char *fix = NULL;
        struct err err = {0};
        int r = comparison_new(a.result, b.result, &defaults, &c, &fix, &err);
        if (rows[i].matches == NULL) {
            assert_int_equal(r, -EINVAL);
            assert_non_null(strstr(err.msg, "run/demo-7k3fq and run/demo-q2v8n have no point in "
                                            "common"));
            assert_non_null(strstr(fix, "compare runs of one definition"));
        } else {
            assert_int_equal(r, 0);
            _cleanup_(freep) char *matches = matches_text(c);
            assert_string_equal(matches, rows[i].matches);
        }
        comparison_free(c);
        fixture_done(&a);
        fixture_done(&b);
    }
}

/* ---- runs of the same thing ---- */

static const double wide[FIXTURE_HISTORY] = {1.12, 0.9, 1.07, 0.94, 1.1};

/* What the trials show is asked of the history. */
static void a_change_is_beyond_the_usual_spread(void **state)
{
    (void)state;
    static const double x[] = {40, 70, 120, 200};
    static const struct {
        const char *name;
        double b[4];
        const double *factors;
        size_t n_history;
        const char *changes; /* S slower, F faster, u spread unknown, U usual, - none shown */
        enum change whole_change, change;
    } rows[] = {
        {"10% slower, no other run",
         {36, 63, 108, 180},
         usual,
         0,
         "uuuu",
         CHANGE_SPREAD_UNKNOWN,
         CHANGE_INCONCLUSIVE},
        {"half as fast, one other run",
         {20, 35, 60, 100},
         usual,
         1,
         "uuuu",
         CHANGE_SPREAD_UNKNOWN,
         CHANGE_INCONCLUSIVE},
        {"10% slower, runs differ by 0.3%",
         {36, 63, 108, 180},
         usual,
         5,
         "SSSS",
         CHANGE_SLOWER,
         CHANGE_SLOWER},
        {"one point 10% faster",
         {40, 70, 132, 200},
         usual,
         5,
         "--F-",
         CHANGE_FASTER,
         CHANGE_FASTER},
        {"10% slower, runs differ by 10%",
         {36, 63, 108, 180},
         wide,
         5,
         "UUUU",
         CHANGE_NONE,
         CHANGE_NONE},
        {"half as fast, runs differ by 10%",
         {20, 35, 60, 100},
         wide,
         5,
         "SSSS",
         CHANGE_SLOWER,
         CHANGE_SLOWER},
        {"nothing changed, no other run",
         {40, 70, 120, 200},
         usual,
         0,
         "----",
         CHANGE_NONE,
         CHANGE_NONE},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        struct fixture a, b;
        make_run(&a, "demo-7k3fq", 5, x, 0);
        make_run(&b, "demo-q2v8n", 5, rows[i].b, 3);
        struct fixture_history h;
        fixture_history_init(&h, a.result, rows[i].factors);
        const struct compare_params params = {
            .threshold_ratio = 0.02, .history = h.list, .n_history = rows[i].n_history};
        struct comparison *c = NULL;
        const char *fix = NULL;
        assert_int_equal(comparison_new(a.result, b.result, &params, &c, &fix, NULL), 0);
        char changes[5] = "";
        for (size_t p = 0; p < 4; p++) {
            changes[p] = "SFiuU-tx"[c->points.items[p].change];
        }
        print_message("# row '%s': %s\n", rows[i].name, changes);
        assert_string_equal(changes, rows[i].changes);
        assert_int_equal(c->n_base_runs, rows[i].n_history + 1);
        assert_int_equal(c->between.known, rows[i].n_history >= 2);
        if (c->between.known) {
            assert_int_equal(c->whole_change, rows[i].whole_change);
        }
        assert_int_equal(c->change, rows[i].change);
        comparison_free(c);
        fixture_history_done(&h);
        fixture_done(&a);
        fixture_done(&b);
    }
}

/* The history of the base: its definition, machine and build, and neither of the two runs. */
static void which_runs_are_the_base_s(void **state)
{
    (void)state;
    static const double x[] = {40, 70, 120, 200};
    struct fixture a, b, other;
    make_run(&a, "demo-7k3fq", 3, x, 0);
    make_run(&b, "demo-q2v8n", 3, x, 3);
    free(b.def->uid);
    b.def->uid = xstrdup("1c6d9a1f-4a6f-4d1b-8e7c-3b2a4d5e6f70");
    make_run(&other, "demo-other", 4, x, 1); /* four repeats: another definition */
    free(other.def->uid);
    other.def->uid = xstrdup("70de7c3e-0c52-4f0e-9a57-0f5b6f3f8a11");
    struct fixture_history h;
    fixture_history_init(&h, a.result, usual);
    struct result twins[3];
    for (size_t i = 0; i < 3; i++) {
        twins[i] = h.results[0];
    }
    struct run_def defs[2] = {h.defs[0], h.defs[0]};
    defs[0].cpus = 3; /* another machine */
    defs[1].uid = b.def->uid;
    twins[0].def = &defs[0];
    twins[1].def = &defs[1];
    twins[2].phase = RUN_CANCELLED;
    const struct result *const list[] = {a.result,  b.result,  other.result, &twins[0],
                                         &twins[1], &twins[2], h.list[0],    h.list[1]};
    const struct compare_params params = {
        .threshold_ratio = 0.02, .history = list, .n_history = N_ROWS(list)};
    struct comparison *c = NULL;
    const char *fix = NULL;
    assert_int_equal(comparison_new(a.result, b.result, &params, &c, &fix, NULL), 0);
    assert_int_equal(c->n_base_runs, 3);
    comparison_free(c);
    fixture_history_done(&h);
    fixture_done(&a);
    fixture_done(&b);
    fixture_done(&other);
}

/* ---- refusals and differences ---- */

static void emulated_runs_compare_with_each_other(void **state)
{
    (void)state;
    static const double x[] = {40, 70, 120, 200};
    static const struct {
        bool a, b;
        const char *message; /* NULL: they do */
    } rows[] = {
        {true, true, NULL},
        {true, false,
         "run/demo-7k3fq is a rehearsal with emulated trainers and run/demo-q2v8n is not"},
        {false, true,
         "run/demo-q2v8n is a rehearsal with emulated trainers and run/demo-7k3fq is not"},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        struct fixture a, b;
        make_run(&a, "demo-7k3fq", 3, x, 0);
        make_run(&b, "demo-q2v8n", 3, x, 0);
        a.def->rehearsal = b.def->rehearsal = true; /* of both kinds */
        a.def->spec->workload.compute = rows[i].a ? COMPUTE_EMULATED : COMPUTE_REAL;
        b.def->spec->workload.compute = rows[i].b ? COMPUTE_EMULATED : COMPUTE_REAL;
        b.def->spec->workload.trace.jitter_ratio = 0.1;
        struct comparison *c = NULL;
        const char *fix = NULL;
        struct err err = {0};
        int r = comparison_new(a.result, b.result, &defaults, &c, &fix, &err);
        if (rows[i].message == NULL) {
            assert_int_equal(r, 0);
            assert_int_equal(c->differences.len, 1);
            assert_string_equal(c->differences.items[0].what, "trace");
            assert_string_equal(c->differences.items[0].base,
                                "0 layers, 0.0 ms, jitter 0 (811c9dc5)");
            assert_string_equal(c->differences.items[0].candidate,
                                "0 layers, 0.0 ms, jitter 0.1 (811c9dc5)");
        } else {
            assert_int_equal(r, -EINVAL);
            assert_non_null(strstr(err.msg, rows[i].message));
            assert_string_equal(fix, "compare runs with the same spec.workload.compute");
        }
        comparison_free(c);
        fixture_done(&a);
        fixture_done(&b);
    }
}

/* The same system with other numbers on the network is another one. */
static void other_wires_do_not_compare(void **state)
{
    (void)state;
    static const double x[] = {40, 70, 120, 200};
    for (int same = 0; same < 2; same++) {
        struct fixture a, b;
        make_run(&a, "demo-7k3fq", 3, x, 0);
        make_run(&b, "demo-q2v8n", 3, x, 0);
        b.def->spec->systems.items[0].exchange.wire = EXCHANGE_WIRE_BF16;
        a.def->spec->systems.items[0].exchange.wire =
            same ? EXCHANGE_WIRE_BF16 : EXCHANGE_WIRE_FP32;
        struct comparison *c = NULL;
        const char *fix = NULL;
        struct err err = {0};
        int r = comparison_new(a.result, b.result, &defaults, &c, &fix, &err);
        print_message("# %d %s\n", r, err.msg);
        assert_int_equal(r, same ? 0 : -EINVAL);
        if (!same) {
            assert_non_null(strstr(err.msg, "of run/demo-7k3fq exchanges numbers in Fp32, that of "
                                            "run/demo-q2v8n in Bf16"));
            assert_non_null(strstr(fix, "compare runs with the same exchange.wire"));
        }
        comparison_free(c);
        fixture_done(&a);
        fixture_done(&b);
    }
}

/* Nor does one that exchanges at other times. */
static void other_modes_do_not_compare(void **state)
{
    (void)state;
    static const double x[] = {40, 70, 120, 200};
    static const struct {
        struct exchange_mode mode;
        const char *text;
    } rows[] = {{{.accumulate = 2}, "Sync accumulate=2"}, {{.backups = 2}, "Sync backups=2"}};
    for (uint32_t i = 0; i < 2 * N_ROWS(rows); i++) {
        const bool same = i % 2 == 1;
        struct fixture a, b;
        make_run(&a, "demo-7k3fq", 3, x, 0);
        make_run(&b, "demo-q2v8n", 3, x, 0);
        b.def->spec->systems.items[0].exchange.mode = rows[i / 2].mode;
        a.def->spec->systems.items[0].exchange.mode = same ? rows[i / 2].mode : EXCHANGE_MODE_SYNC;
        struct comparison *c = NULL;
        const char *fix = NULL;
        struct err err = {0};
        int r = comparison_new(a.result, b.result, &defaults, &c, &fix, &err);
        print_message("# %d %s\n", r, err.msg);
        assert_int_equal(r, same ? 0 : -EINVAL);
        if (!same) {
            assert_non_null(strstr(err.msg, "of run/demo-7k3fq exchanges by 'Sync', that of "
                                            "run/demo-q2v8n by '"));
            assert_non_null(strstr(err.msg, rows[i / 2].text));
            assert_non_null(strstr(fix, "compare runs with the same mode, staleness, backups"));
        }
        comparison_free(c);
        fixture_done(&a);
        fixture_done(&b);
    }
}

/* Nor runs over other links. */
static void other_links_do_not_compare(void **state)
{
    (void)state;
    static const double x[] = {40, 70, 120, 200};
    for (uint32_t same = 0; same < 2; same++) {
        struct fixture a, b;
        make_run(&a, "demo-7k3fq", 3, x, 0);
        make_run(&b, "demo-q2v8n", 3, x, 0);
        b.def->spec->workload.link = (struct link){1000000000, 1000000};
        a.def->spec->workload.link = (struct link){same ? 1000000000 : 0, same ? 1000000 : 0};
        struct comparison *c = NULL;
        const char *fix = NULL;
        struct err err = {0};
        int r = comparison_new(a.result, b.result, &defaults, &c, &fix, &err);
        print_message("# %d %s\n", r, err.msg);
        assert_int_equal(r, same ? 0 : -EINVAL);
        if (!same) {
            assert_non_null(strstr(err.msg, "the links of run/demo-7k3fq are shaped to none, those "
                                            "of run/demo-q2v8n to 1gbit 1ms"));
            assert_non_null(strstr(fix, "compare runs with the same spec.workload.link"));
        }
        comparison_free(c);
        fixture_done(&a);
        fixture_done(&b);
    }
}

/* What the definitions ask for, and what the workers say they had. */
static void other_transports_do_not_compare(void **state)
{
    (void)state;
    static const double x[] = {40, 70, 120, 200};
    enum { ASKED, ASKED_THE_SAME, USED, USED_THE_SAME, ONE_IS_SILENT, KINDS };
    for (int kind = 0; kind < KINDS; kind++) {
        struct fixture a, b;
        make_run(&a, "demo-7k3fq", 3, x, 0);
        make_run(&b, "demo-q2v8n", 3, x, 0);
        if (kind <= ASKED_THE_SAME) {
            b.def->spec->systems.items[0].exchange.transport = EXCHANGE_TRANSPORT_TCP;
            a.def->spec->systems.items[0].exchange.transport =
                kind == ASKED ? EXCHANGE_TRANSPORT_AUTO : EXCHANGE_TRANSPORT_TCP;
        } else {
            struct summary *of_a = &a.result->points[0].trials[0].replicas[0].summary;
            of_a->transport = EXCHANGE_TRANSPORT_SHARED_MEMORY;
            b.result->points[0].trials[0].replicas[0].summary.transport =
                kind == USED            ? EXCHANGE_TRANSPORT_TCP
                : kind == ONE_IS_SILENT ? EXCHANGE_TRANSPORT_AUTO
                                        : EXCHANGE_TRANSPORT_SHARED_MEMORY;
        }
        struct comparison *c = NULL;
        const char *fix = NULL;
        struct err err = {0};
        const int r = comparison_new(a.result, b.result, &defaults, &c, &fix, &err);
        print_message("# %d %s\n", r, err.msg);
        assert_int_equal(r, kind == ASKED || kind == USED ? -EINVAL : 0);
        if (kind == ASKED) {
            assert_non_null(strstr(err.msg, "of run/demo-7k3fq has transport Auto, that of "
                                            "run/demo-q2v8n Tcp"));
        } else if (kind == USED) {
            assert_string_equal(err.msg, "run/demo-7k3fq exchanged over SharedMemory, "
                                         "run/demo-q2v8n over Tcp");
        }
        comparison_free(c);
        fixture_done(&a);
        fixture_done(&b);
    }
}

static void some_runs_do_not_compare(void **state)
{
    (void)state;
    static const double x[] = {40, 70, 120, 200}, none[] = {0, 0, 0, 0};
    static const struct {
        const char *name;
        bool simulated_a, simulated_b, rehearsal_a, rehearsal_b, measured_b;
        const char *message; /* NULL: they do */
    } rows[] = {
        {"plain runs", false, false, false, false, true, NULL},
        {"two rehearsals", false, false, true, true, true, NULL},
        {"a simulated base", true, false, false, false, true,
         "run/demo-7k3fq is simulated and cannot be the base of a comparison: fake pods answered"},
        {"both simulated", true, true, false, false, true, "run/demo-7k3fq is simulated"},
        {"a simulated candidate", false, true, false, false, true,
         "run/demo-q2v8n is simulated and cannot be compared with a real one"},
        {"a rehearsal as base", false, false, true, false, true,
         "run/demo-7k3fq is a rehearsal and run/demo-q2v8n is not"},
        {"a rehearsal as candidate", false, false, false, true, true,
         "run/demo-q2v8n is a rehearsal and run/demo-7k3fq is not"},
        {"no number in common", false, false, false, false, false,
         "no point has a throughput in both run/demo-7k3fq and run/demo-q2v8n"},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        print_message("# row '%s'\n", rows[i].name);
        struct fixture a, b;
        make_run(&a, "demo-7k3fq", 3, x, 0);
        make_run(&b, "demo-q2v8n", 3, rows[i].measured_b ? x : none, 0);
        a.result->simulated = rows[i].simulated_a;
        b.result->simulated = rows[i].simulated_b;
        a.def->rehearsal = rows[i].rehearsal_a;
        b.def->rehearsal = rows[i].rehearsal_b;
        struct comparison *c = NULL;
        const char *fix = NULL;
        struct err err = {0};
        int r = comparison_new(a.result, b.result, &defaults, &c, &fix, &err);
        if (rows[i].message == NULL) {
            assert_int_equal(r, 0);
        } else {
            assert_int_equal(r, -EINVAL);
            assert_null(c);
            assert_non_null(fix);
            if (strstr(err.msg, rows[i].message) == NULL) {
                fail_msg("expected '%s', got '%s'", rows[i].message, err.msg);
            }
        }
        comparison_free(c);
        fixture_done(&a);
        fixture_done(&b);
    }
}

static void set_environment(struct fixture *f, size_t row, size_t replica, const char *json)
{
    struct replica_row *r = &f->rows.items[row].replicas.items[replica];
    free(r->environment_json);
    r->environment_json = json == NULL ? NULL : xstrdup(json);
}

static void differences(void **state)
{
    (void)state;
    static const double x[] = {40, 70, 120, 200};
    struct fixture a, b;
    make_run(&a, "demo-7k3fq", 3, x, 0);
    fixture_init(&b, "{grid: {pservers: [1], trainers: [1, 2, 4, 8]}}",
                 POINT_BASELINE "  repeats: {min: 4}\n"
                                "  workload: {model: vgg16-fluid-fc512, dataset: {kind: Cifar10, "
                                "path: /data}, batchSize: 16,\n"
                                "             exchange: {kind: PServer, mode: Sync, wire: Fp32}}\n",
                 12);
    rename_run(&b, "demo-q2v8n");
    for (uint32_t p = 0; p < 4; p++) {
        for (uint32_t t = 0; t < 3; t++) {
            fixture_throughput(&b, p, t, x[p]);
        }
    }
    for (size_t row = 0; row < b.rows.len; row++) {
        for (size_t k = 0; k < b.rows.items[row].replicas.len; k++) {
            set_environment(&b, row, k,
                            row == 4 ? "{\"blas_core\":\"ZEN\",\"cgroup_cpu_limit\":1.5,"
                                       "\"cpu_model\":\"EPYC\",\"kernel\":\"6.1.0-34-amd64\"}"
                                     : "{\"blas_core\":\"HASWELL\",\"cgroup_cpu_limit\":1.5,"
                                       "\"cpu_model\":\"EPYC\",\"kernel\":\"6.1.0-34-amd64\"}");
        }
    }
    fixture_throughput(&b, 0, 3, x[0])->outcome = ATTEMPT_FAILED; /* its machine does not count */
    set_environment(&b, b.rows.len - 1, 0, "{\"cpu_model\":\"Broken\"}");
    set_environment(&b, 0, 0, NULL);
    set_environment(&b, 1, 0, "{damaged");
    fixture_build(&b, RUN_SUCCEEDED);
    struct comparison *c = compare(&a, &b, &defaults);
    struct buf text = BUF_INIT;
    vec_each (struct difference, d, &c->differences) {
        buf_printf(&text, "%s: %s -> %s\n", d->what, d->base, d->candidate);
    }
    assert_string_equal(buf_cstr(&text), "data set: Synthetic -> Cifar10 /data\n"
                                         "CPUs given: 16 -> 12\n"
                                         "CPU: Intel(R) Xeon(R) CPU E5-2620 v4 @ 2.10GHz -> EPYC\n"
                                         "CPU limit: unknown -> 1.5\n"
                                         "BLAS core: HASWELL -> HASWELL and ZEN\n");
    buf_done(&text);
    comparison_free(c);
    c = NULL;
    const struct compare_params strict = {.threshold_ratio = 0.02, .is_strict = true};
    const char *fix = NULL;
    struct err err = {0};
    assert_int_equal(comparison_new(a.result, b.result, &strict, &c, &fix, &err), -EINVAL);
    assert_null(c);
    assert_non_null(strstr(err.msg, "run/demo-7k3fq and run/demo-q2v8n differ in more than their "
                                    "points: data set Synthetic -> Cifar10 /data, CPUs given "));
    assert_string_equal(fix, "measure both in the same way, or omit --strict");
    assert_int_equal(comparison_new(a.result, a.result, &strict, &c, &fix, &err), 0);
    comparison_free(c);
    fixture_done(&a);
    fixture_done(&b);
}

static void set_environments(struct fixture *f, const char *json)
{
    for (size_t row = 0; row < f->rows.len; row++) {
        for (size_t k = 0; k < f->rows.items[row].replicas.len; k++) {
            set_environment(f, row, k, json);
        }
    }
    fixture_build(f, RUN_SUCCEEDED);
}

/* Whatever made the numbers: each is seen, and --strict names each, however many there are (below). */
static void provenance(void **state)
{
    (void)state;
    static const struct {
        const char *base, *candidate, *difference; /* NULL: none */
    } rows[] = {
        {"\"source\":\"e95bcff11d02\"", "\"source\":\"e95bcff11d02\"", NULL},
        {"\"source\":\"e95bcff11d02\"", "\"source\":\"e95bcff11d02-dirty-3f9a0c1b\"",
         "source: e95bcff11d02 -> e95bcff11d02-dirty-3f9a0c1b"},
        {"\"source\":\"unknown\"", "\"source\":\"unknown\"", "source: unknown -> unknown"},
        {"\"source\":\"e95bcff11d02\"", "\"host\":\"h\"", "source: e95bcff11d02 -> unknown"},
        {"\"host\":\"h\"", "\"host\":\"h\"",
         NULL}, /* a foreign system: its build says what it is */
        {"\"compiler\":\"gcc 12.2.0\"", "\"compiler\":\"clang 14.0.6\"",
         "compiler: gcc 12.2.0 -> clang 14.0.6"},
        {"\"build_options\":\"buildtype=debug\"", "\"build_options\":\"buildtype=release\"",
         "build options: buildtype=debug -> buildtype=release"},
        {"\"image_id\":\"r@sha256:1\"", "\"image_id\":\"r@sha256:2\"",
         "image: r@sha256:1 -> r@sha256:2"},
        {"\"kernel\":\"6.1.0\"", "\"kernel\":\"6.2.0\"", "kernel: 6.1.0 -> 6.2.0"},
        {"\"clock_source\":\"tsc\"", "\"clock_source\":\"hpet\"", "clock source: tsc -> hpet"},
        {"\"cpu_governor\":null", "\"cpu_governor\":\"powersave\"",
         "CPU governor: unknown -> powersave"},
        {"\"gpu_driver\":\"nvidia 535\"", "\"gpu_driver\":\"nvidia 550\"",
         "GPU driver: nvidia 535 -> nvidia 550"},
    };
    static const double x[] = {40, 70, 120, 200};
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        print_message("# row '%s' and '%s'\n", rows[i].base, rows[i].candidate);
        struct fixture runs[2];
        for (size_t side = 0; side < 2; side++) {
            make_run(&runs[side], side == 0 ? "demo-7k3fq" : "demo-q2v8n", 3, x, 0);
            _cleanup_(freep) char *json =
                xasprintf("{%s}", side == 0 ? rows[i].base : rows[i].candidate);
            set_environments(&runs[side], json);
        }
        struct comparison *c = compare(&runs[0], &runs[1], &defaults);
        assert_int_equal(c->differences.len, rows[i].difference != NULL);
        vec_each (struct difference, d, &c->differences) {
            _cleanup_(freep) char *text = xasprintf("%s: %s -> %s", d->what, d->base, d->candidate);
            assert_string_equal(text, rows[i].difference);
        }
        comparison_free(c);
        c = NULL;
        const struct compare_params strict = {.threshold_ratio = 0.02, .is_strict = true};
        const char *fix = NULL;
        assert_int_equal(comparison_new(runs[0].result, runs[1].result, &strict, &c, &fix, NULL),
                         rows[i].difference == NULL ? 0 : -EINVAL);
        comparison_free(c);
        fixture_done(&runs[0]);
        fixture_done(&runs[1]);
    }
}

/* A comparison needs no replica, nor a row: histories of many runs are compared without. */
static void replicas_may_be_forgotten(void **state)
{
    (void)state;
    static const double x[] = {40, 70, 120, 200};
    struct fixture runs[2];
    for (size_t side = 0; side < 2; side++) {
        make_run(&runs[side], side == 0 ? "demo-7k3fq" : "demo-q2v8n", 4, x, side);
        set_environments(&runs[side], side == 0 ? "{\"kernel\":\"6.1\",\"node\":\"n\"}"
                                                : "{\"kernel\":\"6.2\",\"node\":\"n\"}");
    }
    struct comparison *c = compare(&runs[0], &runs[1], &defaults);
    json_t *before = comparison_to_json(c);
    comparison_free(c);
    for (size_t side = 0; side < 2; side++) {
        result_forget_replicas(runs[side].result);
        vec_each (struct attempt_row, row, &runs[side].rows) {
            attempt_row_done(row);
        }
        vec_done(&runs[side].rows);
    }
    c = compare(&runs[0], &runs[1], &defaults);
    json_t *after = comparison_to_json(c);
    assert_true(json_equal(before, after));
    assert_int_equal(c->differences.len, 1);
    json_decref(before);
    json_decref(after);
    comparison_free(c);
    fixture_done(&runs[0]);
    fixture_done(&runs[1]);
}

static void long_differences_are_named(void **state)
{
    (void)state;
    static const double x[] = {40, 70, 120, 200};
    struct fixture runs[2];
    for (size_t side = 0; side < 2; side++) {
        make_run(&runs[side], side == 0 ? "demo-7k3fq" : "demo-q2v8n", 3, x, 0);
        _cleanup_(freep) char *json =
            xasprintf("{\"cpu_features\":\"%0300zu\",\"image_id\":\"%0300zu\",\"kernel\":\"%zu\"}",
                      side, side, side);
        set_environments(&runs[side], json);
    }
    struct comparison *c = NULL;
    const struct compare_params strict = {.threshold_ratio = 0.02, .is_strict = true};
    const char *fix = NULL;
    struct err err = {0};
    assert_int_equal(comparison_new(runs[0].result, runs[1].result, &strict, &c, &fix, &err),
                     -EINVAL);
    assert_string_equal(err.msg,
                        "run/demo-7k3fq and run/demo-q2v8n differ in more than their points: "
                        "CPU features, kernel, image");
    assert_string_equal(fix,
                        "measure both in the same way; without --strict the values are printed");
    fixture_done(&runs[0]);
    fixture_done(&runs[1]);
}

/* Of runs in a cluster: processes of one machine do not read templates. */
static void templates(void **state)
{
    (void)state;
    static const double x[] = {40, 70, 120, 200};
    static const struct {
        const char *base, *candidate;
        int64_t cpus;
        size_t n;
    } rows[] = {
        {"{\"a\": 1, \"b\": 2}", "{\"b\":2,\"a\":1}", 0, 0},
        {"{\"a\": 1}", "{\"a\": 2}", 0, 1},
        {NULL, "{\"a\": 2}", 0, 1},
        {"{\"a\": 1}", "{\"a\": 2}", 12, 0},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        print_message("# row %zu\n", i);
        struct fixture runs[2];
        for (size_t side = 0; side < 2; side++) {
            make_run(&runs[side], side == 0 ? "demo-7k3fq" : "demo-q2v8n", 3, x, 0);
            const char *text = side == 0 ? rows[i].base : rows[i].candidate;
            struct role_spec *role = &runs[side].def->spec->roles[ROLE_TRAINER];
            json_decref(role->template);
            role->template = text == NULL ? NULL : json_loads(text, 0, NULL);
            runs[side].def->cpus = rows[i].cpus;
        }
        struct comparison *c = compare(&runs[0], &runs[1], &defaults);
        assert_int_equal(c->differences.len, rows[i].n);
        vec_each (struct difference, d, &c->differences) {
            assert_string_equal(d->what, "trainer template");
            assert_string_equal(d->base, rows[i].base == NULL ? "none" : "9c3e82dd6fcae8b1");
        }
        comparison_free(c);
        fixture_done(&runs[0]);
        fixture_done(&runs[1]);
    }
}

/* ---- the document ---- */

/* Also the example of docs/contracts/compare.md: a change, a point without a number, points of one
 * side only, another kernel. */
static void golden_document(void **state)
{
    (void)state;
    struct fixture a, b;
    fixture_init(&a, "{grid: {pservers: [1], trainers: [2, 4]}}",
                 "  baseline: {kind: SingleNode}\n  repeats: {min: 4}\n", 8);
    fixture_init(&b, "{grid: {pservers: [1, 2], trainers: [2]}}",
                 "  baseline: {kind: SingleNode}\n  repeats: {min: 4}\n", 8);
    rename_run(&b, "demo-q2v8n");
    for (uint32_t t = 0; t < 4; t++) {
        fixture_throughput(&a, 0, t, 70 * spread[t]);
        fixture_throughput(&a, 1, t, 120 * spread[t]);
        fixture_throughput(&b, 0, t, 63 * spread[t + 3]);
        fixture_throughput(&b, 2, t, 40 * spread[t + 3]);
    }
    fixture_throughput(&a, 2, 0, 40);
    for (size_t i = 0; i < b.rows.len; i++) {
        set_environment(&b, i, 0,
                        "{\"blas_core\":\"HASWELL\",\"cpu_model\":\"Intel(R) Xeon(R) CPU "
                        "E5-2620 v4 @ 2.10GHz\",\"kernel\":\"6.1.0-35-amd64\"}");
    }
    fixture_build(&a, RUN_SUCCEEDED);
    fixture_build(&b, RUN_SUCCEEDED);
    struct comparison *c = compare_beside(&a, &b, &defaults, usual);
    json_t *document = comparison_to_json(c);
    golden_check_json("docs/contracts/golden/compare.json", document);
    json_decref(document);
    comparison_free(c);
    fixture_done(&a);
    fixture_done(&b);
}

/* A point stops when its own trials say so: three here, six there. The p of a point and its interval have one
 * method, which knows the rule. */
static void unequal_numbers_of_trials(void **state)
{
    (void)state;
    static const char repeats[] =
        POINT_BASELINE "  repeats: {min: 3, max: 6, stopWhen: {relativeHalfWidth: 0.02}}\n";
    static const double calm[] = {1, 1.004, 0.997}, wild[] = {1, 1.03, 0.97, 1.01, 0.99, 1};
    for (int is_slower = 0; is_slower < 2; is_slower++) {
        struct fixture f[2];
        for (int side = 0; side < 2; side++) {
            fixture_init(&f[side], GRID, repeats, 16);
            rename_run(&f[side], side == 0 ? "base" : "candidate");
            const double *factors = side == 0 ? calm : wild;
            for (uint32_t p = 0; p < 4; p++) {
                for (uint32_t t = 0; t < (side == 0 ? 3U : 6U); t++) {
                    const double loss = side == 1 && is_slower != 0 ? 0.5 : 1;
                    fixture_throughput(&f[side], p, t, 100 * (p + 1) * factors[t] * loss);
                }
            }
            fixture_build(&f[side], RUN_SUCCEEDED);
            assert_int_equal(f[side].result->points[0].n_trials, side == 0 ? 3 : 6);
        }
        struct comparison *c = compare_beside(&f[0], &f[1], &defaults, steady);
        assert_int_equal(c->change, is_slower != 0 ? CHANGE_SLOWER : CHANGE_NONE);
        vec_each (const struct compared_point, p, &c->points) {
            const struct estimate *e = &p->ratio.estimate;
            assert_true(e->has_interval && p->welch.df <= 4 + 1e-9); /* of three trials a side */
            assert_int_equal(p->welch.p <= 0.05, e->low > 1 || e->high < 1);
        }
        comparison_free(c);
        fixture_done(&f[0]);
        fixture_done(&f[1]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(unequal_numbers_of_trials),
        cmocka_unit_test(verdicts),
        cmocka_unit_test(the_same_trials_twice),
        cmocka_unit_test(exchanging_mirrors),
        cmocka_unit_test(without_change_few_are_flagged),
        cmocka_unit_test(skewed_trials_have_no_direction),
        cmocka_unit_test(verdicts_and_intervals_agree),
        cmocka_unit_test(figures_by_hand),
        cmocka_unit_test(points_are_matched_by_what_ran),
        cmocka_unit_test(a_change_is_beyond_the_usual_spread),
        cmocka_unit_test(which_runs_are_the_base_s),
        cmocka_unit_test(emulated_runs_compare_with_each_other),
        cmocka_unit_test(other_wires_do_not_compare),
        cmocka_unit_test(other_modes_do_not_compare),
        cmocka_unit_test(other_links_do_not_compare),
        cmocka_unit_test(other_transports_do_not_compare),
        cmocka_unit_test(some_runs_do_not_compare),
        cmocka_unit_test(differences),
        cmocka_unit_test(provenance),
        cmocka_unit_test(long_differences_are_named),
        cmocka_unit_test(replicas_may_be_forgotten),
        cmocka_unit_test(templates),
        cmocka_unit_test(golden_document),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
