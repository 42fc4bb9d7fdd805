/* Events in the SQLite store, in the order in which they were added. `benchctl
 * describe` lists them. */
#include "store/sqlite_store.h"

#include "base/mem.h"

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
        *vec_push(&rows) = (struct event_row){
            .unix_ms = sqlite3_column_int64(q, 0),
            .type = sqlite3_column_int64(q, 1) != 0 ? EVENT_WARNING : EVENT_NORMAL,
            .reason = sql_text_dup(q, 2), /* NOT NULL in a STRICT table */
            .note = sql_text_dup(q, 3),
        };
    }
    return sql_hand_over(r, &rows, event_row_done, ret, ret_n);
}
