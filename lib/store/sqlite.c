/* The SQLite store: opening a file, its runs, and readers. The other parts: sqlite_store.h. */
#include "store/sqlite_store.h"

#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <zstd.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/str.h"

#define BUSY_TIMEOUT_MS 10000
#define BUSY_STEP_MS 50
/* A read waits only while the writer starts the WAL anew. */
#define READER_BUSY_TIMEOUT_MS 1000
/* Instructions of SQLite's machine between two questions: some tens of microseconds. */
#define ASK_EVERY_INSTRUCTIONS 1000

#define RUN_COLUMNS(definition)                                                                    \
    "uid, name, benchmark, " definition ", created_unix_ms, cpus, rehearsal, simulated, "          \
    "object_ns, deleted_unix_ms, incarnation, " STATUS_COLUMNS

static int insert_run(struct sqlite_store *s, const struct run_row *row, struct err *err)
{
    const int r = sql_run(s, err,
                          "INSERT INTO run (uid, name, benchmark, definition, created_unix_ms, "
                          "cpus, rehearsal, simulated, object_ns, incarnation) "
                          "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, random()) ON CONFLICT DO NOTHING",
                          "ssssiiiis", row->uid, row->name, row->benchmark, row->definition_json,
                          row->created_unix_ms, row->cpus, (int64_t)row->rehearsal,
                          (int64_t)row->simulated, row->object_ns);
    return r < 0 ? r
           : r == 0
               ? err_set(err, EEXIST, "store '%s': run '%s' already exists", s->path, row->name)
               : status_write(s, row->uid, &row->status, err);
}

static int put_run(struct store *base, const struct run_row *row, struct err *err)
{
    struct sqlite_store *s = sqlite_store_of(base);
    return sql_in_transaction(s, err, insert_run(s, row, err));
}

static int put_status(struct store *base, const char *uid, const struct run_status *st,
                      struct err *err)
{
    struct sqlite_store *s = sqlite_store_of(base);
    return sql_in_transaction(s, err, status_write(s, uid, st, err));
}

static int read_run(struct sqlite_store *s, sqlite3_stmt *q, struct run_row *ret, struct err *err)
{
    struct run_row row = {0};
    int r = sql_read(s, q, 0, err, "ssssccffncl", &row.uid, &row.name, &row.benchmark,
                     &row.definition_json, &row.created_unix_ms, &row.cpus, &row.rehearsal,
                     &row.simulated, &row.object_ns, &row.deleted_unix_ms, &row.incarnation);
    r = r < 0 ? r : status_read(s, q, 11, &row.status, err);
    if (r < 0) {
        run_row_done(&row);
        return r;
    }
    *ret = row;
    return 0;
}

static int get_run(struct store *base, const char *name_or_uid, struct run_row *ret,
                   struct err *err)
{
    struct sqlite_store *s = sqlite_store_of(base);
    _cleanup_(sql_finalizep) sqlite3_stmt *q = NULL;
    const int r = sql_first(
        s, &q, err, "SELECT " RUN_COLUMNS("definition") " FROM run WHERE name = ?1 OR uid = ?1",
        "s", name_or_uid);
    return r < 0 ? r : r == 0 ? sql_no_run(s, name_or_uid, err) : read_run(s, q, ret, err);
}

static int list_runs(struct store *base, struct run_row **ret, size_t *ret_n, struct err *err)
{
    struct sqlite_store *s = sqlite_store_of(base);
    _cleanup_(sql_finalizep) sqlite3_stmt *q = NULL;
    VEC(struct run_row) rows = {0};
    int r = sql_prepare(s, &q, err,
                        "SELECT " RUN_COLUMNS("''") " FROM run ORDER BY created_unix_ms DESC, name",
                        "");
    while (r >= 0 && (r = sql_step(s, q, err)) > 0) {
        struct run_row row;
        if ((r = read_run(s, q, &row, err)) >= 0) {
            *vec_push(&rows) = row;
        }
    }
    return sql_hand_over(r, &rows, run_row_done, ret, ret_n);
}

static int rename_once(struct sqlite_store *s, const char *uid, const char *name, struct err *err)
{
    int64_t n = 0;
    int r = sql_run(s, err, "UPDATE OR IGNORE run SET name = ? WHERE uid = ?", "ss", name, uid);
    if (r != 0) {
        return r < 0 ? r : 0;
    }
    r = sql_count_runs(s, uid, &n, err);
    return r < 0    ? r
           : n == 0 ? sql_no_run(s, uid, err)
                    : err_set(err, EEXIST, "store '%s': run '%s' already exists", s->path, name);
}

static int rename_run(struct store *base, const char *uid, const char *name, struct err *err)
{
    struct sqlite_store *s = sqlite_store_of(base);
    return sql_in_transaction(s, err, rename_once(s, uid, name, err));
}

/* SQLite asks before each wait for another process; `n` counts those of one call. */
static int on_busy(void *ctx, int n)
{
    struct sqlite_store *s = ctx;
    if (n == 0 && !s->is_wait_shared) {
        s->wait_left_ms = BUSY_TIMEOUT_MS;
    }
    if (s->wait_left_ms <= 0) {
        return 0; /* SQLITE_BUSY */
    }
    const int wait_ms = n < 5 ? 1 << n : BUSY_STEP_MS;
    (void)sqlite3_sleep(wait_ms); /* how long it really was does not matter */
    s->wait_left_ms -= wait_ms;
    return 1;
}

static void wait_at_most(struct store *base, int64_t ms)
{
    struct sqlite_store *s = sqlite_store_of(base);
    s->is_wait_shared = true;
    s->wait_left_ms = ms;
}

/* Also on a full disk, which it may be meant to mend. */
static int delete_run(struct store *base, const char *uid, struct err *err)
{
    struct sqlite_store *s = sqlite_store_of(base);
    /* The rest goes by cascade. */
    const int r = space_with_reserve(
        s, sql_change_run(s, uid, err, "DELETE FROM run WHERE uid = ?", "s", uid));
    if (r == 0 && s->is_full) {
        space_after_deletion(s);
    }
    return r;
}

static void get_times(const struct store *base, struct histogram *ret)
{
    *ret = ((const struct sqlite_store *)base)->times; /* as in sqlite_store_of */
}

static void sqlite_rest(struct store *base)
{
    struct sqlite_store *s = sqlite_store_of(base);
    (void)sqlite3_db_release_memory(s->db); /* the cache; it never fails */
    (void)ZSTD_freeDCtx(s->unpacker);       /* nor does this */
    s->unpacker = NULL;
    log_cache_done(&s->logs);
}

static void sqlite_close(struct store *base)
{
    struct sqlite_store *s = sqlite_store_of(base);
    claim_release_all(s);
    replicas_finalize(s);
    (void)sqlite3_close(s->db);       /* every statement is finalized: cannot be busy */
    (void)ZSTD_freeDCtx(s->unpacker); /* NULL is fine */
    log_cache_done(&s->logs);
    free(s->path);
    free(s);
}

/* ---- readers ---- */

/* A reader belongs to another thread than the store that writes: SQLite shares nothing between two
 * connections but the file. In WAL mode a writer never waits for a reader. */
static int on_progress(void *ctx)
{
    const struct sqlite_store *s = ctx;
    return s->must_stop(s->stop_ctx); /* not 0: the statement ends with SQLITE_INTERRUPT */
}

void sqlite_stop_when(struct sqlite_store *s, bool (*must_stop)(void *ctx), void *ctx)
{
    s->must_stop = must_stop;
    s->stop_ctx = ctx;
    if (must_stop != NULL) {
        sqlite3_progress_handler(s->db, ASK_EVERY_INSTRUCTIONS, on_progress, s);
    }
}

static int begin_read(struct store *base, struct err *err)
{
    return sql_exec(sqlite_store_of(base), "BEGIN", err);
}

static void end_read(struct store *base)
{
    struct sqlite_store *s = sqlite_store_of(base);
    if (!sqlite3_get_autocommit(s->db)) { /* an error may have ended it */
        /* Nothing was written, so nothing can be lost; it does not wait. */
        (void)sqlite3_exec(s->db, "ROLLBACK", NULL, NULL, NULL);
    }
}

static const struct store_ops sqlite_ops = {
    .put_run = put_run,
    .get_run = get_run,
    .get_brief = ends_get_brief,
    .list_runs = list_runs,
    .put_status = put_status,
    .put_verdict = ends_put_verdict,
    .rename_run = rename_run,
    .delete_run = delete_run,
    .set_object = ends_set_object,
    .sync_objects = ends_sync_objects,
    .find_deleted = ends_find_deleted,
    .list_finished = ends_list_finished,
    .list_open = ends_list_open,
    .pack_logs = logs_pack,
    .free_packed = logs_free,
    .save_attempt = attempts_save,
    .list_wanted = attempts_list_wanted,
    .list_outcomes = attempts_list_outcomes,
    .list_figures = figures_list,
    .get_log = logs_get,
    .add_event = events_add,
    .put_file = files_put,
    .list_files = files_list,
    .list_events = events_list,
    .claim_run = claim_take,
    .release_run = claim_release,
    .probe_run = claim_probe,
    .wait_at_most = wait_at_most,
    .begin_write = sql_begin_all,
    .end_write = sql_end_all,
    .begin_read = begin_read,
    .end_read = end_read,
    .keep_reserve = space_keep_reserve,
    .get_space = space_get,
    .get_used = space_get_used,
    .get_times = get_times,
    .try_space = space_try,
    .rest = sqlite_rest,
    .close = sqlite_close,
};

/* ---- stores by URL ---- */

#define SQLITE_SCHEME "sqlite:"

/* The path in `url`, borrowed; NULL: it is not a store. */
static const char *sqlite_path(const char *url, struct err *err)
{
    const size_t len = strlen(SQLITE_SCHEME);
    if (str_has_prefix(url, SQLITE_SCHEME) && url[len] != '\0') {
        return url + len;
    }
    (void)err_set(err, EINVAL, "store '%s': not a store; write sqlite:FILE", url);
    return NULL;
}

int store_make_folder(const char *url, struct err *err)
{
    const char *path = sqlite_path(url, err);
    if (path == NULL) {
        return -EINVAL;
    }
    _cleanup_(freep) char *folder = xstrdup(path);
    for (char *slash = strchr(folder + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        if (mkdir(folder, 0700) < 0 && errno != EEXIST) {
            return err_set_errno(err, errno, "store '%s': folder '%s'", path, folder);
        }
        *slash = '/';
    }
    /* SQLite's own files next to it get its mode. Opening the store says why there is no file. */
    int fd = open(path, O_RDONLY | O_CREAT | O_CLOEXEC, 0600);
    fd_close(&fd);
    return 0;
}

/* The file as an absolute path: some relative names (":memory:") are special to SQLite. */
static int absolute_path(const char *url, bool create, char **ret, struct err *err)
{
    const char *path = sqlite_path(url, err);
    if (path == NULL) {
        return -EINVAL;
    }
    const char *slash = strrchr(path, '/');
    const char *base = slash == NULL ? path : slash + 1;
    if (base[0] == '\0') {
        return err_set(err, EISDIR, "store '%s': this is a folder, not a file", path);
    }
    _cleanup_(freep) char *folder =
        slash == NULL ? xstrdup(".") : xstrndup(path, (size_t)(slash - path) + (slash == path));
    char resolved[PATH_MAX];
    if (realpath(folder, resolved) == NULL) {
        return errno == ENOENT
                   ? err_set(err, ENXIO, "store '%s': there is no folder '%s'", path, folder)
                   : err_set_errno(err, errno, "store '%s'", path);
    }
    _cleanup_(freep) char *full = xasprintf("%s/%s", str_eq(resolved, "/") ? "" : resolved, base);
    struct stat st;
    if (stat(full, &st) == 0) {
        if (S_ISDIR(st.st_mode)) {
            return err_set(err, EISDIR, "store '%s': this is a folder, not a file", full);
        }
        /* One name per file: claims are files next to it, not next to a link to it. */
        if (realpath(full, resolved) == NULL) {
            return err_set_errno(err, errno, "store '%s'", full);
        }
        *ret = xstrdup(resolved);
        return 0;
    }
    if (!create || errno != ENOENT) {
        return err_set_errno(err, errno, "store '%s'", full);
    }
    *ret = take_ptr(full);
    return 0;
}

/* Can files be created next to the store? 0, or why not (-errno). */
static int check_folder(const char *path)
{
    _cleanup_(freep) char *folder = xstrndup(path, (size_t)(strrchr(path, '/') - path) + 1);
    return access(folder, W_OK) < 0 ? -errno : 0;
}

char *sqlite_uri(const char *path, const char *how)
{
    struct buf uri = BUF_INIT;
    buf_puts(&uri, "file:");
    buf_put_percent(&uri, path, BUF_ALNUM "/._-");
    buf_printf(&uri, "?%s", how);
    return buf_take(&uri);
}

/* In a folder that cannot be written SQLite could not create the WAL file next to it. */
char *sqlite_reader_uri(const char *path)
{
    _cleanup_(freep) char *wal = xasprintf("%s-wal", path);
    const bool is_still = check_folder(path) < 0 && access(wal, F_OK) < 0;
    return sqlite_uri(path, is_still ? "immutable=1" : "mode=ro");
}

int sqlite_connect(struct sqlite_store *s, const char *name, int flags, struct err *err)
{
    const int all = flags | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE;
    const int rc = sqlite3_open_v2(name, &s->db, all, NULL);
    return rc != SQLITE_OK
               ? sql_error(s, rc, err)
               : sql_exec(s, "PRAGMA trusted_schema = OFF; PRAGMA temp_store = MEMORY", err);
}

static int open_file(struct sqlite_store *s, bool create, struct err *err)
{
    int flags = SQLITE_OPEN_READWRITE | (create ? SQLITE_OPEN_CREATE : 0);
    int folder = check_folder(s->path);
    if (folder < 0 && create) {
        return err_set_errno(err, -folder, "store '%s'", s->path);
    }
    /* Results can be read where nothing can be written. */
    _cleanup_(freep) char *name = folder < 0 ? sqlite_reader_uri(s->path) : xstrdup(s->path);
    flags = folder < 0 ? SQLITE_OPEN_READONLY : flags;
    const int r = sqlite_connect(s, name, flags, err);
    if (r < 0) {
        return r;
    }
    (void)sqlite3_busy_handler(s->db, on_busy, s); /* never fails */
    /* FULL: a committed trial also survives a power cut; a trial writes rarely.
     * secure_delete: Debian's SQLite fills deleted pages with zeros, which takes as much
     * space as the run that is deleted. */
    return sql_exec(s,
                    "PRAGMA foreign_keys = ON; PRAGMA synchronous = FULL;"
                    "PRAGMA secure_delete = FAST",
                    err);
}

static int open_all(struct sqlite_store *s, bool create, struct err *err)
{
    int r = open_file(s, create, err);
    return r < 0 ? r : schema_prepare(s, err);
}

struct sqlite_store *sqlite_store_new(const char *path)
{
    struct sqlite_store *s = xnew(struct sqlite_store);
    s->base.ops = &sqlite_ops;
    s->path = xstrdup_or_null(path);
    return s;
}

static int opened(struct sqlite_store *s, int r, struct store **ret)
{
    if (r < 0) {
        sqlite_close(&s->base);
    } else {
        *ret = &s->base;
    }
    return r;
}

int store_open(const char *url, bool create, struct store **ret, struct err *err)
{
    struct sqlite_store *s = sqlite_store_new(NULL);
    int r = absolute_path(url, create, &s->path, err);
    r = r < 0 ? r : open_all(s, create, err);
    if (r == -ENOSPC && space_release_reserve(s)) { /* to read needs a little, too */
        (void)sqlite3_close(s->db);                 /* no statement is left */
        s->db = NULL;
        r = open_all(s, create, err);
    }
    return opened(s, r, ret);
}

int store_open_reader(const char *url, bool (*must_stop)(void *ctx), void *ctx, struct store **ret,
                      struct err *err)
{
    struct sqlite_store *s = sqlite_store_new(NULL);
    int r = absolute_path(url, false, &s->path, err);
    r = r < 0 ? r : sqlite_connect(s, s->path, SQLITE_OPEN_READONLY, err);
    if (r >= 0) {
        sqlite_stop_when(s, must_stop, ctx);
        (void)sqlite3_busy_timeout(s->db, READER_BUSY_TIMEOUT_MS); /* never fails */
        r = sql_exec(s, "PRAGMA query_only = ON", err);
    }
    return opened(s, r, ret);
}

void store_close(struct store *s)
{
    if (s != NULL) {
        s->ops->close(s);
    }
}
