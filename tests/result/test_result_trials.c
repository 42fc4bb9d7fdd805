#include "tests/test.h"
#include "result/result.h"
#include "result/replicas.h"

#include <math.h>

#include "result_fixture.h"

#define ONE_POINT "{grid: {pservers: [1], trainers: [2], batch_size: [16]}}"
#define SINGLE_NODE "  baseline: {kind: SingleNode}\n"

TEST(the_row_that_decides)
{
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
        _cleanup_(fixture_done) struct fixture f;
        fixture_init(&f, ONE_POINT, SINGLE_NODE "  repeats: {min: 1}\n", 8);
        for (size_t j = 0; j < rows[i].n; j++) {
            char error[] = {'e', (char)('0' + rows[i].tries[j].attempt), '\0'};
            fixture_end(&f, 0, 0, rows[i].tries[j].attempt, rows[i].tries[j].outcome, error);
        }
        const struct trial_result *t = &fixture_build(&f, rows[i].run_phase)->points[0].trials[0];
        assert_string_equal(trial_phase_to_string(t->phase), trial_phase_to_string(rows[i].phase));
        assert_int_equal(t->attempt, rows[i].attempt);
        assert_false(!isnan(t->throughput));
        if (rows[i].error == NULL) {
            assert_null(t->error);
        } else {
            assert_string_equal(t->error, rows[i].error);
        }
    }
}

enum damage {
    NO_SUMMARY,
    NO_SAMPLES,
    NO_TIME,
    NO_TRAINER,
    PSERVER_SILENT,
};

TEST(a_trial_needs_every_trainers_summary)
{
    static const struct {
        const char *name;
        enum damage damage;
        enum trial_phase phase;
        const char *error;
    } rows[] = {
        {"no summary", NO_SUMMARY, TRIAL_METRICS_UNAVAILABLE, "trainer/1 wrote no summary"},
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
        [NO_SAMPLES] = LINE("summary", "1", "\"samples\":0,\"duration_ns\":5,\"steps\":8"),
        [NO_TIME] = LINE("summary", "1", "\"samples\":5,\"duration_ns\":0,\"steps\":8"),
        [NO_TRAINER] = NULL,
        [PSERVER_SILENT] = NULL,
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        print_message("# row '%s'\n", rows[i].name);
        _cleanup_(fixture_done) struct fixture f;
        fixture_init(&f, ONE_POINT, SINGLE_NODE "  repeats: {min: 1}\n", 8);
        struct attempt_row *row = fixture_succeed(&f, 0, 0, 1, (double[]){3.2, 3.2});
        struct replica_row *victim = &row->replicas.items[rows[i].damage == PSERVER_SILENT ? 0 : 2];
        replica_set_line(victim, lines[rows[i].damage]);
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
    }
}

/* Two names are those of figures that benchd makes itself. */
TEST(metrics_of_summaries)
{
    _cleanup_(fixture_done) struct fixture f;
    fixture_init(&f, ONE_POINT, SINGLE_NODE "  repeats: {min: 1}\n", 8);
    struct attempt_row *row = fixture_succeed(&f, 0, 0, 1, (double[]){3.2, 3.2});
    replica_set_line(&row->replicas.items[2],
                     LINE("summary", "1",
                          "\"samples\":5,\"duration_ns\":5,\"steps\":8,"
                          "\"metrics\":{\"mfu\":0.9,\"tflops\":5,\"b_s\":2}"));
    const struct point_result *p = &fixture_build(&f, RUN_SUCCEEDED)->points[0];
    assert_int_equal(p->metrics.len, 1);
    assert_string_equal(p->metrics.items[0].name, "b_s");
    assert_true(p->metrics.items[0].figure.estimate.value == 2);
}

/* Trainers whose log has the job's throughput: one is enough, and what
 * several say is one figure. */
TEST(a_trainer_may_speak_for_the_job)
{
#define LOG(samples, unit, scope)                                                                  \
    "\"samples\":" samples ",\"duration_ns\":1000000000,\"steps\":1,\"log\":{\"rule\":\"r\","      \
    "\"method\":\"m\",\"unit\":\"" unit "\",\"scope\":\"" scope "\"}"
    /* clang-format off */
    static const struct {
        const char *name, *of[2]; /* the rest of the summaries of both trainers; NULL: none */
        double value;
        const char *unit, *error;
    } rows[] = {
        {"one speaks", {LOG("90", "words", "job"), NULL}, 90, "words/s", NULL},
        {"the other one", {NULL, LOG("90", "samples", "job")}, 90, "samples/s", NULL},
        {"both speak", {LOG("90", "samples", "job"), LOG("94", "samples", "job")}, 92, "samples/s",
         NULL},
        {"each has its own", {LOG("90", "GB", "replica"), LOG("10", "GB", "replica")}, 100, "GB/s",
         NULL},
        {"one has none", {LOG("90", "GB", "replica"), NULL}, 0, NULL, "trainer/1 wrote no summary"},
        {"different things", {LOG("90", "GB", "replica"), LOG("10", "steps", "replica")}, 0, NULL,
         "trainer/0 has GB/s and trainer/1 steps/s, which do not add up"},
    };
    /* clang-format on */
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        print_message("# row '%s'\n", rows[i].name);
        _cleanup_(fixture_done) struct fixture f;
        fixture_init(&f, ONE_POINT, SINGLE_NODE "  repeats: {min: 1}\n", 8);
        struct attempt_row *row = fixture_succeed(&f, 0, 0, 1, (double[]){3.2, 3.2});
        for (size_t t = 0; t < 2; t++) {
            _cleanup_(freep) char *line =
                xasprintf("{\"benchd\":1,\"type\":\"summary\",\"role\":\"trainer\",\"index\":%zu,"
                          "\"attempt\":1,%s}",
                          t, rows[i].of[t]);
            replica_set_line(&row->replicas.items[t + 1], /* behind the pserver */
                             rows[i].of[t] == NULL ? NULL : line);
        }
        const struct point_result *p = &fixture_build(&f, RUN_SUCCEEDED)->points[0];
        if (rows[i].error != NULL) {
            assert_string_equal(p->trials[0].error, rows[i].error);
            assert_false(p->throughput.estimate.known);
        } else {
            assert_true(p->throughput.estimate.value == rows[i].value);
            assert_string_equal(p->throughput.unit, rows[i].unit);
        }
    }
}

TEST(rows_of_other_points_are_passed_over)
{
    _cleanup_(fixture_done) struct fixture f;
    fixture_init(&f, ONE_POINT, SINGLE_NODE "  repeats: {min: 1}\n", 8);
    fixture_end(&f, 2, 0, 0, ATTEMPT_FAILED, NULL);
    fixture_end(&f, 0, 1, 0, ATTEMPT_FAILED, NULL);
    struct result *r = fixture_build(&f, RUN_RUNNING);
    assert_int_equal(r->points[0].phase, TRIAL_PENDING);
}

/* The text that explains a log without figures; what the error has of it is not said twice. */
TEST(details_of_a_log_without_figures)
{
    static const struct {
        const char *error, *failure, *details;
    } rows[] = {
        {NULL, "no figure", NULL},
        {NULL, "no figure\n", NULL},
        {NULL, "no figure\nline 1: caf\xe9", "no figure\nline 1: caf?"},
        {"trainer/1: no figure", "no figure\nline 1: x", "line 1: x"},
        {"trainer/0: vanished", "no figure\nline 1: x", "no figure\nline 1: x"},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        _cleanup_(fixture_done) struct fixture f;
        fixture_init(&f, ONE_POINT, SINGLE_NODE "  repeats: {min: 1}\n", 8);
        struct attempt_row *row = fixture_succeed(&f, 0, 0, 0, (double[]){3.2, 3.2});
        row->outcome = ATTEMPT_METRICS_UNAVAILABLE;
        row->error = xstrdup_or_null(rows[i].error);
        row->replicas.items[1].failure = xstrdup(rows[i].failure);
        const char *got = fixture_build(&f, RUN_FAILED)->points[0].trials[0].details;
        assert_string_equal(got == NULL ? "" : got, rows[i].details == NULL ? "" : rows[i].details);
    }
}

/* The fall of step times is told from three steps in each half. */
TEST(a_fall_needs_six_steps)
{
    _cleanup_(summary_drop_series) struct summary s = {.steps = 6};
    summary_set_series(&s, (const int64_t[]){256000, 256000, 256000, 128000, 128000, 128000}, 6);
    for (s.series.n = 0; s.series.n <= 6; s.series.n++) {
        const struct step_times t = step_times_of(&s);
        assert_int_equal(isnan(t.fall), s.series.n < 6);
        assert_int_equal(isnan(t.sum_s), s.series.n == 0);
        assert_true(s.series.n < 6 || (fabs(t.fall - log(2)) < 1e-12 && t.sum_s == 1152e-6));
    }
}
