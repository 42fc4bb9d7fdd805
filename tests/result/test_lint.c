#include "tests/test.h"

#include "tests/stats/draws.h"
#include "core/environment.h"
#include "result/catalogue.h"
#include "result/result_json.h"
#include "result/warmup.h"
#include "result_fixture.h"

#define KIND(id) (&figure_kinds[FIGURE_##id])

#define GRID "{grid: {pservers: [1], trainers: [1, 2, 4, 8]}}"
#define POINT_BASELINE "  baseline: {kind: Point, where: {trainers: 1}}\n"
#define SINGLE_NODE "  baseline: {kind: SingleNode}\n"

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

/* Fails unless the rule says what is expected; NULL: nothing. */
static void check(const struct result *r, enum warning_code code, const char *expected)
{
    const char *actual = warning_text(r, code);
    if (!str_eq_or_null(actual, expected)) {
        fail_msg("%s: expected '%s', got '%s'", warning_code_names[code],
                 expected == NULL ? "(none)" : expected, actual == NULL ? "(none)" : actual);
    }
}

/* GRID with these trials of each point; 0: no more. */
static void fill(struct fixture *f, double x[4][4])
{
    fixture_init(f, GRID, POINT_BASELINE "  repeats: {min: 4}\n", 16);
    for (uint32_t p = 0; p < 4; p++) {
        for (uint32_t t = 0; t < 4 && x[p][t] > 0; t++) {
            fixture_throughput(f, p, t, x[p][t]);
        }
    }
}

/* Gives every trainer of an attempt these measured steps, one behind the other. */
/* `rule` is that of the log that the summary was read from, NULL if the replica wrote it itself. */
static void set_steps(struct attempt_row *row, const int64_t *step_ns, size_t n, double duration,
                      char *rule)
{
    vec_each (struct replica_row, r, &row->replicas) {
        if (r->id.role != ROLE_TRAINER) {
            continue;
        }
        struct summary s = {
            .samples = 128, .steps = (uint32_t)n, .loss_first = NAN, .loss_last = NAN};
        s.source = (struct summary_source){.rule = rule, .method = "median", .accuracy_last = NAN};
        for (size_t i = 0; i < n; i++) {
            s.duration_ns += step_ns[i];
        }
        s.duration_ns = llrint((double)s.duration_ns * duration);
        replica_set_summary(r, &s, step_ns, n);
    }
}

TEST(steps_that_still_fall)
{
    static const struct {
        const char *name;
        size_t n_trials, n_steps;
        double first, last; /* ms; from one to the other in a straight line */
        double noise;       /* of steps: every other one is longer by this factor less 1 */
        double of_trials;   /* trial t begins slower by t times this share */
        const char *message;
    } rows[] = {
        {"steady", 3, 8, 100, 100, 1.03, 0, NULL},
        {"falling", 3, 8, 140, 100, 1.03, 0.01,
         "no steady state at points 0, 1, 2 and 3: later steps are faster by 5% or more; raise "
         "measure.warmupSteps"},
        {"falling over many steps, stored in groups", 3, 2500, 140, 100, 1.03, 0.01,
         "no steady state at points 0, 1, 2 and 3: later steps are faster by 5% or more; raise "
         "measure.warmupSteps"},
        {"falling by 3%", 3, 8, 103, 100, 1, 0.01, NULL},
        {"rising", 3, 8, 100, 140, 1.03, 0.01, NULL},
        {"falling in some trials only", 3, 8, 100, 100, 1.03, 0.4, NULL},
        {"two trials are too few", 2, 8, 140, 100, 1.03, 0.01, NULL},
        {"five steps are too few", 3, 5, 140, 100, 1.03, 0.01, NULL},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        print_message("# row '%s'\n", rows[i].name);
        _cleanup_(fixture_done) struct fixture f;
        fixture_init(&f, GRID, POINT_BASELINE "  repeats: {min: 3}\n", 16);
        const size_t n = rows[i].n_steps;
        _cleanup_(freep) int64_t *step_ns = xnew_array(int64_t, n);
        for (uint32_t p = 0; p < 4; p++) {
            for (uint32_t t = 0; t < rows[i].n_trials; t++) {
                for (size_t j = 0; j < n; j++) {
                    const double at = (double)j / (double)(n - 1);
                    const double more = 1 + rows[i].of_trials * t * (1 - at);
                    const double ms = rows[i].first * more * (1 - at) + rows[i].last * at;
                    step_ns[j] = llrint(1e6 * ms * (j % 2 == 0 ? 1 : rows[i].noise));
                }
                set_steps(fixture_throughput(&f, p, t, 100), step_ns, n, 1, NULL);
            }
        }
        struct result *r = fixture_build(&f, RUN_SUCCEEDED);
        check(r, WARNING_NO_STEADY_STATE, rows[i].message);
        check(r, WARNING_NON_MONOTONIC_TIME, NULL);
    }
}

static void check_found(const struct result *r, uint32_t point, const char *text, const char *json)
{
    _cleanup_(buf_done) struct buf got = BUF_INIT;
    warmup_format(r, &r->points[point], &got);
    assert_string_equal(buf_cstr(&got), text);
    _cleanup_(json_decrefp) json_t *o = result_to_json(r);
    const json_t *of = json_array_get(json_object_get(o, "points"), point);
    _cleanup_(freep) char *document = json_dumps(json_object_get(of, "warmup"), JSON_COMPACT);
    assert_string_equal(document, json);
}

/* Three trials of four points, 1% noise; point 2 is slower up to a step,
 * point 1 in trial 1 alone. */
TEST(a_warm_up_that_is_too_short)
{
    /* clang-format off */
    static const struct {
        const char *name;
        size_t n_steps, until;
        double slower;
        uint32_t n_trials;
        const char *late, *never;
        const char *found, *json; /* of point 2, as describe and the document say it */
    } rows[] = {
        {"steady", 40, 0, 1, 3, NULL, NULL, "2 (found: at most 2)",
         "{\"state\":\"Enough\",\"found\":2}"},
        {"one step of so few is no more than chance", 40, 1, 1.2, 3, NULL, NULL,
         "2 (found: at most 2)", "{\"state\":\"Enough\",\"found\":2}"},
        {"two steps", 40, 2, 1.2, 3, "warm-up of 2 steps is too short at point 2: times settle "
         "after step 4 (20% slower before); raise measure.warmupSteps to 4", NULL, "2 (found: 4)",
         "{\"state\":\"Short\",\"found\":4}"},
        {"five steps", 40, 5, 1.1, 3, "warm-up of 2 steps is too short at point 2: times settle "
         "after step 7 (10% slower before); raise measure.warmupSteps to 7", NULL, "2 (found: 7)",
         "{\"state\":\"Short\",\"found\":7}"},
        {"faster at first", 40, 10, 0.8, 3, "warm-up of 2 steps is too short at point 2: times "
         "settle after step 12 (20% faster before); raise measure.warmupSteps to 12", NULL,
         "2 (found: 12)", "{\"state\":\"Short\",\"found\":12}"},
        {"stored in groups of 12", 3000, 600, 1.1, 3, "warm-up of 2 steps is too short at point "
         "2: times settle after step 602 (10% slower before); raise measure.warmupSteps to 602",
         NULL, "2 (found: 602)", "{\"state\":\"Short\",\"found\":602}"},
        {"too late for a warm-up", 40, 30, 1.04, 3, NULL, "no steady state at point 2: times "
         "still change after measured step 30 (4% slower before), too late for a warm-up; "
         "measure more steps, or find what changes", "2 (found: none)",
         "{\"state\":\"Never\",\"found\":null}"},
        {"not worth a word", 40, 10, 1.015, 3, NULL, NULL, "2 (found: at most 2)",
         "{\"state\":\"Enough\",\"found\":2}"},
        {"two trials are too few", 40, 5, 1.2, 2, NULL, NULL, "2",
         "{\"state\":\"Unknown\",\"found\":null}"},
    };
    /* clang-format on */
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        print_message("# row '%s'\n", rows[i].name);
        _cleanup_(fixture_done) struct fixture f;
        fixture_init(&f, GRID, POINT_BASELINE "  repeats: {min: 3}\n", 16);
        const size_t n = rows[i].n_steps;
        _cleanup_(freep) int64_t *step_ns = xnew_array(int64_t, n);
        uint64_t random = 7;
        for (uint32_t p = 0; p < 4; p++) {
            for (uint32_t t = 0; t < rows[i].n_trials; t++) {
                for (size_t j = 0; j < n; j++) {
                    const bool is_slow = p == 2 && j < rows[i].until;
                    const bool is_disturbed = p == 1 && t == 1 && j < n / 3;
                    const double noise = 1 + 0.004 * (uniform(&random) - 0.5);
                    step_ns[j] = llrint(1e7 * noise * (is_slow ? rows[i].slower : 1) *
                                        (is_disturbed ? 1.5 : 1));
                }
                set_steps(fixture_throughput(&f, p, t, 100), step_ns, n, 1, NULL);
            }
        }
        struct result *r = fixture_build(&f, RUN_SUCCEEDED);
        check(r, WARNING_SHORT_WARMUP, rows[i].late);
        check(r, WARNING_NO_STEADY_STATE, rows[i].never);
        check_found(r, 2, rows[i].found, rows[i].json);
    }
}

TEST(time_that_runs_backwards)
{
    static const struct {
        const char *name;
        size_t n_steps;
        double duration; /* over the sum of the steps */
        char *rule;
        const char *message;
    } rows[] = {
        {"steps fill the time", 8, 1, NULL, NULL},
        {"within the precision of stored steps", 8, 0.9995, NULL, NULL},
        {"a last step that is stored alone, and long", 1001, 1, NULL, NULL},
        {"pauses between steps", 8, 1.5, NULL, NULL},
        {"the median of a log makes the time", 8, 0.8, "nanogpt", NULL},
        {"more steps than time", 8, 0.8, NULL,
         "time ran backwards: the steps of trainer/0 of point 1, trial 0, take 0.800 s, more than "
         "the measured 0.640 s"},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        print_message("# row '%s'\n", rows[i].name);
        _cleanup_(fixture_done) struct fixture f;
        fixture_init(&f, GRID, POINT_BASELINE "  repeats: {min: 1}\n", 16);
        _cleanup_(freep) int64_t *step_ns = xnew_array(int64_t, rows[i].n_steps);
        for (size_t j = 0; j < rows[i].n_steps; j++) {
            step_ns[j] = 100000000;
        }
        if (rows[i].n_steps > 1000) { /* of pairs: the last entry stands for one step */
            step_ns[rows[i].n_steps - 1] = 10000000000;
        }
        for (uint32_t p = 0; p < 4; p++) {
            struct attempt_row *row = fixture_throughput(&f, p, 0, 100);
            if (p == 1) {
                set_steps(row, step_ns, rows[i].n_steps, rows[i].duration, rows[i].rule);
            }
        }
        check(fixture_build(&f, RUN_SUCCEEDED), WARNING_NON_MONOTONIC_TIME, rows[i].message);
    }
}

/* The verdict says what a doubt is, however its text begins. */
TEST(doubts_of_a_log)
{
    static const struct {
        const char *verdicts[4], *why; /* of each point */
        const char *one_witness, *doubtful;
    } rows[] = {
        {{"Agrees", "Agrees", "Agrees", "Agrees"}, "it agrees", NULL, NULL},
        {{"None", "Agrees", "None", "Agrees"}, "line 3: it is none", NULL, NULL},
        {{"Agrees", "OneWitness", "OneWitness", "Agrees"},
         "line 3 has no time",
         "the figure of point 1: line 3 has no time; results --by line shows the lines",
         NULL},
        {{"OneWitness", "OneWitness", "Doubtful", "Doubtful"},
         "its loss rose",
         NULL,
         "the figure of point 2: trial 0, trainer/0, its loss rose; results --by line shows the "
         "lines"},
    };
    int64_t step_ns[] = {100000000, 100000000};
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        print_message("# row %zu\n", i);
        _cleanup_(fixture_done) struct fixture f;
        fixture_init(&f, GRID, POINT_BASELINE "  repeats: {min: 1}\n", 16);
        for (uint32_t p = 0; p < 4; p++) {
            struct attempt_row *row = fixture_throughput(&f, p, 0, 100);
            set_steps(row, step_ns, 2, 1, "mine");
            vec_each (struct replica_row, r, &row->replicas) {
                r->reading =
                    json_pack("{s:s, s:s*}", "verdict", rows[i].verdicts[p], "why", rows[i].why);
            }
        }
        const struct result *r = fixture_build(&f, RUN_SUCCEEDED);
        check(r, WARNING_ONE_WITNESS, rows[i].one_witness);
        check(r, WARNING_DOUBTFUL_LOG, rows[i].doubtful);
    }
}

/* A point in tokens has no speedup over one in samples; the others keep theirs. */
TEST(units_that_differ)
{
    _cleanup_(fixture_done) struct fixture f;
    double x[4][4] = {{50, 50, 50}, {99, 99, 99}, {9000, 9001, 9002}, {300, 300, 300}};
    fill(&f, x);
    check(fixture_build(&f, RUN_SUCCEEDED), WARNING_MIXED_UNITS, NULL);
    vec_each (struct attempt_row, row, &f.rows) {
        if (row->id.point == 2) {
            fixture_count(row, UNIT_TOKENS);
        }
    }
    const struct result *r = fixture_build(&f, RUN_SUCCEEDED);
    check(r, WARNING_MIXED_UNITS,
          "mixed units: point 0 has samples/s, point 2 tokens/s; they are not compared, and what "
          "would divide the one by the other has no speedup");
    assert_string_equal(r->points[2].throughput.unit, "tokens/s");
    assert_false(r->points[2].speedup.estimate.known);
    assert_false(r->points[2].efficiency.estimate.known);
    assert_false(figure_of(&r->points[2], KIND(EFFICIENCY_PER_POD)).estimate.known);
    assert_true(r->points[3].speedup.estimate.known);
}

/* What the machine was like around a trial: shares of the usual. */
struct look {
    uint32_t point, trial;
    double clock_before, clock_after, copy_before, copy_after;
    double steal;
    bool by_launcher;
};

static void put_noise(struct attempt_row *row, const struct look *look, const char *node)
{
    struct summary s = {.samples = 128, .duration_ns = 1000000000, .steps = 8};
    s.noise = (struct noise){
        .before = {(uint64_t)llrint(7e8 * look->clock_before),
                   (uint64_t)llrint(5e9 * look->copy_before)},
        .after = {(uint64_t)llrint(7e8 * look->clock_after),
                  (uint64_t)llrint(5e9 * look->copy_after)},
        .busy_ns = 2000000000,
        .steal_ns = llrint(2e9 * look->steal),
        .by_launcher = look->by_launcher,
    };
    vec_each (struct replica_row, r, &row->replicas) {
        if (r->id.role == ROLE_TRAINER && r->id.index == 0) {
            fixture_say(row, (size_t)(r - row->replicas.items), &s);
            replica_set_environment(r, NULL);
            replica_place(r, node, NULL);
        }
    }
}

TEST(a_machine_that_was_not_itself)
{
#define ONE(what) "1 noisy trial counts in the figures, " what MORE
#define TWO(what) "2 noisy trials count in the figures, the worst is " what MORE
#define MORE                                                                                       \
    "; run again when nothing else uses the machine (benchctl describe shows the noise of each "   \
    "trial)"
    /* clang-format off */
    static const struct {
        const char *name;
        struct look looks[2]; /* of 12 trials; the others are as usual */
        uint32_t n_trials;
        bool has_slow_node; /* point 3 ran on a node that is half as fast */
        bool has_launcher;  /* or in its place, on the same node, a launcher saw it half as fast */
        const char *message;
    } rows[] = {
        {"quiet", {{3, 2, 0.96, 1.04, 0.8, 1.2, 0.019}, {1, 0, 1, 1, 1, 1, 0}}, 3, false, false,
         NULL},
        {"a clock that was slow before", {{3, 2, 0.88, 1, 1, 1, 0}, {1, 0, 1, 1, 1, 1, 0}}, 3,
         false, false,
         ONE("trial 2 of point 3: clock 12% below the run's median in the probe before it")},
        {"a clock that was fast after, and another trial",
         {{3, 2, 1, 1.2, 1, 1, 0}, {1, 0, 1, 0.93, 1, 1, 0}}, 3, false, false,
         TWO("trial 2 of point 3: clock 20% above the run's median in the probe after it")},
        {"memory", {{0, 1, 1, 1, 1, 0.5, 0}, {1, 0, 1, 1, 1, 1, 0}}, 3, false, false,
         ONE("trial 1 of point 0: memory copies 50% below the run's median in the probe after it")},
        {"no copy at all", {{0, 1, 1, 1, 0, 1, 0}, {1, 0, 1, 1, 1, 1, 0}}, 3, false, false,
         ONE("trial 1 of point 0: the machine was too busy for one copy in the probe before it")},
        {"steal",
         {{0, 1, 1, 1, 1, 1, 0.07}, {1, 0, 1, 1, 1, 1, 0.03}}, 3, false, false,
         TWO("trial 1 of point 0: the hypervisor took 7% of the time in which its CPUs had work")},
        {"a slow node is no noise", {{0, 1, 1, 1, 1, 1, 0}, {1, 0, 1, 1, 1, 1, 0}}, 3, true, false,
         NULL},
        {"nor is a launcher beside a trainer, but a trial beside others of the launcher",
         {{3, 1, 0.4, 0.5, 0.5, 0.5, 0, true}, {1, 0, 1, 1, 1, 1, 0}}, 3, false, true,
         ONE("trial 1 of point 3: clock 20% below the run's median in the probe before it")},
    };
    /* clang-format on */
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        print_message("# row '%s'\n", rows[i].name);
        _cleanup_(fixture_done) struct fixture f;
        fixture_init(&f, GRID, POINT_BASELINE "  repeats: {min: 3}\n", 16);
        for (uint32_t p = 0; p < 4; p++) {
            for (uint32_t t = 0; t < rows[i].n_trials; t++) {
                struct look look = {p, t, 1, 1, 1, 1, 0};
                for (size_t k = 0; k < 2; k++) {
                    const struct look *other = &rows[i].looks[k];
                    look = other->point == p && other->trial == t ? *other : look;
                }
                const bool is_slow = rows[i].has_slow_node && p == 3;
                if (is_slow || (rows[i].has_launcher && p == 3 && !look.by_launcher)) {
                    look = (struct look){p, t, 0.5, 0.5, 0.5, 0.5, 0, !is_slow};
                }
                put_noise(fixture_throughput(&f, p, t, 128), &look, is_slow ? "slow" : "fast");
            }
        }
        check(fixture_build(&f, RUN_SUCCEEDED), WARNING_NOISY_TRIAL, rows[i].message);
    }
}

/* Each node has its own median, also when trials go to two of them in turn. */
TEST(noise_on_nodes_in_turn)
{
    _cleanup_(fixture_done) struct fixture f;
    fixture_init(&f, GRID, POINT_BASELINE "  repeats: {min: 3}\n", 16);
    for (uint32_t p = 0; p < 4; p++) {
        for (uint32_t t = 0; t < 3; t++) {
            const bool is_slow = (p + t) % 2 == 1;
            const double usual = is_slow ? 0.5 : 1;
            const struct look look = {p, t, p == 3 && t == 2 ? 0.44 : usual, usual, usual, usual};
            put_noise(fixture_throughput(&f, p, t, 128), &look, is_slow ? "slow" : "fast");
        }
    }
    check(fixture_build(&f, RUN_SUCCEEDED), WARNING_NOISY_TRIAL,
          ONE("trial 2 of point 3: clock 12% below the run's median in the probe before it"));
}

/* All trials of all points are noisy: they are counted, in one line. */
TEST(noisy_trials_are_counted)
{
    _cleanup_(fixture_done) struct fixture f;
    fixture_init(&f, GRID, POINT_BASELINE "  repeats: {min: 3}\n", 16);
    for (uint32_t p = 0; p < 4; p++) {
        for (uint32_t t = 0; t < 3; t++) {
            const struct look look = {p, t, 1, 1, 1, 1, 0.2 - 0.01 * (3 * p + t)};
            put_noise(fixture_throughput(&f, p, t, 128), &look, "a");
        }
    }
    check(fixture_build(&f, RUN_SUCCEEDED), WARNING_NOISY_TRIAL,
          "12 noisy trials count in the figures, the worst is trial 0 of point 0: the hypervisor "
          "took 20% of the time in which its CPUs had work" MORE);
}

/* An attempt that was repeated counts nowhere, and is named. */
TEST(attempts_that_were_invalid)
{
    _cleanup_(fixture_done) struct fixture f;
    double x[4][4] = {{50, 50, 50}, {99, 99, 99}, {180, 180, 180}, {300, 300, 300}};
    fill(&f, x);
    for (uint32_t trial = 3; trial > 1; trial--) { /* in the order in which nobody asked */
        struct attempt_row *row = fixture_throughput(&f, 1, trial, 9000);
        row->outcome = ATTEMPT_INVALID;
        row->error = xstrdup("trainer/0: clock 12% lower after the measured steps than before");
        const struct result *r = fixture_build(&f, RUN_SUCCEEDED);
        assert_true(fabs(r->points[1].throughput.estimate.value - 99) < 0.01);
        check(r, WARNING_INVALID_TRIAL,
              trial == 3
                  ? "1 attempt on a noisy machine was repeated and counts in no table: point 1, "
                    "trial 3, "
                    "attempt 0: trainer/0: clock 12% lower after the measured steps than before"
                  : "2 attempts on a noisy machine were repeated and count in no table: point 1, "
                    "trial 2, "
                    "attempt 0: trainer/0: clock 12% lower after the measured steps than before; "
                    "benchctl describe has the others");
        assert_int_equal(r->points[1].trials[3].phase, TRIAL_PENDING);
        assert_false(point_result_is_given_up(&r->points[1]));
    }
}

/* Of trainer/1 of the first attempt: throttled for so many of 3,000 ms. */
static void throttle(struct fixture *f, size_t row, int ms)
{
    const struct summary s = {.samples = 128,
                              .duration_ns = 3000000000,
                              .steps = 8,
                              .loss_first = NAN,
                              .loss_last = NAN,
                              .throttled_ns = INT64_C(1000000) * ms};
    fixture_say(&f->rows.items[row], 2, &s);
}

TEST(warnings_of_the_linter)
{
    _cleanup_(fixture_done) struct fixture f;
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
    fixture_set_environment(&f, 1, 2, "{\"cpu_model\":\"AMD EPYC 9B45\"}");
    fixture_set_environment(&f, 4, 2, "{\"cpu_model\":\"of a trial without a number\"}");
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
}

TEST(efficiency_above_one_beyond_its_interval)
{
    _cleanup_(fixture_done) struct fixture f;
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
}

TEST(efficiency_far_above_one_without_an_interval)
{
    _cleanup_(fixture_done) struct fixture f;
    fixture_init(&f, "{grid: {pservers: [1], trainers: [2, 4]}}",
                 SINGLE_NODE "  repeats: {min: 1}\n", 8);
    fixture_throughput(&f, 0, 0, 83);  /* 1.04 of 2 x 40 */
    fixture_throughput(&f, 1, 0, 169); /* 1.06 */
    fixture_throughput(&f, 2, 0, 40);
    assert_string_equal(
        warning_text(fixture_build(&f, RUN_SUCCEEDED), WARNING_EFFICIENCY_ABOVE_ONE),
        "efficiency is far above 1 at point 1: point and baseline differ in more than their number "
        "of trainers");
}

TEST(many_points_are_counted)
{
    _cleanup_(fixture_done) struct fixture f;
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
}
