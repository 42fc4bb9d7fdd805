/* Results of stored runs, from figures and from rows (load/loaded_run.h). */
#include "tests/test.h"
#include "load/loaded_run.h"

#include <errno.h>
#include <math.h>

#include "../store/store_folder.h"
#include "result_fixture.h"

#define SWEEP "{grid: {pservers: [1], trainers: [1, 2]}}"
#define MORE "  baseline: {kind: Point, where: {trainers: 1}}\n  repeats: {min: 3}\n"

/* Of the last replica of the last attempt. */
#define DAMAGE "UPDATE replica SET steps = -1 WHERE point = 1 AND trial = 2 AND replica_index = 1"

struct stored {
    struct fixture f;
    char folder[64], url[96];
    struct store *store;
};

/* All rows of the fixture as a run that succeeded. */
static void stored_init(struct stored *s)
{
    s->store = store_in_folder(s->folder, s->url);
    store_put_def(s->store, s->f.def, &(struct run_status){.phase = RUN_SUCCEEDED});
    vec_each (const struct attempt_row, it, &s->f.rows) {
        store_put_attempt(s->store, s->f.def, it, NULL, 0);
    }
}

static void stored_done(struct stored *s)
{
    store_close(s->store);
    store_folder_remove(s->folder);
    fixture_done(&s->f);
}

static void init_with(struct stored *s, const char *more)
{
    fixture_init(&s->f, SWEEP, more, 8);
    for (uint32_t p = 0; p < 2; p++) {
        for (uint32_t t = 0; t < 3; t++) {
            struct attempt_row *row = fixture_throughput(&s->f, p, t, 60 + 30 * p + t);
            const struct summary shared = {
                .samples = row->replicas.items[0].id.role == ROLE_TRAINER ? 128 : 0,
                .duration_ns = 2000000000,
                .steps = 8,
                .loss_first = NAN,
                .loss_last = NAN,
                .transport = EXCHANGE_TRANSPORT_NCCL,
            };
            if (p == 1) {
                fixture_say(row, 0, &shared);
            }
        }
    }
    fixture_set_environment(&s->f, 1, 0, "{\"node\":\"b\"}");
    fixture_set_environment(&s->f, 4, 1, "{\"node\":\"b\"}");
    fixture_set_environment(&s->f, 2, 1, NULL);
    stored_init(s);
}

static void init(struct stored *s)
{
    init_with(s, MORE);
}

/* Loads a run and checks its throughputs and thresholds against those of the fixture's rows. */
static int load(struct stored *s, enum figures_of of)
{
    struct run_row row;
    struct run_result run;
    assert_int_equal(s->store->ops->get_run(s->store, s->f.def->uid, &row, NULL), 0);
    const int r = run_result_load(s->store, &row, s->f.def, of, &run, NULL);
    if (r < 0) {
        run_row_done(&row);
        return r;
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
    }
    assert_int_equal(run.result->thresholds.len, expected->thresholds.len);
    for (size_t i = 0; i < expected->thresholds.len; i++) {
        assert_int_equal(run.result->thresholds.items[i].verdict,
                         expected->thresholds.items[i].verdict);
    }
    assert_int_equal(run.n_rows, of == FIGURES_OF_POINTS ? 0 : s->f.rows.len);
    assert_int_equal(run.result->warnings.len,
                     of == FIGURES_OF_POINTS ? 0 : expected->warnings.len);
    run_result_done(&run);
    run_row_done(&row);
    return 0;
}

static void load_both(struct stored *s, int r)
{
    assert_int_equal(load(s, FIGURES_OF_POINTS), r);
    assert_int_equal(load(s, FIGURES_OF_REPLICAS), r);
}

static void exec(const struct stored *s, const char *sql)
{
    store_exec(s->url + strlen("sqlite:"), sql);
}

TEST(replicas_are_read_where_they_are_wanted)
{
    _cleanup_(stored_done) struct stored s = {0};
    init(&s);
    load_both(&s, 0);
    const struct run_status resumed = {.phase = RUN_RUNNING};
    assert_int_equal(s.store->ops->put_status(s.store, s.f.def->uid, &resumed, NULL), 0);
    load_both(&s, 0);
    exec(&s, DAMAGE);
    assert_int_equal(load(&s, FIGURES_OF_POINTS), 0);
    assert_int_equal(load(&s, FIGURES_OF_REPLICAS), -EBADMSG); /* and not when it is printed */
}

/* A figure of replicas is judged also where only figures of points are wanted. */
TEST(thresholds_are_judged)
{
    static const char *const metrics[] = {"efficiency", "efficiencyPerPod", "exchangeShare"};
    for (size_t i = 0; i < N_ROWS(metrics); i++) {
        _cleanup_(freep) char *more =
            xasprintf(MORE "  thresholds: [{metric: %s, max: \"0.9\"}]\n", metrics[i]);
        _cleanup_(stored_done) struct stored s = {0};
        init_with(&s, more);
        load_both(&s, 0);
        assert_int_not_equal(s.f.result->thresholds.items[0].verdict, THRESHOLD_UNKNOWN);
    }
}

/* Those of one attempt are enough to read all rows, or to say that they are damaged. */
TEST(rows_are_read_where_figures_are_missing)
{
    static const char *const changes[] = {
        "UPDATE attempt SET figures = NULL WHERE trial = 1",
        "UPDATE attempt SET unit = 'miles' WHERE trial = 1",
        "UPDATE attempt SET throughput = 9e999 WHERE trial = 1",
        "UPDATE attempt SET throughput = -1 WHERE trial = 1",
        "UPDATE machine SET facts = '{' || facts",
    };
    for (size_t i = 0; i < N_ROWS(changes); i++) {
        _cleanup_(stored_done) struct stored s = {0};
        init(&s);
        exec(&s, changes[i]);
        load_both(&s, 0);
        exec(&s, DAMAGE);
        load_both(&s, -EBADMSG);
    }
}

/* What is written then has no end, and no attempt is shown without its replicas. */
TEST(damage_after_the_load)
{
    static const struct {
        const char *sql;
        int code;
    } rows[] = {
        {"UPDATE event SET note = note", 0},
        {DAMAGE, -EBADMSG},
        {"DELETE FROM replica WHERE trial = 1; DELETE FROM attempt WHERE trial = 1", -ENOENT},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        _cleanup_(stored_done) struct stored s = {0};
        _cleanup_(buf_done) struct buf out = BUF_INIT, want = BUF_INIT;
        _cleanup_(loaded_run_done) struct loaded_run run = {0};
        struct run_row row;
        struct err err = {0};
        init(&s);
        assert_int_equal(s.store->ops->get_run(s.store, s.f.def->uid, &row, NULL), 0);
        assert_int_equal(loaded_run_read(s.store, &row, &run, NULL), 0);
        exec(&s, rows[i].sql);
        assert_int_equal(loaded_run_put_json(&run, &out, &err), rows[i].code);
        result_json_put(fixture_build(&s.f, RUN_SUCCEEDED), &want);
        if (rows[i].code == 0) {
            assert_string_equal(buf_cstr(&out), buf_cstr(&want));
        } else {
            assert_int_equal(err.code, -rows[i].code);
            assert_true(out.len > 0 && out.len < want.len);
            assert_null(json_loadb(out.data, out.len, 0, NULL));
        }
    }
}
