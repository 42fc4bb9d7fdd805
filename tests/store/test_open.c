/* Files and places that are no store, or a damaged one: the error names the
 * file and what is wrong. */
#include "store_fixture.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "store/sqlite_store.h"

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
    {"newer schema", "PRAGMA user_version = 99", NULL, 0, -EPROTONOSUPPORT, "schema 99"},
    {"another program's file", "PRAGMA application_id = 7", NULL, 0, -EBADMSG,
     "another program's SQLite file"},
    {"another program's file without an id", "PRAGMA application_id = 0; PRAGMA user_version = 0",
     NULL, 0, -EBADMSG, "another program's SQLite file"},
    {"our id without a version", "PRAGMA user_version = 0", NULL, 0, -EBADMSG,
     "another program's SQLite file"},
    {"text", NULL,
     "this is a text file and it is not at all a database, however one reads it; and "
     "it is longer than the hundred bytes of a header",
     0, -EBADMSG,
     "': not a benchd store (not a SQLite file); choose another file with --store sqlite:FILE"},
    {"unknown phase", "UPDATE run SET phase = 'Dancing'", NULL, 0, -EBADMSG, "unknown run phase"},
    {"unknown outcome", "UPDATE attempt SET outcome = 'x'", NULL, 0, -EBADMSG, "unknown outcome"},
    {"damaged replicas", "UPDATE replica SET role = 'x' WHERE role = 'trainer'", NULL, 0, -EBADMSG,
     "unknown role of a replica"},
    {"replicas without their attempt", "PRAGMA foreign_keys = OFF; UPDATE replica SET attempt = 77",
     NULL, 0, -EBADMSG, "replicas without their attempt"},
    {"fewer CPUs than none", "UPDATE run SET cpus = -1", NULL, 0, -EBADMSG, "(cpus)"},
    {"no flag", "UPDATE attempt SET simulated = 7", NULL, 0, -EBADMSG, "(simulated)"},
    {"no date", "UPDATE attempt SET ended_unix_ms = -1", NULL, 0, -EBADMSG, "(ended_unix_ms)"},
    {"unknown verdict", "UPDATE run SET thresholds = 'x'", NULL, 0, -EBADMSG, "unknown verdict"},
    {"negative count", "UPDATE run SET trials_done = -1", NULL, 0, -EBADMSG, "trials_done"},
    {"too large a count", "UPDATE run SET trials_total = 4294967296", NULL, 0, -EBADMSG,
     "trials_total"},
    {"damaged log", "UPDATE log SET zstd = x'00112233'", NULL, 0, -EBADMSG, "log"},
    {"truncated", NULL, NULL, 8192, -EBADMSG,
     "': the file is damaged; move it away or restore a copy"},
};

static void damage(const struct fixture *f, const struct open_row *row)
{
    if (row->sql != NULL) {
        fixture_exec(f, row->sql);
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
        (r = s->ops->list_wanted(s, UID, &(struct attempt_wanted){-1, -1, -1}, &rows, &n_rows,
                                 err)) >= 0) {
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

TEST(test_damaged_files_are_named)
{
    for (size_t i = 0; i < sizeof(open_rows) / sizeof(open_rows[0]); i++) {
        const struct open_row *row = &open_rows[i];
        _cleanup_(fixture_done) struct fixture f;
        struct store *s = open_with_run(&f);
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
    }
}

/* A file from before the first release is not touched. */
TEST(test_an_older_schema_is_refused)
{
    for (int version = 1; version < SCHEMA_VERSION; version++) {
        _cleanup_(fixture_done) struct fixture f;
        struct store *s = open_with_run(&f);
        assert_int_equal(save(s, UID, 3, 1, 0, "hello", 5, NULL), 0);
        store_close(s);
        _cleanup_(freep) char *sql = xasprintf("PRAGMA user_version = %d", version);
        _cleanup_(freep) char *text =
            xasprintf("(schema %d, this program reads %d)", version, SCHEMA_VERSION);
        fixture_exec(&f, sql);
        struct err err = {0};
        assert_int_equal(read_all(&f, &err), -EPROTO);
        assert_has(err.msg, text);
        assert_has(err.msg, "choose another file with --store sqlite:FILE");
        _cleanup_(freep) char *back = xasprintf("PRAGMA user_version = %d", SCHEMA_VERSION);
        fixture_exec(&f, back);
        assert_int_equal(read_all(&f, &err), 0);
    }
}

static mode_t mode_of(const char *path)
{
    struct stat st;
    assert_int_equal(stat(path, &st), 0);
    return st.st_mode & 0777;
}

TEST(test_places_that_cannot_hold_a_store)
{
    _cleanup_(fixture_done) struct fixture f = fixture_make();
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
    assert_int_equal(chmod(f.folder, 0755), 0);
    assert_int_equal(store_make_folder(deep, NULL), 0);
    assert_int_equal(mode_of(f.folder), 0755);
    assert_int_equal(store_open(deep, true, &s, NULL), 0);
    store_close(s);
    (void)snprintf(deep, sizeof(deep), "%s/a", f.folder);
    assert_int_equal(mode_of(deep), 0700);
    (void)snprintf(deep, sizeof(deep), "%s/a/b/results.db", f.folder);
    assert_int_equal(mode_of(deep), 0600);
    assert_int_equal(unlink(deep), 0);
    (void)snprintf(deep, sizeof(deep), "%s/a/b", f.folder);
    assert_int_equal(rmdir(deep), 0);
    (void)snprintf(deep, sizeof(deep), "%s/a", f.folder);
    assert_int_equal(rmdir(deep), 0);
}
