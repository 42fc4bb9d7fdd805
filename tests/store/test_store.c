/* The store's calls one by one: what goes in comes out, and what is wrong is said by name. */
#include "store_fixture.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <sqlite3.h>

static void assert_has(const char *text, const char *part)
{
    if (strstr(text, part) == NULL) {
        fail_msg("expected '%s' in: %s", part, text);
    }
}

static void test_run_comes_back(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f);
    struct store *s = fixture_open(&f);
    struct run_row row = make_run(UID, RUN_NAME, 1760000000123);
    row.status.phase = RUN_RUNNING;
    row.status.has_current = true;
    row.status.current.point = 2;
    row.status.is_cut_short = true;
    assert_int_equal(s->ops->put_run(s, &row, NULL), 0);
    store_close(s);

    s = fixture_open(&f);
    static const char *const keys[] = {UID, RUN_NAME};
    for (size_t i = 0; i < 2; i++) {
        struct run_row got;
        assert_int_equal(s->ops->get_run(s, keys[i], &got, NULL), 0);
        assert_string_equal(got.uid, UID);
        assert_string_equal(got.name, RUN_NAME);
        assert_string_equal(got.benchmark, "vgg16-batch-sweep");
        assert_string_equal(got.definition_json, row.definition_json);
        assert_int_equal(got.created_unix_ms, 1760000000123);
        assert_int_equal(got.cpus, 2);
        assert_true(got.rehearsal && !got.simulated);
        assert_int_equal(got.status.phase, RUN_RUNNING);
        assert_true(got.status.has_current);
        assert_int_equal(got.status.current.point, 2);
        assert_true(got.status.is_cut_short);
        assert_int_equal(got.status.trials_total, 4);
        run_row_done(&got);
    }
    struct err err = {0};
    assert_int_equal(s->ops->put_run(s, &row, &err), -EEXIST);
    assert_has(err.msg, RUN_NAME);
    assert_has(err.msg, f.path);
    run_row_done(&row);
    row = make_run("another", RUN_NAME, 1);
    assert_int_equal(s->ops->put_run(s, &row, NULL), -EEXIST);
    run_row_done(&row);
    store_close(s);
    fixture_done(&f);
}

static void test_status_is_replaced(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f);
    struct store *s = fixture_open(&f);
    struct run_row row = make_run(UID, RUN_NAME, 1);
    assert_int_equal(s->ops->put_run(s, &row, NULL), 0);
    run_row_done(&row);
    struct run_status status = {.phase = RUN_FAILED,
                                .trials_done = 3,
                                .trials_failed = 2,
                                .trials_total = 4,
                                .started_unix_ms = 10,
                                .ended_unix_ms = 20};
    (void)snprintf(status.reason, sizeof(status.reason), "TooManyFailedTrials");
    (void)snprintf(status.message, sizeof(status.message), "2 trials failed");
    assert_int_equal(s->ops->put_status(s, UID, &status, NULL), 0);
    struct run_row got;
    assert_int_equal(s->ops->get_run(s, UID, &got, NULL), 0);
    assert_int_equal(got.status.phase, RUN_FAILED);
    assert_string_equal(got.status.reason, "TooManyFailedTrials");
    assert_string_equal(got.status.message, "2 trials failed");
    assert_int_equal(got.status.trials_done, 3);
    assert_int_equal(got.status.trials_failed, 2);
    assert_int_equal(got.status.started_unix_ms, 10);
    assert_int_equal(got.status.ended_unix_ms, 20);
    assert_false(got.status.has_current);
    run_row_done(&got);
    assert_int_equal(s->ops->put_status(s, "nobody", &status, NULL), -ENOENT);
    store_close(s);
    fixture_done(&f);
}

static void test_runs_are_listed_newest_first(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f);
    struct store *s = fixture_open(&f);
    static const struct {
        const char *uid, *name;
        int64_t created_unix_ms;
    } runs[] = {{"u1", "b", 100}, {"u2", "c", 300}, {"u3", "a", 100}};
    for (size_t i = 0; i < 3; i++) {
        struct run_row row = make_run(runs[i].uid, runs[i].name, runs[i].created_unix_ms);
        assert_int_equal(s->ops->put_run(s, &row, NULL), 0);
        run_row_done(&row);
    }
    struct run_row *rows = NULL;
    size_t n = 0;
    assert_int_equal(s->ops->list_runs(s, &rows, &n, NULL), 0);
    assert_int_equal(n, 3);
    static const char *const expected[] = {"c", "a", "b"};
    for (size_t i = 0; i < n; i++) {
        assert_string_equal(rows[i].name, expected[i]);
        run_row_done(&rows[i]);
    }
    free(rows);
    store_close(s);
    fixture_done(&f);
}

static void test_only_those_wanted(void **state)
{
    (void)state;
    static const uint32_t keys[][3] = {{2, 0, 0}, {2, 0, 1}, {2, 1, 0}, {3, 0, 1}, {10, 0, 0}};
    static const struct {
        struct attempt_wanted wanted;
        unsigned of_keys; /* a bit each */
    } rows[] = {
        {{-1, -1, -1}, 0x1f}, {{2, -1, -1}, 0x7}, {{2, 0, -1}, 0x3},  {{2, 0, 1}, 0x2},
        {{-1, 0, -1}, 0x1b},  {{-1, -1, 1}, 0xa}, {{3, -1, -1}, 0x8}, {{4, -1, -1}, 0},
        {{10, 0, 0}, 0x10},   {{2, 2, -1}, 0},
    };
    struct fixture f;
    fixture_init(&f);
    struct store *s = fixture_open(&f);
    struct run_row run = make_run(UID, RUN_NAME, 1);
    assert_int_equal(s->ops->put_run(s, &run, NULL), 0);
    run_row_done(&run);
    for (size_t i = 0; i < 5; i++) {
        assert_int_equal(save(s, UID, keys[i][0], keys[i][1], keys[i][2], "hello", 5, NULL), 0);
    }
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct attempt_row *got;
        size_t n, n_seen = 0;
        assert_int_equal(s->ops->list_wanted(s, UID, &rows[i].wanted, &got, &n, NULL), 0);
        for (size_t k = 0; k < 5; k++) {
            if ((rows[i].of_keys >> k & 1) != 0) {
                assert_true(n_seen < n);
                struct attempt_row expected = make_attempt(keys[k][0], keys[k][1], keys[k][2]);
                assert_attempt_equal(&got[n_seen], &expected);
                attempt_row_done(&expected);
                attempt_row_done(&got[n_seen++]);
            }
        }
        assert_int_equal(n_seen, n);
        free(got);
    }
    store_close(s);
    fixture_done(&f);
}

static void test_attempts_come_back_in_order(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f);
    struct store *s = fixture_open(&f);
    struct run_row run = make_run(UID, RUN_NAME, 1);
    assert_int_equal(s->ops->put_run(s, &run, NULL), 0);
    run_row_done(&run);
    static const uint32_t keys[][3] = {{10, 0, 0}, {2, 1, 0}, {2, 0, 1}, {2, 0, 0}};
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(save(s, UID, keys[i][0], keys[i][1], keys[i][2], "hello", 5, NULL), 0);
    }
    struct attempt_row *rows = NULL;
    size_t n = 0;
    assert_int_equal(s->ops->list_attempts(s, UID, &rows, &n, NULL), 0);
    assert_int_equal(n, 4);
    for (size_t i = 0; i < n; i++) {
        const uint32_t *key = keys[3 - i];
        struct attempt_row expected = make_attempt(key[0], key[1], key[2]);
        assert_attempt_equal(&rows[i], &expected);
        attempt_row_done(&expected);
        attempt_row_done(&rows[i]);
    }
    free(rows);
    store_close(s);
    fixture_done(&f);
}

static void test_saving_again_changes_nothing(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f);
    struct store *s = fixture_open(&f);
    struct run_row run = make_run(UID, RUN_NAME, 1);
    assert_int_equal(s->ops->put_run(s, &run, NULL), 0);
    run_row_done(&run);
    assert_int_equal(save(s, UID, 3, 1, 0, "hello", 5, NULL), 0);
    assert_int_equal(save(s, UID, 3, 1, 0, "other", 5, NULL), 0);
    assert_whole_attempt(s, "hello", 5);
    struct err err = {0};
    assert_int_equal(save(s, "nobody", 3, 1, 0, "hello", 5, &err), -ENOENT);
    assert_has(err.msg, "there is no run 'nobody'");
    store_close(s);
    fixture_done(&f);
}

static void test_logs_are_kept_byte_by_byte(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f);
    struct store *s = fixture_open(&f);
    struct run_row run = make_run(UID, RUN_NAME, 1);
    assert_int_equal(s->ops->put_run(s, &run, NULL), 0);
    run_row_done(&run);
    size_t len = 3 * 1024 * 1024 + 7;
    unsigned char *log = xmalloc(len);
    for (size_t i = 0; i < len; i++) {
        log[i] = (unsigned char)(i * i >> 7); /* with NULs and no valid UTF-8 */
    }
    assert_int_equal(save(s, UID, 3, 1, 0, log, len, NULL), 0);
    assert_whole_attempt(s, log, len);
    char *text = NULL;
    size_t got = 1;
    struct replica_id empty = {{3, 1, 0}, ROLE_TRAINER, 0}, missing = {{3, 1, 0}, ROLE_TRAINER, 1};
    assert_int_equal(s->ops->get_log(s, UID, &empty, &text, &got, NULL), 0);
    assert_int_equal(got, 0);
    free(text);
    struct err err = {0};
    assert_int_equal(s->ops->get_log(s, UID, &missing, &text, &got, &err), -ENOENT);
    assert_has(err.msg, "trainer/1");
    store_close(s);
    struct stat st;
    assert_int_equal(stat(f.path, &st), 0);
    assert_true((size_t)st.st_size < len / 2); /* compressed */
    free(log);
    fixture_done(&f);
}

/* An attempt is there with all its replicas and logs, or not at all. */
static void test_an_attempt_that_fails_half_way_leaves_nothing(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f);
    struct store *s = fixture_open(&f);
    struct run_row run = make_run(UID, RUN_NAME, 1);
    assert_int_equal(s->ops->put_run(s, &run, NULL), 0);
    run_row_done(&run);
    struct attempt_row row = make_attempt(3, 1, 0);
    const struct replica_log logs[] = {{row.replicas.items[0].id, "a", 1},
                                       {row.replicas.items[0].id, "a", 1}}; /* twice the same */
    struct err err = {0};
    assert_true(s->ops->save_attempt(s, UID, &row, logs, 2, &err) < 0);
    assert_has(err.msg, "save point 3 trial 1 attempt 0: store '");
    row.replicas.items[1].id = row.replicas.items[0].id;
    assert_true(s->ops->save_attempt(s, UID, &row, NULL, 0, &err) < 0);
    assert_has(err.msg, "save point 3 trial 1 attempt 0: pserver/0 is there twice");
    attempt_row_done(&row);
    assert_int_equal(count_attempts(s, UID), 0);
    assert_int_equal(save(s, UID, 3, 1, 0, "hello", 5, NULL), 0); /* the store works on */
    assert_whole_attempt(s, "hello", 5);
    store_close(s);
    fixture_done(&f);
}

/* One attempt that fake pods answered makes the run simulated, and it stays so. */
static void test_a_simulated_attempt_marks_its_run(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f);
    struct store *s = fixture_open(&f);
    struct run_row run = make_run(UID, RUN_NAME, 1), got;
    assert_int_equal(s->ops->put_run(s, &run, NULL), 0);
    run_row_done(&run);
    static const bool simulated[] = {false, true, false};
    for (uint32_t i = 0; i < 3; i++) {
        struct attempt_row row = make_attempt(0, i, 0);
        row.simulated = simulated[i];
        assert_int_equal(s->ops->save_attempt(s, UID, &row, NULL, 0, NULL), 0);
        attempt_row_done(&row);
        assert_int_equal(s->ops->get_run(s, UID, &got, NULL), 0);
        assert_int_equal(got.simulated, i > 0);
        run_row_done(&got);
    }
    store_close(s);
    fixture_done(&f);
}

static void test_a_run_is_renamed(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f);
    struct store *s = fixture_open(&f);
    struct run_row run = make_run(UID, RUN_NAME, 1), got;
    struct err err = {0};
    assert_int_equal(s->ops->put_run(s, &run, NULL), 0);
    run_row_done(&run);
    assert_int_equal(s->ops->rename_run(s, UID, "old", NULL), 0);
    assert_int_equal(s->ops->get_run(s, RUN_NAME, &got, NULL), -ENOENT);
    assert_int_equal(s->ops->get_run(s, "old", &got, NULL), 0);
    assert_string_equal(got.uid, UID);
    run_row_done(&got);
    run = make_run("another", RUN_NAME, 1);
    assert_int_equal(s->ops->put_run(s, &run, NULL), 0); /* the name is free again */
    run_row_done(&run);
    assert_int_equal(s->ops->rename_run(s, UID, RUN_NAME, &err), -EEXIST);
    assert_has(err.msg, RUN_NAME);
    assert_int_equal(s->ops->rename_run(s, "nobody", "x", NULL), -ENOENT);
    store_close(s);
    fixture_done(&f);
}

static void test_events_keep_their_order(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f);
    struct store *s = fixture_open(&f);
    struct run_row run = make_run(UID, RUN_NAME, 1);
    assert_int_equal(s->ops->put_run(s, &run, NULL), 0);
    run_row_done(&run);
    struct event_row late = {900, EVENT_WARNING, "TrialVoid", "pserver/0: killed"};
    struct event_row early = {100, EVENT_NORMAL, "Started", ""};
    assert_int_equal(s->ops->add_event(s, UID, &late, NULL), 0);
    assert_int_equal(s->ops->add_event(s, UID, &early, NULL), 0);
    assert_int_equal(s->ops->add_event(s, "nobody", &early, NULL), -ENOENT);
    struct event_row *rows = NULL;
    size_t n = 0;
    assert_int_equal(s->ops->list_events(s, UID, &rows, &n, NULL), 0);
    assert_int_equal(n, 2);
    assert_int_equal(rows[0].unix_ms, 900);
    assert_int_equal(rows[0].type, EVENT_WARNING);
    assert_string_equal(rows[0].reason, "TrialVoid");
    assert_string_equal(rows[0].note, "pserver/0: killed");
    assert_int_equal(rows[1].type, EVENT_NORMAL);
    assert_string_equal(rows[1].note, "");
    for (size_t i = 0; i < n; i++) {
        event_row_done(&rows[i]);
    }
    free(rows);
    store_close(s);
    fixture_done(&f);
}

static void test_delete_removes_everything(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f);
    struct store *s = fixture_open(&f);
    for (int i = 0; i < 2; i++) {
        struct run_row run = make_run(i == 0 ? UID : "other", i == 0 ? RUN_NAME : "other", i);
        assert_int_equal(s->ops->put_run(s, &run, NULL), 0);
        assert_int_equal(save(s, run.uid, 3, 1, 0, "hello", 5, NULL), 0);
        struct event_row event = {1, EVENT_NORMAL, "Started", ""};
        assert_int_equal(s->ops->add_event(s, run.uid, &event, NULL), 0);
        run_row_done(&run);
    }
    assert_int_equal(s->ops->delete_run(s, "other", NULL), 0);
    assert_int_equal(s->ops->delete_run(s, "other", NULL), -ENOENT);
    assert_whole_attempt(s, "hello", 5); /* the other run is untouched */
    assert_int_equal(s->ops->delete_run(s, UID, NULL), 0);
    store_close(s);

    sqlite3 *db = NULL;
    sqlite3_stmt *q = NULL;
    assert_int_equal(sqlite3_open(f.path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_prepare_v2(db,
                                        "SELECT (SELECT count(*) FROM run) + (SELECT count(*) FROM "
                                        "attempt) + (SELECT count(*) FROM replicas) + "
                                        "(SELECT count(*) FROM log) + (SELECT count(*) FROM event)",
                                        -1, &q, NULL),
                     SQLITE_OK);
    assert_int_equal(sqlite3_step(q), SQLITE_ROW);
    assert_int_equal(sqlite3_column_int(q, 0), 0);
    sqlite3_finalize(q);
    sqlite3_close(db);
    fixture_done(&f);
}

/* A file is made in some way, then opened. */
struct open_row {
    const char *name;
    const char *sql;   /* run on a good store */
    const char *bytes; /* or: the file's content */
    off_t truncate_to; /* or: a good store cut here */
    int expected;
    const char *text;
};

static const struct open_row open_rows[] = {
    {"newer schema", "PRAGMA user_version = 99", NULL, 0, -EPROTO, "schema 99"},
    {"another program's file", "PRAGMA application_id = 7", NULL, 0, -EBADMSG,
     "another program's SQLite file"},
    {"another program's file without an id", "PRAGMA application_id = 0; PRAGMA user_version = 0",
     NULL, 0, -EBADMSG, "another program's SQLite file"},
    {"text", NULL,
     "this is a text file and it is not at all a database, however one reads it; and "
     "it is longer than the hundred bytes of a header",
     0, -EBADMSG, "not a SQLite file"},
    {"unknown phase", "UPDATE run SET phase = 'Dancing'", NULL, 0, -EBADMSG, "unknown run phase"},
    {"unknown outcome", "UPDATE attempt SET outcome = 'x'", NULL, 0, -EBADMSG, "unknown outcome"},
    {"damaged replicas", "UPDATE replicas SET zstd = x'00112233'", NULL, 0, -EBADMSG,
     "the replicas of an attempt cannot be unpacked"},
    {"replicas without their attempt",
     "PRAGMA foreign_keys = OFF; UPDATE replicas SET attempt = 77", NULL, 0, -EBADMSG,
     "replicas without their attempt"},
    {"unknown verdict", "UPDATE run SET thresholds = 'x'", NULL, 0, -EBADMSG, "unknown verdict"},
    {"negative count", "UPDATE run SET trials_done = -1", NULL, 0, -EBADMSG, "trials_done"},
    {"too large a count", "UPDATE run SET trials_total = 4294967296", NULL, 0, -EBADMSG,
     "trials_total"},
    {"damaged log", "UPDATE log SET zstd = x'00112233'", NULL, 0, -EBADMSG, "log"},
    {"truncated", NULL, NULL, 8192, -EBADMSG, "the file is damaged"},
};

static void damage(const struct fixture *f, const struct open_row *row)
{
    if (row->sql != NULL) {
        sqlite3 *db = NULL;
        assert_int_equal(sqlite3_open(f->path, &db), SQLITE_OK);
        assert_int_equal(sqlite3_exec(db, row->sql, NULL, NULL, NULL), SQLITE_OK);
        sqlite3_close(db);
    } else if (row->bytes != NULL) {
        int fd = open(f->path, O_WRONLY | O_TRUNC);
        assert_int_equal(write(fd, row->bytes, strlen(row->bytes)), strlen(row->bytes));
        close(fd);
    } else {
        assert_int_equal(truncate(f->path, row->truncate_to), 0);
    }
}

/* Opens and reads everything; the first error. */
static int read_all(const struct fixture *f, struct err *err)
{
    struct store *s = NULL;
    int r = store_open(f->url, false, &s, err);
    if (r < 0) {
        return r;
    }
    struct run_row *runs = NULL;
    struct attempt_row *rows = NULL;
    size_t n_runs = 0, n_rows = 0, len;
    char *log = NULL;
    struct replica_id id = {{3, 1, 0}, ROLE_PSERVER, 0};
    struct run_brief brief;
    if ((r = s->ops->list_runs(s, &runs, &n_runs, err)) >= 0 &&
        (r = s->ops->get_brief(s, UID, &brief, err)) >= 0 &&
        (r = s->ops->list_attempts(s, UID, &rows, &n_rows, err)) >= 0) {
        r = s->ops->get_log(s, UID, &id, &log, &len, err);
    }
    for (size_t i = 0; i < n_runs; i++) {
        run_row_done(&runs[i]);
    }
    for (size_t i = 0; i < n_rows; i++) {
        attempt_row_done(&rows[i]);
    }
    free(runs);
    free(rows);
    free(log);
    store_close(s);
    return r;
}

static void test_damaged_files_are_named(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(open_rows) / sizeof(open_rows[0]); i++) {
        const struct open_row *row = &open_rows[i];
        struct fixture f;
        fixture_init(&f);
        struct store *s = fixture_open(&f);
        struct run_row run = make_run(UID, RUN_NAME, 1);
        assert_int_equal(s->ops->put_run(s, &run, NULL), 0);
        run_row_done(&run);
        assert_int_equal(save(s, UID, 3, 1, 0, "hello", 5, NULL), 0);
        store_close(s);
        struct err err = {0};
        assert_int_equal(read_all(&f, &err), 0);
        damage(&f, row);
        int r = read_all(&f, &err);
        if (r != row->expected || strstr(err.msg, row->text) == NULL ||
            strstr(err.msg, f.path) == NULL) {
            fail_msg("%s: expected %d '%s', got %d '%s'", row->name, row->expected, row->text, r,
                     err.msg);
        }
        fixture_done(&f);
    }
}

static void test_places_that_cannot_hold_a_store(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f);
    struct store *s = NULL;
    char in_file[160], in_folder[160], deep[160];
    (void)snprintf(in_file, sizeof(in_file), "sqlite:/dev/null/results.db");
    (void)snprintf(in_folder, sizeof(in_folder), "sqlite:%s", f.folder);
    (void)snprintf(deep, sizeof(deep), "sqlite:%s/a/b/results.db", f.folder);
    const struct {
        const char *url;
        bool create;
        int expected;
        const char *text;
    } rows[] = {
        {f.url, false, -ENOENT, "No such file"},
        {deep, false, -ENXIO, "there is no folder '"},
        {deep, true, -ENXIO, "there is no folder '"},
        {in_file, true, -ENOTDIR, "Not a directory"},
        {in_folder, true, -EISDIR, "this is a folder"},
        {"sqlite:", true, -EINVAL, "write sqlite:FILE"},
        {"results.db", true, -EINVAL, "write sqlite:FILE"},
        {"mysql:host", true, -EINVAL, "write sqlite:FILE"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct err err = {0};
        int r = store_open(rows[i].url, rows[i].create, &s, &err);
        if (r != rows[i].expected || strstr(err.msg, rows[i].text) == NULL) {
            fail_msg("%s: expected %d '%s', got %d '%s'", rows[i].url, rows[i].expected,
                     rows[i].text, r, err.msg);
        }
    }
    assert_null(s);
    assert_int_equal(store_make_folder("deep", NULL), -EINVAL);
    assert_int_equal(store_make_folder(deep, NULL), 0);
    assert_int_equal(store_make_folder(deep, NULL), 0);
    assert_int_equal(store_open(deep, true, &s, NULL), 0);
    store_close(s);
    (void)snprintf(deep, sizeof(deep), "%s/a/b/results.db", f.folder);
    assert_int_equal(unlink(deep), 0);
    (void)snprintf(deep, sizeof(deep), "%s/a/b", f.folder);
    assert_int_equal(rmdir(deep), 0);
    (void)snprintf(deep, sizeof(deep), "%s/a", f.folder);
    assert_int_equal(rmdir(deep), 0);
    fixture_done(&f);
}

static int64_t slept_ms;

int __wrap_sqlite3_sleep(int ms);
int __wrap_sqlite3_sleep(int ms)
{
    slept_ms += ms;
    return ms;
}

/* Another process writes and does not end: a call waits 10 s for it, or all together as long as they may. */
static void test_how_long_a_writer_waits(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f);
    struct store *s = fixture_open(&f);
    struct run_row run = make_run(UID, RUN_NAME, 1);
    assert_int_equal(s->ops->put_run(s, &run, NULL), 0);
    sqlite3 *other = NULL;
    assert_int_equal(sqlite3_open(f.path, &other), SQLITE_OK);
    assert_int_equal(sqlite3_exec(other, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_OK);
    slept_ms = 0;
    for (int64_t i = 1; i <= 2; i++) {
        assert_int_equal(s->ops->put_status(s, UID, &run.status, NULL), -EBUSY);
        assert_in_range(slept_ms, i * 10000, i * 10100);
    }
    s->ops->wait_at_most(s, 1000);
    slept_ms = 0;
    for (int i = 0; i < 5; i++) {
        assert_int_equal(s->ops->put_status(s, UID, &run.status, NULL), -EBUSY);
        assert_in_range(slept_ms, 1000, 1050);
    }
    s->ops->wait_at_most(s, 1000);
    assert_int_equal(s->ops->delete_run(s, UID, NULL), -EBUSY);
    assert_in_range(slept_ms, 2000, 2100);
    struct store_stats stats;
    s->ops->get_stats(s, &stats);
    assert_int_equal(stats.busy, 8);
    assert_int_equal(sqlite3_exec(other, "COMMIT", NULL, NULL, NULL), SQLITE_OK);
    assert_int_equal(s->ops->put_status(s, UID, &run.status, NULL), 0);
    assert_int_equal(sqlite3_close(other), SQLITE_OK);
    run_row_done(&run);
    store_close(s);
    fixture_done(&f);
}

/* A statement counts once, however many rows it has. */
static void test_statements_are_timed(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f);
    struct store *s = fixture_open(&f);
    struct store_stats before, after;
    for (int i = 0; i < 3; i++) {
        char uid[8], name[8];
        (void)snprintf(uid, sizeof(uid), "u%d", i);
        (void)snprintf(name, sizeof(name), "n%d", i);
        struct run_row run = make_run(uid, name, 1);
        assert_int_equal(s->ops->put_run(s, &run, NULL), 0);
        run_row_done(&run);
    }
    s->ops->get_stats(s, &before);
    assert_true(histogram_count(&before.statements) >= 3);
    assert_true(before.statements.sum_ns > 0);
    struct run_row *rows;
    size_t n;
    assert_int_equal(s->ops->list_runs(s, &rows, &n, NULL), 0);
    assert_int_equal(n, 3);
    s->ops->get_stats(s, &after);
    assert_int_equal(histogram_count(&after.statements), histogram_count(&before.statements) + 1);
    assert_int_equal(after.busy, 0);
    struct store_space space;
    s->ops->get_space(s, &space);
    assert_in_range(space.disk_free_bytes, 1, space.disk_bytes);
    for (size_t i = 0; i < n; i++) {
        run_row_done(&rows[i]);
    }
    free(rows);
    store_close(s);
    fixture_done(&f);
}

static bool says(void *ctx)
{
    return *(const bool *)ctx;
}

/* A second connection: it sees what is committed, one state between begin_read and end_read, and ends a
 * read when it is told to. */
static void test_a_reader(void **state)
{
    (void)state;
    struct fixture f;
    struct store *reader = NULL;
    struct err err = {0};
    struct attempt_id *ids = NULL;
    size_t n = 0;
    bool must_stop = false;
    fixture_init(&f);
    struct store *s = fixture_open(&f);
    struct run_row run = make_run(UID, RUN_NAME, 1);
    assert_int_equal(s->ops->put_run(s, &run, NULL), 0);
    assert_int_equal(store_open_reader(f.url, says, &must_stop, &reader, &err), 0);
    struct run_version before = {7, 7}, after = {0};
    assert_int_equal(reader->ops->get_version(reader, UID, &before, NULL), 0);
    assert_true(before.n_attempts == 0 && before.last_event == 0);
    assert_int_equal(reader->ops->get_version(reader, "none", &after, NULL), 0);
    assert_true(after.n_attempts == 0 && after.last_event == 0);

    assert_int_equal(reader->ops->begin_read(reader, NULL), 0);
    assert_int_equal(reader->ops->list_attempt_ids(reader, UID, &ids, &n, NULL), 0);
    assert_int_equal(n, 0);
    struct attempt_row rows[2] = {make_attempt(1, 0, 0), make_attempt(0, 2, 1)};
    const struct event_row event = {1, EVENT_NORMAL, (char *)"Odd", (char *)"note"};
    for (size_t i = 0; i < 2; i++) { /* nobody waits for the reader */
        assert_int_equal(s->ops->save_attempt(s, UID, &rows[i], NULL, 0, NULL), 0);
        attempt_row_done(&rows[i]);
    }
    assert_int_equal(s->ops->add_event(s, UID, &event, NULL), 0);
    struct attempt_row *listed = NULL;
    assert_int_equal(reader->ops->list_attempts(reader, UID, &listed, &n, NULL), 0);
    assert_int_equal(n, 0); /* still the state of the first read */
    reader->ops->end_read(reader);

    assert_int_equal(reader->ops->list_attempt_ids(reader, UID, &ids, &n, NULL), 0);
    assert_int_equal(n, 2);
    assert_true(ids[0].point == 0 && ids[0].trial == 2 && ids[0].number == 1 && ids[1].point == 1);
    assert_int_equal(reader->ops->get_version(reader, UID, &after, NULL), 0);
    assert_true(after.n_attempts == 2 && after.last_event > 0);
    assert_int_equal(reader->ops->put_status(reader, UID, &run.status, &err), -EROFS);

    must_stop = true;
    for (uint32_t i = 0; i < 200; i++) { /* it asks now and then only */
        struct attempt_row row = make_attempt(2, i, 0);
        assert_int_equal(s->ops->save_attempt(s, UID, &row, NULL, 0, NULL), 0);
        attempt_row_done(&row);
    }
    assert_int_equal(reader->ops->begin_read(reader, NULL), 0);
    assert_int_equal(reader->ops->list_attempts(reader, UID, &listed, &n, &err), -ECANCELED);
    reader->ops->end_read(reader);
    must_stop = false;
    free(ids);
    assert_int_equal(reader->ops->list_attempt_ids(reader, UID, &ids, &n, NULL), 0);
    assert_int_equal(n, 202);
    free(ids);
    store_close(reader);
    store_close(s);
    run_row_done(&run);
    fixture_done(&f);
}

static void test_store_close_takes_null(void **state)
{
    (void)state;
    store_close(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_run_comes_back),
        cmocka_unit_test(test_status_is_replaced),
        cmocka_unit_test(test_runs_are_listed_newest_first),
        cmocka_unit_test(test_only_those_wanted),
        cmocka_unit_test(test_attempts_come_back_in_order),
        cmocka_unit_test(test_saving_again_changes_nothing),
        cmocka_unit_test(test_logs_are_kept_byte_by_byte),
        cmocka_unit_test(test_an_attempt_that_fails_half_way_leaves_nothing),
        cmocka_unit_test(test_a_simulated_attempt_marks_its_run),
        cmocka_unit_test(test_a_run_is_renamed),
        cmocka_unit_test(test_events_keep_their_order),
        cmocka_unit_test(test_delete_removes_everything),
        cmocka_unit_test(test_damaged_files_are_named),
        cmocka_unit_test(test_places_that_cannot_hold_a_store),
        cmocka_unit_test(test_how_long_a_writer_waits),
        cmocka_unit_test(test_statements_are_timed),
        cmocka_unit_test(test_a_reader),
        cmocka_unit_test(test_store_close_takes_null),
    };
    return cmocka_run_group_tests_name("store", tests, NULL, NULL);
}
