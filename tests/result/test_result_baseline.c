#include "tests/test.h"
#include "result/result.h"

#include <math.h>

#include "result/catalogue.h"
#include "result/result_json.h"
#include "result/threshold.h"
#include "result_fixture.h"

#define KIND(id) (&figure_kinds[FIGURE_##id])

#define ONE_POINT "{grid: {pservers: [1], trainers: [2], batch_size: [16]}}"
#define SINGLE_NODE "  baseline: {kind: SingleNode}\n"

TEST(single_node_efficiency_is_the_seeds)
{
    /* The acceleration table of 2018: batch 128, 20 servers, one trainer without server 16.74. */
    static const struct {
        double samples_per_s, percent;
    } rows[] = {{263.29, 78.64}, {518.80, 77.47}, {836.26, 62.44}, {1019.29, 60.89}};
    _cleanup_(fixture_done) struct fixture f;
    fixture_init(&f, "{grid: {pservers: [20], trainers: [20, 40, 80, 100], batch_size: [128]}}",
                 SINGLE_NODE "  repeats: {min: 1}\n", 0);
    assert_int_equal(f.def->matrix.n_points, 5);
    for (uint32_t i = 0; i < 4; i++) {
        fixture_throughput(&f, i, 0, rows[i].samples_per_s);
    }
    fixture_throughput(&f, 4, 0, 16.74);
    struct result *r = fixture_build(&f, RUN_SUCCEEDED);
    for (uint32_t i = 0; i < 4; i++) {
        const struct point_result *p = &r->points[i];
        if (fabs(100 * p->efficiency.estimate.value - rows[i].percent) > 0.01) {
            fail_msg("point %u: expected %.2f%%, got %.4f%%", i, rows[i].percent,
                     100 * p->efficiency.estimate.value);
        }
        assert_true(fabs(p->speedup.estimate.value - rows[i].samples_per_s / 16.74) < 1e-6);
        assert_false(p->efficiency.estimate.has_interval);
        assert_string_equal(p->efficiency.unit, "ratio");
        assert_string_equal(p->throughput.scope, "job");
    }
    _cleanup_(buf_done) struct buf text = BUF_INIT;
    result_describe_baseline(r, &r->points[2], &text);
    assert_string_equal(buf_cstr(&text), "SingleNode, point 4: 1 trainer, no pserver, "
                                         "batch_size 128: 16.74 samples/s");
    r->points[4].throughput.estimate.known = false; /* a run that ended before its baseline ran */
    buf_clear(&text);
    result_describe_baseline(r, &r->points[2], &text);
    assert_string_equal(buf_cstr(&text), "SingleNode, point 4: 1 trainer, no pserver, "
                                         "batch_size 128: not measured");
}

static void set_cpu_limits(struct attempt_row *row, const char *limit, size_t but_last)
{
    for (size_t i = 0; i + but_last < row->replicas.len; i++) {
        _cleanup_(freep) char *text = xasprintf("{\"cgroup_cpu_limit\":%s}", limit);
        replica_set_environment(&row->replicas.items[i], text);
    }
}

/* 100 trainers that are 90 times as fast as one, with 60 servers: 90% a trainer, 56% a pod. */
TEST(servers_are_not_free)
{
    static const struct {
        const char *name;
        int64_t cpus;
        const char *limit, *limit_base;
        size_t but_last; /* replicas without a limit */
        double per_cpu;  /* NaN: unknown */
    } rows[] = {
        {"pods of 10 CPUs", 0, "10", "10", 0, 90.0 / 160},
        {"a baseline of half the CPUs", 0, "10", "5.0", 0, 45.0 / 160},
        {"no limit", 0, "null", "10", 0, NAN},
        {"a baseline without a limit", 0, "10", "null", 0, NAN},
        {"one pod without a limit", 0, "10", "10", 1, NAN},
        {"local: busy threads", 160, "null", "null", 0, 90.0 / 160},
        {"a rehearsal shares its CPUs", 2, "1", "1", 0, NAN},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        print_message("# row '%s'\n", rows[i].name);
        _cleanup_(fixture_done) struct fixture f;
        fixture_init(&f, "{grid: {pservers: [60], trainers: [100]}}",
                     SINGLE_NODE "  repeats: {min: 1}\n", rows[i].cpus);
        struct attempt_row *row = fixture_throughput(&f, 0, 0, 900);
        set_cpu_limits(row, rows[i].limit, rows[i].but_last);
        row = fixture_throughput(&f, 1, 0, 10);
        set_cpu_limits(row, rows[i].limit_base, 0);
        const struct result *r = fixture_build(&f, RUN_SUCCEEDED);
        const struct point_result *p = &r->points[0];
        assert_true(fabs(p->efficiency.estimate.value - 0.9) < 1e-6);
        assert_true(fabs(figure_of(p, KIND(EFFICIENCY_PER_POD)).estimate.value - 90.0 / 160) <
                    1e-6);
        const struct estimate per_cpu = figure_of(p, KIND(EFFICIENCY_PER_CPU)).estimate;
        assert_int_equal(per_cpu.known, !isnan(rows[i].per_cpu));
        if (per_cpu.known && fabs(per_cpu.value - rows[i].per_cpu) > 1e-6) {
            fail_msg("expected %.6f, got %.6f", rows[i].per_cpu, per_cpu.value);
        }
        assert_string_equal(figure_of(p, KIND(EFFICIENCY_PER_CPU)).unit, "ratio");
        assert_true(figure_of(&r->points[1], KIND(EFFICIENCY_PER_POD)).estimate.value ==
                    1); /* its own baseline */
    }
}

TEST(a_point_as_baseline)
{
    /* T1/TN at the same servers: E = S x trainers of the baseline / trainers. */
    _cleanup_(fixture_done) struct fixture f;
    fixture_init(&f, "{grid: {pservers: [2], trainers: [2, 4, 8]}}",
                 "  baseline: {kind: Point, where: {trainers: 2}}\n  repeats: {min: 3}\n", 0);
    assert_int_equal(f.def->matrix.n_points, 3); /* a swept point serves */
    for (uint32_t t = 0; t < 3; t++) {
        fixture_throughput(&f, 0, t, 50 + t);
        fixture_throughput(&f, 1, t, 90 + t);
        fixture_throughput(&f, 2, t, 150 + t);
    }
    struct result *r = fixture_build(&f, RUN_SUCCEEDED);
    assert_true(r->points[0].speedup.estimate.value == 1);
    assert_true(r->points[0].efficiency.estimate.value == 1);
    assert_false(r->points[0].efficiency.estimate.has_interval);
    assert_true(fabs(r->points[1].speedup.estimate.value - 91.0 / 51) < 1e-7);
    assert_true(fabs(r->points[1].efficiency.estimate.value - 91.0 / 51 / 2) < 1e-7);
    assert_true(fabs(r->points[2].efficiency.estimate.value - 151.0 / 51 / 4) < 1e-7);
    const struct estimate *e = &r->points[2].efficiency.estimate;
    assert_true(e->has_interval && e->method == INTERVAL_WELCH_LOG);
    assert_true(e->low < e->value && e->value < e->high);
    assert_true(fabs(r->points[1].throughput_min - 90) < 1e-6);
    assert_true(fabs(r->points[1].throughput_max - 92) < 1e-6);
}

/* One global batch, as docs/numbers.md sweeps it: all points divide by the
 * trainer that has it alone. */
TEST(one_global_batch)
{
    struct fixture f;
    fixture_init(
        &f,
        "{points: [{pservers: 1, trainers: 1, batch_size: 64}, {pservers: 1, trainers: 2, "
        "batch_size: 32}, {pservers: 1, trainers: 4, batch_size: 16}]}",
        "  baseline: {kind: Point, where: {trainers: 1, batch_size: 64}}\n  repeats: {min: 1}\n",
        0);
    assert_int_equal(f.def->matrix.n_points, 3);
    fixture_throughput(&f, 0, 0, 100);
    fixture_throughput(&f, 1, 0, 180);
    fixture_throughput(&f, 2, 0, 288);
    struct result *r = fixture_build(&f, RUN_SUCCEEDED);
    assert_true(fabs(r->points[2].speedup.estimate.value - 2.88) < 1e-7);
    assert_true(fabs(r->points[2].efficiency.estimate.value - 0.72) < 1e-7);
    fixture_done(&f);
    /* A baseline that keeps the batch of its point is another question, and other points. */
    fixture_init(&f,
                 "{points: [{pservers: 1, trainers: 1, batch_size: 64}, {pservers: 1, trainers: 2, "
                 "batch_size: 32}, {pservers: 1, trainers: 4, batch_size: 16}]}",
                 "  baseline: {kind: Point, where: {trainers: 1}}\n  repeats: {min: 1}\n", 0);
    assert_int_equal(f.def->matrix.n_points, 5);
    fixture_done(&f);
}

/* Two baselines that differ in a declared parameter only must not read the same. */
TEST(a_baseline_names_its_parameters)
{
    static const char *const expected[] = {
        "SingleNode, point 2: 1 trainer, no pserver, batch_size 16, cpu 400m: 40.00 samples/s",
        "SingleNode, point 3: 1 trainer, no pserver, batch_size 16, cpu 4: 50.00 samples/s",
    };
    _cleanup_(fixture_done) struct fixture f;
    fixture_init(&f, "{grid: {pservers: [2], trainers: [2], cpu: [400m, 4]}}",
                 SINGLE_NODE "  repeats: {min: 1}\n"
                             "  parameters: [{name: cpu, targets: [{roles: [trainer], paths: "
                             "[/spec/containers/0/resources/limits/cpu]}]}]\n",
                 0);
    fixture_throughput(&f, 2, 0, 40);
    fixture_throughput(&f, 3, 0, 50);
    struct result *r = fixture_build(&f, RUN_RUNNING);
    for (uint32_t i = 0; i < 2; i++) {
        _cleanup_(buf_done) struct buf text = BUF_INIT;
        result_describe_baseline(r, &r->points[i], &text);
        assert_string_equal(buf_cstr(&text), expected[i]);
    }
}

TEST(no_baseline_no_ratio)
{
    _cleanup_(fixture_done) struct fixture f;
    fixture_init(&f, ONE_POINT,
                 SINGLE_NODE "  repeats: {min: 1}\n"
                             "  thresholds: [{metric: efficiency, min: \"0.5\"},\n"
                             "               {metric: throughput, max: 70},\n"
                             "               {metric: throughput, where: {trainers: 9}, min: 1}]\n",
                 8);
    fixture_throughput(&f, 0, 0, 80);
    fixture_end(&f, 1, 0, 0, ATTEMPT_FAILED, "trainer/0: exit 10");
    struct result *r = fixture_build(&f, RUN_PARTIALLY_FAILED);
    assert_true(r->points[0].throughput.estimate.known);
    assert_false(r->points[0].speedup.estimate.known);
    assert_int_equal(r->points[1].phase, TRIAL_FAILED);
    assert_int_equal(r->thresholds.len, 2);
    assert_int_equal(r->skipped.len, 1); /* no point has 9 trainers */
    assert_ptr_equal(r->skipped.items[0], &r->def->spec->thresholds.items[2]);
    assert_int_equal(r->thresholds.items[0].verdict, THRESHOLD_UNKNOWN);
    assert_false(r->thresholds.items[0].estimate.known);
    assert_int_equal(threshold_judge_all(r), THRESHOLD_FAILED);
    assert_int_equal(r->thresholds.items[1].verdict, THRESHOLD_FAILED);
    _cleanup_(json_decrefp) json_t *o = result_to_json(r);
    json_t *first = json_array_get(json_object_get(o, "thresholds"), 0);
    assert_true(json_is_null(json_object_get(first, "value")));
    assert_true(json_is_null(json_object_get(first, "max")));
    assert_string_equal(json_string_value(json_object_get(first, "verdict")), "Unknown");
    _cleanup_(freep) char *skipped =
        json_dumps(json_object_get(o, "skippedThresholds"), JSON_COMPACT);
    assert_string_equal(skipped, "[{\"metric\":\"throughput\",\"min\":1.0,\"max\":null,"
                                 "\"confidence\":null,\"where\":{\"trainers\":9},"
                                 "\"message\":\"no such point: trainers=9\"}]");
}

/* A point divided by itself is exactly 1: it holds a bound with confidence, though it has no
 * interval of its own. */
/* A model that one trainer has no room for: its baseline would fail, and is not run. */
TEST(an_excluded_baseline)
{
    _cleanup_(fixture_done) struct fixture f;
    fixture_init(&f,
                 "{grid: {batch_size: [16, 64], pservers: [1], trainers: [1, 2]},\n"
                 "    exclude: [{batch_size: 64, trainers: 1}]}",
                 "  baseline: {kind: Point, where: {trainers: 1}}\n  repeats: {min: 1}\n", 0);
    assert_int_equal(f.def->matrix.n_points, 3);
    for (uint32_t i = 0; i < 3; i++) {
        fixture_throughput(&f, i, 0, 10 + i);
    }
    struct result *r = fixture_build(&f, RUN_SUCCEEDED);
    assert_true(r->points[1].speedup.estimate.known);
    assert_true(r->points[2].throughput.estimate.known);
    assert_false(r->points[2].speedup.estimate.known);
    assert_false(r->points[2].efficiency.estimate.known);
    assert_false(figure_of(&r->points[2], KIND(EFFICIENCY_PER_POD)).estimate.known);
    assert_null(result_baseline(r, &r->points[2]));
    json_auto_t *json = result_to_json(r);
    const json_t *points = json_object_get(json, "points");
    assert_true(json_is_object(json_object_get(json_array_get(points, 1), "baseline")));
    assert_true(json_is_null(json_object_get(json_array_get(points, 2), "baseline")));
}

TEST(a_baseline_is_judged_with_confidence)
{
    _cleanup_(fixture_done) struct fixture f;
    fixture_init(&f, "{grid: {pservers: [1], trainers: [1, 2]}}",
                 "  baseline: {kind: Point, where: {trainers: 1}}\n  repeats: {min: 1}\n"
                 "  thresholds: [{metric: efficiency, min: \"0.5\", evaluate: Interval}]\n",
                 8);
    fixture_throughput(&f, 0, 0, 80);
    fixture_throughput(&f, 1, 0, 150);
    struct result *r = fixture_build(&f, RUN_SUCCEEDED);
    assert_int_equal(r->thresholds.len, 2);
    assert_int_equal(r->thresholds.items[0].verdict, THRESHOLD_PASSED);
    assert_int_equal(r->thresholds.items[1].verdict, THRESHOLD_UNKNOWN); /* one trial */
}
