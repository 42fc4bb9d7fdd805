/* Attempts in the SQLite store; their replicas are in sqlite_replicas.c, their logs in
 * sqlite_logs.c. An attempt is written once, completely; its logs are compressed before the
 * transaction begins, so that the write lock is held only to write. */
#include "store/sqlite_store.h"

#include "base/mem.h"
#include "base/str.h"

static int insert_attempt(struct sqlite_store *s, const char *uid, const struct attempt_row *row,
                          struct err *err)
{
    int64_t n = 0;
    int r = sql_count_runs(s, uid, &n, err);
    if (r < 0 || n == 0) {
        return r < 0 ? r : sql_no_run(s, uid, err);
    }
    return sql_run(s, err,
                   "INSERT INTO attempt (run_uid, point, trial, attempt, outcome, started_unix_ms, "
                   "ended_unix_ms, error, simulated) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) "
                   "ON CONFLICT DO NOTHING",
                   "siiisiisi", uid, (int64_t)row->id.point, (int64_t)row->id.trial,
                   (int64_t)row->id.number, attempt_outcome_to_string(row->outcome),
                   row->started_unix_ms, row->ended_unix_ms, row->error, (int64_t)row->simulated);
}

static int write_attempt(struct sqlite_store *s, const char *uid, const struct attempt_row *row,
                         const struct trial_terms *terms, const struct packed_logs *logs,
                         struct err *err)
{
    int r = insert_attempt(s, uid, row, err);
    if (r <= 0) {
        return r; /* 0: it is stored already */
    }
    if (row->simulated) {
        r = sql_run(s, err, "UPDATE run SET simulated = 1 WHERE uid = ?", "s", uid);
    }
    r = r < 0 ? r : replicas_insert(s, uid, row, err);
    r = r < 0 ? r : figures_write(s, uid, row, terms, err);
    return r < 0 ? r : logs_insert(s, uid, &row->id, logs, err);
}

int attempts_save(struct store *base, const char *uid, const struct attempt_row *row,
                  const struct trial_terms *terms, const struct replica_log *logs, size_t n_logs,
                  const struct packed_logs *packed, struct err *err)
{
    struct sqlite_store *s = sqlite_store_of(base);
    struct packed_logs *own = NULL;
    int r = packed != NULL ? 0 : logs_pack(logs, n_logs, &own, err);
    packed = packed != NULL ? packed : own;
    r = r < 0 ? r : sql_in_transaction(s, err, write_attempt(s, uid, row, terms, packed, err));
    logs_free(own);
    return r < 0 ? err_wrap(err, r, "save point %u trial %u attempt %u", row->id.point,
                            row->id.trial, row->id.number)
                 : 0;
}

static int read_attempt(struct sqlite_store *s, sqlite3_stmt *q, struct attempt_row *ret,
                        struct err *err)
{
    struct attempt_row row = {0};
    const char *text;
    int r = sql_read(s, q, 0, err, "uuubccfn", &row.id.point, &row.id.trial, &row.id.number, &text,
                     &row.started_unix_ms, &row.ended_unix_ms, &row.simulated, &row.error);
    const int outcome = r < 0 || text == NULL ? -EINVAL : attempt_outcome_from_string(text);
    if (r < 0 || outcome < 0) {
        free(row.error);
        return r < 0 ? r : sql_damaged(s, err, "unknown outcome of an attempt");
    }
    row.outcome = (enum attempt_outcome)outcome;
    utf8_mend(row.error);
    *ret = row;
    return 0;
}

struct attempts {
    VEC(struct attempt_row) list;
};

static const struct attempt_wanted wants_all = {-1, -1, -1};

/* As ranges, so that SQLite walks over the part of the key that is wanted and no more. */
struct attempt_range attempts_range(const struct attempt_wanted *wanted)
{
    const int64_t numbers[] = {wanted->point, wanted->trial, wanted->number};
    struct attempt_range range;
    for (size_t i = 0; i < COUNT_OF(numbers); i++) {
        const bool is_any = numbers[i] < 0;
        range.low[i] = is_any ? INT64_MIN : numbers[i]; /* damaged ones are found, too */
        range.high[i] = is_any ? INT64_MAX : numbers[i];
    }
    return range;
}

static int list_attempt_rows(struct sqlite_store *s, const char *uid,
                             const struct attempt_range *range, struct attempts *rows,
                             struct err *err)
{
    sqlite3_stmt **q = &s->select_attempts;
    int r = *q != NULL
                ? 0
                : sql_prepare(s, q, err,
                              "SELECT point, trial, attempt, outcome, started_unix_ms, "
                              "ended_unix_ms, simulated, error FROM attempt WHERE run_uid = ? AND "
                              "point BETWEEN ? AND ? AND trial BETWEEN ? AND ? AND "
                              "attempt BETWEEN ? AND ? ORDER BY point, trial, attempt",
                              "");
    r = r < 0 ? r
              : sql_bind(s, *q, err, "siiiiii", uid, range->low[0], range->high[0], range->low[1],
                         range->high[1], range->low[2], range->high[2]);
    while (r >= 0 && (r = sql_step(s, *q, err)) > 0) {
        struct attempt_row row;
        if ((r = read_attempt(s, *q, &row, err)) >= 0) {
            *vec_push(&rows->list) = row;
        }
    }
    sql_rest(*q);
    return r;
}

int attempts_list_outcomes(struct store *base, const char *uid, struct attempt_row **ret,
                           size_t *ret_n, struct err *err)
{
    struct attempts rows = {0};
    const struct attempt_range all = attempts_range(&wants_all);
    int r = list_attempt_rows(sqlite_store_of(base), uid, &all, &rows, err);
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
    const struct attempt_range range = attempts_range(wanted);
    r = list_attempt_rows(s, uid, &range, &rows, err);
    r = r < 0 ? r : replicas_read(s, uid, &range, rows.list.items, rows.list.len, err);
    r = is_own ? sql_end(s, r, err) : r;
    return sql_hand_over(r, &rows.list, attempt_row_done, ret, ret_n);
}
