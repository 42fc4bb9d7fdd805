/* Results of stored runs, from rows and from figures (load/run_result.h). */
#include "tests/test.h"
#include "load/run_result.h"

#include <errno.h>
#include <unistd.h>

#include "result/figures_version.h"
#include "result_fixture.h"

#define SWEEP "{grid: {pservers: [1], trainers: [1, 2]}}"
#define MORE "  baseline: {kind: Point, where: {trainers: 1}}\n  repeats: {min: 3}\n"

struct stored {
    struct fixture f;
    char folder[64];
    struct store *store;
};

static void put_attempt(struct stored *s, const struct attempt_row *row)
{
    assert_int_equal(s->store->ops->save_attempt(s->store, s->f.def->uid, row, NULL, 0, NULL, NULL),
                     0);
}

static void set_phase(struct stored *s, enum run_phase phase)
{
    const struct run_status status = {.phase = phase};
    assert_int_equal(s->store->ops->put_status(s->store, s->f.def->uid, &status, NULL), 0);
}

/* All rows of the fixture as a run that succeeded. */
static void stored_init(struct stored *s)
{
    (void)snprintf(s->folder, sizeof(s->folder), "/tmp/benchd-load-XXXXXX");
    assert_non_null(mkdtemp(s->folder));
    _cleanup_(freep) char *url = xasprintf("sqlite:%s/results.db", s->folder);
    assert_int_equal(store_open(url, true, &s->store, NULL), 0);
    const struct run_def *def = s->f.def;
    _cleanup_(freep) char *definition = json_dumps(def->spec->definition, JSON_COMPACT);
    const struct run_row row = {.uid = def->uid,
                                .name = def->name,
                                .benchmark = def->spec->name,
                                .definition_json = definition,
                                .created_unix_ms = def->created_unix_ms,
                                .cpus = def->cpus};
    assert_int_equal(s->store->ops->put_run(s->store, &row, NULL), 0);
    vec_each (const struct attempt_row, it, &s->f.rows) {
        put_attempt(s, it);
    }
    set_phase(s, RUN_SUCCEEDED);
}

static void stored_done(struct stored *s)
{
    store_close(s->store);
    static const char *const names[] = {"results.db", "results.db-wal", "results.db-shm"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        _cleanup_(freep) char *path = xasprintf("%s/%s", s->folder, names[i]);
        (void)unlink(path);
    }
    assert_int_equal(rmdir(s->folder), 0);
    fixture_done(&s->f);
}

static void init(struct stored *s)
{
    fixture_init(&s->f, SWEEP, MORE, 8);
    for (uint32_t p = 0; p < 2; p++) {
        for (uint32_t t = 0; t < 3; t++) {
            fixture_throughput(&s->f, p, t, 60 + 30 * p + t);
        }
    }
    stored_init(s);
}

/* Loads a run, says from what, and checks its throughputs against what the rows
 * of the fixture give. */
static bool is_from_rows(struct stored *s, enum figures_of of, bool keeps)
{
    struct run_row row;
    struct run_result run;
    struct err err = {0};
    assert_int_equal(s->store->ops->get_run(s->store, s->f.def->uid, &row, NULL), 0);
    if ((keeps ? run_result_load_and_keep : run_result_load)(s->store, &row, s->f.def, of, &run,
                                                             &err) < 0) {
        fail_msg("%s", err.msg);
    }
    const struct result *expected = fixture_build(&s->f, row.status.phase);
    for (uint32_t p = 0; p < s->f.def->matrix.n_points; p++) {
        const struct point_result *got = &run.result->points[p], *want = &expected->points[p];
        assert_int_equal(got->n_succeeded, want->n_succeeded);
        assert_int_equal(got->phase, want->phase);
        assert_memory_equal(&got->throughput.estimate.value, &want->throughput.estimate.value,
                            sizeof(double));
        assert_memory_equal(&got->speedup.estimate.low, &want->speedup.estimate.low,
                            sizeof(double));
        for (size_t t = 0; t < got->n_trials; t++) {
            assert_int_equal(got->trials[t].n_replicas,
                             of == FIGURES_OF_POINTS ? 0 : want->trials[t].n_replicas);
        }
    }
    assert_int_equal(run.has_replicas, of == FIGURES_OF_REPLICAS);
    assert_int_equal(run.result->warnings.len,
                     of == FIGURES_OF_POINTS ? 0 : expected->warnings.len);
    const bool from_rows = run.is_from_rows;
    run_result_done(&run);
    run_row_done(&row);
    return from_rows;
}

TEST(rows_are_read_once)
{
    for (int i = 0; i < 2; i++) {
        const enum figures_of first = i == 0 ? FIGURES_OF_POINTS : FIGURES_OF_REPLICAS;
        struct stored s = {0};
        init(&s);
        assert_true(is_from_rows(&s, first, false));
        assert_true(is_from_rows(&s, first, true));
        assert_false(is_from_rows(&s, FIGURES_OF_POINTS, false));
        assert_false(is_from_rows(&s, FIGURES_OF_REPLICAS, true));
        stored_done(&s);
    }
}

TEST(a_run_that_goes_on_is_read_from_rows)
{
    struct stored s = {0};
    init(&s);
    assert_int_equal(run_figures_keep(s.store, s.f.def->uid, NULL), 0);
    assert_false(is_from_rows(&s, FIGURES_OF_POINTS, true));
    set_phase(&s, RUN_RUNNING); /* it was resumed */
    assert_true(is_from_rows(&s, FIGURES_OF_POINTS, true));
    struct attempt_row *late = fixture_throughput(&s.f, 1, 0, 10);
    late->id.number = 1; /* decides nothing: the first does */
    vec_each (struct replica_row, rep, &late->replicas) {
        rep->id.attempt = late->id;
    }
    put_attempt(&s, late);
    set_phase(&s, RUN_CANCELLED);
    assert_true(is_from_rows(&s, FIGURES_OF_POINTS, false));
    assert_true(is_from_rows(&s, FIGURES_OF_POINTS, true));
    assert_false(is_from_rows(&s, FIGURES_OF_REPLICAS, true));
    set_phase(&s, RUN_FAILED);
    assert_false(is_from_rows(&s, FIGURES_OF_REPLICAS, true));
    stored_done(&s);
}

static void put_bytes(struct stored *s, const char *version, const char *points,
                      const char *replicas)
{
    const struct stored_figures figures = {(char *)points, (char *)replicas, strlen(points),
                                           strlen(replicas)};
    struct run_row row;
    assert_int_equal(s->store->ops->get_run(s->store, s->f.def->uid, &row, NULL), 0);
    const struct figures_source source = {row.incarnation, 6};
    run_row_done(&row);
    assert_int_equal(
        s->store->ops->put_figures(s->store, s->f.def->uid, version, &source, &figures, NULL), 0);
}

TEST(others_and_damaged_ones_are_passed_over)
{
    struct stored s = {0};
    init(&s);
    put_bytes(&s, "another", "?", "?");
    assert_true(is_from_rows(&s, FIGURES_OF_POINTS, false));
    put_bytes(&s, figures_version(), "?", "?");
    assert_true(is_from_rows(&s, FIGURES_OF_POINTS, false));
    assert_true(is_from_rows(&s, FIGURES_OF_REPLICAS, true)); /* stores better ones */
    assert_false(is_from_rows(&s, FIGURES_OF_REPLICAS, true));
    stored_done(&s);
}

/* So many replicas as there might be are not kept in memory for a comparison; its figures do not
 * say that there were none. */
TEST(a_huge_run_has_figures_of_its_points)
{
    struct stored s = {0};
    fixture_init(&s.f, "{grid: {pservers: [1], trainers: [1000]}}",
                 "  baseline: {kind: Point, where: {trainers: 1000}}\n  repeats: {min: 320}\n", 0);
    fixture_throughput(&s.f, 0, 0, 60000);
    fixture_throughput(&s.f, 0, 1, 61000);
    stored_init(&s);
    assert_true(is_from_rows(&s, FIGURES_OF_POINTS, true));
    assert_false(is_from_rows(&s, FIGURES_OF_POINTS, true));
    assert_true(is_from_rows(&s, FIGURES_OF_REPLICAS, false));
    stored_done(&s);
}
