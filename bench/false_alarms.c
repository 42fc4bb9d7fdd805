/* How often `compare` reports a change where there is none, and how often it finds a real one
 * (script/bench coverage).
 *
 *   false_alarms [EXPERIMENTS]        1,000 unless given
 *
 * Makes up trials whose truth is known, with an effect that a whole run has in common and one of each block, and compares
 * them with the code of benchctl compare. The numbers drawn are the same each time. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/parse.h"
#include "draws.h"
#include "result/compare_axis.h"
#include "spec/spec_load.h"

#define SEED 20181120
#define RUN_EFFECT 0.01   /* deviation of what a run has in common, in logs */
#define BLOCK_EFFECT 0.01 /* and of what a block has */
#define MAX_RUNS 11
#define MAX_N 10
#define STRAGGLERS 0.1
#define STRAGGLER_LOG 0.2

enum shape { SHAPE_NORMAL, SHAPE_EXPONENTIAL, SHAPE_STRAGGLERS };
static const char *const shape_names[] = {"normal", "exponential", "stragglers"};

static double draw(enum shape shape, double deviation, uint64_t *state)
{
    if (shape == SHAPE_EXPONENTIAL) {
        return deviation * log(draw_uniform(state)); /* times have a tail to the right */
    }
    const double noise = deviation * draw_normal(state);
    const bool straggles = shape == SHAPE_STRAGGLERS && draw_uniform(state) <= STRAGGLERS;
    return straggles ? noise - STRAGGLER_LOG : noise;
}

/* ---- runs ---- */

/* One row of the report. */
struct row {
    const char *name;
    size_t n_history; /* of two runs: other runs of the base; unused in one run */
    size_t n_points;  /* pairs, or points of a run */
    size_t n;         /* repeats */
    enum shape shape;
    double deviation;
    double loss;        /* of the candidate; 0: none, so that a change that is named is an alarm */
    bool is_one_run;    /* both in one run */
    bool only_one;      /* one point has the loss */
    double least, most; /* named, in percent: the bar; least < 0: none */
};

struct made {
    struct run_def *def;
    struct result *result;
};

static void fail(const char *what)
{
    (void)fprintf(stderr, "false_alarms: %s\n", what);
    exit(1);
}

static void made_init(struct made *m, const struct row *row, size_t index)
{
    struct buf text = BUF_INIT;
    buf_printf(&text,
               "apiVersion: benchd.io/v1alpha1\nkind: Benchmark\nmetadata: {name: demo}\nspec:\n"
               "  measure: {warmupSteps: 2, steps: 8}\n  repeats: {min: %zu}\n"
               "  baseline: {kind: Point, where: {trainers: 1}}\n"
               "  systems: [{name: benchworker, profile: benchworker}]\n"
               "  workload: {model: vgg16-fluid-fc512, dataset: {kind: Synthetic}, batchSize: 16,\n"
               "             exchange: {kind: PServer, mode: Sync, wire: Fp32}}\n"
               "  roles:\n    pserver: {replicas: {from: pservers}}\n"
               "    trainer: {replicas: {from: trainers}}\n"
               "  sweep: {grid: {pservers: %s, trainers: [1",
               row->n, row->is_one_run ? "[1, 2]" : "[1]");
    for (size_t i = 2; i <= row->n_points; i++) {
        buf_printf(&text, ", %zu", i);
    }
    buf_puts(&text, "]}}\n");
    struct diags diags = {0};
    struct spec *spec = NULL;
    char uid[32];
    (void)snprintf(uid, sizeof(uid), "run-%zu", index);
    const struct run_def_params params = {.name = uid, .uid = uid, .cpus = 64};
    if (spec_load(buf_cstr(&text), text.len, NULL, &spec, &diags) < 0 ||
        run_def_new(spec, &params, &m->def, &diags) < 0) {
        fail("its definition is wrong");
    }
    diags_done(&diags);
    buf_done(&text);
    m->result = result_build(m->def, RUN_SUCCEEDED, NULL, 0);
}

static void made_done(struct made *m)
{
    result_free(m->result);
    run_def_free(m->def);
}

/* Gives a point its trials; `common` and `blocks` are what it shares with others, `loss` its own. */
static void fill(struct point_result *p, const struct row *row, double common, const double *blocks,
                 double loss, uint64_t *state)
{
    double x[MAX_N];
    for (size_t t = 0; t < row->n; t++) {
        x[t] = 100 * (1 - loss) * exp(common + blocks[t] + draw(row->shape, row->deviation, state));
        p->trials[t].phase = TRIAL_SUCCEEDED;
        p->trials[t].throughput.estimate = (struct estimate){.known = true, .value = x[t]};
    }
    p->n_succeeded = row->n;
    p->phase = TRIAL_SUCCEEDED;
    p->throughput.estimate = stats_median(x, row->n);
}

static void fill_run(struct made *m, const struct row *row, bool is_candidate, uint64_t *state)
{
    const double common = RUN_EFFECT * draw_normal(state);
    double blocks[MAX_N];
    for (size_t t = 0; t < row->n; t++) {
        blocks[t] = BLOCK_EFFECT * draw_normal(state);
    }
    const uint32_t n = m->def->matrix.n_points;
    for (uint32_t i = 0; i < n; i++) {
        const bool is_loser = row->is_one_run ? i >= n / 2 : is_candidate;
        const bool is_first = i == (row->is_one_run ? n / 2 : 0);
        const double loss = is_loser && (!row->only_one || is_first) ? row->loss : 0;
        fill(&m->result->points[i], row, common, blocks, loss, state);
    }
}

/* ---- experiments ---- */

struct counts {
    int named, inconclusive, shown; /* shown: not slower than 2%, in one run */
};

static struct comparison *compare_one(struct made *runs, const struct row *row, uint64_t *state)
{
    const struct compare_axis_params params = {
        .axis = "pservers", .threshold_ratio = COMPARE_THRESHOLD_RATIO, .margin_ratio = 0.02};
    struct comparison *c = NULL;
    const char *fix = NULL;
    fill_run(&runs[0], row, false, state);
    if (comparison_new_axis(runs[0].result, &params, &c, &fix, NULL) < 0) {
        fail("one run is refused");
    }
    return c;
}

static struct comparison *compare_two(struct made *runs, const struct row *row, uint64_t *state)
{
    const struct result *history[MAX_RUNS];
    for (size_t i = 0; i < row->n_history + 2; i++) {
        fill_run(&runs[i], row, i == 1, state);
        history[i] = runs[i].result;
    }
    const struct compare_params params = {.threshold_ratio = COMPARE_THRESHOLD_RATIO,
                                          .history = &history[2],
                                          .n_history = row->n_history};
    struct comparison *c = NULL;
    const char *fix = NULL;
    if (comparison_new(runs[0].result, runs[1].result, &params, &c, &fix, NULL) < 0) {
        fail("two runs are refused");
    }
    return c;
}

static struct counts experiments(const struct row *row, int n, uint64_t *state)
{
    struct made runs[MAX_RUNS];
    struct counts counts = {0};
    const size_t n_runs = row->is_one_run ? 1 : row->n_history + 2;
    for (size_t i = 0; i < n_runs; i++) {
        made_init(&runs[i], row, i);
    }
    for (int i = 0; i < n; i++) {
        struct comparison *c =
            row->is_one_run ? compare_one(runs, row, state) : compare_two(runs, row, state);
        counts.named +=
            c->change == CHANGE_SLOWER || (row->loss <= 0 && c->change == CHANGE_FASTER);
        counts.inconclusive += c->change == CHANGE_INCONCLUSIVE;
        counts.shown += c->margin == MARGIN_NOT_SLOWER;
        comparison_free(c);
    }
    for (size_t i = 0; i < n_runs; i++) {
        made_done(&runs[i]);
    }
    return counts;
}

/* ---- the report ---- */

/* The bar of an alarm rate: 1%, plus two standard deviations of a rate that is counted in this many
 * experiments. */
#define ALARM -1, 1
#define SEEN 95, 100
#define NO_BAR -1, 100
/* clang-format off */
static const struct row rows[] = {
    {"one run, A/A",  0,  1,  5, SHAPE_NORMAL,      0.01, 0,    true,  false, ALARM},
    {"one run, A/A",  0,  1,  5, SHAPE_NORMAL,      0.05, 0,    true,  false, ALARM},
    {"one run, A/A",  0,  5,  3, SHAPE_NORMAL,      0.01, 0,    true,  false, ALARM},
    {"one run, A/A",  0,  5,  3, SHAPE_NORMAL,      0.05, 0,    true,  false, ALARM},
    {"one run, A/A",  0,  5,  5, SHAPE_NORMAL,      0.01, 0,    true,  false, ALARM},
    {"one run, A/A",  0,  5,  5, SHAPE_NORMAL,      0.05, 0,    true,  false, ALARM},
    {"one run, A/A",  0, 20,  5, SHAPE_NORMAL,      0.05, 0,    true,  false, ALARM},
    {"one run, A/A",  0,  5, 10, SHAPE_NORMAL,      0.05, 0,    true,  false, ALARM},
    {"one run, A/A",  0,  5,  5, SHAPE_EXPONENTIAL, 0.05, 0,    true,  false, ALARM},
    {"one run, A/A",  0,  5,  5, SHAPE_STRAGGLERS,  0.01, 0,    true,  false, ALARM},
    {"one run, -5%",  0,  1,  5, SHAPE_NORMAL,      0.01, 0.05, true,  false, SEEN},
    {"one run, -5%",  0,  5,  5, SHAPE_NORMAL,      0.01, 0.05, true,  false, SEEN},
    {"one run, -5%",  0, 20,  5, SHAPE_NORMAL,      0.01, 0.05, true,  false, SEEN},
    {"one point -5%", 0,  5,  5, SHAPE_NORMAL,      0.01, 0.05, true,  true,  NO_BAR},
    {"one point -5%", 0,  5, 10, SHAPE_NORMAL,      0.01, 0.05, true,  true,  SEEN},
    {"two runs, A/A", 0,  5,  3, SHAPE_NORMAL,      0.01, 0,    false, false, ALARM},
    {"two runs, A/A", 0,  5,  5, SHAPE_NORMAL,      0.01, 0,    false, false, ALARM},
    {"two runs, A/A", 2,  5,  5, SHAPE_NORMAL,      0.01, 0,    false, false, ALARM},
    {"two runs, A/A", 4,  5,  5, SHAPE_NORMAL,      0.01, 0,    false, false, ALARM},
    {"two runs, A/A", 9,  5,  5, SHAPE_NORMAL,      0.01, 0,    false, false, ALARM},
    {"two runs, A/A", 4,  1,  5, SHAPE_NORMAL,      0.01, 0,    false, false, ALARM},
    {"two runs, -5%", 4,  5,  5, SHAPE_NORMAL,      0.01, 0.05, false, false, NO_BAR},
    {"two runs, -5%", 9,  5,  5, SHAPE_NORMAL,      0.01, 0.05, false, false, NO_BAR},
    {"two runs, -20%", 2, 5,  5, SHAPE_NORMAL,      0.01, 0.2,  false, false, NO_BAR},
    {"two runs, -50%", 2, 5,  5, SHAPE_NORMAL,      0.01, 0.5,  false, false, SEEN},
    {"two runs, -50%", 0, 5,  5, SHAPE_NORMAL,      0.01, 0.5,  false, false, NO_BAR},
};
/* clang-format on */

static bool print_row(const struct row *row, const struct counts *c, int n)
{
    const double named = 100.0 * c->named / n, chance = 200 * sqrt(0.01 * 0.99 / n);
    const bool reached = named >= row->least && named <= row->most + (row->most < 100 ? chance : 0);
    char base_runs[8] = "-", shown[16] = "-";
    if (row->is_one_run) {
        (void)snprintf(shown, sizeof(shown), "%.1f%%", 100.0 * c->shown / n);
    } else {
        (void)snprintf(base_runs, sizeof(base_runs), "%zu", row->n_history + 1);
    }
    (void)printf("%-15s %4s %6zu %4zu  %-12s%2.0f%% %8.2f%% %9.1f%% %8s   ", row->name, base_runs,
                 row->n_points, row->n, shape_names[row->shape], 100 * row->deviation, named,
                 100.0 * c->inconclusive / n, shown);
    if (row->least >= 0) {
        (void)printf("at least %.0f%%\n", row->least);
    } else {
        (void)printf(row->most < 100 ? "at most %.0f%%\n" : "\n", row->most);
    }
    return reached;
}

int main(int argc, char **argv)
{
    int64_t n = 1000;
    if (argc > 2 || (argc == 2 && parse_i64_in(argv[1], 1, 1000000, &n) < 0)) {
        (void)fprintf(stderr, "usage: false_alarms [EXPERIMENTS], 1 to 1000000\n");
        return 2;
    }
    (void)printf("What compare says of %lld made-up pairs; a run has 1%% in common, a block 1%%\n\n"
                 "%-15s %4s %6s %4s  %-15s %9s %10s %8s   BAR OF NAMED\n",
                 (long long)n, "", "BASE", "", "", "", "", "INCON-", "NOT -2%");
    (void)printf("%-15s %4s %6s %4s  %-15s %9s %10s %8s\n", "CASE", "RUNS", "POINTS", "N", "NOISE",
                 "NAMED", "CLUSIVE", "SHOWN");
    uint64_t state = SEED;
    size_t n_reached = 0, n_all = 0;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct counts c = experiments(&rows[i], (int)n, &state);
        const bool reached = print_row(&rows[i], &c, (int)n);
        const bool has_bar = rows[i].least >= 0 || rows[i].most < 100;
        n_reached += has_bar && reached;
        n_all += has_bar;
        if (!reached) {
            (void)printf("MISSED  the row above\n");
        }
        (void)fflush(stdout);
    }
    (void)printf("reached %zu of %zu\n", n_reached, n_all);
    return n_reached < n_all;
}
