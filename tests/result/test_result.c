#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "result/result.h"

#include <math.h>
#include <string.h>

#include "../golden_json.h"
#include "core/placement.h"
#include "result/result_json.h"
#include "result/threshold.h"
#include "core/throughput.h"
#include "result_fixture.h"

#define N_ROWS(a) (sizeof(a) / sizeof((a)[0]))

#define ONE_POINT "{grid: {pservers: [1], trainers: [2], batch_size: [16]}}"
#define SINGLE_NODE "  baseline: {kind: SingleNode}\n"

/* On two nodes, as a launcher says it. */
static void place(struct attempt_row *row)
{
    vec_each (struct replica_row, rep, &row->replicas) {
        char *placed =
            placement_add(rep->environment_json, rep->id.index == 0 ? "node-a" : "node-b",
                          "registry/benchworker@sha256:1f");
        free(rep->environment_json);
        rep->environment_json = placed;
    }
}

static void golden_document(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f, ONE_POINT,
                 SINGLE_NODE "  repeats: {min: 3, order: Interleaved}\n"
                             "  thresholds:\n"
                             "  - {metric: efficiency, where: {trainers: 2}, min: 0.9}\n",
                 8);
    fixture_succeed(&f, 0, 0, 0, (double[]){3.2, 3.2});
    fixture_end(&f, 0, 1, 0, ATTEMPT_VOID, "trainer/1: killed by signal 9");
    fixture_succeed(&f, 0, 1, 1, (double[]){3.25, 3.2});
    fixture_succeed(&f, 0, 2, 0, (double[]){3.28, 3.2});
    fixture_succeed(&f, 1, 0, 0, (double[]){3.0});
    fixture_succeed(&f, 1, 1, 0, (double[]){3.02});
    fixture_succeed(&f, 1, 2, 0, (double[]){2.99});
    vec_each (struct attempt_row, row, &f.rows) {
        place(row);
    }
    json_t *actual = result_to_json(fixture_build(&f, RUN_SUCCEEDED));
    golden_check_json("docs/contracts/golden/result.json", actual);

    struct result *parts = result_begin(f.def, RUN_SUCCEEDED); /* its rows came by point */
    result_add_point(parts, 0, f.rows.items, 4);
    result_add_point(parts, 1, f.rows.items + 4, 3);
    result_end(parts);
    json_t *same = result_to_json(parts);
    assert_true(json_equal(same, actual));
    json_decref(same);
    json_decref(actual);
    result_free(parts);
    fixture_done(&f);
}

/* Absent is Fp32, which is what a baseline without servers has: it sends nothing. */
static void the_format_of_numbers(void **state)
{
    (void)state;
    for (int is_bf16 = 0; is_bf16 < 2; is_bf16++) {
        struct fixture f;
        fixture_init(&f, ONE_POINT, SINGLE_NODE "  repeats: {min: 1}\n", 8);
        f.def->spec->systems.items[0].exchange.wire =
            is_bf16 ? EXCHANGE_WIRE_BF16 : EXCHANGE_WIRE_FP32;
        json_t *o = result_to_json(fixture_build(&f, RUN_SUCCEEDED));
        static const char *const lists[] = {"points", "baselines"};
        for (size_t i = 0; i < N_ROWS(lists); i++) {
            const json_t *list = json_object_get(o, lists[i]);
            assert_int_equal(json_array_size(list), 1);
            const char *wire = json_string_value(json_object_get(json_array_get(list, 0), "wire"));
            assert_string_equal(wire == NULL ? "" : wire, is_bf16 && i == 0 ? "Bf16" : "");
        }
        json_decref(o);
        fixture_done(&f);
    }
}

static void the_row_that_decides(void **state)
{
    (void)state;
    struct
    try {
        uint32_t attempt;
        enum attempt_outcome outcome;
    };
    /* clang-format off */
    static const struct {
        const char *name;
        size_t n;
        struct try tries[4];
        enum run_phase run_phase;
        uint32_t attempt;
        enum trial_phase phase;
        const char *error;
    } rows[] = {
        {"none yet", 0, {{0}}, RUN_RUNNING, 0, TRIAL_PENDING, NULL},
        {"void, tried again", 1, {{0, ATTEMPT_VOID}}, RUN_RUNNING, 0, TRIAL_RUNNING, "e0"},
        {"void, then cancelled", 1, {{0, ATTEMPT_VOID}}, RUN_CANCELLED, 0, TRIAL_PENDING, "e0"},
        {"last void of two, any order", 2, {{1, ATTEMPT_VOID}, {0, ATTEMPT_VOID}}, RUN_RUNNING, 1,
         TRIAL_RUNNING, "e1"},
        {"void, then failed", 2, {{1, ATTEMPT_FAILED}, {0, ATTEMPT_VOID}}, RUN_RUNNING, 1,
         TRIAL_FAILED, "e1"},
        {"failed is not undone by a later void", 2, {{0, ATTEMPT_FAILED}, {1, ATTEMPT_VOID}},
         RUN_FAILED, 0, TRIAL_FAILED, "e0"},
        {"the first of two that count", 2, {{3, ATTEMPT_METRICS_UNAVAILABLE}, {2, ATTEMPT_FAILED}},
         RUN_FAILED, 2, TRIAL_FAILED, "e2"},
        {"no metrics", 1, {{0, ATTEMPT_METRICS_UNAVAILABLE}}, RUN_FAILED, 0,
         TRIAL_METRICS_UNAVAILABLE, "e0"},
    };
    /* clang-format on */
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        print_message("# row '%s'\n", rows[i].name);
        struct fixture f;
        fixture_init(&f, ONE_POINT, SINGLE_NODE "  repeats: {min: 1}\n", 8);
        for (size_t j = 0; j < rows[i].n; j++) {
            char error[] = {'e', (char)('0' + rows[i].tries[j].attempt), '\0'};
            fixture_end(&f, 0, 0, rows[i].tries[j].attempt, rows[i].tries[j].outcome, error);
        }
        const struct trial_result *t = &fixture_build(&f, rows[i].run_phase)->points[0].trials[0];
        assert_string_equal(trial_phase_to_string(t->phase), trial_phase_to_string(rows[i].phase));
        assert_int_equal(t->attempt, rows[i].attempt);
        assert_false(t->throughput.estimate.known);
        if (rows[i].error == NULL) {
            assert_null(t->error);
        } else {
            assert_string_equal(t->error, rows[i].error);
        }
        fixture_done(&f);
    }
}

enum damage {
    NO_SUMMARY,
    GARBAGE,
    NO_SAMPLES,
    NO_TIME,
    A_STEP_RECORD,
    NO_TRAINER,
    FOREIGN,
    OF_THE_LAST_ATTEMPT,
    PSERVER_SILENT,
};

static void a_trial_needs_every_trainers_summary(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        enum damage damage;
        enum trial_phase phase;
        const char *error;
    } rows[] = {
        {"no summary", NO_SUMMARY, TRIAL_METRICS_UNAVAILABLE, "trainer/1 wrote no summary"},
        {"garbage", GARBAGE, TRIAL_METRICS_UNAVAILABLE,
         "trainer/1 wrote a summary that is refused: record: column 12: string or '}' expected "
         "near "
         "end of file"},
        {"another record", A_STEP_RECORD, TRIAL_METRICS_UNAVAILABLE,
         "trainer/1 wrote a summary that is refused: it is another record"},
        {"of another replica", FOREIGN, TRIAL_METRICS_UNAVAILABLE,
         "trainer/1 wrote a summary that is refused: it is from trainer/0 of attempt 1"},
        {"of the attempt before", OF_THE_LAST_ATTEMPT, TRIAL_METRICS_UNAVAILABLE,
         "trainer/1 wrote a summary that is refused: it is from trainer/1 of attempt 0"},
        {"no samples", NO_SAMPLES, TRIAL_METRICS_UNAVAILABLE,
         "trainer/1 wrote a summary that is refused: 'samples' is 0"},
        {"no time", NO_TIME, TRIAL_METRICS_UNAVAILABLE,
         "trainer/1 wrote a summary that is refused: 'duration_ns' is 0"},
        {"no such replica", NO_TRAINER, TRIAL_METRICS_UNAVAILABLE, "trainer/1 wrote no summary"},
        {"a server without one does not matter", PSERVER_SILENT, TRIAL_SUCCEEDED, NULL},
    };
#define LINE(type, attempt, rest)                                                                  \
    "{\"benchd\":1,\"type\":\"" type "\",\"role\":\"trainer\",\"index\":1,"                        \
    "\"attempt\":" attempt "," rest "}"
    static const char *const lines[] = {
        [NO_SUMMARY] = NULL,
        [GARBAGE] = "{\"benchd\":1,",
        [NO_SAMPLES] = LINE("summary", "1", "\"samples\":0,\"duration_ns\":5,\"steps\":8"),
        [NO_TIME] = LINE("summary", "1", "\"samples\":5,\"duration_ns\":0,\"steps\":8"),
        [A_STEP_RECORD] = LINE("step", "1", "\"step\":0,\"t_ns\":1,\"step_ns\":1,\"samples\":1"),
        [NO_TRAINER] = NULL,
        [FOREIGN] = "{\"benchd\":1,\"type\":\"summary\",\"role\":\"trainer\",\"index\":0,"
                    "\"attempt\":1,\"samples\":5,\"duration_ns\":5,\"steps\":8}",
        [OF_THE_LAST_ATTEMPT] = LINE("summary", "0", "\"samples\":5,\"duration_ns\":5,\"steps\":8"),
        [PSERVER_SILENT] = NULL,
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        print_message("# row '%s'\n", rows[i].name);
        struct fixture f;
        fixture_init(&f, ONE_POINT, SINGLE_NODE "  repeats: {min: 1}\n", 8);
        struct attempt_row *row = fixture_succeed(&f, 0, 0, 1, (double[]){3.2, 3.2});
        struct replica_row *victim = &row->replicas.items[rows[i].damage == PSERVER_SILENT ? 0 : 2];
        free(victim->summary_json);
        victim->summary_json =
            lines[rows[i].damage] == NULL ? NULL : xstrdup(lines[rows[i].damage]);
        if (rows[i].damage == NO_TRAINER) {
            victim->id.index = 7;
        }
        const struct point_result *p = &fixture_build(&f, RUN_SUCCEEDED)->points[0];
        assert_string_equal(trial_phase_to_string(p->trials[0].phase),
                            trial_phase_to_string(rows[i].phase));
        assert_string_equal(trial_phase_to_string(p->phase), trial_phase_to_string(rows[i].phase));
        assert_int_equal(p->throughput.estimate.known, rows[i].error == NULL);
        assert_int_equal(isnan(p->throughput_min) != 0, rows[i].error != NULL);
        if (rows[i].error != NULL) {
            assert_string_equal(p->trials[0].error, rows[i].error);
        }
        fixture_done(&f);
    }
}

/* Trainers whose log has the job's throughput: one is enough, and what several say is one figure. */
static void a_trainer_may_speak_for_the_job(void **state)
{
    (void)state;
#define LOG(samples, unit, scope)                                                                  \
    "\"samples\":" samples ",\"duration_ns\":1000000000,\"steps\":1,\"log\":{\"rule\":\"r\","      \
    "\"method\":\"m\",\"unit\":\"" unit "\",\"scope\":\"" scope "\"}"
    static const struct {
        const char *name, *of[2]; /* the rest of the summaries of both trainers; NULL: none */
        double value;
        const char *unit, *error;
    } rows[] = {
        {"one speaks", {LOG("90", "words", "job"), NULL}, 90, "words/s", NULL},
        {"the other one", {NULL, LOG("90", "samples", "job")}, 90, "samples/s", NULL},
        {"both speak",
         {LOG("90", "samples", "job"), LOG("94", "samples", "job")},
         92,
         "samples/s",
         NULL},
        {"each has its own",
         {LOG("90", "GB", "replica"), LOG("10", "GB", "replica")},
         100,
         "GB/s",
         NULL},
        {"one has none", {LOG("90", "GB", "replica"), NULL}, 0, NULL, "trainer/1 wrote no summary"},
        {"different things",
         {LOG("90", "GB", "replica"), LOG("10", "steps", "replica")},
         0,
         NULL,
         "trainer/0 has GB/s and trainer/1 steps/s, which do not add up"},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        print_message("# row '%s'\n", rows[i].name);
        struct fixture f;
        fixture_init(&f, ONE_POINT, SINGLE_NODE "  repeats: {min: 1}\n", 8);
        struct attempt_row *row = fixture_succeed(&f, 0, 0, 1, (double[]){3.2, 3.2});
        for (size_t t = 0; t < 2; t++) {
            struct replica_row *replica = &row->replicas.items[t + 1]; /* behind the pserver */
            free(replica->summary_json);
            replica->summary_json =
                rows[i].of[t] == NULL
                    ? NULL
                    : xasprintf(
                          "{\"benchd\":1,\"type\":\"summary\",\"role\":\"trainer\",\"index\":%zu,"
                          "\"attempt\":1,%s}",
                          t, rows[i].of[t]);
        }
        const struct point_result *p = &fixture_build(&f, RUN_SUCCEEDED)->points[0];
        if (rows[i].error != NULL) {
            assert_string_equal(p->trials[0].error, rows[i].error);
            assert_false(p->throughput.estimate.known);
        } else {
            assert_true(p->throughput.estimate.value == rows[i].value);
            assert_string_equal(p->throughput.unit, rows[i].unit);
        }
        fixture_done(&f);
    }
}

static void single_node_efficiency_is_the_seeds(void **state)
{
    (void)state;
    /* The acceleration table of 2018: batch 128, 20 servers, one trainer without server 16.74. */
    static const struct {
        double samples_per_s, percent;
    } rows[] = {{263.29, 78.64}, {518.80, 77.47}, {836.26, 62.44}, {1019.29, 60.89}};
    struct fixture f;
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
    struct buf text = BUF_INIT;
    result_describe_baseline(r, &r->points[2], &text);
    assert_string_equal(buf_cstr(&text), "SingleNode, point 4: 1 trainer, no pserver, "
                                         "batch_size 128: 16.74 samples/s");
    r->points[4].throughput.estimate.known = false; /* a run that ended before its baseline ran */
    buf_clear(&text);
    result_describe_baseline(r, &r->points[2], &text);
    assert_string_equal(buf_cstr(&text), "SingleNode, point 4: 1 trainer, no pserver, "
                                         "batch_size 128: not measured");
    buf_done(&text);
    fixture_done(&f);
}

static void set_cpu_limits(struct attempt_row *row, const char *limit, size_t but_last)
{
    for (size_t i = 0; i + but_last < row->replicas.len; i++) {
        free(row->replicas.items[i].environment_json);
        row->replicas.items[i].environment_json = xasprintf("{\"cgroup_cpu_limit\":%s}", limit);
    }
}

/* 100 trainers that are 90 times as fast as one, with 60 servers: 90% a trainer, 56% a pod. */
static void servers_are_not_free(void **state)
{
    (void)state;
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
        struct fixture f;
        fixture_init(&f, "{grid: {pservers: [60], trainers: [100]}}",
                     SINGLE_NODE "  repeats: {min: 1}\n", rows[i].cpus);
        struct attempt_row *row = fixture_throughput(&f, 0, 0, 900);
        set_cpu_limits(row, rows[i].limit, rows[i].but_last);
        row = fixture_throughput(&f, 1, 0, 10);
        set_cpu_limits(row, rows[i].limit_base, 0);
        const struct result *r = fixture_build(&f, RUN_SUCCEEDED);
        const struct point_result *p = &r->points[0];
        assert_true(fabs(p->efficiency.estimate.value - 0.9) < 1e-6);
        assert_true(fabs(p->efficiency_per_pod.estimate.value - 90.0 / 160) < 1e-6);
        const struct estimate *per_cpu = &p->efficiency_per_cpu.estimate;
        assert_int_equal(per_cpu->known, !isnan(rows[i].per_cpu));
        if (per_cpu->known && fabs(per_cpu->value - rows[i].per_cpu) > 1e-6) {
            fail_msg("expected %.6f, got %.6f", rows[i].per_cpu, per_cpu->value);
        }
        assert_string_equal(p->efficiency_per_cpu.unit, "ratio");
        assert_true(r->points[1].efficiency_per_pod.estimate.value == 1); /* its own baseline */
        fixture_done(&f);
    }
}

static void a_point_as_baseline(void **state)
{
    (void)state;
    /* T1/TN at the same servers: E = S x trainers of the baseline / trainers. */
    struct fixture f;
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
    fixture_done(&f);
}

/* Two baselines that differ in a declared parameter only must not read the same. */
static void a_baseline_names_its_parameters(void **state)
{
    (void)state;
    static const char *const expected[] = {
        "SingleNode, point 2: 1 trainer, no pserver, batch_size 16, cpu 400m: 40.00 samples/s",
        "SingleNode, point 3: 1 trainer, no pserver, batch_size 16, cpu 4: 50.00 samples/s",
    };
    struct fixture f;
    fixture_init(&f, "{grid: {pservers: [2], trainers: [2], cpu: [400m, 4]}}",
                 SINGLE_NODE "  repeats: {min: 1}\n"
                             "  parameters: [{name: cpu, targets: [{roles: [trainer], paths: "
                             "[/spec/containers/0/resources/limits/cpu]}]}]\n",
                 0);
    fixture_throughput(&f, 2, 0, 40);
    fixture_throughput(&f, 3, 0, 50);
    struct result *r = fixture_build(&f, RUN_RUNNING);
    for (uint32_t i = 0; i < 2; i++) {
        struct buf text = BUF_INIT;
        result_describe_baseline(r, &r->points[i], &text);
        assert_string_equal(buf_cstr(&text), expected[i]);
        buf_done(&text);
    }
    fixture_done(&f);
}

static void no_baseline_no_ratio(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f, ONE_POINT,
                 SINGLE_NODE "  repeats: {min: 1}\n"
                             "  thresholds: [{metric: efficiency, min: 0.5},\n"
                             "               {metric: throughput, max: 70},\n"
                             "               {metric: throughput, where: {trainers: 9}, min: 1}]\n",
                 8);
    fixture_throughput(&f, 0, 0, 80);
    fixture_end(&f, 1, 0, 0, ATTEMPT_FAILED, "trainer/0: exit 10");
    struct result *r = fixture_build(&f, RUN_PARTIALLY_FAILED);
    assert_true(r->points[0].throughput.estimate.known);
    assert_false(r->points[0].speedup.estimate.known);
    assert_int_equal(r->points[1].phase, TRIAL_FAILED);
    assert_int_equal(r->thresholds.len, 2); /* no point has 9 trainers */
    assert_int_equal(r->thresholds.items[0].verdict, THRESHOLD_UNKNOWN);
    assert_false(r->thresholds.items[0].estimate.known);
    assert_int_equal(threshold_judge_all(r), THRESHOLD_FAILED);
    assert_int_equal(r->thresholds.items[1].verdict, THRESHOLD_FAILED);
    json_t *o = result_to_json(r);
    json_t *first = json_array_get(json_object_get(o, "thresholds"), 0);
    assert_true(json_is_null(json_object_get(first, "value")));
    assert_true(json_is_null(json_object_get(first, "max")));
    assert_string_equal(json_string_value(json_object_get(first, "verdict")), "Unknown");
    json_decref(o);
    fixture_done(&f);
}

/* A point divided by itself is exactly 1: it holds a bound with confidence, though it has no
 * interval of its own. */
static void a_baseline_is_judged_with_confidence(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f, "{grid: {pservers: [1], trainers: [1, 2]}}",
                 "  baseline: {kind: Point, where: {trainers: 1}}\n  repeats: {min: 1}\n"
                 "  thresholds: [{metric: efficiency, min: 0.5, confidence: 0.95}]\n",
                 8);
    fixture_throughput(&f, 0, 0, 80);
    fixture_throughput(&f, 1, 0, 150);
    struct result *r = fixture_build(&f, RUN_SUCCEEDED);
    assert_int_equal(r->thresholds.len, 2);
    assert_int_equal(r->thresholds.items[0].verdict, THRESHOLD_PASSED);
    assert_int_equal(r->thresholds.items[1].verdict, THRESHOLD_UNKNOWN); /* one trial */
    fixture_done(&f);
}

static void rows_of_other_points_are_passed_over(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f, ONE_POINT, SINGLE_NODE "  repeats: {min: 1}\n", 8);
    fixture_end(&f, 2, 0, 0, ATTEMPT_FAILED, NULL);
    fixture_end(&f, 0, 1, 0, ATTEMPT_FAILED, NULL);
    struct result *r = fixture_build(&f, RUN_RUNNING);
    assert_int_equal(r->points[0].phase, TRIAL_PENDING);
    fixture_done(&f);
}

static void phases_of_a_point(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        int succeeded, failed, unavailable;
        enum run_phase run_phase;
        enum trial_phase phase;
    } rows[] = {
        {"nothing", 0, 0, 0, RUN_RUNNING, TRIAL_PENDING},
        {"begun", 1, 0, 0, RUN_RUNNING, TRIAL_RUNNING},
        {"begun and cancelled", 1, 0, 0, RUN_CANCELLED, TRIAL_PENDING},
        {"all", 3, 0, 0, RUN_SUCCEEDED, TRIAL_SUCCEEDED},
        {"one failed", 1, 1, 1, RUN_PARTIALLY_FAILED, TRIAL_FAILED},
        {"one without metrics", 2, 0, 1, RUN_PARTIALLY_FAILED, TRIAL_METRICS_UNAVAILABLE},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        print_message("# row '%s'\n", rows[i].name);
        struct fixture f;
        fixture_init(&f, ONE_POINT, SINGLE_NODE "  repeats: {min: 3}\n", 8);
        uint32_t trial = 0;
        for (int j = 0; j < rows[i].succeeded; j++) {
            fixture_throughput(&f, 0, trial++, 80);
        }
        for (int j = 0; j < rows[i].failed; j++) {
            fixture_end(&f, 0, trial++, 0, ATTEMPT_FAILED, "x");
        }
        for (int j = 0; j < rows[i].unavailable; j++) {
            fixture_end(&f, 0, trial++, 0, ATTEMPT_METRICS_UNAVAILABLE, "x");
        }
        const struct point_result *p = &fixture_build(&f, rows[i].run_phase)->points[0];
        assert_string_equal(trial_phase_to_string(p->phase), trial_phase_to_string(rows[i].phase));
        assert_int_equal(p->n_succeeded, rows[i].succeeded);
        fixture_done(&f);
    }
}

/* Of at most ten trials as many as the first three ask for; a budget or a cancellation may end the run before. */
static void points_that_stop_early(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        double x[6]; /* of the trials; 0: it failed */
        size_t n, n_trials, n_required;
        bool is_complete;
        enum interval_method method;
    } rows[] = {
        {"enough", {100, 100.5, 101}, 3, 3, 3, true, INTERVAL_TWO_STAGE_LOG},
        {"five are needed", {98, 100, 102, 101, 99}, 5, 5, 3, true, INTERVAL_TWO_STAGE_LOG},
        {"cut short, with those that the definition asks for",
         {98, 100, 102},
         3,
         5,
         3,
         true,
         INTERVAL_TWO_STAGE_LOG},
        {"cut short before", {98, 100}, 2, 10, 3, false, INTERVAL_NONE},
        {"a failed one is made up for",
         {98, 0, 100, 102, 101, 99},
         6,
         6,
         3,
         false,
         INTERVAL_TWO_STAGE_LOG},
        {"nothing", {0}, 0, 10, 3, false, INTERVAL_NONE},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        print_message("# row '%s'\n", rows[i].name);
        struct fixture f;
        fixture_init(
            &f, ONE_POINT,
            SINGLE_NODE "  repeats: {min: 3, max: 10, stopWhen: {relativeHalfWidth: 0.05}}\n", 8);
        for (uint32_t t = 0; t < rows[i].n; t++) {
            if (rows[i].x[t] > 0) {
                const struct attempt_row *row = fixture_throughput(&f, 0, t, rows[i].x[t]);
                /* Decisions and tables have the same figure. */
                const double x = throughput_of_attempt(row, f.def->matrix.points[0].replicas);
                assert_true(fabs(x - rows[i].x[t]) < 1e-6);
            } else {
                fixture_end(&f, 0, t, 0, ATTEMPT_FAILED, "x");
            }
        }
        const struct result *r = fixture_build(&f, RUN_SUCCEEDED);
        const struct point_result *p = &r->points[0];
        assert_int_equal(p->n_trials, rows[i].n_trials);
        assert_int_equal(p->n_required, rows[i].n_required);
        assert_int_equal(point_result_is_complete(p), rows[i].is_complete);
        assert_int_equal(p->throughput.estimate.method, rows[i].method);
        json_t *o = result_to_json(r);
        const json_t *measure = json_object_get(o, "measure");
        assert_int_equal(json_integer_value(json_object_get(measure, "repeats")), 3);
        assert_int_equal(json_integer_value(json_object_get(measure, "maxRepeats")), 10);
        json_decref(o);
        fixture_done(&f);
    }
}

static const char *warning_text(const struct result *r, enum warning_code code)
{
    const char *text = NULL;
    vec_each (struct warning, w, &r->warnings) {
        if (w->code == code) {
            assert_null(text);
            text = w->message;
        }
    }
    return text;
}

/* Of trainer/1 of the first attempt: throttled for so many of 3,000 ms. */
static void throttle(struct fixture *f, size_t row, int ms)
{
    struct replica_row *r = &f->rows.items[row].replicas.items[2];
    free(r->summary_json);
    r->summary_json = xasprintf(
        LINE("summary", "0",
             "\"samples\":128,\"duration_ns\":3000000000,\"steps\":8,\"throttled_ns\":%d000000"),
        ms);
}

static void set_environment(struct fixture *f, size_t row, const char *json)
{
    struct replica_row *r = &f->rows.items[row].replicas.items[2];
    free(r->environment_json);
    r->environment_json = xstrdup(json);
}

static void warnings_of_the_linter(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f, "{grid: {pservers: [1], trainers: [2, 4]}}",
                 SINGLE_NODE "  repeats: {min: 3}\n", 8);
    for (uint32_t p = 0; p < 3; p++) {
        for (uint32_t t = 0; t < 3; t++) {
            fixture_throughput(&f, p, t, p == 0 ? 80 + t : p == 1 ? 150 + t : 41 + 0.1 * t);
        }
    }
    assert_int_equal(fixture_build(&f, RUN_SUCCEEDED)->warnings.len, 0);

    f.rows.items[0].simulated = true;
    f.rows.items[3].outcome = f.rows.items[4].outcome = ATTEMPT_FAILED; /* point 1: one is left */
    throttle(&f, 0, 30);
    throttle(&f, 1, 93);
    throttle(&f, 2, 60);
    throttle(&f, 3, 2000); /* of a trial without a number */
    set_environment(&f, 1, "{\"cpu_model\":\"AMD EPYC 9B45\"}");
    set_environment(&f, 4, "{\"cpu_model\":\"of a trial without a number\"}");
    f.def->rehearsal = true;
    f.def->cpus = 4;
    struct result *r = fixture_build(&f, RUN_PARTIALLY_FAILED);
    assert_string_equal(warning_text(r, WARNING_REHEARSAL),
                        "rehearsal: point 1 needs 5 busy threads, but the run had 4 CPUs; compare "
                        "its numbers only with each other");
    assert_non_null(warning_text(r, WARNING_SIMULATED));
    assert_string_equal(warning_text(r, WARNING_ONE_TRIAL),
                        "only one trial at point 1: the spread is unknown");
    assert_string_equal(
        warning_text(r, WARNING_THROTTLED),
        "3 replicas were throttled by a CPU limit; the worst is trainer/1 of point 0, "
        "trial 1: 3.1% of its time");
    assert_string_equal(warning_text(r, WARNING_MIXED_HARDWARE),
                        "mixed hardware: replicas ran on 'Intel(R) Xeon(R) CPU E5-2620 v4 @ "
                        "2.10GHz' and on 'AMD EPYC 9B45'");
    assert_null(warning_text(r, WARNING_EFFICIENCY_ABOVE_ONE));
    assert_int_equal(r->hardware.len, 2); /* the failed trial's is none of the result's */
    throttle(&f, 0, 0);
    throttle(&f, 2, 0);
    assert_string_equal(
        warning_text(fixture_build(&f, RUN_PARTIALLY_FAILED), WARNING_THROTTLED),
        "1 replica was throttled by a CPU limit; the worst is trainer/1 of point 0, "
        "trial 1: 3.1% of its time");
    fixture_done(&f);
}

static void efficiency_above_one_beyond_its_interval(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f, "{grid: {pservers: [1], trainers: [2, 4]}}",
                 SINGLE_NODE "  repeats: {min: 3}\n", 8);
    for (uint32_t t = 0; t < 3; t++) {
        fixture_throughput(&f, 0, t, 100 + 0.1 * t); /* 2 x 40 would be perfect: 1.25 */
        fixture_throughput(&f, 1, t, 150 + 20 * t);  /* 1.06, but with a wide interval */
        fixture_throughput(&f, 2, t, 40 + 0.1 * t);
    }
    struct result *r = fixture_build(&f, RUN_SUCCEEDED);
    assert_true(r->points[1].efficiency.estimate.value > 1);
    assert_string_equal(warning_text(r, WARNING_EFFICIENCY_ABOVE_ONE),
                        "efficiency is significantly above 1 at point 0: point and baseline "
                        "differ in more than their number of trainers");
    fixture_done(&f);
}

static void many_points_are_counted(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f, "{grid: {pservers: [1, 2, 3, 4, 5, 6, 7], trainers: [1]}}",
                 SINGLE_NODE "  repeats: {min: 1}\n", 0);
    for (uint32_t p = 0; p < 2; p++) {
        fixture_throughput(&f, p, 0, 40);
    }
    assert_string_equal(warning_text(fixture_build(&f, RUN_RUNNING), WARNING_ONE_TRIAL),
                        "only one trial at points 0 and 1: the spread is unknown");
    for (uint32_t p = 2; p < 8; p++) {
        fixture_throughput(&f, p, 0, 40);
    }
    assert_string_equal(warning_text(fixture_build(&f, RUN_SUCCEEDED), WARNING_ONE_TRIAL),
                        "only one trial at points 0, 1, 2, 3, 4 and 3 more: the spread is unknown");
    fixture_done(&f);
}

static void foreign_bytes_in_causes(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f, ONE_POINT, SINGLE_NODE "  repeats: {min: 1}\n", 8);
    struct attempt_row *row = fixture_succeed(&f, 0, 0, 0, (double[]){3.2, 3.2});
    row->outcome = ATTEMPT_FAILED;
    row->error = xstrdup("trainer/0: caf\xe9");
    row->replicas.items[1].failure = xstrdup("caf\xe9");
    struct result *r = fixture_build(&f, RUN_FAILED);
    assert_string_equal(r->points[0].trials[0].error, "trainer/0: caf?");
    json_t *o = result_to_json(r);
    char *text = json_dumps(o, JSON_COMPACT);
    assert_non_null(text);
    assert_non_null(strstr(text, "\"error\":\"trainer/0: caf?\""));
    assert_non_null(strstr(text, "\"failure\":\"caf?\""));
    free(text);
    json_decref(o);
    fixture_done(&f);
}

static void ends_of_replicas_in_the_document(void **state)
{
    (void)state;
    static const struct {
        int exit_code, signal;
        const char *text;
    } rows[] = {
        {0, 0, "\"exitCode\":0,\"signal\":null"},
        {11, 0, "\"exitCode\":11,\"signal\":null"},
        {-1, 9, "\"exitCode\":null,\"signal\":9"}, /* killed */
        {-1, 0, "\"exitCode\":null,\"signal\":null"},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        struct fixture f;
        fixture_init(&f, ONE_POINT, SINGLE_NODE "  repeats: {min: 1}\n", 8);
        struct attempt_row *row = fixture_succeed(&f, 0, 0, 0, (double[]){3.2, 3.2});
        row->replicas.items[1].exit_code = rows[i].exit_code;
        row->replicas.items[1].signal = rows[i].signal;
        json_t *o = result_to_json(fixture_build(&f, RUN_SUCCEEDED));
        char *text = json_dumps(o, JSON_COMPACT);
        _cleanup_(freep) char *expected =
            xasprintf("\"role\":\"trainer\",\"index\":0,%s", rows[i].text);
        if (strstr(text, expected) == NULL) {
            fail_msg("expected %s in %s", expected, text);
        }
        free(text);
        json_decref(o);
        fixture_done(&f);
    }
}

static void names_go_both_ways(void **state)
{
    (void)state;
    for (int i = 0; i <= TRIAL_METRICS_UNAVAILABLE; i++) {
        assert_int_equal(trial_phase_from_string(trial_phase_to_string((enum trial_phase)i)), i);
    }
    int final = 0;
    for (int i = 0; i <= RUN_SUSPENDED; i++) {
        assert_int_equal(run_phase_from_string(run_phase_to_string((enum run_phase)i)), i);
        final += run_phase_is_final((enum run_phase)i);
    }
    assert_int_equal(final, 4); /* Succeeded, PartiallyFailed, Failed, Cancelled */
    for (int i = 0; i <= ATTEMPT_METRICS_UNAVAILABLE; i++) {
        assert_int_equal(
            attempt_outcome_from_string(attempt_outcome_to_string((enum attempt_outcome)i)), i);
    }
    assert_true(run_phase_from_string("running") < 0);
    assert_true(trial_phase_from_string("") < 0);
    assert_true(attempt_outcome_from_string("Voids") < 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(golden_document),
        cmocka_unit_test(the_format_of_numbers),
        cmocka_unit_test(the_row_that_decides),
        cmocka_unit_test(a_trial_needs_every_trainers_summary),
        cmocka_unit_test(a_trainer_may_speak_for_the_job),
        cmocka_unit_test(single_node_efficiency_is_the_seeds),
        cmocka_unit_test(servers_are_not_free),
        cmocka_unit_test(a_point_as_baseline),
        cmocka_unit_test(a_baseline_names_its_parameters),
        cmocka_unit_test(no_baseline_no_ratio),
        cmocka_unit_test(a_baseline_is_judged_with_confidence),
        cmocka_unit_test(rows_of_other_points_are_passed_over),
        cmocka_unit_test(phases_of_a_point),
        cmocka_unit_test(points_that_stop_early),
        cmocka_unit_test(warnings_of_the_linter),
        cmocka_unit_test(efficiency_above_one_beyond_its_interval),
        cmocka_unit_test(many_points_are_counted),
        cmocka_unit_test(foreign_bytes_in_causes),
        cmocka_unit_test(ends_of_replicas_in_the_document),
        cmocka_unit_test(names_go_both_ways),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
