/* Figures of attempts and back (result/trial_figures.h): a result from them is the one from the
 * rows, whatever the rows were. */
#include "tests/test.h"
#include "result/replica_numbers.h"
#include "result/trial_figures.h"

#include <math.h>

#include "base/splitmix.h"
#include "base/str.h"
#include "core/environment.h"
#include "result/result_json.h"
#include "result/result_build.h"
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
     "  thresholds:\n  - {metric: efficiency, where: {trainers: 2}, min: 0.9}\n",
     0},
    {"{grid: {pservers: [2], trainers: [6]}}", "  repeats: {min: 6}\n", 0},
    {"{grid: {pservers: [1], trainers: [1, 2]}}",
     "  repeats: {min: 3}\n"
     "  measure: {steps: 8, timeToAccuracy: {accuracy: 0.4}, accuracyAfterTime: {seconds: 20}}\n",
     8},
    {"{grid: {pservers: [1], trainers: [1, 2]}}",
     "  baseline: {kind: Point, where: {trainers: 1}}\n"
     "  repeats: {min: 3, max: 8, stopWhen: {relativeHalfWidth: 0.02}}\n",
     8},
    {"{grid: {pservers: [1], trainers: [1]}}", "", 1},
};

static int64_t some(uint64_t *random, uint32_t most)
{
    return splitmix_below(random, 3) == 0 ? 0 : (int64_t)splitmix_below(random, most) + 1;
}

/* None, a few, or so many that every k-th is kept. */
static void evaluate(struct evaluations *e, uint64_t *random)
{
    *e = (struct evaluations){0};
    const uint32_t most = splitmix_below(random, 4) == 0 ? 4 * EVALUATIONS_MAX : 8;
    const double pace_s = 0.1 + 0.1 * splitmix_below(random, 60);
    double t_s = 0;
    for (uint32_t n = splitmix_below(random, most); n > 0; n--) {
        t_s += pace_s * splitmix_below(random, 3);
        (void)evaluations_add(e, t_s, 1e-3 * splitmix_below(random, 700), NAN);
    }
    evaluations_extend(e, t_s + 5.0 * splitmix_below(random, 4));
}

static void say(struct attempt_row *row, size_t i, uint64_t *random)
{
    struct replica_row *replica = &row->replicas.items[i];
    const struct record_who who = {replica->id.role, replica->id.index, row->id.number};
    const uint32_t steps = splitmix_below(random, 20);
    struct summary s = {
        .samples = replica->id.role == ROLE_TRAINER ? (uint64_t)some(random, 4000) : 0,
        .duration_ns = some(random, 1000000000) + 1000000000,
        .steps = steps,
        .bytes_tx = (uint64_t)some(random, 1000000000),
        .bytes_rx = (uint64_t)some(random, 1000000000),
        .loss_first = splitmix_below(random, 2) == 0 ? NAN : 2.3,
        .loss_last = splitmix_below(random, 2) == 0 ? NAN : 1e-3 * splitmix_below(random, 3000),
        .throttled_ns = some(random, 5) < 4 ? 0 : some(random, 1000000000),
        .throttled_periods = (uint64_t)some(random, 9),
        .max_rss_bytes = (uint64_t)some(random, 2000000000),
        .cpu_ns = some(random, 1000000000),
    };
    for (int k = 0; k < PHASE_COUNT; k++) {
        s.phase_ns[k] = some(random, 100000000);
    }
    s.source.accuracy_last = NAN;
    if (splitmix_below(random, 8) == 0) {
        s.source.unit = (enum summary_unit)splitmix_below(random, SUMMARY_UNIT_COUNT);
        s.source.is_job = splitmix_below(random, 2) == 0;
        s.source.accuracy_last = 0.5;
        s.source.rule = xstrdup("mine");
        s.source.method = xasprintf("mean of %u lines", steps);
        replica->reading_json =
            xasprintf("{\"verdict\": \"%s\", \"why\": \"for %u reasons\"}",
                      log_verdict_names[splitmix_below(random, LOG_VERDICT_COUNT)], steps);
    }
    s.staleness = (struct summary_staleness){
        splitmix_below(random, 99), 0.25 * splitmix_below(random, 9), splitmix_below(random, 9)};
    s.last = (struct summary_last){splitmix_below(random, 4), splitmix_below(random, 9),
                                   some(random, 1000000)};
    s.noise.before = (struct noise_probe){(uint64_t)some(random, 1000000000),
                                          (uint64_t)some(random, 1000000000)};
    s.noise.after = (struct noise_probe){(uint64_t)some(random, 1000000000),
                                         (uint64_t)some(random, 1000000000)};
    s.noise.busy_ns = some(random, 2000000000);
    s.noise.steal_ns = some(random, 200000000);
    s.noise.cpu_run_ns = some(random, 2000000000);
    s.noise.cpu_wait_ns = s.noise.cpu_run_ns > 0 ? some(random, 3000000000) : 0;
    s.noise.by_launcher = some(random, 2) > 0;
    s.transport = (enum exchange_transport)splitmix_below(random, EXCHANGE_TRANSPORT_COUNT);
    struct evaluations e;
    evaluate(&e, random);
    s.evaluations = &e;
    metrics_set(&s.metrics, "evaluation_s", splitmix_below(random, 4) == 0 ? 1.1 : NAN);
    metrics_set(&s.metrics, "logged_mfu", splitmix_below(random, 2) == 0 ? 0.41 : NAN);
    int64_t step_ns[20];
    for (uint32_t k = 0; k < steps; k++) {
        step_ns[k] = 100000000 + splitmix_below(random, 20000000);
    }
    struct buf line = BUF_INIT;
    record_write_summary(&line, &who, &s, step_ns, splitmix_below(random, 4) == 0 ? 0 : steps);
    free(s.source.rule);
    free(s.source.method);
    metrics_done(&s.metrics);
    free(replica->summary_json);
    replica->summary_json = buf_take(&line);
}

static void disturb(struct attempt_row *row, size_t i, uint64_t *random)
{
    static const char *const nodes[] = {"node-a", "node-b", "n\xc3\xb6"};
    struct replica_row *replica = &row->replicas.items[i];
    if (splitmix_below(random, 40) == 0) {
        free(replica->summary_json);
        replica->summary_json = splitmix_below(random, 2) == 0 ? NULL : xstrdup("{\"benchd\":1}");
    }
    _cleanup_(freep) char *placed = replica->environment_json;
    switch (splitmix_below(random, 6)) {
    case 0:
        replica->environment_json = NULL;
        break;
    case 1:
        replica->environment_json = xasprintf(
            "{\"build\":\"b%u\",\"cgroup_cpu_limit\":%u,\"cpu_model\":\"%s\",\"kernel\":\"6.%u\","
            "\"source\":\"s%u\"}",
            splitmix_below(random, 2), splitmix_below(random, 3),
            splitmix_below(random, 2) == 0 ? "x" : "y", splitmix_below(random, 3),
            splitmix_below(random, 2));
        break;
    default:
        replica->environment_json = environment_add(placed, nodes[splitmix_below(random, 3)], NULL);
        break;
    }
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
        free(last->summary_json);
        free(last->environment_json);
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
        say(row, i, random);
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

static char *text_of(const struct result *r)
{
    _cleanup_(json_decrefp) json_t *json = result_to_json(r);
    return json_dumps(json, JSON_INDENT(1));
}

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

/* What figures do not have, from the rows: so that the JSON can be compared as a whole.
 * Steps, and numbers of replicas, that JSON does not have are compared here. */
static void give_back_texts(struct result *r, const struct result *raw)
{
    for (uint32_t i = 0; i < r->def->matrix.n_points; i++) {
        for (size_t j = 0; j < r->points[i].n_trials; j++) {
            struct trial_result *t = &r->points[i].trials[j];
            const struct trial_result *from = &raw->points[i].trials[j];
            assert_int_equal(t->n_replicas, from->n_replicas);
            assert_int_equal(t->steps.n, from->steps.n);
            assert_true(t->steps.n == 0 ||
                        memcmp(t->steps.us, from->steps.us, t->steps.n * sizeof(double)) == 0);
            for (size_t k = 0; k < t->n_replicas; k++) {
                struct replica_row *row = (struct replica_row *)t->replicas[k].row;
                assert_int_equal(row->log_bytes, from->replicas[k].row->log_bytes);
                for (size_t c = 0; c < replica_numbers_count(); c++) {
                    assert_int_equal(replica_number_get(&t->replicas[k], c),
                                     replica_number_get(&from->replicas[k], c));
                }
                const char *environment = from->replicas[k].row->environment_json;
                assert_null(row->environment_json);
                row->environment_json = environment == NULL ? NULL : xstrdup(environment);
                row->reading_json = xstrdup_or_null(from->replicas[k].row->reading_json);
                const char *digest = from->replicas[k].summary.environment_digest;
                t->replicas[k].summary.environment_digest = digest == NULL ? NULL : xstrdup(digest);
            }
        }
    }
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
                                   const struct trial_figures *figures, struct attempt_row *rows,
                                   bool with_replicas)
{
    struct figures_reader r = {.result = result_begin(f->def, phase)};
    bool is_good = true;
    result_assign_rows(r.result, rows, f->rows.len);
    for (uint32_t p = 0; p < f->def->matrix.n_points && is_good; p++) {
        for (size_t i = 0; i < f->rows.len && is_good; i++) {
            const uint32_t point = rows[i].id.point;
            struct trial_figures some = figures[i];
            some.replicas = with_replicas ? some.replicas : (struct buf)BUF_INIT;
            is_good = (point < f->def->matrix.n_points ? point : 0) != p ||
                      figures_read(&r, &rows[i], &some);
        }
        is_good = is_good && figures_end_point(&r, p);
        if (is_good && with_replicas) {
            result_collect_point(r.result, p);
        }
    }
    figures_reader_done(&r);
    if (!is_good) {
        result_free(r.result);
        return NULL;
    }
    return r.result;
}

static void check_run(const struct fixture *f, struct result *raw, uint64_t seed)
{
    struct trial_figures *figures = figures_of(f);
    struct attempt_row *rows = outcomes_of(f), *few = outcomes_of(f);
    struct result *whole = read_figures(f, raw->phase, figures, rows, true);
    struct result *points = read_figures(f, raw->phase, figures, few, false);
    if (whole == NULL || points == NULL) {
        fail_msg("BENCHD_PROP_SEED=%llu: refused", (unsigned long long)seed);
    }
    result_end(whole);
    result_end_points(points);
    give_back_texts(whole, raw);
    _cleanup_(freep) char *expected = text_of(raw), *actual = text_of(whole);
    check_same(expected, actual, seed, "the whole");
    result_forget_replicas(raw);
    result_forget_replicas(points);
    _cleanup_(freep) char *of_raw = points_of(raw), *of_points = points_of(points);
    check_same(of_raw, of_points, seed, "the points");
    result_free(points);
    result_free(whole);
    rows_done(rows, f->rows.len);
    rows_done(few, f->rows.len);
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

/* What random runs have shown of a result: a value that is always the same would
 * come back from nowhere. */
struct seen {
    uint64_t *first; /* of each column of a replica; owned */
    bool *varies;    /* owned */
    size_t n_replicas;
    bool to_accuracy[TARGET_STATE_COUNT], after[AFTER_STATE_COUNT];
    bool is_thinned, is_from_another;
};

static void look_at_trial(struct seen *seen, const struct trial_result *t)
{
    seen->to_accuracy[t->to_accuracy.state] = true;
    seen->after[t->after.state] = true;
    seen->is_thinned = seen->is_thinned || t->evaluations_k > 1;
    seen->is_from_another = seen->is_from_another || t->evaluations_from > 0;
    for (size_t i = 0; i < t->n_replicas; i++, seen->n_replicas++) {
        for (size_t k = 0; k < replica_numbers_count(); k++) {
            const uint64_t value = replica_number_get(&t->replicas[i], k);
            seen->first[k] = seen->n_replicas == 0 ? value : seen->first[k];
            seen->varies[k] = seen->varies[k] || value != seen->first[k];
        }
    }
}

TEST(random_runs_show_every_field)
{
    struct seen seen = {.first = xnew_array(uint64_t, replica_numbers_count()),
                        .varies = xnew_array(bool, replica_numbers_count())};
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
    for (size_t k = 0; k < replica_numbers_count(); k++) {
        if (!seen.varies[k]) {
            fail_msg("column %zu is always %llu", k, (unsigned long long)seen.first[k]);
        }
    }
    for (size_t i = 0; i < TARGET_STATE_COUNT; i++) {
        assert_true(seen.to_accuracy[i]);
    }
    for (size_t i = 0; i < AFTER_STATE_COUNT; i++) {
        assert_true(seen.after[i]);
    }
    assert_true(seen.is_thinned && seen.is_from_another);
    free(seen.first);
    free(seen.varies);
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

/* Each cut is refused, and a changed byte is refused or gives a result; nothing is read beyond an
 * end. */
TEST(damaged_bytes_are_refused)
{
    _cleanup_(fixture_done) struct fixture f;
    make_run(3, &f);
    struct trial_figures *figures = figures_of(&f);
    uint64_t random = 7;
    size_t at = 0;
    while (f.rows.items[at].outcome != ATTEMPT_SUCCEEDED || f.rows.items[at].id.number > 0) {
        at++;
    }
    const struct buf whole = figures[at].replicas;
    assert_true(whole.len > 300);
    for (size_t i = 0; i < 600; i++) {
        const bool is_cut = i < 200;
        const size_t len =
            is_cut ? (i < 100 ? i : splitmix_below(&random, (uint32_t)whole.len)) : whole.len;
        char *copy = xmalloc(len + 1); /* as long as it says: valgrind and ASan see the end */
        memcpy(copy, whole.data, len);
        if (!is_cut) {
            const size_t changed = i < 400 ? i - 200 : splitmix_below(&random, (uint32_t)len);
            copy[changed] = (char)(copy[changed] ^ (1 + (int)splitmix_below(&random, 255)));
        }
        figures[at].replicas = (struct buf){.data = copy, .len = len};
        struct attempt_row *rows = outcomes_of(&f);
        struct result *r = read_figures(&f, RUN_SUCCEEDED, figures, rows, true);
        if (is_cut && len > 0 && r != NULL) {
            fail_msg("%zu bytes of %zu", len, whole.len);
        }
        result_free(r);
        rows_done(rows, f.rows.len);
        free(copy);
    }
    figures[at].replicas = whole;
    figures_done(figures, f.rows.len);
}

/* An attempt that decides its trial has none: the rows must be read. */
TEST(missing_ones_are_noticed)
{
    _cleanup_(fixture_done) struct fixture f;
    fixture_init(&f, shapes[0].sweep, shapes[0].more, shapes[0].cpus);
    fixture_throughput(&f, 0, 0, 60);
    fixture_throughput(&f, 0, 1, 61);
    struct attempt_row *rows = outcomes_of(&f);
    struct figures_reader r = {.result = result_begin(f.def, RUN_SUCCEEDED)};
    struct trial_figures *figures = figures_of(&f);
    result_assign_rows(r.result, rows, 2);
    assert_true(figures_read(&r, &rows[0], &figures[0]));
    assert_false(figures_end_point(&r, 0));
    assert_true(figures_read(&r, &rows[1], &figures[1]));
    assert_true(figures_end_point(&r, 0));
    figures[1].trial.unit = "miles";
    assert_false(figures_read(&r, &rows[1], &figures[1]));
    figures_reader_done(&r);
    result_free(r.result);
    rows_done(rows, 2);
    figures_done(figures, 2);
}
