/* Figures of attempts and back (result/trial_figures.h): the points of a result from them are those
 * of the result from the rows, whatever the rows were. */
#include "tests/test.h"
#include "result/trial_figures.h"

#include <errno.h>
#include <math.h>

#include "base/splitmix.h"
#include "base/str.h"
#include "result/result_build.h"
#include "random_replica.h"
#include "result_fixture.h"

#define N_RUNS 200

/* ---- random runs ---- */

static const struct {
    const char *sweep, *more;
    int64_t cpus;
} shapes[] = {
    {"{grid: {pservers: [1], trainers: [1, 2]}}",
     "  baseline: {kind: Point, where: {trainers: 1}}\n  repeats: {min: 3}\n", 8},
    {"{grid: {pservers: [1, 2], trainers: [1, 2, 4]}}",
     "  baseline: {kind: SingleNode}\n  repeats: {min: 5}\n"
     "  thresholds:\n  - {metric: efficiency, where: {trainers: 2}, min: \"0.9\"}\n",
     0},
    {"{grid: {pservers: [2], trainers: [6]}}", "  repeats: {min: 6}\n", 0},
    {"{grid: {pservers: [1], trainers: [1, 2]}}",
     "  repeats: {min: 3}\n"
     "  measure: {steps: 8, timeToAccuracy: {accuracy: \"0.4\"}, accuracyAfterTime: {seconds: "
     "20}}\n",
     8},
    {"{grid: {pservers: [1], trainers: [1, 2]}}",
     "  baseline: {kind: Point, where: {trainers: 1}}\n"
     "  repeats: {min: 3, max: 8, stopWhen: {relativeHalfWidth: \"0.02\"}}\n",
     8},
    {"{grid: {pservers: [1], trainers: [1]}}", "", 1},
};

static void disturb(struct attempt_row *row, size_t i, uint64_t *random)
{
    struct replica_row *replica = &row->replicas.items[i];
    if (splitmix_below(random, 40) == 0) {
        fixture_say(row, i, &(struct summary){.steps = 1});
        if (splitmix_below(random, 2) == 0) {
            replica_set_line(replica, NULL);
        }
    }
    place_randomly(replica, random);
    replica->exit_code = splitmix_below(random, 9) == 0 ? -1 : 0;
    replica->signal = replica->exit_code < 0 ? 9 : 0;
    replica->log_bytes = splitmix_below(random, 1000);
    if (splitmix_below(random, 9) == 0) {
        replica->failure = xstrdup("no figure\nthe last line of its log\n");
    }
}

/* One is missing, or one is there that the point does not ask for. */
static void change_gang(struct attempt_row *row, uint64_t *random)
{
    const uint32_t kind = splitmix_below(random, 8);
    if (kind == 0) {
        struct replica_row *last = &row->replicas.items[--row->replicas.len];
        free(last->failure);
        summary_free(last->summary);
        environment_done(&last->environment);
    } else if (kind == 1) {
        *vec_push(&row->replicas) =
            (struct replica_row){.id = {row->id, (enum role)splitmix_below(random, ROLE_COUNT),
                                        splitmix_below(random, 3)}};
    }
}

static void add_attempt(struct fixture *f, uint32_t point, uint32_t trial, uint32_t attempt,
                        enum attempt_outcome outcome, uint64_t *random)
{
    double seconds[8];
    for (size_t i = 0; i < sizeof(seconds) / sizeof(seconds[0]); i++) {
        seconds[i] = 3 + 1e-3 * splitmix_below(random, 300);
    }
    struct attempt_row *row = fixture_succeed(f, point, trial, attempt, seconds);
    const bool is_odd = splitmix_below(random, 3) == 0;
    row->outcome = outcome;
    row->started_unix_ms = 1000 + some(random, 1000000);
    row->ended_unix_ms = row->started_unix_ms + 60000 - (splitmix_below(random, 50) == 0) * 90000;
    row->simulated = splitmix_below(random, 500) == 0;
    if (outcome != ATTEMPT_SUCCEEDED) {
        row->error = xasprintf("trainer/0: cause %u", splitmix_below(random, 4));
    }
    if (is_odd) {
        change_gang(row, random);
    }
    for (size_t i = 0; i < row->replicas.len && is_odd; i++) {
        say_randomly(&row->replicas.items[i], random);
        disturb(row, i, random);
    }
}

static void add_rows(struct fixture *f, uint64_t *random)
{
    const uint32_t odds = splitmix_below(random, 10) + 2;
    for (uint32_t p = 0; p < f->def->matrix.n_points; p++) {
        for (uint32_t t = 0; t < (uint32_t)f->def->spec->repeats; t++) {
            enum attempt_outcome outcome = ATTEMPT_VOID;
            for (uint32_t a = 0; a < 3 && !attempt_outcome_decides(outcome); a++) {
                outcome = splitmix_below(random, odds) > 0
                              ? ATTEMPT_SUCCEEDED
                              : (enum attempt_outcome)splitmix_below(random, ATTEMPT_OUTCOME_COUNT);
                if (splitmix_below(random, 3 * odds) > 0) {
                    add_attempt(f, p, t, a, outcome, random);
                }
            }
        }
    }
}

/* ---- the comparison ---- */

static void put_figure(struct buf *out, const struct figure *f)
{
    const struct estimate *e = &f->estimate;
    buf_printf(out, " %d %a %a..%a %s", e->known, e->value, e->low, e->high,
               f->unit == NULL ? "" : f->unit);
}

static void put_metrics(struct buf *out, const struct metrics *metrics)
{
    vec_each (const struct metric_value, m, &metrics->list) {
        buf_printf(out, " %s=%a", m->name, m->value);
    }
}

static void put_trial(struct buf *out, const struct trial_result *t)
{
    buf_printf(out, "\n %u.%u %d %d %a %s %d %a %a %d %a %d %a", t->trial, t->attempt, t->has_ended,
               t->phase, t->throughput, t->unit == NULL ? "" : t->unit, (int)t->batch,
               t->others_share, t->cpus, t->to_accuracy.state, t->to_accuracy.s, t->after.state,
               t->after.accuracy);
    put_metrics(out, &t->metrics);
}

/* What comparisons read of a result without its replicas, which makes no document. Owned. */
static char *points_of(const struct result *r)
{
    struct buf out = BUF_INIT;
    for (uint32_t i = 0; i < r->def->matrix.n_points; i++) {
        const struct point_result *p = &r->points[i];
        const struct figure *const figures[] = {
            &p->throughput,         &p->speedup,
            &p->efficiency,         &p->goal->time_to_accuracy,
            &p->goal->time_speedup, &p->goal->time_efficiency,
            &p->goal->time_cost,    &p->goal->accuracy_after_time};
        buf_printf(&out, "\npoint %d %zu %a %a..%a", p->phase, p->n_succeeded, p->cpus,
                   p->throughput_min, p->throughput_max);
        for (size_t k = 0; k < N_ROWS(figures); k++) {
            put_figure(&out, figures[k]);
        }
        for (size_t k = 0; k < MACHINE_KEY_COUNT; k++) {
            vec_each (char *const, text, &p->machines->values[k].list) {
                buf_printf(&out, " %s=%s", machine_key_name(k), *text);
            }
        }
        for (size_t k = 0; k < p->n_trials; k++) {
            put_trial(&out, &p->trials[k]);
        }
    }
    return buf_take(&out);
}

/* The first line that differs, for a person. */
static void check_same(const char *expected, const char *actual, uint64_t seed, const char *what)
{
    if (str_eq(expected, actual)) {
        return;
    }
    size_t at = 0, line = 0;
    for (; expected[at] == actual[at]; at++) {
        line = expected[at] == '\n' ? at + 1 : line;
    }
    fail_msg("BENCHD_PROP_SEED=%llu: %s:\n%.300s\ninstead of\n%.300s", (unsigned long long)seed,
             what, actual + line, expected + line);
}

/* The same rows without their replicas, as a store lists them. Owned. */
static struct attempt_row *outcomes_of(const struct fixture *f)
{
    struct attempt_row *rows = xnew_array(struct attempt_row, f->rows.len + 1);
    for (size_t i = 0; i < f->rows.len; i++) {
        rows[i] = f->rows.items[i];
        rows[i].error = rows[i].error == NULL ? NULL : xstrdup(rows[i].error);
        memset(&rows[i].replicas, 0, sizeof(rows[i].replicas));
    }
    return rows;
}

static void rows_done(struct attempt_row *rows, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        attempt_row_done(&rows[i]);
    }
    free(rows);
}

/* As the store would have them. Owned. */
static struct trial_figures *figures_of(const struct fixture *f)
{
    struct trial_figures *figures = xnew_array(struct trial_figures, f->rows.len + 1);
    for (size_t i = 0; i < f->rows.len; i++) {
        const struct attempt_row *row = &f->rows.items[i];
        const struct trial_terms terms = run_def_terms(f->def, row->id.point);
        assert_true(trial_figures_make(row, &terms, &figures[i]));
    }
    return figures;
}

static void figures_done(struct trial_figures *figures, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        trial_figures_done(&figures[i]);
    }
    free(figures);
}

/* NULL: they are refused. Without its end. */
static struct result *read_figures(const struct fixture *f, enum run_phase phase,
                                   const struct trial_figures *figures, struct attempt_row *rows)
{
    struct figures_reader r = {.result = result_begin(f->def, phase)};
    int code = 0;
    result_assign_rows(r.result, rows, f->rows.len);
    for (uint32_t p = 0; p <= f->def->matrix.n_points; p++) { /* the last: of no point */
        for (size_t i = 0; i < f->rows.len && code == 0; i++) {
            const uint32_t point = rows[i].id.point;
            if ((point < f->def->matrix.n_points ? point : f->def->matrix.n_points) == p) {
                code = figures_read(&r, &rows[i].id, &figures[i]);
            }
        }
    }
    if (figures_end(&r, code) < 0) {
        result_free(r.result);
        return NULL;
    }
    return r.result;
}

static void check_run(const struct fixture *f, struct result *raw, uint64_t seed)
{
    struct trial_figures *figures = figures_of(f);
    struct attempt_row *rows = outcomes_of(f);
    struct result *points = read_figures(f, raw->phase, figures, rows);
    if (points == NULL) {
        fail_msg("BENCHD_PROP_SEED=%llu: refused", (unsigned long long)seed);
    }
    result_end_points(points);
    result_forget_replicas(raw);
    result_forget_replicas(points);
    _cleanup_(freep) char *of_raw = points_of(raw), *of_points = points_of(points);
    check_same(of_raw, of_points, seed, "the points");
    result_free(points);
    rows_done(rows, f->rows.len);
    figures_done(figures, f->rows.len);
}

static void make_run(uint64_t seed, struct fixture *f)
{
    uint64_t random = seed;
    const size_t shape = splitmix_below(&random, sizeof(shapes) / sizeof(shapes[0]));
    fixture_init(f, shapes[shape].sweep, shapes[shape].more, shapes[shape].cpus);
    add_rows(f, &random);
}

TEST(figures_come_back)
{
    const char *wanted = getenv("BENCHD_PROP_SEED");
    const uint64_t first = wanted == NULL ? 1 : strtoull(wanted, NULL, 10);
    const uint64_t n = wanted != NULL ? 1 : IS_SANITIZED ? N_RUNS / 4 : N_RUNS;
    for (uint64_t seed = first; seed < first + n; seed++) {
        _cleanup_(fixture_done) struct fixture f;
        make_run(seed, &f);
        check_run(&f, fixture_build(&f, RUN_SUCCEEDED), seed);
    }
}

/* What random runs have shown of a result. */
struct seen {
    bool to_accuracy[TARGET_STATE_COUNT], after[AFTER_STATE_COUNT];
    bool is_thinned, is_from_another;
};

static void look_at_trial(struct seen *seen, const struct trial_result *t)
{
    seen->to_accuracy[t->to_accuracy.state] = true;
    seen->after[t->after.state] = true;
    seen->is_thinned = seen->is_thinned || t->evaluations_k > 1;
    seen->is_from_another = seen->is_from_another || t->evaluations_from > 0;
}

TEST(random_runs_show_every_field)
{
    struct seen seen = {0};
    for (uint64_t seed = 1; seed <= N_RUNS / 2; seed++) {
        _cleanup_(fixture_done) struct fixture f;
        make_run(seed, &f);
        const struct result *r = fixture_build(&f, RUN_SUCCEEDED);
        for (uint32_t i = 0; i < f.def->matrix.n_points; i++) {
            for (size_t j = 0; j < r->points[i].n_trials; j++) {
                look_at_trial(&seen, &r->points[i].trials[j]);
            }
        }
    }
    for (size_t i = 0; i < TARGET_STATE_COUNT; i++) {
        assert_true(seen.to_accuracy[i]);
    }
    for (size_t i = 0; i < AFTER_STATE_COUNT; i++) {
        assert_true(seen.after[i]);
    }
    assert_true(seen.is_thinned && seen.is_from_another);
}

/* A run of which nothing has ended, and one without replicas. */
TEST(nothing_comes_back)
{
    _cleanup_(fixture_done) struct fixture f;
    fixture_init(&f, shapes[0].sweep, shapes[0].more, shapes[0].cpus);
    check_run(&f, fixture_build(&f, RUN_CANCELLED), 0);
    fixture_end(&f, 0, 0, 0, ATTEMPT_FAILED, "no image");
    fixture_end(&f, 1, 2, 0, ATTEMPT_VOID, NULL);
    check_run(&f, fixture_build(&f, RUN_FAILED), 0);
}

/* The longest of those that lead. */
TEST(seconds_are_of_the_leading_role)
{
    _cleanup_(fixture_done) struct fixture f;
    fixture_init(&f, shapes[0].sweep, shapes[0].more, shapes[0].cpus);
    fixture_succeed(&f, 1, 0, 0, (const double[]){3, 5});
    struct trial_terms terms = run_def_terms(f.def, 1);
    struct trial_figures of_trainers, of_workers;
    assert_true(trial_figures_make(f.rows.items, &terms, &of_trainers));
    terms.leading = ROLE_WORKER;
    assert_true(trial_figures_make(f.rows.items, &terms, &of_workers));
    assert_true(of_trainers.seconds == 5 && isnan(of_workers.seconds));
    trial_figures_done(&of_trainers);
    trial_figures_done(&of_workers);
}

/* An attempt that decides its trial has none: the rows must be read. */
TEST(missing_ones_are_noticed)
{
    _cleanup_(fixture_done) struct fixture f;
    fixture_init(&f, shapes[0].sweep, shapes[0].more, shapes[0].cpus);
    fixture_throughput(&f, 0, 0, 60);
    fixture_throughput(&f, 0, 1, 61);
    struct attempt_row *rows = outcomes_of(&f);
    struct trial_figures *figures = figures_of(&f);
    for (size_t n = 1; n <= 2; n++) {
        struct figures_reader r = {.result = result_begin(f.def, RUN_SUCCEEDED)};
        result_assign_rows(r.result, rows, 2);
        for (size_t i = 0; i < n; i++) {
            assert_int_equal(figures_read(&r, &rows[i].id, &figures[i]), 0);
        }
        assert_int_equal(figures_end(&r, 0), n == 1 ? -ENOENT : 0);
        result_free(r.result);
    }
    struct figures_reader r = {.result = result_begin(f.def, RUN_SUCCEEDED)};
    result_assign_rows(r.result, rows, 2);
    figures[1].trial.unit = "miles";
    assert_int_equal(figures_end(&r, figures_read(&r, &rows[1].id, &figures[1])), -EBADMSG);
    result_free(r.result);
    rows_done(rows, 2);
    figures_done(figures, 2);
}
