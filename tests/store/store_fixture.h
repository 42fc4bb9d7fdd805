/* Rows with known content, an own folder for every test, and comparison field by field. Included by
 * each test program of the store once. */
#pragma once

#include "tests/test.h"
#include "tests/core/summary_fixture.h"
#include "tests/store/store_folder.h"
#include "base/buf.h"
#include "base/err.h"
#include "store/store.h"

/* Of a point with one trainer. */
static const struct trial_terms terms = {.leading = ROLE_TRAINER, .n_leading = 1, .n_pods = 2};

#define UID "0c2e4b8e-0000-4000-8000-000000000001"
#define RUN_NAME "vgg16-pserver-sweep-7k3fq"

struct fixture {
    char folder[64];
    char url[128];
    char path[96];
};

static inline struct fixture fixture_make(void)
{
    struct fixture f = {.folder = "/tmp/benchd-store-XXXXXX"};
    assert_non_null(mkdtemp(f.folder));
    (void)snprintf(f.path, sizeof(f.path), "%s/results.db", f.folder);
    (void)snprintf(f.url, sizeof(f.url), "sqlite:%s", f.path);
    return f;
}

static inline void fixture_done(struct fixture *f)
{
    static const char *const names[] = {"results.db", "results.db-wal", "results.db-shm",
                                        "results.db-journal", "results.db-" UID ".lock"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        char path[160];
        (void)snprintf(path, sizeof(path), "%s/%s", f->folder, names[i]);
        (void)unlink(path); /* most tests leave only some of them */
    }
    assert_int_equal(rmdir(f->folder), 0); /* nothing else may be left */
}

static inline void fixture_exec(const struct fixture *f, const char *sql)
{
    store_exec(f->path, sql);
}

static inline void assert_has(const char *text, const char *part)
{
    if (strstr(text, part) == NULL) {
        fail_msg("expected '%s' in: %s", part, text);
    }
}

static inline struct store *fixture_open(struct fixture *f)
{
    struct store *s = NULL;
    struct err err = {0};
    int r = store_open(f->url, true, &s, &err);
    if (r < 0) {
        fail_msg("store_open: %s", err.msg);
    }
    return s;
}

static inline struct run_row make_run(const char *uid, const char *name, int64_t created_unix_ms)
{
    struct run_row row = {
        .uid = xstrdup(uid),
        .name = xstrdup(name),
        .benchmark = xstrdup("vgg16-pserver-sweep"),
        .definition_json = xstrdup("{\"kind\": \"Benchmark\"}"),
        .created_unix_ms = created_unix_ms,
        .cpus = 2,
        .rehearsal = true,
    };
    row.status.trials_total = 4;
    return row;
}

static inline void add_run(struct store *s)
{
    _cleanup_(run_row_done) struct run_row run = make_run(UID, RUN_NAME, 1);
    assert_int_equal(s->ops->put_run(s, &run, NULL), 0);
}

/* A new store with one run. */
static inline struct store *open_with_run(struct fixture *f)
{
    *f = fixture_make();
    struct store *s = fixture_open(f);
    add_run(s);
    return s;
}

/* A trainer and a pserver, the trainer with everything, the pserver killed. */
static inline struct attempt_row make_attempt(uint32_t point, uint32_t trial, uint32_t attempt)
{
    struct attempt_row row = {
        .id.point = point,
        .id.trial = trial,
        .id.number = attempt,
        .outcome = ATTEMPT_VOID,
        .started_unix_ms = 1000 + point,
        .ended_unix_ms = 2000 + trial,
        .error = xstrdup("pserver/0 was killed by signal 9"),
    };
    *vec_push(&row.replicas) = (struct replica_row){
        .id = {{point, trial, attempt}, ROLE_PSERVER, 0},
        .exit_code = -1,
        .signal = 9,
        .failure = xstrdup("killed by signal 9"),
        .log_bytes = 5,
    };
    *vec_push(&row.replicas) = (struct replica_row){
        .id = {{point, trial, attempt}, ROLE_TRAINER, 0},
        .exit_code = 11,
        .environment = environment_said("{\"host\":\"h\"}"),
    };
    replica_set_summary(&row.replicas.items[1], &(struct summary){.steps = 1}, NULL, 0);
    return row;
}

static inline int save(struct store *s, const char *uid, uint32_t point, uint32_t trial,
                       uint32_t attempt, const void *log, size_t log_len, struct err *err)
{
    _cleanup_(attempt_row_done) struct attempt_row row = make_attempt(point, trial, attempt);
    struct replica_log logs[] = {{row.replicas.items[0].id, log, log_len},
                                 {row.replicas.items[1].id, "", 0}};
    return s->ops->save_attempt(s, uid, &row, &terms, logs, 2, NULL, err);
}

static inline void assert_text_equal(const char *got, const char *expected)
{
    if (expected == NULL || got == NULL) {
        assert_ptr_equal(got, expected);
    } else {
        assert_string_equal(got, expected);
    }
}

/* The first value of an answer as text. Owned. */
static inline char *ask_sql(const struct fixture *f, const char *sql)
{
    sqlite3 *db = NULL;
    sqlite3_stmt *q = NULL;
    assert_int_equal(sqlite3_open(f->path, &db), SQLITE_OK);
    if (sqlite3_prepare_v2(db, sql, -1, &q, NULL) != SQLITE_OK) {
        fail_msg("%s: %s", sql, sqlite3_errmsg(db));
    }
    assert_int_equal(sqlite3_step(q), SQLITE_ROW);
    char *text = xstrdup_or_null((const char *)sqlite3_column_text(q, 0));
    sqlite3_finalize(q);
    sqlite3_close(db);
    return text;
}

static inline void assert_sql(const struct fixture *f, const char *sql, const char *expected)
{
    _cleanup_(freep) char *text = ask_sql(f, sql);
    assert_text_equal(text, expected);
}

static inline void assert_attempt_equal(const struct attempt_row *a, const struct attempt_row *b)
{
    assert_int_equal(a->id.point, b->id.point);
    assert_int_equal(a->id.trial, b->id.trial);
    assert_int_equal(a->id.number, b->id.number);
    assert_int_equal(a->outcome, b->outcome);
    assert_int_equal(a->started_unix_ms, b->started_unix_ms);
    assert_int_equal(a->ended_unix_ms, b->ended_unix_ms);
    assert_int_equal(a->simulated, b->simulated);
    assert_text_equal(a->error, b->error);
    assert_int_equal(a->replicas.len, b->replicas.len);
    for (size_t i = 0; i < a->replicas.len; i++) {
        const struct replica_row *x = &a->replicas.items[i], *y = &b->replicas.items[i];
        assert_true(x->id.role == y->id.role && x->id.index == y->id.index);
        assert_true(x->id.attempt.point == y->id.attempt.point &&
                    x->id.attempt.number == y->id.attempt.number);
        assert_int_equal(x->exit_code, y->exit_code);
        assert_int_equal(x->signal, y->signal);
        assert_text_equal(x->failure, y->failure);
        assert_true(x->reading == y->reading || json_equal(x->reading, y->reading));
        assert_summary_equal(x->summary, y->summary, &x->id);
        json_auto_t *said = environment_to_json(&y->environment);
        _cleanup_(freep) char *text = said == NULL ? NULL : record_environment_canonical(said);
        assert_environment(&x->environment, text);
        assert_int_equal(x->log_bytes, y->log_bytes);
    }
}

/* The one attempt (point 3, trial 1, attempt 0) with its log is there, whole. */
static inline void assert_whole_attempt(struct store *s, const void *log, size_t log_len)
{
    _cleanup_(freep) struct attempt_row *rows = NULL;
    size_t n = 0;
    assert_int_equal(
        s->ops->list_wanted(s, UID, &(struct attempt_wanted){-1, -1, -1}, &rows, &n, NULL), 0);
    assert_int_equal(n, 1);
    _cleanup_(attempt_row_done) struct attempt_row expected = make_attempt(3, 1, 0);
    assert_attempt_equal(&rows[0], &expected);
    struct replica_id id = expected.replicas.items[0].id;
    attempt_row_done(&rows[0]);
    _cleanup_(freep) char *text = NULL;
    size_t len = 0;
    assert_int_equal(s->ops->get_log(s, UID, &id, &text, &len, NULL), 0);
    assert_int_equal(len, log_len);
    assert_memory_equal(text, log, log_len);
}

static inline size_t count_attempts(struct store *s, const char *uid)
{
    _cleanup_(freep) struct attempt_row *rows = NULL;
    size_t n = 0;
    assert_int_equal(
        s->ops->list_wanted(s, uid, &(struct attempt_wanted){-1, -1, -1}, &rows, &n, NULL), 0);
    for (size_t i = 0; i < n; i++) {
        attempt_row_done(&rows[i]);
    }
    return n;
}
