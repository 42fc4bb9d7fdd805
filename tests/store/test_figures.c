/* Figures that a store keeps of a run that has ended, and files from before there were any. */
#include "store_fixture.h"

#include <errno.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <sqlite3.h>

#include "schema_v1.h"
#include "schema_v2.h"
#include "schema_v4.h"

static void put(struct store *s, const char *uid, enum run_phase phase, uint32_t n_attempts)
{
    struct run_row run = make_run(uid, uid, 1);
    run.status.phase = phase;
    assert_int_equal(s->ops->put_run(s, &run, NULL), 0);
    run_row_done(&run);
    for (uint32_t i = 0; i < n_attempts; i++) {
        struct attempt_row row = make_attempt(0, i, 0);
        assert_int_equal(s->ops->save_attempt(s, uid, &row, NULL, 0, NULL, NULL), 0);
        attempt_row_done(&row);
    }
}

static int put_figures(struct store *s, const char *uid, const char *version, int64_t n_attempts,
                       const char *points, const char *replicas)
{
    const struct stored_figures figures = {(char *)points, (char *)replicas, strlen(points),
                                           strlen(replicas)};
    struct run_row run = {0};
    (void)s->ops->get_run(s, uid, &run, NULL); /* it may not be there */
    const struct figures_source source = {run.incarnation, n_attempts};
    run_row_done(&run);
    return s->ops->put_figures(s, uid, version, &source, &figures, NULL);
}

/* NULL: there are none. */
static void check(struct store *s, const char *uid, const char *version, const char *points,
                  const char *replicas)
{
    for (int with = 0; with < 2; with++) {
        struct stored_figures got = {0};
        const int r = s->ops->get_figures(s, uid, version, with == 1, &got, NULL);
        if (points == NULL) {
            assert_int_equal(r, -ENOENT);
            continue;
        }
        assert_int_equal(r, 0);
        assert_int_equal(got.points_len, strlen(points));
        assert_memory_equal(got.points, points, got.points_len);
        assert_int_equal(got.replicas_len, with == 0 ? 0 : strlen(replicas));
        if (with == 1) {
            assert_memory_equal(got.replicas, replicas, got.replicas_len);
        }
        stored_figures_done(&got);
    }
}

/* A third attempt of the run. */
static void save_late(struct store *s)
{
    struct attempt_row row = make_attempt(0, 2, 0);
    assert_int_equal(s->ops->save_attempt(s, UID, &row, NULL, 0, NULL, NULL), 0);
    attempt_row_done(&row);
}

TEST(figures_come_back)
{
    struct fixture f;
    fixture_init(&f);
    struct store *s = fixture_open(&f);
    put(s, UID, RUN_SUCCEEDED, 2);
    put(s, "other", RUN_FAILED, 0);
    check(s, UID, "v1", NULL, NULL);
    assert_int_equal(put_figures(s, UID, "v1", 2, "points", "replicas"), 0);
    assert_int_equal(put_figures(s, "other", "v1", 0, "none", ""), 0);
    check(s, UID, "v1", "points", "replicas");
    check(s, "other", "v1", "none", "");
    check(s, UID, "v2", NULL, NULL); /* other code's */
    check(s, "nobody", "v1", NULL, NULL);
    assert_int_equal(put_figures(s, "nobody", "v1", 0, "", ""), -ENOENT);
    store_close(s);
    s = fixture_open(&f);
    check(s, UID, "v1", "points", "replicas");
    assert_int_equal(s->ops->delete_run(s, UID, NULL), 0);
    check(s, UID, "v1", NULL, NULL);
    store_close(s);
    fixture_done(&f);
}

/* Two builds that are used by turns do not take each other's away; those of builds that are gone do
 * not stay for ever. */
TEST(two_builds_keep_theirs)
{
    struct fixture f;
    fixture_init(&f);
    struct store *s = fixture_open(&f);
    put(s, UID, RUN_SUCCEEDED, 2);
    put(s, "other", RUN_FAILED, 0);
    assert_int_equal(put_figures(s, "other", "v1", 0, "of other", ""), 0);
    assert_int_equal(put_figures(s, UID, "v1", 2, "old", "older"), 0);
    assert_int_equal(put_figures(s, UID, "v2", 2, "new", "newer"), 0);
    check(s, UID, "v1", "old", "older");
    check(s, UID, "v2", "new", "newer");
    assert_int_equal(put_figures(s, UID, "v1", 2, "again", ""), 0); /* the damaged ones, say */
    assert_int_equal(put_figures(s, UID, "v3", 2, "third", ""), 0);
    check(s, UID, "v1", "again", "");
    check(s, UID, "v2", NULL, NULL); /* nobody stored any for longest */
    check(s, UID, "v3", "third", "");
    check(s, "other", "v1", "of other", "");
    save_late(s);
    check(s, UID, "v1", NULL, NULL);
    check(s, UID, "v3", NULL, NULL);
    store_close(s);
    fixture_done(&f);
}

/* Of a run that another process has deleted and stored again meanwhile, with as many attempts. */
TEST(those_of_a_run_before_are_not_taken)
{
    struct fixture f;
    fixture_init(&f);
    struct store *s = fixture_open(&f);
    struct run_row before, after;
    put(s, UID, RUN_SUCCEEDED, 2);
    assert_int_equal(s->ops->get_run(s, UID, &before, NULL), 0);
    struct store *other = fixture_open(&f);
    assert_int_equal(other->ops->delete_run(other, UID, NULL), 0);
    put(other, UID, RUN_SUCCEEDED, 2);
    store_close(other);
    const struct stored_figures figures = {(char *)"old", (char *)"", 3, 0};
    const struct figures_source source = {before.incarnation, 2};
    assert_int_equal(s->ops->put_figures(s, UID, "v", &source, &figures, NULL), -ESTALE);
    check(s, UID, "v", NULL, NULL);
    assert_int_equal(put_figures(s, UID, "v", 2, "points", "replicas"), 0);
    check(s, UID, "v", "points", "replicas");
    assert_int_equal(s->ops->get_run(s, UID, &after, NULL), 0);
    assert_true(before.incarnation != 0 && after.incarnation != 0);
    assert_true(before.incarnation != after.incarnation);
    run_row_done(&before);
    run_row_done(&after);
    store_close(s);
    fixture_done(&f);
}

/* They are those of all attempts of a run that has ended, or there are none. */
TEST(a_late_attempt_deletes_them)
{
    struct fixture f;
    fixture_init(&f);
    struct store *s = fixture_open(&f);
    put(s, UID, RUN_SUCCEEDED, 2);
    put(s, "other", RUN_SUCCEEDED, 1);
    put(s, "running", RUN_RUNNING, 1);
    put(s, "suspended", RUN_SUSPENDED, 1);
    assert_int_equal(put_figures(s, "running", "v", 1, "x", "x"), -ESTALE);
    assert_int_equal(put_figures(s, "suspended", "v", 1, "x", "x"), -ESTALE);
    assert_int_equal(put_figures(s, UID, "v", 1, "x", "x"), -ESTALE);
    assert_int_equal(put_figures(s, UID, "v", 3, "x", "x"), -ESTALE);
    check(s, UID, "v", NULL, NULL);
    assert_int_equal(put_figures(s, UID, "v", 2, "points", "replicas"), 0);
    assert_int_equal(put_figures(s, "other", "v", 1, "of other", ""), 0);
    struct attempt_row row = make_attempt(0, 1, 0);
    assert_int_equal(s->ops->save_attempt(s, UID, &row, NULL, 0, NULL, NULL), 0); /* it was there */
    check(s, UID, "v", "points", "replicas");
    attempt_row_done(&row);
    save_late(s);
    check(s, UID, "v", NULL, NULL);
    check(s, "other", "v", "of other", "");
    assert_int_equal(put_figures(s, UID, "v", 2, "x", "x"), -ESTALE);
    assert_int_equal(put_figures(s, UID, "v", 3, "points", "replicas"), 0);
    store_close(s);
    fixture_done(&f);
}

static void exec_all(struct fixture *f, const char *const *texts, size_t n);

/* Whoever changes what they were made of: a person with an editor of SQLite files, too. */
TEST(a_change_by_hand_deletes_them)
{
    static const struct {
        const char *sql;
        bool stay;
    } rows[] = {
        {"UPDATE attempt SET outcome = 'Void' WHERE run_uid = '" UID "' AND trial = 1"},
        {"UPDATE replicas SET zstd = CAST(zstd || X'00' AS BLOB) WHERE run_uid = '" UID
         "' AND trial = 1"},
        {"INSERT OR REPLACE INTO replicas SELECT run_uid, point, trial, attempt, "
         "CAST(zstd || X'00' AS BLOB) FROM replicas WHERE run_uid = '" UID "' AND trial = 1"},
        {"DELETE FROM replicas WHERE run_uid = '" UID "' AND trial = 1"},
        {"DELETE FROM attempt WHERE run_uid = '" UID "' AND trial = 1"},
        {"UPDATE run SET definition = definition || ' ' WHERE uid = '" UID "'"},
        {"UPDATE run SET cpus = 3 WHERE uid = '" UID "'"},
        {"UPDATE attempt SET outcome = 'Void' WHERE run_uid = 'other'", true},
        {"UPDATE run SET name = 'x', message = 'y' WHERE uid = '" UID "'", true},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct fixture f;
        fixture_init(&f);
        struct store *s = fixture_open(&f);
        put(s, UID, RUN_SUCCEEDED, 2);
        put(s, "other", RUN_SUCCEEDED, 1);
        assert_int_equal(put_figures(s, UID, "v", 2, "points", "replicas"), 0);
        store_close(s);
        exec_all(&f, &rows[i].sql, 1);
        s = fixture_open(&f);
        print_message("# %s\n", rows[i].sql);
        check(s, UID, "v", rows[i].stay ? "points" : NULL, "replicas");
        store_close(s);
        fixture_done(&f);
    }
}

static bool keep_on(void *ctx)
{
    (void)ctx;
    return false;
}

TEST(a_reader_reads_and_does_not_write)
{
    struct fixture f;
    fixture_init(&f);
    struct store *s = fixture_open(&f), *reader = NULL;
    put(s, UID, RUN_SUCCEEDED, 1);
    assert_int_equal(put_figures(s, UID, "v", 1, "points", "replicas"), 0);
    assert_int_equal(store_open_reader(f.url, keep_on, NULL, &reader, NULL), 0);
    check(reader, UID, "v", "points", "replicas");
    assert_int_equal(put_figures(reader, UID, "v", 1, "x", "x"), -EROFS);
    store_close(reader);
    store_close(s);
    fixture_done(&f);
}

TEST(damaged_ones_are_told)
{
    struct fixture f;
    fixture_init(&f);
    struct store *s = fixture_open(&f);
    put(s, UID, RUN_SUCCEEDED, 1);
    assert_int_equal(put_figures(s, UID, "v", 1, "points", "replicas"), 0);
    store_close(s);
    sqlite3 *db = NULL;
    assert_int_equal(sqlite3_open(f.path, &db), SQLITE_OK);
    assert_int_equal(
        sqlite3_exec(db, "UPDATE figures SET replicas = X'00112233'", NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
    s = fixture_open(&f);
    struct stored_figures got = {0};
    assert_int_equal(s->ops->get_figures(s, UID, "v", false, &got, NULL), 0);
    stored_figures_done(&got);
    assert_int_equal(s->ops->get_figures(s, UID, "v", true, &got, NULL), -EBADMSG);
    store_close(s);
    fixture_done(&f);
}

/* Whatever byte of them is another one: what comes back is what was stored, or an error. */
TEST(a_changed_byte_is_told)
{
    struct fixture f;
    fixture_init(&f);
    struct store *s = fixture_open(&f);
    put(s, UID, RUN_SUCCEEDED, 1);
    char points[400];
    for (size_t i = 0; i < sizeof(points); i++) {
        points[i] = (char)('a' + (i * i) % 23);
    }
    points[sizeof(points) - 1] = '\0';
    size_t n_told = 0;
    for (int i = 0; i < 64; i++) {
        assert_int_equal(put_figures(s, UID, "v", 1, points, ""), 0);
        _cleanup_(freep) char *sql =
            xasprintf("UPDATE figures SET points = CAST(substr(points, 1, %d) || "
                      "CASE WHEN substr(points, %d, 1) = X'55' THEN X'54' ELSE X'55' END || "
                      "substr(points, %d) AS BLOB)",
                      i, i + 1, i + 2);
        exec_all(&f, (const char *const[]){sql}, 1);
        struct stored_figures got = {0};
        const int r = s->ops->get_figures(s, UID, "v", true, &got, NULL);
        n_told += r == -EBADMSG;
        if (r >= 0 &&
            (got.points_len != strlen(points) || memcmp(got.points, points, got.points_len) != 0)) {
            fail_msg("byte %d is another one, and nobody says so", i);
        }
        assert_true(r == 0 || r == -EBADMSG);
        stored_figures_done(&got);
    }
    assert_true(n_told > 50); /* some bits mean nothing */
    store_close(s);
    fixture_done(&f);
}

/* A run whose object is deleted, and back: nothing that they were made of has changed. */
TEST(a_tombstone_keeps_them)
{
    struct fixture f;
    fixture_init(&f);
    struct store *s = fixture_open(&f);
    put(s, UID, RUN_SUCCEEDED, 1);
    assert_int_equal(put_figures(s, UID, "v", 1, "points", "replicas"), 0);
    assert_int_equal(s->ops->set_object(s, UID, "default", 1000, NULL), 0);
    check(s, UID, "v", "points", "replicas");
    assert_int_equal(s->ops->set_object(s, UID, "default", 0, NULL), 0);
    check(s, UID, "v", "points", "replicas");
    assert_int_equal(s->ops->delete_run(s, UID, NULL), 0); /* and then it is imported again */
    put(s, UID, RUN_SUCCEEDED, 1);
    check(s, UID, "v", NULL, NULL);
    store_close(s);
    fixture_done(&f);
}

#define N_WRITERS 4

static int write_figures(const struct fixture *f, int writer)
{
    struct store *s = NULL;
    if (store_open(f->url, true, &s, NULL) < 0) {
        return 1;
    }
    for (int i = 0; i < 25; i++) {
        if (put_figures(s, UID, writer % 2 == 0 ? "even" : "odd", 1, "points", "replicas") < 0) {
            return 2;
        }
    }
    store_close(s);
    return 0;
}

TEST(processes_store_them_at_the_same_time)
{
    struct fixture f;
    fixture_init(&f);
    struct store *s = fixture_open(&f);
    put(s, UID, RUN_SUCCEEDED, 1);
    store_close(s);
    pid_t pids[N_WRITERS];
    for (int i = 0; i < N_WRITERS; i++) {
        pids[i] = fork();
        assert_true(pids[i] >= 0);
        if (pids[i] == 0) {
            _exit(write_figures(&f, i));
        }
    }
    for (int i = 0; i < N_WRITERS; i++) {
        int status = -1;
        assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
        assert_int_equal(status, 0);
    }
    s = fixture_open(&f);
    check(s, UID, "even", "points", "replicas");
    check(s, UID, "odd", "points", "replicas");
    store_close(s);
    fixture_done(&f);
}

/* ---- files of earlier versions ---- */

#define STEP_3                                                                                     \
    "DROP INDEX run_ended; CREATE INDEX run_finished ON run (ended_unix_ms)"                       \
    "  WHERE phase IN ('Succeeded', 'PartiallyFailed', 'Failed', 'Cancelled');"                    \
    "PRAGMA user_version = 3"

#define STEP_6                                                                                     \
    "CREATE TABLE figures ("                                                                       \
    "  run_uid TEXT PRIMARY KEY REFERENCES run (uid) ON DELETE CASCADE,"                           \
    "  version TEXT NOT NULL, points BLOB NOT NULL, replicas BLOB NOT NULL) STRICT;"               \
    "PRAGMA user_version = 6"
#define STEP_7                                                                                     \
    "CREATE TRIGGER attempt_added AFTER INSERT ON attempt BEGIN"                                   \
    "  DELETE FROM figures WHERE run_uid = new.run_uid; END;"                                      \
    "INSERT INTO figures SELECT uid, 'v', X'00', X'00' FROM run;"                                  \
    "PRAGMA user_version = 7"

static void exec_all(struct fixture *f, const char *const *texts, size_t n)
{
    sqlite3 *db = NULL;
    assert_int_equal(sqlite3_open(f->path, &db), SQLITE_OK);
    for (size_t i = 0; i < n && texts[i] != NULL; i++) {
        char *why = NULL;
        if (sqlite3_exec(db, texts[i], NULL, NULL, &why) != SQLITE_OK) {
            fail_msg("%s", why);
        }
    }
    sqlite3_close(db);
}

TEST(files_of_all_versions_get_them)
{
    static const struct {
        const char *texts[5];
        const char *uid;
        int64_t n_attempts;
    } rows[] = {
        {{schema_v1}, "old", 1},
        {{schema_v1, schema_v2}, "second", 3},
        {{schema_v1, schema_v2, STEP_3}, "second", 3},
        {{schema_v4}, "fourth", 1},
        {{schema_v4, schema_v5}, "fourth", 1},
        {{schema_v4, schema_v5, STEP_6}, "fourth", 1},
        {{schema_v4, schema_v5, STEP_6, STEP_7}, "fourth", 1},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct fixture f;
        fixture_init(&f);
        exec_all(&f, rows[i].texts, 5);
        struct store *s = fixture_open(&f);
        struct attempt_row *attempts = NULL;
        size_t n = 0;
        assert_int_equal(s->ops->list_attempts(s, rows[i].uid, &attempts, &n, NULL), 0);
        assert_int_equal(n, rows[i].n_attempts);
        for (size_t k = 0; k < n; k++) {
            attempt_row_done(&attempts[k]);
        }
        free(attempts);
        check(s, rows[i].uid, "v", NULL, NULL);
        assert_int_equal(put_figures(s, rows[i].uid, "v", rows[i].n_attempts, "p", "r"), 0);
        store_close(s);
        s = fixture_open(&f);
        check(s, rows[i].uid, "v", "p", "r");
        store_close(s);
        fixture_done(&f);
    }
}

/* In a process of its own, as somebody who may read alone. */
static int read_version_5(const struct fixture *f)
{
    struct store *s = NULL;
    struct attempt_row *attempts = NULL;
    struct stored_figures got = {0};
    size_t n = 0;
    if (geteuid() == 0 && setuid(65534) < 0) {
        return 1;
    }
    if (store_open(f->url, false, &s, NULL) < 0) {
        return 2;
    }
    if (s->ops->list_attempts(s, "fourth", &attempts, &n, NULL) < 0 || n != 1) {
        return 3;
    }
    if (s->ops->get_figures(s, "fourth", "v", true, &got, NULL) != -ENOENT) {
        return 4;
    }
    if (put_figures(s, "fourth", "v", 1, "p", "r") >= 0) {
        return 5;
    }
    attempt_row_done(&attempts[0]);
    free(attempts);
    store_close(s);
    return 0;
}

TEST(an_older_file_is_read_where_nothing_can_be_written)
{
    struct fixture f;
    fixture_init(&f);
    exec_all(&f, (const char *const[]){schema_v4, schema_v5}, 2);
    assert_int_equal(chmod(f.path, 0444), 0);
    assert_int_equal(chmod(f.folder, 0555), 0);
    const pid_t pid = fork();
    if (pid == 0) {
        _exit(read_version_5(&f));
    }
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(chmod(f.folder, 0755), 0);
    assert_int_equal(status, 0);
    fixture_done(&f);
}
