/* See report_runs.h. */
#include "tests/test.h"
#include "report_runs.h"

#include <math.h>

/* Two names vary, three trials: the sweep of the README. */
static void sweep(struct fixture *f)
{
    static const double x[5] = {35.1, 66.3, 36.4, 70.9, 37.9};
    fixture_init(f, "{grid: {pservers: [1, 2], trainers: [1, 2], batch_size: [16]}}",
                 SINGLE_NODE "  repeats: {min: 3}\n"
                             "  thresholds:\n"
                             "  - {metric: efficiency, where: {trainers: 2}, min: \"0.9\"}\n",
                 8);
    for (uint32_t p = 0; p < 5; p++) {
        for (uint32_t t = 0; t < 3; t++) {
            fixture_throughput(f, p, t, x[p] * (1 + 0.004 * ((double)t - 1)));
        }
    }
    fixture_build(f, RUN_SUCCEEDED);
}

/* The acceleration table of 2018: one name varies, two systems, one trial. */
static void acceleration(struct fixture *f)
{
    static const double x[10] = {263.29, 518.80, 836.26,  1019.29, 326.85,
                                 534.58, 853.30, 1041.99, 16.74,   17.60};
    fixture_init(f, "{grid: {pservers: [20], trainers: [20, 40, 80, 100], batch_size: [128]}}",
                 SINGLE_NODE "  repeats: {min: 1}\n"
                             "  systems: [{name: fluid, profile: benchworker},\n"
                             "            {name: v2, profile: benchworker}]\n",
                 0);
    assert_int_equal(f->def->matrix.n_points, 10);
    for (uint32_t p = 0; p < 10; p++) {
        fixture_throughput(f, p, 0, x[p]);
    }
    fixture_build(f, RUN_SUCCEEDED);
}

/* The first table of 2018: one trainer without servers, so each point is its own baseline. */
static void single_node(struct fixture *f)
{
    static const double x[8] = {15.44, 16.32, 16.74, 16.79, 9.09, 9.10, 9.24, 8.66};
    fixture_init(f, "{grid: {batch_size: [32, 64, 128, 256]}}",
                 SINGLE_NODE "  repeats: {min: 1}\n"
                             "  workload: {model: vgg16-fluid-fc512, exchange: {kind: None}}\n"
                             "  roles: {trainer: {replicas: {value: 1}}}\n"
                             "  systems: [{name: fluid, profile: benchworker},\n"
                             "            {name: tensorflow, profile: benchworker}]\n",
                 0);
    for (uint32_t p = 0; p < 8; p++) {
        fixture_throughput(f, p, 0, x[p]);
    }
    fixture_build(f, RUN_SUCCEEDED);
}

/* Two names vary together: a grid would be a diagonal. */
static void diagonal(struct fixture *f)
{
    fixture_init(f,
                 "{points: [{pservers: 1, trainers: 2}, {pservers: 2, trainers: 4}, {pservers: 4, "
                 "trainers: 8}]}",
                 SINGLE_NODE "  repeats: {min: 1}\n", 16);
    for (uint32_t p = 0; p < 4; p++) {
        fixture_throughput(f, p, 0, 60 * (p + 1));
    }
    fixture_build(f, RUN_SUCCEEDED);
}

/* Everything that can go wrong: a rehearsal with failures, no metrics, a missed threshold. */
static void trouble(struct fixture *f)
{
    fixture_init(f, "{grid: {pservers: [1], trainers: [1, 2, 4]}}",
                 "  baseline: {kind: Point, where: {trainers: 1}}\n  repeats: {min: 2}\n"
                 "  failurePolicy: {onTrialFailure: Skip, maxFailedTrials: 9}\n"
                 "  thresholds: [{metric: efficiency, where: {trainers: 2}, min: \"0.95\"},\n"
                 "               {metric: throughput, where: {trainers: 4}, min: 100}]\n",
                 2);
    fixture_throughput(f, 0, 0, 40);
    fixture_throughput(f, 0, 1, 41);
    fixture_throughput(f, 1, 0, 70);
    fixture_end(f, 1, 1, 0, ATTEMPT_VOID, "trainer/1: killed by signal 9");
    fixture_end(f, 1, 1, 1, ATTEMPT_FAILED,
                "trainer/1: exit 10: /data/train-images-idx3-ubyte.gz: 'magic' is 0x1f8b0803, "
                "expected 0x00000803\nsecond line");
    struct attempt_row *row = fixture_throughput(f, 2, 0, 99);
    replica_set_line(&row->replicas.items[2], NULL);
    assert_true(f->def->rehearsal);
    fixture_build(f, RUN_PARTIALLY_FAILED);
}

/* From six trials: another interval. One swept point, nothing varies. */
static void six_trials(struct fixture *f)
{
    fixture_init(f, "{grid: {pservers: [1], trainers: [2]}}", SINGLE_NODE "  repeats: {min: 6}\n",
                 8);
    for (uint32_t t = 0; t < 6; t++) {
        fixture_throughput(f, 0, t, 70 + t);
        fixture_throughput(f, 1, t, 40 + 0.1 * t);
    }
    fixture_build(f, RUN_SUCCEEDED);
}

/* Five names vary: too much for 80 columns. */
static void wide(struct fixture *f)
{
    fixture_init(f,
                 "{points: [\n"
                 "    {pservers: 1, trainers: 1, batch_size: 16, threads: 1, some_long_name: a},\n"
                 "    {pservers: 2, trainers: 2, batch_size: 32, threads: 2, some_long_name: b}]}",
                 SINGLE_NODE "  repeats: {min: 3}\n"
                             "  parameters:\n"
                             "  - {name: some_long_name, targets: [{roles: [trainer], paths: "
                             "[/spec/priorityClassName]}]}\n",
                 0);
    for (uint32_t p = 0; p < f->def->matrix.n_points; p++) {
        for (uint32_t t = 0; t < 3; t++) {
            fixture_throughput(f, p, t, 30 * (p + 1) + t);
        }
    }
    fixture_build(f, RUN_SUCCEEDED);
}

/* The log of one system counts tokens. */
static void mixed(struct fixture *f)
{
    fixture_init(f, "{grid: {pservers: [1], trainers: [1, 2]}}",
                 SINGLE_NODE "  repeats: {min: 3}\n"
                             "  systems: [{name: ours, profile: benchworker},\n"
                             "            {name: theirs, profile: benchworker}]\n",
                 8);
    for (uint32_t p = 0; p < f->def->matrix.n_points; p++) {
        const bool is_theirs = f->def->matrix.points[p].system == 1;
        for (uint32_t t = 0; t < 3; t++) {
            struct attempt_row *row =
                fixture_throughput(f, p, t, (is_theirs ? 4000 : 40) * (p + 1) + t);
            if (is_theirs) {
                fixture_count(row, UNIT_TOKENS);
            }
        }
    }
    fixture_build(f, RUN_SUCCEEDED);
}

/* Two curves with models: one turns over, the other goes on. Waiting grows. */
static void scaling(struct fixture *f)
{
    static const double x[9] = {95.2, 172.1, 264.4, 301.5, 96.1, 186.5, 345.9, 603.2, 100.4};
    static const double noise[3] = {-0.011, 0.004, 0.009};
    static const double wait_ms[9] = {4, 19, 75, 240, 3, 12, 25, 40, 0};
    fixture_init(f, "{grid: {pservers: [1, 2], trainers: [1, 2, 4, 8]}}",
                 SINGLE_NODE "  repeats: {min: 3}\n", 64);
    for (uint32_t p = 0; p < 9; p++) {
        for (uint32_t t = 0; t < 3; t++) {
            fixture_spend(fixture_throughput(f, p, t, x[p] * (1 + noise[(p + t) % 3])), 160,
                          wait_ms[p]);
        }
    }
    fixture_build(f, RUN_SUCCEEDED);
}

/* Three workers, of which one point has a trial that never was good enough. Many evaluations:
 * every second is kept. */
static void accuracy(struct fixture *f)
{
    static const double times_s[3][3] = {{212.4, 220.1, 215}, {118.9, 0, 120.3}, {60.1, 61.7, 64}};
    static const double after[3][3] = {
        {0.712, 0.705, 0.717}, {0.781, 0.62, 0.78}, {0.84, 0.842, 0.831}};
    fixture_init(f, "{grid: {trainers: [1, 2, 4]}}",
                 "  baseline: {kind: Point, where: {trainers: 1}}\n"
                 "  workload: {model: vgg16-fluid-fc512, exchange: {kind: None}, batchSize: 16}\n"
                 "  roles: {trainer: {replicas: {from: trainers},\n"
                 "                    template: {spec: {containers: [{name: main}]}}}}\n"
                 "  repeats: {min: 3}\n"
                 "  measure: {steps: 8, timeToAccuracy: {accuracy: \"0.8\"},\n"
                 "            accuracyAfterTime: {seconds: 100}}\n"
                 "  thresholds: [{metric: timeToAccuracy, max: 230}]\n",
                 8);
    for (uint32_t p = 0; p < 3; p++) {
        for (uint32_t t = 0; t < 3; t++) {
            struct attempt_row *row = fixture_throughput(f, p, t, 40 * (p + 1) + t);
            struct evaluations e = {0};
            const double time_s = times_s[p][t] > 0 ? times_s[p][t] : 240;
            if (time_s > 90) {
                evaluations_add(&e, 90, after[p][t], 1 - after[p][t]);
            }
            evaluations_add(&e, time_s, times_s[p][t] > 0 ? 0.803 : 0.64, NAN);
            if (time_s <= 90) {
                evaluations_add(&e, 101, after[p][t], 1 - after[p][t]);
            }
            const struct summary s = {.samples = 128,
                                      .duration_ns = llrint(128e9 / (40 + t)),
                                      .steps = 8,
                                      .loss_first = NAN,
                                      .loss_last = NAN,
                                      .evaluations = &e};
            fixture_say(row, 0, &s);
        }
    }
    fixture_build(f, RUN_SUCCEEDED);
}

/* One number of trainers in three systems, two of which have workers in their place; too few CPUs
 * for the one with a server, and a trial of it far from the others. The other two report no phases,
 * and the last one not where it ran. */
static void systems(struct fixture *f)
{
    static const double x[6][3] = {{103.7, 103.8, 130.4}, {36.98, 37.84, 41.1},
                                   {36.95, 37.55, 40.33}, {84.9, 82.1, 87.2},
                                   {23.7, 23.1, 24.4},    {19.3, 18.9, 20.1}};
    fixture_init(f, "{grid: {pservers: [1], trainers: [2], batch_size: [16]}}",
                 SINGLE_NODE
                 "  repeats: {min: 3}\n"
                 "  systems:\n"
                 "  - {name: own, profile: benchworker}\n"
                 "  - {name: ddp, profile: pytorch, exchange: {kind: AllReduce}}\n"
                 "  - {name: mpi, profile: of-mine, exchange: {kind: AllReduce},\n"
                 "     command: [mpirun, /srv/venv/bin/python, /srv/train.py, --data,\n"
                 "               /srv/data/, /]}\n"
                 "  roles: {trainer: {replicas: {from: trainers},\n"
                 "                    template: &pod {spec: {containers: [{name: main}]}}},\n"
                 "          worker: {replicas: {from: trainers}, template: *pod},\n"
                 "          pserver: {replicas: {from: pservers}, template: *pod}}\n",
                 2);
    assert_int_equal(f->def->matrix.n_points, 6);
    assert_true(f->def->rehearsal);
    for (uint32_t p = 0; p < 6; p++) {
        const struct point *point = &f->def->matrix.points[p];
        for (uint32_t t = 0; t < 3; t++) {
            struct attempt_row *row = fixture_throughput(f, p, t, x[p][t]);
            for (size_t i = 0; i < row->replicas.len && point->system > 0; i++) {
                const double seconds = 128 * (double)row->replicas.len / x[p][t];
                const struct summary s = {.samples = 128,
                                          .duration_ns = llrint(1e9 * seconds),
                                          .steps = 8,
                                          .loss_first = NAN,
                                          .loss_last = NAN};
                fixture_say(row, i, &s);
                if (point->system == 2) {
                    replica_set_environment(&row->replicas.items[i], NULL);
                }
            }
        }
    }
    fixture_build(f, RUN_SUCCEEDED);
}

const struct report_run report_runs[REPORT_RUNS] = {
    {"sweep", sweep},       {"acceleration", acceleration},
    {"trouble", trouble},   {"six-trials", six_trials},
    {"wide", wide},         {"single-node", single_node},
    {"diagonal", diagonal}, {"mixed", mixed},
    {"scaling", scaling},   {"accuracy", accuracy},
    {"systems", systems},
};

const struct report_run *report_run_find(const char *name)
{
    for (size_t i = 0; i < REPORT_RUNS; i++) {
        if (strcmp(report_runs[i].name, name) == 0) {
            return &report_runs[i];
        }
    }
    fail_msg("no run '%s'", name);
    return NULL;
}
