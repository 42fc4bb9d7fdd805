/* Attempts in the SQLite store, each with a row of its replicas, packed (replica_pack.c); their
 * logs are in sqlite_logs.c. An attempt is written once, completely; it is compressed before the
 * transaction begins, so that the write lock is held only to write. */
#include "store/sqlite_store.h"

#include "base/mem.h"
#include "base/utf8.h"

/* All replicas of the row. */
static int replicas_pack(const struct attempt_row *row, struct packed *ret, struct err *err)
{
    _cleanup_(buf_done) struct buf raw = BUF_INIT;
    int r = replica_pack(row, &raw, err);
    if (r >= 0 && raw.len > BLOB_MAX_BYTES) {
        r = err_set(err, E2BIG, "its replicas: %zu bytes are more than %zu", raw.len,
                    BLOB_MAX_BYTES);
    }
    return r < 0 ? r : blob_pack(raw.data, raw.len, ret, err);
}

static int replicas_insert(struct sqlite_store *s, const char *uid, const struct attempt_id *id,
                           const struct packed *packed, struct err *err)
{
    return sql_run(s, err,
                   "INSERT INTO replicas (run_uid, point, trial, attempt, zstd) "
                   "VALUES (?, ?, ?, ?, ?)",
                   "siiib", uid, (int64_t)id->point, (int64_t)id->trial, (int64_t)id->number,
                   packed->data, packed->len);
}

static int insert_attempt(struct sqlite_store *s, const char *uid, const struct attempt_row *row,
                          struct err *err)
{
    int64_t n = 0;
    int r = sql_count_runs(s, uid, &n, err);
    if (r < 0) {
        return r;
    }
    if (n == 0) {
        return sql_no_run(s, uid, err);
    }
    return sql_run(s, err,
                   "INSERT INTO attempt (run_uid, point, trial, attempt, outcome, started_unix_ms, "
                   "ended_unix_ms, error, simulated) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) "
                   "ON CONFLICT DO NOTHING",
                   "siiisiisi", uid, (int64_t)row->id.point, (int64_t)row->id.trial,
                   (int64_t)row->id.number, attempt_outcome_to_string(row->outcome),
                   row->started_unix_ms, row->ended_unix_ms, row->error, (int64_t)row->simulated);
}

/* What a transaction writes of an attempt, made and compressed before it begins. */
struct packed_attempt {
    struct packed replicas;
    struct packed_figures figures;
    struct packed_logs logs;
};

void attempts_free_packed(struct packed_attempt *p)
{
    if (p != NULL) {
        free(p->replicas.data);
        figures_done(&p->figures);
        logs_done(&p->logs);
        free(p);
    }
}

int attempts_pack(const struct attempt_row *row, const struct trial_terms *terms,
                  const struct replica_log *logs, size_t n_logs, struct packed_attempt **ret,
                  struct err *err)
{
    struct packed_attempt *p = xnew(struct packed_attempt);
    int r = replicas_pack(row, &p->replicas, err);
    r = r < 0 ? r : figures_pack(row, terms, &p->figures, err);
    r = r < 0 ? r : logs_pack(logs, n_logs, &p->logs, err);
    if (r < 0) {
        attempts_free_packed(p);
        return r;
    }
    *ret = p;
    return 0;
}

/* Those that were packed, unless the row got another verdict since. */
static int write_figures(struct sqlite_store *s, const char *uid, const struct attempt_row *row,
                         const struct trial_terms *terms, const struct packed_figures *packed,
                         struct err *err)
{
    if (packed->outcome == row->outcome) {
        return figures_write(s, uid, &row->id, packed, err);
    }
    _cleanup_(figures_done) struct packed_figures anew = {0};
    int r = figures_pack(row, terms, &anew, err);
    return r < 0 ? r : figures_write(s, uid, &row->id, &anew, err);
}

static int write_attempt(struct sqlite_store *s, const char *uid, const struct attempt_row *row,
                         const struct trial_terms *terms, const struct packed_attempt *packed,
                         struct err *err)
{
    int r = insert_attempt(s, uid, row, err);
    if (r <= 0) {
        return r; /* 0: it is stored already */
    }
    if (row->simulated) {
        r = sql_run(s, err, "UPDATE run SET simulated = 1 WHERE uid = ?", "s", uid);
    }
    r = r < 0 ? r : replicas_insert(s, uid, &row->id, &packed->replicas, err);
    r = r < 0 ? r : write_figures(s, uid, row, terms, &packed->figures, err);
    return r < 0 ? r : logs_insert(s, uid, &row->id, &packed->logs, err);
}

int attempts_save(struct store *base, const char *uid, const struct attempt_row *row,
                  const struct trial_terms *terms, const struct replica_log *logs, size_t n_logs,
                  const struct packed_attempt *packed, struct err *err)
{
    struct sqlite_store *s = sqlite_store_of(base);
    struct packed_attempt *own = NULL;
    int r = packed != NULL ? 0 : attempts_pack(row, terms, logs, n_logs, &own, err);
    if (r >= 0 && (r = sql_begin(s, err)) >= 0) {
        r = sql_end(s, write_attempt(s, uid, row, terms, packed != NULL ? packed : own, err), err);
    }
    attempts_free_packed(own);
    return r < 0 ? err_wrap(err, r, "save point %u trial %u attempt %u", row->id.point,
                            row->id.trial, row->id.number)
                 : 0;
}

static int read_attempt(struct sqlite_store *s, sqlite3_stmt *q, struct attempt_row *ret,
                        struct err *err)
{
    struct attempt_row row = {0};
    int r = sql_attempt_id(s, q, 0, &row.id, err);
    if (r < 0) {
        return r;
    }
    const char *text = (const char *)sqlite3_column_text(q, 3);
    int outcome = text == NULL ? -EINVAL : attempt_outcome_from_string(text);
    if (outcome < 0) {
        return sql_damaged(s, err, "unknown outcome of an attempt");
    }
    row.outcome = (enum attempt_outcome)outcome;
    row.started_unix_ms = sqlite3_column_int64(q, 4);
    row.ended_unix_ms = sqlite3_column_int64(q, 5);
    row.error = sql_text_dup(q, 6);
    utf8_mend(row.error);
    row.simulated = sqlite3_column_int64(q, 7) != 0;
    *ret = row;
    return 0;
}

struct attempts {
    VEC(struct attempt_row) list;
};

static const struct attempt_wanted wants_all = {-1, -1, -1};

/* As ranges, so that SQLite walks over the part of the key that is wanted and no more. */
#define IS_WANTED                                                                                  \
    "run_uid = ? AND point BETWEEN ? AND ? AND trial BETWEEN ? AND ? AND "                         \
    "attempt BETWEEN ? AND ? ORDER BY point, trial, attempt"

static int prepare_wanted(struct sqlite_store *s, sqlite3_stmt **q, const char *sql,
                          const char *uid, const struct attempt_wanted *wanted, struct err *err)
{
    const int64_t numbers[] = {wanted->point, wanted->trial, wanted->number};
    int64_t low[3], high[3];
    for (size_t i = 0; i < 3; i++) {
        const bool is_any = numbers[i] < 0;
        low[i] = is_any ? INT64_MIN : numbers[i]; /* damaged ones are found, too */
        high[i] = is_any ? INT64_MAX : numbers[i];
    }
    return sql_prepare(s, q, err, sql, "siiiiii", uid, low[0], high[0], low[1], high[1], low[2],
                       high[2]);
}

static int list_attempt_rows(struct sqlite_store *s, const char *uid,
                             const struct attempt_wanted *wanted, struct attempts *rows,
                             struct err *err)
{
    _cleanup_(sql_finalizep) sqlite3_stmt *q = NULL;
    int r = prepare_wanted(s, &q,
                           "SELECT point, trial, attempt, outcome, started_unix_ms, ended_unix_ms, "
                           "error, simulated FROM attempt WHERE " IS_WANTED,
                           uid, wanted, err);
    while (r >= 0 && (r = sql_step(s, q, err)) > 0) {
        struct attempt_row row;
        if ((r = read_attempt(s, q, &row, err)) >= 0) {
            *vec_push(&rows->list) = row;
        }
    }
    return r;
}

/* Adds them to row->replicas. */
static int read_replicas(struct sqlite_store *s, sqlite3_stmt *q, int column,
                         struct attempt_row *row, struct err *err)
{
    char *raw = NULL;
    size_t len = 0;
    int r = blob_unpack(s, q, column, "the replicas of an attempt", &raw, &len, err);
    if (r < 0) {
        return r;
    }
    struct err fault = {0};
    r = replica_unpack(raw, len, row, &fault);
    free(raw);
    return r < 0 ? sql_damaged(s, err, fault.msg) : 0;
}

/* Both lists have the same order: one walk puts the replicas into their attempts. */
static int list_replica_rows(struct sqlite_store *s, const char *uid,
                             const struct attempt_wanted *wanted, struct attempts *rows,
                             struct err *err)
{
    _cleanup_(sql_finalizep) sqlite3_stmt *q = NULL;
    int r =
        prepare_wanted(s, &q, "SELECT point, trial, attempt, zstd FROM replicas WHERE " IS_WANTED,
                       uid, wanted, err);
    size_t i = 0;
    while (r >= 0 && (r = sql_step(s, q, err)) > 0) {
        struct attempt_id id;
        if ((r = sql_attempt_id(s, q, 0, &id, err)) < 0) {
            break;
        }
        while (i < rows->list.len && !attempt_id_eq(&rows->list.items[i].id, &id)) {
            i++;
        }
        r = i == rows->list.len ? sql_damaged(s, err, "replicas without their attempt")
                                : read_replicas(s, q, 3, &rows->list.items[i], err);
    }
    return r;
}

int attempts_list_outcomes(struct store *base, const char *uid, struct attempt_row **ret,
                           size_t *ret_n, struct err *err)
{
    struct attempts rows = {0};
    int r = list_attempt_rows(sqlite_store_of(base), uid, &wants_all, &rows, err);
    return sql_hand_over(r, &rows.list, attempt_row_done, ret, ret_n);
}

int attempts_list_wanted(struct store *base, const char *uid, const struct attempt_wanted *wanted,
                         struct attempt_row **ret, size_t *ret_n, struct err *err)
{
    struct sqlite_store *s = sqlite_store_of(base);
    struct attempts rows = {0};
    /* One read transaction, which may be the caller's: both queries see the same moment. */
    const bool is_own = sqlite3_get_autocommit(s->db) != 0;
    int r = is_own ? sql_exec(s, "BEGIN", err) : 0;
    if (r < 0) {
        return r;
    }
    r = list_attempt_rows(s, uid, wanted, &rows, err);
    r = r < 0 ? r : list_replica_rows(s, uid, wanted, &rows, err);
    r = is_own ? sql_end(s, r, err) : r;
    return sql_hand_over(r, &rows.list, attempt_row_done, ret, ret_n);
}

int attempts_list_ids(struct store *base, const char *uid, struct attempt_id **ret, size_t *ret_n,
                      struct err *err)
{
    struct sqlite_store *s = sqlite_store_of(base);
    _cleanup_(sql_finalizep) sqlite3_stmt *q = NULL;
    VEC(struct attempt_id) ids = {0};
    int r = sql_prepare(s, &q, err,
                        "SELECT point, trial, attempt FROM attempt WHERE run_uid = ? "
                        "ORDER BY point, trial, attempt",
                        "s", uid);
    while (r >= 0 && (r = sql_step(s, q, err)) > 0) {
        r = sql_attempt_id(s, q, 0, vec_push(&ids), err);
    }
    if (r < 0) {
        vec_done(&ids);
        return r;
    }
    *ret = ids.items;
    *ret_n = ids.len;
    return 0;
}
