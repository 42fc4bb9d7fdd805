/* What is left of a run that has ended: its verdict, and its life without an object. */
#include "store/sqlite_internal.h"

#include <string.h>

static int no_run(const struct sqlite_store *s, const char *uid, struct err *err)
{
    return err_set(err, ENOENT, "store '%s': there is no run '%s'", s->path, uid);
}

int ends_put_verdict(struct store *base, const char *uid, const struct run_verdict *verdict,
                     struct err *err)
{
    struct sqlite_store *s = sqlite_store_of(base);
    int r = sql_begin(s, err);
    if (r < 0) {
        return r;
    }
    r = sql_run(s, err, "UPDATE run SET mute_trials = ?, thresholds = ?, ttl_s = ? WHERE uid = ?",
                "isis", (int64_t)verdict->has_mute_trials,
                threshold_verdict_to_string(verdict->thresholds), verdict->ttl_s, uid);
    r = sql_end(s, r == 0 ? no_run(s, uid, err) : r, err);
    return r < 0 ? r : 0;
}

/* Columns 0..2: mute_trials, thresholds, ttl_s. */
static int read_verdict(struct sqlite_store *s, sqlite3_stmt *q, struct run_verdict *ret,
                        struct err *err)
{
    const char *text = (const char *)sqlite3_column_text(q, 1);
    if (text == NULL) {
        *ret = (struct run_verdict){0};
        return 0;
    }
    const int kind = threshold_verdict_from_string(text);
    if (kind < 0) {
        return sql_damaged(s, err, "unknown verdict of a run");
    }
    *ret = (struct run_verdict){
        .is_judged = true,
        .has_mute_trials = sqlite3_column_int64(q, 0) != 0,
        .thresholds = (enum threshold_verdict)kind,
        .ttl_s = sqlite3_column_int64(q, 2),
    };
    return 0;
}

int ends_get_brief(struct store *base, const char *uid, struct run_brief *ret, struct err *err)
{
    struct sqlite_store *s = sqlite_store_of(base);
    _cleanup_(sql_finalizep) sqlite3_stmt *q = NULL;
    struct run_brief brief;
    int r = sql_prepare(s, &q, err,
                        "SELECT mute_trials, thresholds, ttl_s, object_ns IS NOT NULL, "
                        "deleted_unix_ms, " STATUS_COLUMNS " FROM run WHERE uid = ?",
                        "s", uid);
    if (r < 0 || (r = sql_step(s, q, err)) < 0) {
        return r;
    }
    if (r == 0) {
        return no_run(s, uid, err);
    }
    if ((r = read_verdict(s, q, &brief.verdict, err)) < 0 ||
        (r = status_read(s, q, 5, &brief.status, err)) < 0) {
        return r;
    }
    brief.has_object = sqlite3_column_int64(q, 3) != 0;
    brief.deleted_unix_ms = sqlite3_column_int64(q, 4);
    *ret = brief;
    return 0;
}
