/* How often compare and gate raise a false alarm, and what they detect (script/bench alarms).
 *
 *   alarms FILE [REPLAYS [SEED]]     1,000 replays unless given
 *   alarms made-up [REPLAYS [SEED]]  only made-up runs that differ by 1%, as a test does
 *
 * Each replay makes runs of trials, and passes them to the code that makes the verdicts
 * (lib/compare). The trials of a run are those of a recorded run in FILE (bench/alarms.txt says
 * which machine and load), each recorded run at most once in a replay; or made up, with a part that
 * the whole run has in common. What is slower has its throughputs multiplied. The numbers drawn are
 * the same for the same seed. Exits with 1 if a bar is missed. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/parse.h"
#include "base/splitmix.h"
#include "base/whole_file.h"
#include "compare/compare_parts.h"
#include "compare/gate.h"
#include "spec/spec_load.h"
#include "stats/change_points.h"

#define SEED 75001 /* not the one that settings were chosen by */
#define NOISE 0.01 /* made-up runs of this noise have bars for what must be found */
#define POINTS 4   /* two values of the axis at two points; of recorded runs only one each */
#define TRIALS 5
#define RUNS_MAX 16 /* of a replay */
#define SIBLINGS 3
#define NIGHTS 60
#define STEP_NIGHT 30
#define FOUND_WITHIN 5

static const char definition[] =
    "apiVersion: benchd.io/v1alpha1\nkind: Benchmark\nmetadata: {name: replay}\nspec:\n"
    "  systems: [{name: benchworker, profile: benchworker}]\n"
    "  workload: {model: vgg16-fluid-fc512, dataset: {kind: Synthetic}, batchSize: 16,\n"
    "             exchange: {kind: PServer, mode: Sync, wire: FP32}}\n"
    "  roles:\n    pserver: {replicas: {from: pservers}, template: &pod {spec: {containers: "
    "[{name: main}]}}}\n    trainer: {replicas: {from: trainers}, template: *pod}\n"
    "  measure: {warmupSteps: 2, steps: 8}\n  repeats: {min: 5}\n";

struct recorded { /* of one kind of machine; made up without runs */
    const char *kind;
    double run_sd, trial_sd;
    uint32_t n_points;
    VEC(struct recorded_run { double x[POINTS][TRIALS]; }) runs;
};

/* ---- runs ---- */

struct replay {
    const struct recorded *of;
    struct run_def *def;                    /* owned */
    struct machines programs[1 + SIBLINGS]; /* that of the base first */
    uint64_t random;
    size_t order[256];       /* of the recorded runs */
    size_t n;                /* runs of this replay */
    double of_run[RUNS_MAX]; /* what a made-up run has in common; 0 of a recorded one */
    struct run_def defs[RUNS_MAX];
    struct result results[RUNS_MAX];
    struct point_result points[RUNS_MAX][POINTS];
    struct trial_result trials[RUNS_MAX][POINTS][TRIALS];
    char uids[RUNS_MAX][16];
};

static double draw_normal(uint64_t *state)
{
    const double u = (double)((splitmix_next(state) >> 11) + 1) / 9007199254740992.0;
    const double v = (double)(splitmix_next(state) >> 11) / 9007199254740992.0;
    return sqrt(-2 * log(u)) * cos(2 * M_PI * v);
}

static void begin(struct replay *r)
{
    r->n = 0;
    for (size_t i = 0; i < r->of->runs.len; i++) {
        r->order[i] = i;
    }
    for (size_t i = r->of->runs.len; i > 1; i--) {
        const size_t k = splitmix_below(&r->random, (uint32_t)i), moved = r->order[i - 1];
        r->order[i - 1] = r->order[k];
        r->order[k] = moved;
    }
}

/* One more run of a program; the second half of its points is the candidate of an axis. */
static struct result *add_run(struct replay *r, size_t program, double factor,
                              double factor_of_candidate)
{
    const size_t at = r->n++;
    const uint32_t n_points = r->of->n_points;
    const double of_run = r->of->run_sd * draw_normal(&r->random);
    struct result *run = &r->results[at];
    r->of_run[at] = of_run;
    r->defs[at] = *r->def;
    (void)snprintf(r->uids[at], sizeof(r->uids[at]), "run-%02zu", at);
    r->defs[at].uid = r->uids[at];
    r->defs[at].created_unix_ms = (int64_t)at;
    *run = (struct result){.def = &r->defs[at], .phase = RUN_SUCCEEDED, .points = r->points[at]};
    for (uint32_t p = 0; p < n_points; p++) {
        double values[TRIALS];
        for (uint32_t t = 0; t < TRIALS; t++) {
            const double noise = of_run + r->of->trial_sd * draw_normal(&r->random);
            const double x =
                r->of->runs.len > 0 ? r->of->runs.items[r->order[at]].x[p][t] : 100 * exp(noise);
            values[t] = x * factor * (p >= n_points / 2 ? factor_of_candidate : 1);
            r->trials[at][p][t] = (struct trial_result){.trial = t,
                                                        .has_ended = true,
                                                        .phase = TRIAL_SUCCEEDED,
                                                        .throughput = values[t],
                                                        .unit = "samples/s",
                                                        .others_share = NAN};
        }
        r->points[at][p] = (struct point_result){
            .point = &r->def->matrix.points[p],
            .of = run,
            .phase = TRIAL_SUCCEEDED,
            .throughput = {.unit = "samples/s",
                           .scope = "job",
                           .estimate = stats_median(values, TRIALS)},
            .trials = r->trials[at][p],
            .n_trials = TRIALS,
            .n_succeeded = TRIALS,
            .machines = &r->programs[program],
        };
    }
    return run;
}

/* ---- verdicts ---- */

static const struct compare_params of_gate = {.threshold_ratio = COMPARE_THRESHOLD_RATIO,
                                              .margin = {GATE_MARGIN_RATIO, true}};

static enum gate_verdict judge(const struct result *candidate, const struct comparison *c)
{
    struct gate g;
    gate_judge(candidate, c, c == NULL ? "no base" : NULL, &g);
    const enum gate_verdict verdict = g.verdict;
    gate_done(&g);
    return verdict;
}

/* As `benchctl gate RUN`: the last run against those before it. */
static enum gate_verdict gate_newest(struct replay *r)
{
    const struct result *runs[RUNS_MAX], *level[RUNS_MAX];
    const struct result *candidate = &r->results[r->n - 1];
    const char *fix;
    struct comparison *c = NULL;
    struct compare_params params = of_gate;
    for (size_t i = 0; i + 1 < r->n; i++) {
        runs[i] = &r->results[i];
    }
    params.history = level;
    params.n_history = gate_find_base(candidate, runs, r->n - 1, level);
    if (params.n_history > 0) {
        (void)comparison_new(level[params.n_history - 1], candidate, &params, &c, &fix, NULL);
    }
    const enum gate_verdict verdict = judge(candidate, c);
    comparison_free(c);
    return verdict;
}

/* ---- experiments ---- */

struct counts {
    size_t n, slower, passed, held, held_within;
};

static void count(struct counts *k, enum gate_verdict verdict)
{
    k->n++;
    k->slower += verdict == GATE_SLOWER;
    k->passed += verdict == GATE_PASSED;
}

/* Slow runs after the third night: of programs that were edited, or of what nothing distinguishes
 * from the base. */
enum siblings { NO_SIBLINGS, EDITED, ALIKE };

/* A number of runs of the base, slow siblings, and a candidate. */
static void replay_nights(struct replay *r, size_t n_base, enum siblings siblings, double factor,
                          struct counts *k)
{
    static const double slow[SIBLINGS] = {0.97, 0.90, 0.90};
    begin(r);
    for (size_t i = 0; i < n_base; i++) {
        (void)add_run(r, 0, 1, 1);
        for (size_t s = 0; i == 2 && siblings != NO_SIBLINGS && s < SIBLINGS; s++) {
            (void)add_run(r, siblings == EDITED ? s + 1 : 0, slow[s], 1);
        }
    }
    (void)add_run(r, 0, factor, 1);
    count(k, gate_newest(r));
}

/* Two runs alone. Counts how often the sentence's interval holds the true ratio of the programs,
 * and how often that of these two runs, of which it speaks. */
static void replay_two(struct replay *r, double factor, struct counts *k)
{
    const char *fix;
    struct comparison *c = NULL;
    begin(r);
    const struct result *base = add_run(r, 0, 1, 1), *candidate = add_run(r, 0, factor, 1);
    if (comparison_new(base, candidate, &of_gate, &c, &fix, NULL) == 0) {
        const struct estimate *e = &c->geomean_ratio.estimate;
        const double within = factor * exp(r->of_run[1] - r->of_run[0]);
        k->held += e->has_interval && e->low <= factor && factor <= e->high;
        k->held_within += e->has_interval && e->low <= within && within <= e->high;
        count(k, judge(candidate, c));
    }
    comparison_free(c);
}

static void replay_axis(struct replay *r, double factor, struct counts *k)
{
    const struct compare_axis_params params = {.axis = "pservers",
                                               .threshold_ratio = COMPARE_THRESHOLD_RATIO,
                                               .margin = {GATE_MARGIN_RATIO, true}};
    const char *fix;
    struct comparison *c = NULL;
    begin(r);
    const struct result *run = add_run(r, 0, 1, factor);
    if (comparison_new_axis(run, &params, &c, &fix, NULL) == 0) {
        count(k, judge(run, c));
    }
    comparison_free(c);
}

static void print(const char *name, const struct counts *k, const char *bar)
{
    const double n = (double)k->n / 100;
    (void)printf("  %-44s exit 6 %5.1f%%  exit 0 %5.1f%%  exit 15 %5.1f%%%s\n", name,
                 (double)k->slower / n, (double)k->passed / n,
                 (double)(k->n - k->slower - k->passed) / n, bar);
}

struct replays {
    size_t n;
    uint64_t seed;
};

/* Returns how many bars were missed. */
static int bench(const struct recorded *of, struct run_def *def, const struct replays *wanted)
{
    const size_t replays = wanted->n;
    struct replay *r = xnew(struct replay);
    *r = (struct replay){.of = of, .def = def, .random = wanted->seed};
    for (size_t i = 0; i <= SIBLINGS; i++) {
        machines_add_value(&r->programs[i], MACHINE_PROGRAM, (const char[]){(char)('a' + i), 0});
    }
    struct {
        const char *name;
        size_t n_base; /* 0: by an axis */
        enum siblings siblings;
        double factor;
        double least; /* the share of exit 6 at NOISE */
        struct counts counts;
    } rows[] = {
        {"equal, 3 nights before", 3, NO_SIBLINGS, 1, 0, {0}},
        {"equal, 8 nights before", 8, NO_SIBLINGS, 1, 0, {0}},
        {"equal, 8 nights and 3 edited slow siblings", 8, EDITED, 1, 0, {0}},
        {"equal, 8 nights and 3 slow siblings", 8, ALIKE, 1, 0, {0}},
        {"5% slower, 8 nights", 8, NO_SIBLINGS, 0.95, 0.85, {0}},
        {"5% slower, 8 nights and 3 edited siblings", 8, EDITED, 0.95, 0.85, {0}},
        {"5% slower, 8 nights and 3 slow siblings", 8, ALIKE, 0.95, 0.82, {0}},
        {"10% slower, 8 nights", 8, NO_SIBLINGS, 0.9, 0.99, {0}},
        {"equal, --axis", 0, NO_SIBLINGS, 1, 0, {0}},
        {"3% slower, --axis", 0, NO_SIBLINGS, 0.97, 0.7, {0}},
        {"10% slower, --axis", 0, NO_SIBLINGS, 0.9, 0.99, {0}},
    };
    struct counts two = {0};
    (void)printf("%s\n", of->kind);
    for (size_t i = 0; i < replays; i++) {
        replay_two(r, 0.9, &two);
        for (size_t k = 0; k < sizeof(rows) / sizeof(rows[0]); k++) {
            if (rows[k].n_base == 0) {
                replay_axis(r, rows[k].factor, &rows[k].counts);
            } else {
                replay_nights(r, rows[k].n_base, rows[k].siblings, rows[k].factor, &rows[k].counts);
            }
        }
    }
    int missed = 0;
    const double all = (double)replays / 100;
    (void)printf("  %-44s interval holds it %5.1f%%", "10% slower, one run a side",
                 (double)two.held / all);
    if (of->runs.len == 0) { /* of recorded runs the true ratio is unknown */
        (void)printf(", the ratio of these runs %.1f%%", (double)two.held_within / all);
    }
    (void)printf("; exit 6 %.1f%%\n", (double)two.slower / all);
    for (size_t k = 0; k < sizeof(rows) / sizeof(rows[0]); k++) {
        const bool is_equal = rows[k].factor >= 1;
        /* 1% of these replays and three standard deviations more. */
        const double most = 0.01 + 3 * sqrt(0.01 * 0.99 / (double)replays);
        const double slower = (double)rows[k].counts.slower / (double)replays;
        const bool has_least = of->runs.len == 0 && of->run_sd <= NOISE;
        const bool is_missed = (is_equal && slower > most) || (has_least && slower < rows[k].least);
        print(rows[k].name, &rows[k].counts, is_missed ? "  MISSED" : "");
        missed += is_missed;
    }
    for (size_t i = 0; i <= SIBLINGS; i++) {
        machines_done(&r->programs[i]);
    }
    free(r);
    return missed;
}

/* ---- history ---- */

/* Is a change named within one night of where it is, with so many nights? */
static bool names_step(const double *values, size_t n)
{
    struct change_points found;
    change_points_find(values, n, CHANGE_POINTS_ALPHA, &found);
    const bool is_named =
        vec_any(&found.list, p, p->at + 1 >= STEP_NIGHT && p->at <= STEP_NIGHT + 1);
    change_points_done(&found);
    return is_named;
}

static int bench_history(const struct replays *wanted)
{
    const size_t replays = wanted->n;
    uint64_t random = wanted->seed;
    size_t found = 0, flat = 0, nightly = 0;
    for (size_t i = 0; i < replays; i++) {
        double x[NIGHTS];
        for (size_t k = 0; k < NIGHTS; k++) {
            x[k] = 0.01 * draw_normal(&random);
        }
        bool is_named = false, was_named = false;
        for (size_t n = 1; n <= NIGHTS; n++) {
            struct change_points none;
            change_points_find(x, n, CHANGE_POINTS_ALPHA, &none);
            is_named = none.list.len > 0;
            was_named = was_named || is_named;
            change_points_done(&none);
        }
        flat += is_named;
        nightly += was_named;
        for (size_t k = STEP_NIGHT; k < NIGHTS; k++) {
            x[k] += log(0.95);
        }
        bool is_found = false;
        for (size_t n = STEP_NIGHT + 3; n <= STEP_NIGHT + FOUND_WITHIN && !is_found; n++) {
            is_found = names_step(x, n);
        }
        found += is_found;
    }
    const double all = (double)replays;
    const bool is_missed = (double)found < 0.95 * all - 2 * sqrt(all * 0.05) ||
                           (double)nightly > 0.05 * all + 2 * sqrt(all * 0.05);
    (void)printf(
        "history, made up, 1%% noise\n"
        "  5%% slower from night 30 on: found within 5 nights %.1f%%; 60 flat nights: named at the "
        "last %.1f%%, at any of 60 looks %.1f%%%s\n",
        100 * (double)found / all, 100 * (double)flat / all, 100 * (double)nightly / all,
        is_missed ? "  MISSED" : "");
    return is_missed;
}

/* ---- the recorded runs ---- */

static struct run_def *make_def(const char *sweep)
{
    _cleanup_(buf_done) struct buf text = BUF_INIT;
    _cleanup_(diags_done) struct diags diags = {0};
    struct spec *spec = NULL;
    struct run_def *def = NULL;
    const struct run_def_params params = {.name = "replay", .uid = "replay", .cpus = 64};
    buf_printf(&text,
               "%s  sweep: %s\n  baseline: {kind: Point, where: {pservers: 1, trainers: 1}}\n",
               definition, sweep);
    if (spec_load(text.data, text.len, NULL, &spec, &diags) < 0 ||
        run_def_new(spec, &params, &def, &diags) < 0) {
        _cleanup_(buf_done) struct buf why = BUF_INIT;
        diags_format(&diags, "the definition", buf_cstr(&text), &why);
        (void)fputs(buf_cstr(&why), stderr);
    }
    return def; /* NULL: it is said why */
}

/* A line is a comment, the name of a kind, or the ten throughputs of a run. */
static int bench_file(char *text, struct run_def *def, const struct replays *wanted)
{
    struct recorded of = {.n_points = 2};
    int missed = 0;
    char *rest = text, *line;
    while ((line = strsep(&rest, "\n")) != NULL) {
        const bool is_run = line[0] >= '0' && line[0] <= '9';
        struct recorded_run run;
        size_t n = 0;
        for (char *x; is_run && n < 2 * TRIALS && (x = strsep(&line, " ")) != NULL; n++) {
            if (parse_f64(x, &run.x[n / TRIALS][n % TRIALS]) < 0) {
                break;
            }
        }
        if (n == 2 * TRIALS) {
            *vec_push(&of.runs) = run;
        } else if (is_run) {
            (void)fprintf(stderr, "a run of the file lacks its ten throughputs\n");
            missed++;
        } else if (line[0] != '#' && line[0] != '\0') {
            missed += of.runs.len == 0 ? 0 : bench(&of, def, wanted);
            of.runs.len = 0;
            of.kind = line;
        }
    }
    missed += bench(&of, def, wanted);
    vec_done(&of.runs);
    return missed;
}

int main(int argc, char **argv)
{
    int64_t replays = 1000, seed = SEED;
    struct err err;
    struct buf text = BUF_INIT;
    if (argc < 2 || argc > 4 || (argc > 2 && parse_i64_in(argv[2], 1, 1000000, &replays) < 0) ||
        (argc > 3 && parse_i64_in(argv[3], 0, INT64_MAX, &seed) < 0)) {
        (void)fprintf(stderr, "usage: alarms FILE|made-up [REPLAYS [SEED]], 1 to 1000000\n");
        return 2;
    }
    const bool has_file = strcmp(argv[1], "made-up") != 0;
    if (has_file && file_read(argv[1], 1 << 20, &text, &err) < 0) {
        (void)fprintf(stderr, "%s\n", err.msg);
        return 2;
    }
    const struct replays wanted = {(size_t)replays, (uint64_t)seed};
    struct run_def *pair = make_def("{grid: {pservers: [1, 2], trainers: [1]}}");
    struct run_def *pairs = make_def("{grid: {pservers: [1, 2], trainers: [1, 2]}}");
    const struct recorded made[] = {
        {"made up: 1 point, 1% a run and 1% a trial", NOISE, 0.01, 2, {0}},
        {"made up: 2 points, 1% a run and 1% a trial", NOISE, 0.01, 4, {0}},
        {"made up: 2 points, 3% a run and 10% a trial", 0.03, 0.1, 4, {0}},
    };
    (void)printf("%lld replays of each row\n", (long long)replays);
    buf_putc(&text, '\0');
    int missed = has_file ? bench_file(text.data, pair, &wanted) : 0;
    for (size_t i = 0; i < sizeof(made) / sizeof(made[0]); i++) {
        const bool is_taken = has_file || made[i].run_sd <= NOISE;
        missed += is_taken ? bench(&made[i], i == 0 ? pair : pairs, &wanted) : 0;
    }
    missed += bench_history(&wanted);
    run_def_free(pair);
    run_def_free(pairs);
    buf_done(&text);
    return missed > 0;
}
