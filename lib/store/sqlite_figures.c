/* The figures of an attempt (result/trial_figures.h), in columns of its row: comparisons read them
 * without the replicas. Written with the attempt, because what records say does not change. */
#include "store/sqlite_store.h"

#include <errno.h>

#include "base/mem.h"
#include "result/trial_figures.h"

/* Column `figures` of attempt; NULL: none could be made. */
#define VERSION 1
/* Those that are read back; readers of SQL have more. */
#define FIGURES                                                                                    \
    "figures, throughput, unit, missing, details, others_share, cpus, time_to_accuracy_s, "        \
    "best_accuracy, accuracy_after, after_state, evaluations_k, evaluations_from, metrics"

static int write_known(struct sqlite_store *s, const char *uid, const struct attempt_id *id,
                       const struct trial_figures *f, struct err *err)
{
    const struct trial_result *t = &f->trial;
    int r = f->machines == NULL ? 0
                                : sql_run(s, err,
                                          "INSERT INTO machine (run_uid, facts) VALUES (?, ?) "
                                          "ON CONFLICT DO NOTHING",
                                          "ss", uid, f->machines);
    if (r < 0) {
        return r;
    }
    return sql_run(
        s, err,
        "UPDATE attempt SET (" FIGURES ", seconds, machine) = (?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, "
        "?13, ?14, ?15, ?16, ?17, ?18, ?19, "
        "(SELECT id FROM machine WHERE run_uid = ?1 AND facts = ?20)) "
        "WHERE run_uid = ?1 AND point = ?2 AND trial = ?3 AND attempt = ?4",
        "siiiirsssrrrrriiisrs", uid, (int64_t)id->point, (int64_t)id->trial, (int64_t)id->number,
        (int64_t)VERSION, t->throughput, t->unit, t->outcome == ATTEMPT_SUCCEEDED ? t->error : NULL,
        t->details, t->others_share, t->cpus, t->to_accuracy.s, t->to_accuracy.best,
        t->after.accuracy, (int64_t)t->after.state, (int64_t)t->evaluations_k,
        (int64_t)t->evaluations_from, f->metrics, f->seconds, f->machines);
}

int figures_write(struct sqlite_store *s, const char *uid, const struct attempt_row *row,
                  const struct trial_terms *terms, struct err *err)
{
    struct trial_figures f;
    if (!trial_figures_make(row, terms, &f)) {
        return 0;
    }
    const int r = write_known(s, uid, &row->id, &f, err);
    trial_figures_done(&f);
    return r;
}

/* ---- and back ---- */

/* From the columns of list_figures. */
static int read_row(struct sqlite_store *s, sqlite3_stmt *q, store_figures_fn each, void *ctx,
                    struct err *err)
{
    struct attempt_id id;
    struct trial_figures f = {0};
    struct trial_result *t = &f.trial;
    int64_t version, after;
    const int r =
        sql_read(s, q, 0, err, "uuulpbbbrrrrrluubb", &id.point, &id.trial, &id.number, &version,
                 &t->throughput, &t->unit, &t->error, &t->details, &t->others_share, &t->cpus,
                 &t->to_accuracy.s, &t->to_accuracy.best, &t->after.accuracy, &after,
                 &t->evaluations_k, &t->evaluations_from, &f.metrics, &f.machines);
    const bool is_state = r >= 0 && after >= 0 && after < AFTER_STATE_COUNT;
    t->after.state = is_state ? (enum after_state)after : AFTER_STATE_COUNT;
    return r < 0 ? r
           : version != VERSION
               ? err_set(err, ENOENT, "store '%s': an attempt has no figures", s->path)
               : each(ctx, &id, &f);
}

int figures_list(struct store *base, const char *uid, store_figures_fn each, void *ctx,
                 struct err *err)
{
    struct sqlite_store *s = sqlite_store_of(base);
    _cleanup_(sql_finalizep) sqlite3_stmt *q = NULL;
    int r = sql_prepare(s, &q, err,
                        "SELECT point, trial, attempt, " FIGURES ", m.facts FROM attempt a "
                        "LEFT JOIN machine m ON m.id = a.machine "
                        "WHERE a.run_uid = ? ORDER BY point, trial, attempt",
                        "s", uid);
    while (r >= 0 && (r = sql_step(s, q, err)) > 0) {
        r = read_row(s, q, each, ctx, err);
    }
    return r;
}
