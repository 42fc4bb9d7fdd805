/* What people see of a run: the columns of its status, and its events as they were added. */
#include "store/sqlite_store.h"

#include <stdio.h>

#include <jansson.h>

#include "base/buf.h"
#include "base/mem.h"

/* Those beyond the first, as schema.sql says; NULL: they name no attempt. Owned. */
static char *lanes_to_text(const struct run_status *st)
{
    struct buf text = BUF_INIT;
    for (int i = 1; i < LANES_MAX; i++) {
        const struct attempt_id *id = &st->lanes[i].current;
        if (st->lanes[i].has_current) {
            buf_printf(&text, "%s[%d,%u,%u,%u,%d]", text.len == 0 ? "[" : ",", i, id->point,
                       id->trial, id->number, st->lanes[i].is_cut_short);
        }
    }
    if (text.len == 0) {
        return NULL;
    }
    buf_puts(&text, "]");
    return buf_take(&text);
}

static int lanes_from_text(struct sqlite_store *s, const char *text, struct run_status *st,
                           struct err *err)
{
    json_auto_t *lanes = text == NULL ? json_array() : json_loads(text, 0, NULL);
    for (size_t i = 0; i < json_array_size(lanes); i++) {
        int at, is_cut_short;
        json_int_t p, t, n;
        if (json_unpack(json_array_get(lanes, i), "[i,I,I,I,i]", &at, &p, &t, &n, &is_cut_short) ||
            at < 1 || at >= LANES_MAX) {
            return sql_damaged(s, err, "unknown lanes of a run");
        }
        st->lanes[at] =
            (struct run_lane){true, {(uint32_t)p, (uint32_t)t, (uint32_t)n}, is_cut_short != 0};
    }
    return lanes == NULL ? sql_damaged(s, err, "unreadable lanes of a run") : 0;
}

int status_write(struct sqlite_store *s, const char *uid, const struct run_status *st,
                 struct err *err)
{
    _cleanup_(freep) char *lanes = lanes_to_text(st);
    int r = sql_run(s, err,
                    "UPDATE run SET phase = ?, reason = ?, message = ?, trials_done = ?, "
                    "trials_failed = ?, trials_total = ?, started_unix_ms = ?, ended_unix_ms = ?, "
                    "current_point = iif(?9, ?10, NULL), current_trial = iif(?9, ?11, NULL), "
                    "current_attempt = iif(?9, ?12, NULL), current_cut_short = iif(?9, ?13, NULL), "
                    "lanes = ?14 WHERE uid = ?15",
                    "sssiiiiiiiiiiss", run_phase_to_string(st->phase), st->reason, st->message,
                    (int64_t)st->trials_done, (int64_t)st->trials_failed, (int64_t)st->trials_total,
                    st->started_unix_ms, st->ended_unix_ms, (int64_t)st->has_current,
                    (int64_t)st->current.point, (int64_t)st->current.trial,
                    (int64_t)st->current.number, (int64_t)st->is_cut_short, lanes, uid);
    return sql_changed_run(s, uid, r, err);
}

int status_read(struct sqlite_store *s, sqlite3_stmt *q, int first, struct run_status *ret,
                struct err *err)
{
    struct run_status st = {0};
    const char *phase, *reason, *message, *lanes;
    int r = sql_read(s, q, first, err, "bbbuuuuuufccb", &phase, &reason, &message, &st.trials_done,
                     &st.trials_failed, &st.trials_total, &st.current.point, &st.current.trial,
                     &st.current.number, &st.is_cut_short, &st.started_unix_ms, &st.ended_unix_ms,
                     &lanes);
    const int kind = r < 0 || phase == NULL ? -EINVAL : run_phase_from_string(phase);
    if (r < 0 || kind < 0) {
        return r < 0 ? r : sql_damaged(s, err, "unknown run phase");
    }
    st.phase = (enum run_phase)kind;
    (void)snprintf(st.reason, sizeof(st.reason), "%s", reason == NULL ? "" : reason);
    (void)snprintf(st.message, sizeof(st.message), "%s", message == NULL ? "" : message);
    st.has_current = sqlite3_column_type(q, first + 6) != SQLITE_NULL;
    r = lanes_from_text(s, lanes, &st, err);
    *ret = st;
    return r;
}

/* ---- events ---- */

int events_add(struct store *base, const char *uid, const struct event_row *row, struct err *err)
{
    return sql_change_run(sqlite_store_of(base), uid, err,
                          "INSERT INTO event (run_uid, unix_ms, warning, reason, note) "
                          "SELECT uid, ?2, ?3, ?4, ?5 FROM run WHERE uid = ?1",
                          "siiss", uid, row->unix_ms, (int64_t)(row->type == EVENT_WARNING),
                          row->reason, row->note);
}

int events_list(struct store *base, const char *uid, struct event_row **ret, size_t *ret_n,
                struct err *err)
{
    struct sqlite_store *s = sqlite_store_of(base);
    _cleanup_(sql_finalizep) sqlite3_stmt *q = NULL;
    VEC(struct event_row) rows = {0};
    int r = sql_prepare(s, &q, err,
                        "SELECT unix_ms, warning, reason, note FROM event WHERE run_uid = ? "
                        "ORDER BY id",
                        "s", uid);
    while (r >= 0 && (r = sql_step(s, q, err)) > 0) {
        struct event_row *row = vec_push(&rows);
        bool is_warning;
        *row = (struct event_row){0};
        r = sql_read(s, q, 0, err, "cfss", &row->unix_ms, &is_warning, &row->reason, &row->note);
        row->type = r >= 0 && is_warning ? EVENT_WARNING : EVENT_NORMAL;
    }
    return sql_hand_over(r, &rows, event_row_done, ret, ret_n);
}
