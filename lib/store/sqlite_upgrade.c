/* What the step to schema 11 does beyond SQL: the figures of attempts that were stored before.
 * Called by schema.c, in the transaction that upgrades the file. */
#include "store/sqlite_store.h"

#include <errno.h>
#include <stdlib.h>

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
