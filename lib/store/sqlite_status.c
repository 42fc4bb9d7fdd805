/* The columns of a run's status. */
#include "store/sqlite_store.h"

#include <stdio.h>

int status_write(struct sqlite_store *s, const char *uid, const struct run_status *st,
                 struct err *err)
{
    int r = sql_run(s, err,
                    "UPDATE run SET phase = ?, reason = ?, message = ?, trials_done = ?, "
                    "trials_failed = ?, trials_total = ?, started_unix_ms = ?, ended_unix_ms = ?, "
                    "current_point = iif(?9, ?10, NULL), current_trial = iif(?9, ?11, NULL), "
                    "current_attempt = iif(?9, ?12, NULL), current_cut_short = iif(?9, ?13, NULL) "
                    "WHERE uid = ?14",
                    "sssiiiiiiiiiis", run_phase_to_string(st->phase), st->reason, st->message,
                    (int64_t)st->trials_done, (int64_t)st->trials_failed, (int64_t)st->trials_total,
                    st->started_unix_ms, st->ended_unix_ms, (int64_t)st->has_current,
                    (int64_t)st->current.point, (int64_t)st->current.trial,
                    (int64_t)st->current.number, (int64_t)st->is_cut_short, uid);
    return r == 0 ? sql_no_run(s, uid, err) : r;
}

int status_read(struct sqlite_store *s, sqlite3_stmt *q, int first, struct run_status *ret,
                struct err *err)
{
    const char *phase_text = (const char *)sqlite3_column_text(q, first);
    int phase = phase_text == NULL ? -EINVAL : run_phase_from_string(phase_text);
    if (phase < 0) {
        return sql_damaged(s, err, "unknown run phase");
    }
    struct run_status st = {.phase = (enum run_phase)phase};
    const char *reason = (const char *)sqlite3_column_text(q, first + 1);
    const char *message = (const char *)sqlite3_column_text(q, first + 2);
    (void)snprintf(st.reason, sizeof(st.reason), "%s", reason == NULL ? "" : reason);
    (void)snprintf(st.message, sizeof(st.message), "%s", message == NULL ? "" : message);
    int r = sql_u32(s, q, first + 3, &st.trials_done, err);
    if (r < 0 || (r = sql_u32(s, q, first + 4, &st.trials_failed, err)) < 0 ||
        (r = sql_u32(s, q, first + 5, &st.trials_total, err)) < 0) {
        return r;
    }
    st.has_current = sqlite3_column_type(q, first + 6) != SQLITE_NULL;
    if ((r = sql_attempt_id(s, q, first + 6, &st.current, err)) < 0) {
        return r;
    }
    st.is_cut_short = sqlite3_column_int64(q, first + 9) != 0;
    st.started_unix_ms = sqlite3_column_int64(q, first + 10);
    st.ended_unix_ms = sqlite3_column_int64(q, first + 11);
    *ret = st;
    return 0;
}
