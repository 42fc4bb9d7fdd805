/* What steps of the schema do beyond SQL: rows of earlier versions as those of today. Called by
 * schema.c, in the transaction that upgrades the file. */
#include "store/sqlite_store.h"

#include <errno.h>
#include <string.h>

#include "base/mem.h"

/* ---- from schema 3, which had a row each ---- */

/* Rows without their attempt belong to nothing: somebody deleted it with foreign keys off. */
#define DROP_ORPHANS                                                                               \
    "DELETE FROM replica WHERE NOT EXISTS (SELECT 1 FROM attempt a WHERE "                         \
    "a.run_uid = replica.run_uid AND a.point = replica.point AND a.trial = replica.trial AND "     \
    "a.attempt = replica.attempt)"
/* Leaves the rows of attempts that cannot be read. */
#define DROP_MOVED                                                                                 \
    "DELETE FROM replica WHERE EXISTS (SELECT 1 FROM replicas n WHERE "                            \
    "n.run_uid = replica.run_uid AND n.point = replica.point AND n.trial = replica.trial AND "     \
    "n.attempt = replica.attempt AND length(n.zstd) > 0)"

struct old_attempt {
    char *uid; /* owned; NULL: none yet */
    struct attempt_row row;
    bool is_damaged;
};

static void old_attempt_done(struct old_attempt *old)
{
    free(old->uid);
    attempt_row_done(&old->row);
    *old = (struct old_attempt){0};
}

/* One that is damaged becomes a row that cannot be unpacked: the results of its run cannot be read,
 * as before, and the attempt is not mistaken for one without replicas. */
static int write_old(struct sqlite_store *s, struct old_attempt *old, struct err *err)
{
    static const struct packed nothing = {"", 0};
    struct packed packed = {0};
    int r = 0;
    if (old->uid != NULL && old->is_damaged) {
        r = replicas_insert(s, old->uid, &old->row.id, &nothing, err);
    } else if (old->uid != NULL && (r = replicas_pack(&old->row, &packed, err)) >= 0) {
        r = replicas_insert(s, old->uid, &old->row.id, &packed, err);
    }
    free(packed.data);
    old_attempt_done(old);
    return r;
}

/* False: the row is damaged. */
static bool read_old(struct sqlite_store *s, sqlite3_stmt *q, const struct attempt_id *id,
                     struct replica_row *ret)
{
    struct replica_row row = {.id.attempt = *id};
    const char *text = (const char *)sqlite3_column_text(q, 4);
    const int role = text == NULL ? -1 : role_from_string(text);
    if (role < 0 || sql_u32(s, q, 5, &row.id.index, NULL) < 0) {
        return false;
    }
    row.id.role = (enum role)role;
    row.exit_code = sqlite3_column_int(q, 6);
    row.signal = sqlite3_column_int(q, 7);
    row.failure = sql_text_dup(q, 8);
    row.summary_json = sql_text_dup(q, 9);
    row.environment_json = sql_text_dup(q, 10);
    row.log_bytes = (uint64_t)sqlite3_column_int64(q, 11);
    *ret = row;
    return true;
}

/* Adds the row to `old`, or writes that one first if the row is another attempt's. */
static int move_old(struct sqlite_store *s, sqlite3_stmt *q, struct old_attempt *old,
                    bool *ret_is_damaged, struct err *err)
{
    const char *uid = (const char *)sqlite3_column_text(q, 0);
    struct attempt_id id;
    if (sql_attempt_id(s, q, 1, &id, NULL) < 0) {
        *ret_is_damaged = true; /* as its attempt: nothing to write, list_attempts finds out */
        return 0;
    }
    int r = 0;
    if (old->uid == NULL || strcmp(old->uid, uid) != 0 || !attempt_id_eq(&old->row.id, &id)) {
        r = write_old(s, old, err);
        *old = (struct old_attempt){.uid = xstrdup(uid), .row = {.id = id}};
    }
    struct replica_row rep;
    if (read_old(s, q, &id, &rep)) {
        *vec_push(&old->row.replicas) = rep;
    } else {
        old->is_damaged = *ret_is_damaged = true;
    }
    return r;
}

int replicas_upgrade(struct sqlite_store *s, struct err *err)
{
    sqlite3_stmt *q = NULL;
    int r = sql_exec(s, DROP_ORPHANS, err);
    r = r < 0 ? r
              : sql_prepare(s, &q, err,
                            "SELECT run_uid, point, trial, attempt, role, replica_index, "
                            "exit_code, signal, failure, summary, environment, log_bytes "
                            "FROM replica "
                            "ORDER BY run_uid, point, trial, attempt, role, replica_index",
                            "");
    struct old_attempt old = {0};
    bool is_damaged = false;
    while (r >= 0 && (r = sql_step(s, q, err)) > 0) {
        r = move_old(s, q, &old, &is_damaged, err);
    }
    r = r < 0 ? r : write_old(s, &old, err);
    old_attempt_done(&old);
    (void)sqlite3_finalize(q); /* before its table goes; repeats the last step's error */
    return r < 0 ? r : sql_exec(s, is_damaged ? DROP_MOVED : "DROP TABLE replica", err);
}

/* ---- from schema 10, which had no figures of attempts ---- */

static int fill_attempt(struct sqlite_store *s, const char *uid, const struct run_def *def,
                        const struct attempt_id *id, struct err *err)
{
    const struct attempt_wanted wanted = {id->point, id->trial, id->number};
    const struct trial_terms terms = run_def_terms(def, id->point);
    struct attempt_row *rows = NULL;
    size_t n = 0;
    int r = attempts_list_wanted(&s->base, uid, &wanted, &rows, &n, err);
    if (r == -EBADMSG) {
        return 0; /* the error is reported when the run is read */
    }
    struct packed_figures f = {0};
    for (size_t i = 0; i < n; i++) {
        r = r < 0 ? r : figures_pack(&rows[i], &terms, &f, err);
        r = r < 0 ? r : figures_write(s, uid, id, &f, err);
        figures_done(&f);
        attempt_row_done(&rows[i]);
    }
    free(rows);
    return r;
}

static int fill_run(struct sqlite_store *s, const char *uid, struct err *err)
{
    struct run_row row;
    _cleanup_(run_def_freep) struct run_def *def = NULL;
    struct attempt_id *ids = NULL;
    size_t n = 0;
    int r = s->base.ops->get_run(&s->base, uid, &row, err);
    if (r < 0) {
        return r == -EBADMSG ? 0 : r;
    }
    if (store_load_run_def(&row, &def, NULL) >= 0) {
        r = attempts_list_ids(&s->base, uid, &ids, &n, err);
        r = r == -EBADMSG ? 0 : r;
    }
    for (size_t i = 0; i < n && r >= 0; i++) {
        r = fill_attempt(s, uid, def, &ids[i], err);
    }
    free(ids);
    run_row_done(&row);
    return r;
}

int figures_upgrade(struct sqlite_store *s, struct err *err)
{
    _cleanup_(sql_finalizep) sqlite3_stmt *q = NULL;
    int r = sql_prepare(s, &q, err, "SELECT uid FROM run", "");
    while (r >= 0 && (r = sql_step(s, q, err)) > 0) {
        r = fill_run(s, (const char *)sqlite3_column_text(q, 0), err);
    }
    return r;
}
