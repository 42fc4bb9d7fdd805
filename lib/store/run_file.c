/* See run_file.h. A file that is opened may come from elsewhere. */
#include "store/run_file.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <openssl/evp.h>

#include "base/mem.h"
#include "base/str.h"
#include "base/whole_file.h"
#include "store/sqlite_store.h"

#define ROOM ".run-tmp-" /* in the name of a file that is made */
#define FILE_SQL "CREATE TABLE file (program TEXT NOT NULL, digest TEXT NOT NULL) STRICT"
#define MAX_NAME 253                    /* of an object in Kubernetes */
#define MAX_LOG_BYTES ((size_t)1 << 30) /* of an attempt, unpacked: they are in memory */
#define MAX_SQL_BYTES 65536 /* of a statement: those of a file's schema are ours, and short */

void run_file_head_done(struct run_file_head *head)
{
    free(head->program);
    *head = (struct run_file_head){0};
}

int run_file_room(const char *near, char **ret_path, struct err *err)
{
    _cleanup_(freep) char *path = xasprintf("%s" ROOM "XXXXXX", near);
    int fd = mkostemp(path, O_CLOEXEC);
    if (fd < 0) {
        return err_set_errno(err, errno, "no room for a run, as '%s'", path);
    }
    fd_close(&fd);
    *ret_path = take_ptr(path);
    return 0;
}

void run_file_sweep(const char *near)
{
    const char *begin = file_last_part(near);
    _cleanup_(freep) char *folder =
        begin == near ? xstrdup(".") : xstrndup(near, (size_t)(begin - near));
    _cleanup_(texts_done) struct texts names = {0};
    file_names(folder, &names);
    vec_each (char *const, name, &names.list) {
        if (str_has_prefix(*name, begin) && str_has_prefix(*name + strlen(begin), ROOM) &&
            strlen(*name) == strlen(begin) + strlen(ROOM "XXXXXX")) {
            _cleanup_(freep) char *path = xasprintf("%s/%s", folder, *name);
            (void)unlink(path); /* the next start tries again */
        }
    }
}

/* ---- a database of its own ---- */

/* `is_new`: of an empty file, which gets the tables; path NULL: of no file, but memory. */
static int open_database(const char *path, bool is_new, struct store **ret, struct err *err)
{
    struct sqlite_store *s = sqlite_store_new(path);
    _cleanup_(store_closep) struct store *base = &s->base;
    s->is_file = true;
    _cleanup_(freep) char *uri =
        path == NULL ? xstrdup(":memory:") : sqlite_uri(path, is_new ? "mode=rw" : "immutable=1");
    int r = sqlite_connect(s, uri, is_new ? SQLITE_OPEN_READWRITE : SQLITE_OPEN_READONLY, err);
    if (r >= 0 && is_new) { /* whoever sees it fail unlinks it: nothing is rolled back */
        r = sql_exec(s, "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF", err);
        r = r < 0 ? r : schema_create(s, err);
        r = r < 0 ? r : sql_exec(s, FILE_SQL, err);
    }
    if (r < 0) {
        return r;
    }
    *ret = take_ptr(base);
    return 0;
}

/* ---- copying ---- */

/* The tables of a file besides that of its run, in the order in which they are read. `key`: a
 * column that has the id of a row of the table of its name. Ids are others in each database; in a
 * file they rise in the order in which rows are `copied`. */
static const struct table {
    const char *name, *key, *order, *copied;
} tables[] = {
    {"machine", "", "id", "facts"},
    {"environment", "", "id", "facts"},
    {"event", "", "id", "id"},
    {"program_file", "", "run_uid, name", "name"},
#define ATTEMPT_KEY "run_uid, point, trial, attempt"
    {"attempt", "machine", ATTEMPT_KEY, ATTEMPT_KEY},
#define REPLICA_KEY ATTEMPT_KEY ", role, replica_index"
    {"replica", "environment", REPLICA_KEY, REPLICA_KEY},
    {"log", "", REPLICA_KEY, REPLICA_KEY},
};
enum { FILES = 3, ATTEMPTS = 4, LOGS = 6 }; /* indexes; the tables before FILES have ids */

/* Rows of main.`t` from those of src.`t`. An id of nothing stays one. */
static int copy_table(struct sqlite_store *s, const char *uid, const struct table *t,
                      const struct attempt_range *range, struct err *err)
{
    _cleanup_(sql_finalizep) sqlite3_stmt *q = NULL;
    int r = sql_first(
        s, &q, err,
        "SELECT group_concat(name), group_concat(CASE name WHEN ?2 "
        "THEN 'CASE WHEN t.' || ?2 || ' IS NOT NULL THEN coalesce(n.id, -1) END' "
        "ELSE 't.' || name END) FROM (SELECT name FROM pragma_table_info(?1) WHERE name <> 'id' "
        "ORDER BY cid)",
        "ss", t->name, t->key);
    if (r < 0) {
        return r;
    }
    _cleanup_(freep) char *join =
        t->key[0] == '\0' ? xstrdup("")
                          : xasprintf("LEFT JOIN src.%s o ON o.id = t.%s LEFT JOIN main.%s n "
                                      "ON n.run_uid = t.run_uid AND n.facts = o.facts ",
                                      t->key, t->key, t->key);
    _cleanup_(freep) char *within =
        t < &tables[ATTEMPTS]
            ? xstrdup("")
            : xasprintf("AND t.point BETWEEN %lld AND %lld AND t.trial BETWEEN %lld AND %lld "
                        "AND t.attempt BETWEEN %lld AND %lld ",
                        (long long)range->low[0], (long long)range->high[0],
                        (long long)range->low[1], (long long)range->high[1],
                        (long long)range->low[2], (long long)range->high[2]);
    _cleanup_(freep) char *sql = xasprintf(
        "INSERT INTO main.%s (%s) SELECT %s FROM src.%s t %sWHERE t.run_uid = ? %sORDER BY t.%s",
        t->name, (const char *)sqlite3_column_text(q, 0), (const char *)sqlite3_column_text(q, 1),
        t->name, join, within, t->copied);
    return sql_run(s, err, sql, "s", uid);
}

#define RUN_KEPT                                                                                   \
    "uid, benchmark, definition, created_unix_ms, cpus, rehearsal, simulated, " STATUS_COLUMNS
/* From the database that is attached as src; in the transaction of the caller. 0: there is no such
 * run, or there is one in main; else 1. */
static int copy_all(struct sqlite_store *s, const char *uid, const char *name, bool is_file,
                    const struct run_file_parts *parts, struct err *err)
{
    const struct attempt_range range = attempts_range(&parts->attempts);
    /* What follows from a run's place, its object and its verdict, is not copied. */
    int r = sql_run(s, err,
                    "INSERT INTO main.run (name, incarnation, " RUN_KEPT ") "
                    "SELECT coalesce(?2, name), CASE WHEN ?3 THEN 0 ELSE random() END, " RUN_KEPT
                    " FROM src.run WHERE uid = ?1 ON CONFLICT DO NOTHING",
                    "ssi", uid, name, (int64_t)is_file);
    if (r <= 0) {
        return r;
    }
    for (size_t i = 0; i < COUNT_OF(tables) && r >= 0; i++) {
        r = i == LOGS && parts->without_logs ? r : copy_table(s, uid, &tables[i], &range, err);
    }
    return r < 0 ? r : 1;
}

static int attach(struct sqlite_store *s, const char *uri, struct err *err)
{
    const int r = sql_run(s, err, "ATTACH ? AS src", "s", uri);
    return r < 0 ? r : 0;
}

/* ---- the digest ---- */

static void add_number(EVP_MD_CTX *sha, uint64_t value)
{
    unsigned char bytes[8];
    for (size_t i = 0; i < sizeof(bytes); i++) {
        bytes[i] = (unsigned char)(value >> (8 * i));
    }
    (void)EVP_DigestUpdate(sha, bytes, sizeof(bytes)); /* as EVP_DigestFinal_ex reports */
}

/* A letter for the type; then eight bytes: the number, or the length of what follows. */
static void add_value(EVP_MD_CTX *sha, sqlite3_stmt *q, int at)
{
    const int type = sqlite3_column_type(q, at);
    const char letter = "?IRTBN"[type];
    (void)EVP_DigestUpdate(sha, &letter, 1);
    if (type == SQLITE_INTEGER) {
        add_number(sha, (uint64_t)sqlite3_column_int64(q, at));
    } else if (type == SQLITE_FLOAT) {
        const double value = sqlite3_column_double(q, at);
        uint64_t bits;
        memcpy(&bits, &value, sizeof(bits));
        add_number(sha, bits);
    } else if (type != SQLITE_NULL) {
        const void *data = sqlite3_column_blob(q, at);
        const size_t len = (size_t)sqlite3_column_bytes(q, at);
        add_number(sha, len);
        (void)EVP_DigestUpdate(sha, data, len);
    }
}

static int add_rows(struct sqlite_store *s, EVP_MD_CTX *sha, const char *table, const char *order,
                    struct err *err)
{
    _cleanup_(sql_finalizep) sqlite3_stmt *q = NULL;
    _cleanup_(freep) char *sql = xasprintf("SELECT * FROM main.%s ORDER BY %s", table, order);
    int r = sql_prepare(s, &q, err, sql, "");
    while (r >= 0 && (r = sql_step(s, q, err)) > 0) {
        (void)EVP_DigestUpdate(sha, table, strlen(table));
        for (int i = 0; i < sqlite3_column_count(q); i++) {
            add_value(sha, q, i);
        }
    }
    return r;
}

static int digest_of(struct sqlite_store *s, char *ret, struct err *err)
{
    unsigned char digest[EVP_MAX_MD_SIZE];
    EVP_MD_CTX *sha = EVP_MD_CTX_new();
    bool is_made = sha != NULL && EVP_DigestInit_ex(sha, EVP_sha256(), NULL) == 1;
    int r = is_made ? add_rows(s, sha, "run", "uid", err) : 0;
    for (size_t i = 0; i < COUNT_OF(tables) && is_made && r >= 0; i++) {
        r = add_rows(s, sha, tables[i].name, tables[i].order, err);
    }
    is_made = is_made && EVP_DigestFinal_ex(sha, digest, NULL) == 1;
    EVP_MD_CTX_free(sha); /* NULL is fine */
    for (size_t i = 0; is_made && i < (RUN_FILE_DIGEST_SIZE - 1) / 2; i++) {
        (void)snprintf(ret + 2 * i, 3, "%02x", digest[i]);
    }
    return r < 0 || is_made ? r : err_set(err, ENOSYS, "this OpenSSL has no SHA-256");
}

/* ---- making one ---- */

static int fill(struct sqlite_store *s, const struct sqlite_store *from, const char *uid,
                const struct run_file_parts *parts, const char *program, char *digest,
                struct err *err)
{
    int r = copy_all(s, uid, NULL, true, parts, err);
    r = r == 0 ? sql_no_run(from, uid, err) : r;
    r = r < 0 ? r : digest_of(s, digest, err);
    r = r < 0 ? r : sql_run(s, err, "INSERT INTO file VALUES (?, ?)", "ss", program, digest);
    return r < 0 ? r : 0;
}

int run_file_make(struct store *base, const char *uid, const struct run_file_parts *parts,
                  const char *program, const char *path, char *digest, struct err *err)
{
    const struct sqlite_store *from = sqlite_store_of(base);
    _cleanup_(store_closep) struct store *file = NULL;
    _cleanup_(freep) char *uri = sqlite_reader_uri(from->path);
    int r = open_database(path, true, &file, err);
    struct sqlite_store *s = sqlite_store_of(file);
    if (r >= 0) {
        sqlite_stop_when(s, from->must_stop, from->stop_ctx);
        r = attach(s, uri, err);
    }
    return r < 0 ? r : sql_in_transaction(s, err, fill(s, from, uid, parts, program, digest, err));
}

/* ---- opening one from elsewhere ---- */

/* The first row that a query gives is a fault: what it says. */
static int check_no_row(struct sqlite_store *s, const char *sql, const char *fault, struct err *err)
{
    _cleanup_(sql_finalizep) sqlite3_stmt *q = NULL;
    const int r = sql_first(s, &q, err, sql, "");
    return r <= 0 ? r
                  : err_set(err, EPROTO, "%s: %s", fault,
                            sqlite3_column_type(q, 0) == SQLITE_NULL
                                ? "?"
                                : (const char *)sqlite3_column_text(q, 0));
}

#define OBJECTS                                                                                    \
    "SELECT type || ' ' || name, type || ' ' || name || ' ' || tbl_name || ' ' || "                \
    "coalesce(sql, '') FROM sqlite_schema ORDER BY 2"

/* Both have the same tables, indexes and views, to the letter. */
static int compare_objects(struct sqlite_store *theirs, struct sqlite_store *ours, struct err *err)
{
    _cleanup_(sql_finalizep) sqlite3_stmt *a = NULL, *b = NULL;
    int r = sql_prepare(theirs, &a, err, OBJECTS, "");
    r = r < 0 ? r : sql_prepare(ours, &b, err, OBJECTS, "");
    for (bool is_more = true; is_more && r >= 0;) {
        r = sql_step(theirs, a, err);
        const int other = r < 0 ? r : sql_step(ours, b, err);
        is_more = r > 0 && other > 0;
        r = other < 0 ? other : r;
        const char *x = (const char *)sqlite3_column_text(is_more || r > 0 ? a : b, 1);
        const char *y = is_more ? (const char *)sqlite3_column_text(b, 1) : NULL;
        if (r >= 0 && (is_more ? !str_eq(x, y) : r != other)) {
            r = err_set(err, EPROTO, "its %.64s is not as benchd makes it",
                        (const char *)sqlite3_column_text(r > 0 ? a : b, 0));
        }
    }
    return r < 0 ? r : 0;
}

static int check_tables(struct sqlite_store *s, struct err *err)
{
    _cleanup_(store_closep) struct store *ours = NULL;
    int64_t n_heads = 0;
    int r = check_no_row(s, "SELECT * FROM pragma_encoding WHERE encoding <> 'UTF-8'",
                         "its texts have another encoding", err);
    r = r < 0 ? r
              : sql_get_int(s, &n_heads, err,
                            "SELECT count(*) FROM sqlite_schema WHERE name = 'file'", "");
    if (r >= 0 && n_heads == 0) {
        return err_set(
            err, EPROTO,
            "it is a store, and no exported run: benchctl export RUN --store sqlite:FILE");
    }
    r = r < 0 ? r : open_database(NULL, true, &ours, err);
    r = r < 0 ? r : compare_objects(s, sqlite_store_of(ours), err);
    r = r < 0
            ? r
            : check_no_row(s, "SELECT * FROM pragma_integrity_check WHERE integrity_check <> 'ok'",
                           "it is damaged", err);
    r = r < 0 ? r
              : check_no_row(s, "PRAGMA foreign_key_check", "rows of nothing, in its table", err);
    r = r < 0 ? r : sql_get_int(s, &n_heads, err, "SELECT count(*) FROM file", "");
    return r < 0 || n_heads == 1 ? r : err_set(err, EPROTO, "its table file has not one row");
}

static int read_head(struct sqlite_store *s, struct run_file_head *ret, struct err *err)
{
    _cleanup_(sql_finalizep) sqlite3_stmt *q = NULL;
    int r = digest_of(s, ret->digest, err);
    r = r < 0 ? r : sql_first(s, &q, err, "SELECT program, digest FROM file", "");
    if (r >= 0 && !str_eq(ret->digest, (const char *)sqlite3_column_text(q, 1))) {
        r = err_set(err, EPROTO, "its rows are not those of its digest");
    }
    return r < 0 ? r : sql_read(s, q, 0, err, "s", &ret->program);
}

bool run_file_may_work_later(int r)
{
    return r == -ENOSPC || r == -ENOMEM || r == -EROFS;
}

/* What this machine lacks is no fault of the file. */
static int fault_of(int r, const struct err *why, struct err *err)
{
    const bool is_kept = run_file_may_work_later(r) || r == -EIO || r == -EPROTONOSUPPORT;
    return err_set(err, is_kept ? -r : EPROTO, "%s", why->msg);
}

int run_file_open(const char *path, struct store **ret, struct run_file_head *head, struct err *err)
{
    _cleanup_(store_closep) struct store *base = NULL;
    _cleanup_(run_file_head_done) struct run_file_head own = {0};
    struct err why = {0};
    int r = open_database(path, false, &base, &why);
    struct sqlite_store *s = sqlite_store_of(base);
    if (r >= 0) { /* none of these fails */
        (void)sqlite3_db_config(s->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
        (void)sqlite3_db_config(s->db, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
        (void)sqlite3_db_config(s->db, SQLITE_DBCONFIG_ENABLE_VIEW, 0, NULL);
        (void)sqlite3_limit(s->db, SQLITE_LIMIT_SQL_LENGTH, MAX_SQL_BYTES);
        r = sql_exec(s, "PRAGMA cell_size_check = ON; PRAGMA mmap_size = 0; PRAGMA query_only = ON",
                     &why);
    }
    r = r < 0 ? r : schema_accept(s, &why);
    r = r == 0 ? err_set(&why, EPROTO, "it has no tables") : r;
    r = r < 0 ? r : check_tables(s, &why);
    r = r < 0 ? r : read_head(s, &own, &why);
    if (r < 0) {
        return fault_of(r, &why, err);
    }
    *head = own;
    own = (struct run_file_head){0};
    *ret = take_ptr(base);
    return 0;
}

/* ---- taking it in ---- */

/* Names go into lists and file names of whoever imports the run. */
static bool is_name(const char *text)
{
    const size_t len = strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789-.");
    return len > 0 && len <= MAX_NAME && text[len] == '\0' && text[0] != '.' && text[0] != '-';
}

int run_file_run(struct store *file, struct run_row *ret, struct err *err)
{
    struct run_row *rows = NULL;
    size_t n = 0;
    int r = file->ops->list_runs(file, &rows, &n, err);
    if (r >= 0 && n != 1) {
        r = err_set(err, EPROTO, "it has %zu runs, not one", n);
    }
    if (r >= 0 && (!is_name(rows[0].name) || !is_name(rows[0].uid))) {
        r = err_set(err, EPROTO, "the run has a name or a uid that no run has");
    }
    r = r < 0 ? r : file->ops->get_run(file, rows[0].uid, ret, err);
    free_each(rows, n, run_row_done);
    return r;
}

/* An attempt with its logs. */
struct taken {
    struct attempt_row row;
    VEC(struct replica_log) logs; /* their texts are owned, too */
    size_t n_bytes;               /* of these */
    size_t n_lost;                /* replicas that printed something, without a log */
};

static void taken_done(struct taken *t)
{
    vec_each (struct replica_log, log, &t->logs) {
        free((void *)(uintptr_t)log->data);
    }
    vec_done(&t->logs);
    attempt_row_done(&t->row);
}

static int take_log(struct store *from, const char *uid, const struct replica_row *replica,
                    struct taken *t, struct err *err)
{
    char *text = NULL;
    size_t len = 0;
    struct err why = {0};
    const int r = from->ops->get_log(from, uid, &replica->id, &text, &len, &why);
    if (r < 0) {
        t->n_lost += r == -ENOENT;
        return r == -ENOENT ? 0 : err_set(err, -r, "%s", why.msg);
    }
    *vec_push(&t->logs) = (struct replica_log){replica->id, text, len};
    t->n_bytes += len;
    return t->n_bytes <= MAX_LOG_BYTES
               ? 0
               : err_set(err, EPROTO, "an attempt has more than %zu bytes of logs", MAX_LOG_BYTES);
}

static int take_attempt(struct store *from, const char *uid, const struct attempt_id *id,
                        struct taken *ret, struct err *err)
{
    const struct attempt_wanted wanted = {id->point, id->trial, id->number};
    _cleanup_(freep) struct attempt_row *rows = NULL;
    size_t n = 0;
    int r = from->ops->list_wanted(from, uid, &wanted, &rows, &n, err);
    if (r < 0) {
        return r;
    }
    assert(n == 1); /* the file is only read */
    ret->row = rows[0];
    vec_each (struct replica_row, replica, &ret->row.replicas) {
        r = r < 0 || replica->log_bytes == 0 ? r : take_log(from, uid, replica, ret, err);
    }
    return r;
}

static int take_attempts(struct store *from, const char *uid, const struct run_def *def,
                         struct store *to, size_t *ret_n_lost, struct err *err)
{
    struct attempt_row *rows = NULL;
    size_t n = 0;
    size_t n_lost = 0;
    int r = from->ops->list_outcomes(from, uid, &rows, &n, err);
    for (size_t i = 0; i < n && r >= 0; i++) {
        _cleanup_(taken_done) struct taken t = {0};
        const struct attempt_id *id = &rows[i].id;
        r = id->point < def->matrix.n_points
                ? take_attempt(from, uid, id, &t, err)
                : err_set(err, EPROTO, "its definition has no point %u, of which it has an attempt",
                          id->point);
        if (r >= 0 && to != NULL) {
            const struct trial_terms terms = run_def_terms(def, id->point);
            r = to->ops->save_attempt(to, uid, &t.row, &terms, t.logs.items, t.logs.len, NULL, err);
        }
        n_lost += t.n_lost;
    }
    free_each(rows, n, attempt_row_done);
    *ret_n_lost = r < 0 ? *ret_n_lost : n_lost;
    return r;
}

/* `to` NULL: all is read, and nothing written. */
static int take_all(struct store *from, struct store *to, const struct run_row *row,
                    const struct run_def *def, size_t *ret_n_lost, struct err *err)
{
    struct event_row *events = NULL;
    struct program_file *files = NULL;
    size_t n = 0, n_files = 0;
    int r = from->ops->list_events(from, row->uid, &events, &n, err);
    r = r < 0 ? r : from->ops->list_files(from, row->uid, &files, &n_files, err);
    r = r < 0 || to == NULL ? r : to->ops->put_run(to, row, err);
    r = r < 0 ? r : take_attempts(from, row->uid, def, to, ret_n_lost, err);
    for (size_t i = 0; i < n && r >= 0 && to != NULL; i++) {
        r = to->ops->add_event(to, row->uid, &events[i], err);
    }
    for (size_t i = 0; i < n_files && r >= 0 && to != NULL; i++) {
        r = to->ops->put_file(to, row->uid, &files[i], err);
    }
    free_each(files, n_files, program_file_done);
    free_each(events, n, event_row_done);
    return r;
}

int run_file_check(struct store *file, const struct run_row *row, const struct run_def *def,
                   size_t *ret_n_lost, struct err *err)
{
    return take_all(file, NULL, row, def, ret_n_lost, err);
}

/* What main.`t` has from what was read is what src.`t` has: ids by what they are of, numbers with
 * decimals but for the last digits (logarithms differ by machine), and logs however compressed. */
static int check_table(struct sqlite_store *s, const struct table *t, struct err *err)
{
    _cleanup_(sql_finalizep) sqlite3_stmt *q = NULL;
    const int r = sql_first(
        s, &q, err,
        "SELECT group_concat('WHEN NOT (' || CASE name WHEN ?2 THEN "
        "'(SELECT facts FROM main.' || ?2 || ' WHERE id = a.' || ?2 || ') IS "
        "(SELECT facts FROM src.' || ?2 || ' WHERE id = b.' || ?2 || ')' "
        "ELSE 'a.' || name || ' IS b.' || name || ' OR (typeof(a.' || name || ') = ''real'' AND "
        "abs(a.' || name || ' - b.' || name || ') <= 1e-9 * abs(a.' || name || '))' END || "
        "') THEN ''' || name || '''', ' ') FROM pragma_table_info(?1) WHERE name <> 'zstd'",
        "ss", t->name, t->key);
    if (r < 0) {
        return r;
    }
    _cleanup_(freep) char *sql =
        xasprintf("SELECT '%s.' || c FROM (SELECT CASE %s END AS c FROM main.%s a "
                  "LEFT JOIN src.%s b USING (%s)) WHERE c IS NOT NULL LIMIT 1",
                  t->name, (const char *)sqlite3_column_text(q, 0), t->name, t->name, t->order);
    return check_no_row(s, sql, "it does not follow from what it is made of", err);
}

/* A file is as replicas found it, or one that the definition names and no replica saw. */
#define SEEN                                                                                       \
    "SELECT 1 FROM main.environment e, json_each(e.facts, '$.program_files') p WHERE p.key = "     \
    "f.name"
static int check_files(struct sqlite_store *s, struct err *err)
{
    return check_no_row(s,
                        "SELECT name FROM main.program_file f WHERE NOT EXISTS (" SEEN
                        " AND p.value = substr(f.digest, 1, 16)) AND (EXISTS (" SEEN
                        ") OR NOT EXISTS (SELECT 1 FROM main.run r, "
                        "json_each(r.definition, '$.spec.files') d WHERE d.value = f.name))",
                        "a file is not the one that ran", err);
}

static int check_follows(struct sqlite_store *s, const char *file, struct err *err)
{
    _cleanup_(freep) char *uri = sqlite_uri(file, "immutable=1");
    int r = check_files(s, err);
    r = r < 0 ? r : attach(s, uri, err);
    for (const struct table *t = tables; t < &tables[COUNT_OF(tables)] && r >= 0; t++) {
        int64_t n_more = 0;
        _cleanup_(freep) char *count =
            xasprintf("SELECT (SELECT count(*) FROM src.%s) - (SELECT count(*) FROM main.%s)",
                      t->name, t->name);
        r = sql_get_int(s, &n_more, err, count, "");
        if (r >= 0 && n_more != 0) {
            r = err_set(err, EPROTO, "its table %s has rows of nothing", t->name);
        }
        r = r < 0 || t < &tables[FILES] ? r : check_table(s, t, err);
    }
    return r;
}

int run_file_take(struct store *file, const char *path, struct store **ret, struct err *err)
{
    _cleanup_(store_closep) struct store *base = NULL;
    _cleanup_(run_row_done) struct run_row row = {0};
    struct run_def *def = NULL;
    struct err why = {0};
    size_t n_lost;
    int r = run_file_run(file, &row, &why);
    r = r < 0 ? r : store_load_run_def(&row, &def, &why);
    if (r >= 0 && !run_phase_is_final(row.status.phase)) {
        r = err_set(&why, EPROTO, "the run has not ended (%s)",
                    run_phase_to_string(row.status.phase));
    } else if (r >= 0 && !str_eq(row.benchmark, def->spec->name)) {
        r = err_set(&why, EPROTO, "the run is of '%s', its definition is '%s'", row.benchmark,
                    def->spec->name);
    }
    r = r < 0 ? r : open_database(path, true, &base, &why);
    if (r >= 0) {
        struct sqlite_store *s = sqlite_store_of(base);
        r = sql_begin_all(base, &why);
        r = r < 0 ? r : sql_end_all(base, take_all(file, base, &row, def, &n_lost, &why), &why);
        r = r < 0 ? r : check_follows(s, sqlite_store_of(file)->path, &why);
        (void)sqlite3_exec(s->db, "DETACH src", NULL, NULL, NULL); /* as in run_file_put */
    }
    run_def_free(def); /* NULL is fine */
    if (r < 0) {
        return fault_of(r, &why, err);
    }
    *ret = take_ptr(base);
    return 0;
}

static int put(struct sqlite_store *s, const char *uid, const char *name, struct err *err)
{
    const int r = copy_all(s, uid, name, false, &RUN_FILE_ALL, err);
    return r == 0 ? err_set(err, EEXIST, "store '%s': run '%s' already exists", s->path, name) : r;
}

int run_file_put(struct store *file, const char *name, struct store *base, struct err *err)
{
    struct sqlite_store *s = sqlite_store_of(base);
    _cleanup_(run_row_done) struct run_row row = {0};
    _cleanup_(freep) char *uri = sqlite_uri(sqlite_store_of(file)->path, "immutable=1");
    int r = run_file_run(file, &row, err);
    r = r < 0 ? r : attach(s, uri, err);
    if (r >= 0) {
        r = sql_in_transaction(s, err, put(s, row.uid, name, err));
        (void)sqlite3_exec(s->db, "DETACH src", NULL, NULL, NULL); /* nothing reads it any more */
    }
    return r < 0 ? r : 0;
}
