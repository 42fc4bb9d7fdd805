/* Two runs on a machine that was not equally busy: what it may explain is no verdict, and what it
 * does not stays one. */
#include "tests/test.h"
#include "compare/compare_parts.h"

#include <math.h>

#include "compare/gate.h"
#include "result_fixture.h"

FREEP(comparison_free, struct comparison)

#define N_POINTS 4
#define N_TRIALS 5

/* ---- the decision, by its numbers ---- */

TEST(causes)
{
    static const struct {
        const char *name;
        double measured, alone; /* ratios */
        double p_alone;
        double threshold;
        bool is_known, is_cause;
    } rows[] = {
        {"all of it", 0.5, 1, 1, 0.02, true, true},
        {"all of it, a gain", 2, 1, 1, 0.02, true, true},
        {"nothing of it", 0.5, 0.5, 0.001, 0.02, true, false},
        {"nothing of it, and what remains is not shown: as measured", 0.5, 0.5, 0.3, 0.02, true,
         false},
        {"less than the threshold", 0.7, 0.712, 0.3, 0.02, true, false},
        {"the threshold, and what remains is not shown", 0.7, 0.72, 0.3, 0.02, true, true},
        {"the threshold, and what remains is shown", 0.7, 0.72, 0.01, 0.02, true, false},
        {"shown at 5% only", 0.7, 0.72, 0.021, 0.02, true, true},
        {"a half twice", 0.25, 0.5, 0.001, 0.02, true, false},
        {"less remains than is explained", 0.25, 0.51, 0.001, 0.02, true, true},
        {"more remains", 0.25, 0.49, 0.001, 0.02, true, false},
        {"what remains points the other way", 0.9, 1.2, 0.001, 0.02, true, true},
        {"the candidate was the quieter one", 0.9, 0.7, 0.001, 0.02, true, false},
        {"what remains does not reach the threshold", 0.955, 0.981, 0.001, 0.02, true, true},
        {"a wide threshold: what remains is below it", 0.75, 0.91, 0.001, 0.1, true, true},
        {"nothing is known", 0.5, 1, 1, 0.02, false, false},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        print_message("# row '%s'\n", rows[i].name);
        for (int sign = -1; sign <= 1; sign += 2) { /* exchanging the runs changes nothing */
            const struct paired between = {.known = true, .mean = sign * log(rows[i].measured)};
            struct compared_busy busy = {
                .alone = {.known = rows[i].is_known, .mean = sign * log(rows[i].alone)},
                .p_adjusted = rows[i].p_alone,
            };
            compare_busy_explain(&busy, &between, 0);
            assert_int_equal(compare_busy_is_cause(&busy, &between, rows[i].threshold),
                             rows[i].is_cause);
        }
    }
}

/* Of a quiet base others took nothing, and not "-0%", whatever is rounded. */
TEST(a_quiet_base)
{
    for (int percent = 1; percent < 100; percent++) {
        const double lost = -log1p(-percent / 100.0), base = log(100), candidate = log(50);
        const struct paired between = {.known = true, .mean = candidate - base};
        struct compared_busy busy = {.alone = {.known = true, .mean = candidate + lost - base}};
        compare_busy_explain(&busy, &between, lost);
        assert_false(signbit(busy.base_share));
        assert_true(busy.base_share < 1e-12);
    }
}

/* ---- whole runs ---- */

static const double spread[N_TRIALS] = {1, 1.004, 0.997, 1.002, 0.999};

/* Every point has this throughput times the factors of the trials; others took this
 * share of each trial. */
static void make_run(struct fixture *f, const char *name, double x, double share, size_t shift)
{
    fixture_init(f, "{grid: {pservers: [1], trainers: [1, 2, 4, 8]}}",
                 "  baseline: {kind: Point, where: {trainers: 1}}\n  repeats: {min: 5}\n", 16);
    free(f->def->name);
    f->def->name = xstrdup(name);
    for (uint32_t p = 0; p < N_POINTS; p++) {
        for (uint32_t t = 0; t < N_TRIALS; t++) {
            fixture_throughput(f, p, t, x * spread[(t + p + shift) % N_TRIALS]);
        }
    }
    fixture_build(f, RUN_SUCCEEDED);
    for (uint32_t p = 0; p < N_POINTS; p++) {
        for (uint32_t t = 0; t < N_TRIALS; t++) {
            f->result->points[p].trials[t].others_share = share;
        }
    }
}

static const double usual[FIXTURE_HISTORY] = {1.004, 0.997, 1.002, 0.999, 1.003};

static struct comparison *compare(const struct fixture *a, const struct fixture *b,
                                  struct fixture_history *history)
{
    struct comparison *c = NULL;
    const char *fix = NULL;
    struct err err = {0};
    const struct compare_params params = {.threshold_ratio = COMPARE_THRESHOLD_RATIO,
                                          .margin = {GATE_MARGIN_RATIO, true},
                                          .history = history->list,
                                          .n_history = FIXTURE_HISTORY};
    if (comparison_new(a->result, b->result, &params, &c, &fix, &err) < 0) {
        fail_msg("refused: %s", err.msg);
    }
    return c;
}

static enum gate_verdict judge(const struct comparison *c)
{
    _cleanup_(gate_done) struct gate gate;
    gate_judge(c->candidate, c, NULL, &gate);
    const enum gate_verdict verdict = gate.verdict;
    return verdict;
}

TEST(runs)
{
    static const struct {
        const char *name;
        double base_share, x, share; /* the base has 100 of any share */
        enum change point, whole;
        enum gate_verdict gate;
    } rows[] = {
        {"quiet, nothing changed", 0, 100, 0, CHANGE_NONE, CHANGE_NONE, GATE_PASSED},
        {"quiet, half as fast", 0, 50, 0, CHANGE_SLOWER, CHANGE_SLOWER, GATE_SLOWER},
        {"equally busy, half as fast", 0.5, 50, 0.5, CHANGE_SLOWER, CHANGE_SLOWER, GATE_SLOWER},
        {"about equally busy, half as fast", 0.5, 50, 0.55, CHANGE_SLOWER, CHANGE_SLOWER,
         GATE_SLOWER},
        {"equally busy, 5% slower", 0.5, 95, 0.5, CHANGE_SLOWER, CHANGE_SLOWER, GATE_SLOWER},
        {"half as fast while others took a half", 0, 50, 0.5, CHANGE_MACHINE_BUSY,
         CHANGE_INCONCLUSIVE, GATE_INCONCLUSIVE},
        {"a twelfth while others took eleven twelfths", 0, 100 / 12.0, 11 / 12.0,
         CHANGE_MACHINE_BUSY, CHANGE_INCONCLUSIVE, GATE_INCONCLUSIVE},
        {"a third while others took a half: less remains than is explained", 0, 33.3, 0.5,
         CHANGE_MACHINE_BUSY, CHANGE_INCONCLUSIVE, GATE_INCONCLUSIVE},
        {"a fifth while others took a half: more remains", 0, 20, 0.5, CHANGE_SLOWER, CHANGE_SLOWER,
         GATE_SLOWER},
        {"others took 10%, a tenth slower", 0, 90, 0.1, CHANGE_MACHINE_BUSY, CHANGE_INCONCLUSIVE,
         GATE_INCONCLUSIVE},
        {"others took 1%, a tenth slower", 0, 90, 0.01, CHANGE_SLOWER, CHANGE_SLOWER, GATE_SLOWER},
        {"the base was the busy one, a tenth slower", 0.3, 90, 0, CHANGE_SLOWER, CHANGE_SLOWER,
         GATE_SLOWER},
        {"the base was the busy one, twice as fast", 0.5, 200, 0, CHANGE_MACHINE_BUSY,
         CHANGE_INCONCLUSIVE, GATE_INCONCLUSIVE},
        {"twice as fast on a quiet machine", 0, 200, 0, CHANGE_FASTER, CHANGE_FASTER, GATE_PASSED},
        {"nobody knows how busy the candidate's was", 0, 50, NAN, CHANGE_SLOWER, CHANGE_SLOWER,
         GATE_SLOWER},
        {"nobody knows how busy the base's was", NAN, 50, 0.5, CHANGE_SLOWER, CHANGE_SLOWER,
         GATE_SLOWER},
        {"busy, and nothing changed all the same", 0, 100, 0.5, CHANGE_NONE, CHANGE_NONE,
         GATE_PASSED},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        print_message("# row '%s'\n", rows[i].name);
        _cleanup_(fixture_done) struct fixture a, b;
        make_run(&a, "demo-7k3fq", 100, rows[i].base_share, 0);
        make_run(&b, "demo-q2v8n", rows[i].x, rows[i].share, 3);
        _cleanup_(fixture_history_done) struct fixture_history history;
        fixture_history_init(&history, a.result, usual);
        _cleanup_(comparison_freep) struct comparison *c = compare(&a, &b, &history);
        for (size_t p = 0; p < N_POINTS; p++) {
            assert_int_equal(c->points.items[p].change, rows[i].point);
        }
        assert_int_equal(c->counts[rows[i].point], N_POINTS);
        assert_int_equal(c->change, rows[i].whole);
        assert_int_equal(judge(c), rows[i].gate);
        assert_int_equal(c->repeats_to_decide,
                         0); /* more of them on a busy machine decide nothing */
    }
}

/* Runs of the base that differ because the machine was busy do not hide what remains once that is
 * given back: here nothing does. */
TEST(a_history_of_busy_runs)
{
    static const double shares[FIXTURE_HISTORY] = {0.02, 0.01, 0.04, 0, 0.03};
    _cleanup_(fixture_done) struct fixture a, b;
    _cleanup_(fixture_history_done) struct fixture_history history;
    make_run(&a, "demo-7k3fq", 100, 0, 0);
    make_run(&b, "demo-q2v8n", 60, 0.4, 3);
    double factors[FIXTURE_HISTORY];
    for (size_t i = 0; i < FIXTURE_HISTORY; i++) {
        factors[i] = usual[i] * (1 - shares[i]);
    }
    fixture_history_init(&history, a.result, factors);
    for (size_t i = 0; i < FIXTURE_HISTORY; i++) {
        for (uint32_t p = 0; p < N_POINTS; p++) {
            for (uint32_t t = 0; t < N_TRIALS; t++) {
                history.results[i].points[p].trials[t].others_share = shares[i];
            }
        }
    }
    struct comparison *c = compare(&a, &b, &history);
    const struct compared_point *p = &c->points.items[0];
    assert_int_equal(p->change, CHANGE_MACHINE_BUSY);
    assert_true(p->busy.alone.sd < p->shown.sd / 2);
    assert_true(fabs(p->busy.alone.mean) < 0.01);
    assert_true(fabs(p->busy.candidate_share - 0.4) < 1e-9);
    assert_int_equal(c->n_base_runs, 5);                    /* that of 4% leaves */
    assert_true(fabs(p->busy.base_share - 0.01207) < 1e-4); /* 1 - (0.98 x 0.99 x 0.97)^(1/5) */
    comparison_free(c);

    /* Of one run of the base nobody knows it: then all of them would be
     * compared with some of them. */
    history.results[0].points[0].trials[1].others_share = NAN;
    c = compare(&a, &b, &history);
    assert_false(c->points.items[0].busy.alone.known);
    assert_int_equal(c->points.items[0].change, CHANGE_SLOWER);
    assert_int_equal(c->points.items[1].change, CHANGE_MACHINE_BUSY);
    assert_int_equal(c->change, CHANGE_SLOWER);
    comparison_free(c);
}

/* Runs of the base differ at each point by more than the candidate does, and
 * hardly at all together. */
TEST(all_points_together)
{
    static const double moves[FIXTURE_HISTORY] = {-0.06, -0.03, 0.03, 0.06, 0};
    static const double same[FIXTURE_HISTORY] = {1, 1, 1, 1, 1};
    for (int is_busy = 0; is_busy <= 1; is_busy++) {
        _cleanup_(fixture_done) struct fixture a, b;
        _cleanup_(fixture_history_done) struct fixture_history history;
        make_run(&a, "demo-7k3fq", 100, 0, 0);
        make_run(&b, "demo-q2v8n", 90, is_busy ? 0.1 : 0, 3);
        fixture_history_init(&history, a.result, same);
        for (size_t i = 0; i < FIXTURE_HISTORY; i++) {
            for (uint32_t p = 0; p < N_POINTS; p++) {
                for (uint32_t t = 0; t < N_TRIALS; t++) {
                    history.results[i].points[p].trials[t].throughput *=
                        exp(moves[(i + p) % FIXTURE_HISTORY]);
                }
            }
        }
        _cleanup_(comparison_freep) struct comparison *c = compare(&a, &b, &history);
        assert_int_equal(c->counts[CHANGE_USUAL], N_POINTS);
        assert_int_equal(c->whole_change, is_busy ? CHANGE_MACHINE_BUSY : CHANGE_SLOWER);
        assert_int_equal(c->change, is_busy ? CHANGE_INCONCLUSIVE : CHANGE_SLOWER);
    }
}

static double number_at(const json_t *o, const char *key)
{
    const json_t *value = json_object_get(o, key);
    assert_true(json_is_number(value));
    return json_number_value(value);
}

TEST(document)
{
    _cleanup_(fixture_done) struct fixture a, b;
    _cleanup_(fixture_history_done) struct fixture_history history;
    make_run(&a, "demo-7k3fq", 100, 0.1, 0);
    make_run(&b, "demo-q2v8n", 50, 0.55, 3);
    fixture_history_init(&history, a.result, usual);
    _cleanup_(comparison_freep) struct comparison *c = compare(&a, &b, &history);
    _cleanup_(json_decrefp) json_t *o = comparison_to_json(c);
    const json_t *point = json_array_get(json_object_get(o, "points"), 0);
    const json_t *others = json_object_get(point, "others");
    assert_string_equal(json_string_value(json_object_get(point, "verdict")), "MachineBusy");
    assert_string_equal(json_string_value(json_object_get(o, "verdict")), "Inconclusive");
    assert_int_equal(number_at(json_object_get(o, "counts"), "machineBusy"), N_POINTS);
    assert_true(fabs(number_at(others, "base") - 0.1) < 1e-9);
    assert_true(fabs(number_at(others, "candidate") - 0.55) < 1e-9);
    assert_true(fabs(number_at(others, "explained") - 0.5) < 1e-9); /* 0.45 / 0.9 */
    assert_true(fabs(number_at(others, "remaining") - 1) < 0.01);
    assert_true(number_at(others, "pAdjusted") > 0.05);
    assert_non_null(json_object_get(json_object_get(o, "history"), "others"));
}
