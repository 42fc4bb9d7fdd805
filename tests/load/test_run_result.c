/* Results of stored runs, from figures and from rows (load/loaded_run.h). */
#include "tests/test.h"
#include "load/archive_run.h"
#include "load/loaded_run.h"

#include <errno.h>
#include <math.h>

#include <sqlite3.h>

#include "../store/store_folder.h"
#include "result_fixture.h"

#define SWEEP "{grid: {pservers: [1], trainers: [1, 2]}}"
#define MORE "  baseline: {kind: Point, where: {trainers: 1}}\n  repeats: {min: 3}\n"

struct stored {
    struct fixture f;
    char folder[64], url[96];
    struct store *store;
};

static void put_attempt(struct stored *s, const struct attempt_row *row)
{
    const struct trial_terms terms = run_def_terms(s->f.def, row->id.point);
    assert_int_equal(
        s->store->ops->save_attempt(s->store, s->f.def->uid, row, &terms, NULL, 0, NULL, NULL), 0);
}

static void set_phase(struct stored *s, enum run_phase phase)
{
    const struct run_status status = {.phase = phase};
    assert_int_equal(s->store->ops->put_status(s->store, s->f.def->uid, &status, NULL), 0);
}

/* All rows of the fixture as a run that succeeded. */
static void stored_init(struct stored *s)
{
    s->store = store_in_folder(s->folder, s->url);
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
    store_folder_remove(s->folder);
    fixture_done(&s->f);
}

static void init(struct stored *s)
{
    fixture_init(&s->f, SWEEP, MORE, 8);
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
    fixture_set_environment(&s->f, 2, 0, "no JSON");
    fixture_set_environment(&s->f, 2, 1, NULL);
    stored_init(s);
}

/* Loads a run and checks its throughputs against what the rows of the fixture give. */
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
        point_open(got);
        for (size_t t = 0; t < got->n_trials; t++) {
            const bool has = of != FIGURES_OF_POINTS && run.result->source->fault.code == 0;
            assert_int_equal(got->trials[t].n_replicas, has ? want->trials[t].n_replicas : 0);
        }
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

/* As somebody with an editor of SQLite files. */
static void exec(const struct stored *s, const char *sql)
{
    sqlite3 *db = NULL;
    _cleanup_(freep) char *path = xasprintf("%s/results.db", s->folder);
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    if (sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK) {
        fail_msg("%s", sqlite3_errmsg(db));
    }
    sqlite3_close(db);
}

TEST(records_are_not_read_again)
{
    _cleanup_(stored_done) struct stored s = {0};
    init(&s);
    load_both(&s, 0);
    exec(&s, "UPDATE replicas SET zstd = X''");
    load_both(&s, 0);
    set_phase(&s, RUN_RUNNING); /* it was resumed */
    load_both(&s, 0);
}

/* Those of one attempt are enough to read all rows, or to say that they are damaged. */
TEST(rows_are_read_where_figures_are_missing)
{
    static const char *const changes[] = {
        "UPDATE attempt SET figures = NULL WHERE trial = 1",
        "UPDATE attempt SET unit = 'miles' WHERE trial = 1",
        "UPDATE machine SET facts = '{' || facts",
    };
    for (size_t i = 0; i < N_ROWS(changes); i++) {
        _cleanup_(stored_done) struct stored s = {0};
        init(&s);
        exec(&s, changes[i]);
        load_both(&s, 0);
        exec(&s, "UPDATE replicas SET zstd = X''");
        load_both(&s, -EBADMSG);
    }
    struct stored s = {0};
    init(&s);
    exec(&s, "UPDATE replica_figures SET zstd = X'00112233' WHERE trial = 1");
    load_both(&s, 0);
    stored_done(&s);
}

/* Rows of a large run are read point by point. */
TEST(a_huge_run_is_read)
{
    _cleanup_(stored_done) struct stored s = {0};
    fixture_init(&s.f, "{grid: {pservers: [1], trainers: [1000]}}",
                 "  baseline: {kind: Point, where: {trainers: 1000}}\n  repeats: {min: 320}\n", 0);
    fixture_throughput(&s.f, 0, 0, 60000);
    fixture_throughput(&s.f, 0, 1, 61000);
    stored_init(&s);
    load_both(&s, 0);
    exec(&s, "UPDATE attempt SET figures = NULL");
    load_both(&s, 0);
}

/* A run of one store becomes the same run of another one, once. */
TEST(an_archive_of_a_run)
{
    _cleanup_(stored_done) struct stored s = {0};
    char folder[64], url[96];
    init(&s);
    struct store *other = store_in_folder(folder, url);
    _cleanup_(buf_done) struct buf file = BUF_INIT, again = BUF_INIT;
    _cleanup_(archive_done) struct archive a = {0};
    _cleanup_(loaded_run_done) struct loaded_run run = {0};
    struct err err = {0};
    const char *uid = s.f.def->uid;
    assert_int_equal(archive_store_pack(s.store, "none", folder, &file, NULL), -ENOENT);
    assert_int_equal(archive_store_pack(s.store, uid, folder, &file, &err), 0);
    assert_int_equal(archive_read(file.data, file.len, ARCHIVE_MAX_BYTES, &a, &err), 0);
    assert_int_equal(archive_run_load(&a, &run, &err), 0);
    assert_int_equal(archive_run_check(&a, &run, &err), 0);
    json_auto_t *said = json_loads(buf_cstr(archive_find(&a, "environment.json")), 0, NULL);
    json_auto_t *expected = json_pack(
        "[{s:i, s:o}, {s:i, s:{s:s}}, {s:i, s:s}]", "replicas", 11, "environment",
        json_loads(s.f.rows.items[0].replicas.items[0].environment_json, 0, NULL), "replicas", 2,
        "environment", "node", "b", "replicas", 1, "environment", "no JSON");
    assert_true(json_equal(said, expected));
    assert_int_equal(archive_store_put(other, &a, &run, &err), 0);
    assert_int_equal(archive_store_put(other, &a, &run, &err), -EEXIST);
    assert_int_equal(archive_store_pack(other, uid, folder, &again, &err), 0);
    assert_int_equal(again.len, file.len);
    assert_memory_equal(again.data, file.data, file.len);
    store_close(other);
    store_folder_remove(folder);
}
