/* Time to accuracy and accuracy after a time: of a trial, and of a point with
 * good and bad trials. */
#include "tests/test.h"
#include "result_fixture.h"
#include "result/accuracy.h"

#include <math.h>

#include "base/parse.h"
#include "base/splitmix.h"
#include "core/summary.h"
#include "result/result_json.h"
#include "result/threshold.h"

#define CURVE_MAX 6

struct curve_row { /* (t_s, accuracy), ended by a negative time */
    double t_s[CURVE_MAX], accuracy[CURVE_MAX];
};

static struct evaluations evaluations_of(const struct curve_row *row, double end_s)
{
    struct evaluations e = {0};
    for (size_t i = 0; i < CURVE_MAX && row->t_s[i] >= 0; i++) {
        assert_true(evaluations_add(&e, row->t_s[i], row->accuracy[i], NAN));
    }
    evaluations_extend(&e, end_s);
    return e;
}

static const struct curve_row rising = {{10, 20, 30, 40, -1}, {0.5, 0.7, 0.8, 0.85}};
static const struct curve_row dipping = {{10, 20, 30, 40, -1}, {0.5, 0.9, 0.6, 0.7}};
static const struct curve_row none = {{-1}, {0}};

TEST(times_to_accuracy)
{
    static const struct {
        const char *name;
        const struct curve_row *curve;
        double target;
        enum target_state state;
        double s, best;
    } rows[] = {
        {"the first that is as good", &rising, 0.8, TARGET_REACHED, 30, 0.85},
        {"between two", &rising, 0.71, TARGET_REACHED, 30, 0.85},
        {"at once", &rising, 0.1, TARGET_REACHED, 10, 0.85},
        {"never", &rising, 0.9, TARGET_NOT_REACHED, NAN, 0.85},
        {"it was lost again", &dipping, 0.65, TARGET_REACHED, 20, 0.9},
        {"no evaluation", &none, 0.1, TARGET_UNKNOWN, NAN, NAN},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        print_message("# row '%s'\n", rows[i].name);
        const struct evaluations e = evaluations_of(rows[i].curve, 50);
        const struct time_to_accuracy t =
            accuracy_time_to(&e, (struct goal){GOAL_ACCURACY, rows[i].target});
        assert_int_equal(t.state, rows[i].state);
        assert_true(isnan(rows[i].s) ? isnan(t.s) : t.s == rows[i].s);
        assert_true(isnan(rows[i].best) ? isnan(t.best) : t.best == rows[i].best);
    }
    assert_int_equal(accuracy_time_to(NULL, (struct goal){GOAL_ACCURACY, 0.5}).state,
                     TARGET_UNKNOWN);
}

/* A loss is reached from above; what has no loss is no evaluation of it. */
TEST(times_to_a_loss)
{
    static const struct {
        const char *name;
        double loss[3], accuracy, goal; /* at 10, 20 and 30 s */
        enum target_state state;
        double s, best;
    } rows[] = {
        {"the first at or below it", {0.7, 0.2828, 0.2}, NAN, 0.2828, TARGET_REACHED, 20, 0.2},
        {"just above it", {0.7, 0.282801, 0.2829}, NAN, 0.2828, TARGET_NOT_REACHED, NAN, 0.282801},
        {"it was lost again", {0.7, 0.1, 0.6}, 0.5, 0.2, TARGET_REACHED, 20, 0.1},
        {"accuracies alone", {NAN, NAN, NAN}, 0.5, 0.2, TARGET_UNKNOWN, NAN, NAN},
        {"not each has a loss", {NAN, NAN, 0.1}, 0.5, 0.2, TARGET_REACHED, 30, 0.1},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        print_message("# row '%s'\n", rows[i].name);
        struct evaluations e = {0};
        for (size_t k = 0; k < 3; k++) {
            assert_true(
                evaluations_add(&e, 10 * (double)(k + 1), rows[i].accuracy, rows[i].loss[k]));
        }
        const struct time_to_accuracy t =
            accuracy_time_to(&e, (struct goal){GOAL_LOSS, rows[i].goal});
        assert_int_equal(t.state, rows[i].state);
        assert_true(isnan(rows[i].s) ? isnan(t.s) : t.s == rows[i].s);
        assert_true(isnan(rows[i].best) ? isnan(t.best) : t.best == rows[i].best);
        assert_int_equal(accuracy_after(&e, 15).state,
                         isnan(rows[i].accuracy) ? AFTER_NO_EVALUATION : AFTER_KNOWN);
    }
}

TEST(accuracies_after_a_time)
{
    static const struct {
        const char *name;
        const struct curve_row *curve;
        double end_s, after_s, accuracy; /* NaN: unknown, because */
        const char *why;
    } rows[] = {
        {"the last one up to then", &rising, 50, 35, 0.8, NULL},
        {"at that moment", &rising, 50, 30, 0.8, NULL},
        {"not the best one", &dipping, 50, 30, 0.6, NULL},
        {"training still went on", &rising, 50, 50, 0.85, NULL},
        {"it ended before", &rising, 50, 50.001, NAN, "training ended before"},
        {"the first came later", &rising, 50, 9.999, NAN, "the first evaluation came later"},
        {"no evaluation", &none, 50, 10, NAN, "no evaluation has a time"},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        print_message("# row '%s'\n", rows[i].name);
        const struct evaluations e = evaluations_of(rows[i].curve, rows[i].end_s);
        const struct accuracy_after a = accuracy_after(&e, rows[i].after_s);
        assert_int_equal(a.state == AFTER_KNOWN, rows[i].why == NULL);
        if (a.state == AFTER_KNOWN) {
            assert_null(after_state_whys[a.state]);
            assert_true(a.accuracy == rows[i].accuracy);
        } else {
            assert_true(isnan(a.accuracy));
            assert_string_equal(after_state_whys[a.state], rows[i].why);
        }
    }
    assert_string_equal(after_state_whys[accuracy_after(NULL, 1).state],
                        "no evaluation has a time");
}

static double unit_of(uint64_t *seed)
{
    return (double)(splitmix_next(seed) % 1000001) / 1e6;
}

/* What holds for every curve: the time is that of an evaluation that is good enough, none before it
 * is; a higher target never takes less time; and who asks for the accuracy at that time gets one
 * that is good enough. */
TEST(what_always_holds)
{
    const char *text = getenv("BENCHD_PROP_SEED");
    int64_t first = 1;
    if (text != NULL) {
        assert_int_equal(parse_i64(text, &first), 0);
    }
    for (int64_t number = first; number < first + (text == NULL ? 2000 : 1); number++) {
        uint64_t seed = (uint64_t)number;
        struct evaluations e = {0};
        double t_s = 0;
        for (uint64_t i = splitmix_next(&seed) % 200; i > 0; i--) {
            t_s += unit_of(&seed) * 100;
            assert_true(evaluations_add(&e, t_s, unit_of(&seed), NAN));
        }
        const double low = unit_of(&seed), high = low + (1 - low) * unit_of(&seed);
        const struct time_to_accuracy a = accuracy_time_to(&e, (struct goal){GOAL_ACCURACY, low}),
                                      b = accuracy_time_to(&e, (struct goal){GOAL_ACCURACY, high});
        bool holds = (a.state == TARGET_UNKNOWN) == (e.n == 0) && (b.state <= a.state);
        holds = holds && (a.state == TARGET_REACHED) == !isnan(a.s);
        holds = holds && (b.state != TARGET_REACHED || a.s <= b.s);
        holds = holds && (a.state != TARGET_NOT_REACHED || a.best < low);
        for (uint32_t i = 0; i < e.n && a.state == TARGET_REACHED; i++) {
            holds = holds && ((double)e.list[i].t_ms / 1e3 >= a.s ||
                              (double)e.list[i].accuracy_ppm / 1e6 < low);
        }
        if (a.state == TARGET_REACHED) {
            const struct accuracy_after then = accuracy_after(&e, a.s);
            holds = holds && then.state == AFTER_KNOWN && then.accuracy <= a.best;
        }
        if (!holds) {
            fail_msg("BENCHD_PROP_SEED=%lld", (long long)number);
        }
    }
}

/* ---- a point ---- */

static void evaluate(struct attempt_row *row, size_t replica, const struct curve_row *curve)
{
    struct evaluations e = evaluations_of(curve, 50);
    const struct summary s = {.samples = 128,
                              .duration_ns = INT64_C(3300000000),
                              .loss_first = NAN,
                              .loss_last = NAN,
                              .evaluations = &e};
    fixture_say(row, replica, &s);
}

static const char one_trainer[] =
    "  baseline: {kind: Point, where: {trainers: 1}}\n"
    "  workload: {model: vgg16-fluid-fc512, exchange: {kind: None}, batchSize: 16}\n"
    "  roles: {trainer: {replicas: {from: trainers}, template: {spec: {containers: [{name: "
    "main}]}}}}\n"
    "  repeats: {min: 3}\n"
    "  measure: {steps: 8, timeToAccuracy: {accuracy: \"0.75\"}, accuracyAfterTime: {seconds: "
    "45}}\n"
    "  thresholds: [{metric: timeToAccuracy, max: 100}, {metric: accuracyAfterTime, min: "
    "\"0.1\"}]\n";

/* The definition with what is measured. */
static void asked(struct fixture *f)
{
    fixture_init(f, "{grid: {trainers: [1]}}", one_trainer, 2);
}

TEST(points)
{
    static const struct curve_row slow = {{40, 44, -1}, {0.3, 0.8}};
    static const struct curve_row bad = {{10, 40, -1}, {0.3, 0.4}};
    /* clang-format off */
    static const struct {
        const char *name;
        const struct curve_row *trials[3];
        size_t n_reached, n_after;
        double time_s, accuracy; /* NaN: unknown */
        enum threshold_verdict time, after;
    } rows[] = {
        {"all reach it", {&rising, &slow, &dipping}, 3, 3, 30, 0.8, THRESHOLD_PASSED,
         THRESHOLD_PASSED},
        {"one never does", {&rising, &bad, &dipping}, 2, 3, NAN, 0.7, THRESHOLD_UNKNOWN,
         THRESHOLD_PASSED},
        {"one has no evaluation", {&rising, &none, &dipping}, 2, 2, NAN, NAN, THRESHOLD_UNKNOWN,
         THRESHOLD_UNKNOWN},
    };
    /* clang-format on */
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        print_message("# row '%s'\n", rows[i].name);
        _cleanup_(fixture_done) struct fixture f;
        asked(&f);
        for (uint32_t t = 0; t < 3; t++) {
            evaluate(fixture_throughput(&f, 0, t, 40), 0, rows[i].trials[t]);
        }
        const struct result *r = fixture_build(&f, RUN_SUCCEEDED);
        const struct point_result *p = &r->points[0];
        assert_int_equal(p->n_reached, rows[i].n_reached);
        assert_int_equal(p->n_after, rows[i].n_after);
        const struct estimate *time = &p->goal->time_to_accuracy.estimate;
        const struct estimate *after = &p->goal->accuracy_after_time.estimate;
        assert_int_equal(time->known, !isnan(rows[i].time_s));
        assert_int_equal(time->has_interval, time->known);
        assert_true(!time->known || time->value == rows[i].time_s);
        assert_int_equal(after->known, !isnan(rows[i].accuracy));
        assert_true(!after->known || after->value == rows[i].accuracy);
        assert_true(!after->has_interval || after->high <= 1);
        assert_int_equal(r->thresholds.items[0].verdict, rows[i].time);
        assert_int_equal(r->thresholds.items[1].verdict, rows[i].after);
    }
}

/* The times of a point divide those of its baseline; where one side has none, nothing is known. */
TEST(speedups)
{
    static const double base[] = {212.4, 220.1, 215};
    static const struct {
        const char *name;
        double times_s[2][3]; /* of one and of two trainers; 0: never */
        double speedup;       /* NaN: unknown */
    } rows[] = {
        {"both reach it", {{212.4, 220.1, 215}, {118.9, 121.5, 120}}, 215 / 120.0},
        {"slower than one", {{212.4, 220.1, 215}, {430, 440, 450}}, 215 / 440.0},
        {"one trial of the point does not", {{212.4, 220.1, 215}, {118.9, 0, 120}}, NAN},
        {"one trial of the baseline does not", {{212.4, 0, 215}, {118.9, 121.5, 120}}, NAN},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        print_message("# row '%s'\n", rows[i].name);
        _cleanup_(fixture_done) struct fixture f;
        fixture_init(&f, "{grid: {trainers: [1, 2]}}", one_trainer, 2);
        for (uint32_t n = 0; n < 6; n++) {
            const double time_s = rows[i].times_s[n / 3][n % 3];
            const struct curve_row curve = {{time_s > 0 ? time_s : 9, -1},
                                            {time_s > 0 ? 0.8 : 0.1}};
            evaluate(fixture_throughput(&f, n / 3, n % 3, 40), 0, &curve);
        }
        const struct result *r = fixture_build(&f, RUN_SUCCEEDED);
        const struct point_result *one = &r->points[0], *two = &r->points[1];
        const struct estimate *s = &two->goal->time_speedup.estimate;
        const struct estimate *e = &two->goal->time_efficiency.estimate;
        assert_int_equal(s->known, !isnan(rows[i].speedup));
        assert_int_equal(e->known, s->known);
        if (s->known) {
            const struct estimate a = stats_median(base, 3),
                                  b = stats_median(rows[i].times_s[1], 3);
            const struct estimate expected = stats_ratio(&a, &b, 1);
            assert_true(s->value == rows[i].speedup && e->value == s->value / 2);
            assert_true(s->has_interval && s->low == expected.low && s->high == expected.high);
            assert_true(fabs(e->low - s->low / 2) < 1e-12 && fabs(e->high - s->high / 2) < 1e-12);
            assert_int_equal(s->method, INTERVAL_WELCH_LOG);
            assert_true(one->goal->time_speedup.estimate.known &&
                        one->goal->time_speedup.estimate.value == 1);
            assert_false(one->goal->time_speedup.estimate.has_interval); /* of itself */
        }
    }
}

/* Of several trainers the first one that has evaluations speaks, in whatever
 * order the rows come. */
TEST(one_trainer_speaks)
{
    for (size_t first = 0; first < 2; first++) {
        _cleanup_(fixture_done) struct fixture f;
        fixture_init(
            &f, "{grid: {trainers: [2]}}",
            "  baseline: {kind: Point, where: {trainers: 2}}\n"
            "  workload: {model: vgg16-fluid-fc512, exchange: {kind: None}, batchSize: 16}\n"
            "  roles: {trainer: {replicas: {from: trainers}, template: {spec: "
            "{containers: [{name: main}]}}}}\n"
            "  measure: {steps: 8, timeToAccuracy: {accuracy: \"0.4\"}}\n"
            "  repeats: {min: 1}\n",
            2);
        struct attempt_row *row = fixture_throughput(&f, 0, 0, 40);
        evaluate(row, 0, first == 0 ? &rising : &none);
        evaluate(row, 1, &dipping);
        const struct replica_row swap = row->replicas.items[0];
        row->replicas.items[0] = row->replicas.items[1];
        row->replicas.items[1] = swap;
        const struct result *r = fixture_build(&f, RUN_SUCCEEDED);
        const struct trial_result *t = &r->points[0].trials[0];
        assert_int_equal(t->evaluations_from, first);
        assert_true(t->to_accuracy.best == (first == 0 ? 0.85 : 0.9));
    }
}

TEST(documents)
{
    _cleanup_(fixture_done) struct fixture f;
    asked(&f);
    evaluate(fixture_throughput(&f, 0, 0, 40), 0, &rising);
    evaluate(fixture_throughput(&f, 0, 1, 40), 0, &none);
    fixture_throughput(&f, 0, 2, 40);
    _cleanup_(json_decrefp) json_t *o = result_to_json(fixture_build(&f, RUN_SUCCEEDED));
    json_t *point = json_array_get(json_object_get(o, "points"), 0);
    json_t *figure = json_object_get(point, "timeToAccuracy");
    assert_true(json_is_null(json_object_get(figure, "value")));
    assert_string_equal(json_string_value(json_object_get(figure, "unit")), "s");
    assert_int_equal(json_integer_value(json_object_get(point, "trialsReached")), 1);
    static const char *const states[] = {"Reached", "Unknown", "Unknown"};
    for (size_t i = 0; i < N_ROWS(states); i++) {
        json_t *trial = json_array_get(json_object_get(point, "trials"), i);
        json_t *time = json_object_get(trial, "timeToAccuracy");
        assert_string_equal(json_string_value(json_object_get(time, "state")), states[i]);
        assert_int_equal(json_is_real(json_object_get(time, "seconds")), i == 0);
        json_t *after = json_object_get(trial, "accuracyAfterTime");
        assert_int_equal(json_is_real(json_object_get(after, "accuracy")), i == 0);
        assert_int_equal(json_is_string(json_object_get(after, "reason")), i != 0);
    }
}
