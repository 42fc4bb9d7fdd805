/* The verdict of a gate, and which of the earlier runs is its base. */
#include "tests/test.h"
#include "compare/gate.h"

#include "result_fixture.h"

#define GRID "{grid: {pservers: [1], trainers: [1, 2]}}"
#define MORE                                                                                       \
    "  baseline: {kind: Point, where: {trainers: 1}}\n  repeats: {min: 4}\n"                       \
    "  thresholds:\n  - {metric: throughput, where: {trainers: 2}, min: 100}\n"

static const double spread[] = {1, 1.004, 0.997, 1.002};

/* Two points of 60 and 110 samples/s, times a factor; `n_trials` of four succeed. */
static void make(struct fixture *f, double factor, uint32_t n_trials)
{
    fixture_init(f, GRID, MORE, 16);
    for (uint32_t p = 0; p < 2; p++) {
        for (uint32_t t = 0; t < n_trials; t++) {
            fixture_throughput(f, p, t, (p == 0 ? 60 : 110) * factor * spread[(t + p) % 4]);
        }
    }
    fixture_build(f, RUN_SUCCEEDED);
}

static enum gate_verdict judge(const struct fixture *candidate, const struct comparison *c,
                               const char *refusal, size_t *ret_n)
{
    _cleanup_(gate_done) struct gate g;
    gate_judge(candidate->result, c, refusal, &g);
    const enum gate_verdict v = g.verdict;
    *ret_n = g.checks.len;
    return v;
}

TEST(the_first_that_holds)
{
    _cleanup_(fixture_done) struct fixture whole, part, low;
    size_t n;
    make(&whole, 1, 4);
    make(&part, 1, 3); /* a trial has no result */
    make(&low, 0.8, 4);
    assert_int_equal(judge(&whole, NULL, NULL, &n), GATE_PASSED);
    assert_int_equal(n, 2); /* the run and its threshold */
    assert_int_equal(judge(&whole, NULL, "there is no base", &n), GATE_INCONCLUSIVE);
    assert_int_equal(judge(&part, NULL, "there is no base", &n), GATE_RUN_FAILED);
    assert_int_equal(judge(&low, NULL, "there is no base", &n), GATE_THRESHOLD);
    _cleanup_(gate_done) struct gate g;
    gate_judge(low.result, NULL, NULL, &g);
    assert_int_equal(gate_count(&g, GATE_CHECK_FAILED), 1);
    whole.result->phase = RUN_RUNNING;
    assert_int_equal(judge(&whole, NULL, NULL, &n), GATE_INCONCLUSIVE);
    whole.result->phase = RUN_CANCELLED;
    assert_int_equal(judge(&whole, NULL, NULL, &n), GATE_RUN_FAILED);
    whole.result->phase = RUN_SUCCEEDED;
    whole.result->thresholds.items[0].verdict = THRESHOLD_UNKNOWN; /* is not passed */
    assert_int_equal(judge(&whole, NULL, NULL, &n), GATE_THRESHOLD);
}

/* A threshold without a point is neither passed nor missed, and a gate that judges
 * nothing else does not pass. */
TEST(skipped_thresholds)
{
    _cleanup_(fixture_done) struct fixture f;
    size_t n;
    make(&f, 1, 4);
    struct result *r = f.result;
    struct comparison c = {.base = r, .candidate = r, .whole_margin = MARGIN_NOT_SLOWER};
    *vec_push(&r->skipped) = r->thresholds.items[0].threshold;
    assert_int_equal(judge(&f, NULL, NULL, &n), GATE_PASSED); /* the other one was judged */
    assert_int_equal(n, 3);
    r->thresholds.len = 0;
    assert_int_equal(judge(&f, NULL, NULL, &n), GATE_THRESHOLD);
    assert_int_equal(n, 2);
    assert_int_equal(judge(&f, &c, NULL, &n), GATE_PASSED); /* the comparison was judged */
    assert_int_equal(judge(&f, NULL, "there is no base", &n), GATE_INCONCLUSIVE);
    r->phase = RUN_RUNNING; /* the threshold says more */
    assert_int_equal(judge(&f, NULL, NULL, &n), GATE_THRESHOLD);
    r->phase = RUN_FAILED;
    assert_int_equal(judge(&f, NULL, NULL, &n), GATE_RUN_FAILED);
    _cleanup_(gate_done) struct gate g;
    gate_judge(r, &c, NULL, &g);
    assert_int_equal(gate_count(&g, GATE_CHECK_SKIPPED), 1);
    assert_true(gate_judges(&g));
    assert_string_equal(gate_outcome_names[GATE_CHECK_SKIPPED], "Skipped");
    r->phase = RUN_SUCCEEDED;
    r->skipped.len = 0; /* no thresholds at all, and no base */
    assert_int_equal(judge(&f, NULL, NULL, &n), GATE_THRESHOLD);
}

/* What is not known is not passed: at a point alone, and of all points together. */
TEST(margins)
{
    static const enum gate_verdict of_margin[] = {
        [MARGIN_NOT_ASKED] = GATE_INCONCLUSIVE,
        [MARGIN_NOT_SLOWER] = GATE_PASSED,
        [MARGIN_SLOWER] = GATE_SLOWER,
        [MARGIN_INCONCLUSIVE] = GATE_INCONCLUSIVE,
    };
    _cleanup_(fixture_done) struct fixture f;
    size_t n;
    make(&f, 1, 4);
    struct comparison c = {.base = f.result, .candidate = f.result};
    struct compared_point *p = vec_push(&c.points);
    for (int m = MARGIN_NOT_ASKED; m <= MARGIN_INCONCLUSIVE; m++) {
        p->margin = (enum margin_verdict)m;
        c.whole_margin = MARGIN_NOT_SLOWER;
        assert_int_equal(judge(&f, &c, NULL, &n), of_margin[m]);
        assert_int_equal(n, 4);
        p->margin = MARGIN_NOT_SLOWER;
        c.whole_margin = (enum margin_verdict)m;
        assert_int_equal(judge(&f, &c, NULL, &n), of_margin[m]);
    }
    c.whole_margin = MARGIN_NOT_SLOWER;
    *vec_push(&c.only_base) = f.result->points;
    assert_int_equal(judge(&f, &c, NULL, &n), GATE_INCONCLUSIVE);
    vec_done(&c.points);
    vec_done(&c.only_base);
}

TEST(what_was_refused_is_no_base)
{
    static const struct {
        double factors[FIXTURE_HISTORY];
        size_t n, n_base, newest;
        bool is_slow; /* the candidate is half as fast */
    } rows[] = {
        {{1, 1.001, 0.999, 1.002, 0.998}, 5, 5, 4},
        {{1, 1.001, 0.999, 0.5, 0.5}, 5, 3, 2},   /* refused twice */
        {{1, 1.001, 0.999, 0.5, 1.001}, 5, 4, 4}, /* and mended */
        {{1, 1.001, 0.999, 1, 1}, 2, 0, 0},       /* too few */
        {{1, 1.001, 0.999}, 3, 3, 2, true},
    };
    _cleanup_(fixture_done) struct fixture f, slow;
    make(&f, 1, 4);
    make(&slow, 0.5, 4);
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        _cleanup_(fixture_history_done) struct fixture_history h;
        const struct result *taken[FIXTURE_HISTORY + 1];
        fixture_history_init(&h, f.result, rows[i].factors);
        const struct result *candidate = rows[i].is_slow ? slow.result : f.result;
        const size_t n = gate_find_base(candidate, h.list, rows[i].n, taken);
        assert_int_equal(n, rows[i].n_base);
        if (n > 0) {
            assert_ptr_equal(taken[n - 1], h.list[rows[i].newest]);
        }
    }
}
