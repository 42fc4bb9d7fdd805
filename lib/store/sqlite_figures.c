/* What the records of attempts say (result/trial_figures.h): columns of the attempt, and the array
 * of its replicas in a row of its own, which comparisons do not read. Written with the attempt;
 * what records say does not change. */
#include "store/sqlite_store.h"

#include <errno.h>
#include <math.h>

#include "base/mem.h"
#include "result/trial_figures.h"

/* Column `figures` of attempt; NULL: none could be made. */
#define VERSION 1

void figures_done(struct packed_figures *f)
{
    trial_figures_done(&f->figures);
    free(f->replicas.data);
    *f = (struct packed_figures){0};
}

int figures_pack(const struct attempt_row *row, const struct trial_terms *terms,
                 struct packed_figures *ret, struct err *err)
{
    struct packed_figures f = {.outcome = row->outcome};
    f.is_known = trial_figures_make(row, terms, &f.figures);
    const struct buf *raw = &f.figures.replicas;
    const int r = f.is_known ? blob_pack(raw->data, raw->len, &f.replicas, err) : 0;
    buf_done(&f.figures.replicas);
    if (r < 0) {
        figures_done(&f);
        return r;
    }
    *ret = f;
    return 0;
}

int figures_write(struct sqlite_store *s, const char *uid, const struct attempt_id *id,
                  const struct packed_figures *packed, struct err *err)
{
    const struct trial_figures *f = &packed->figures;
    const struct trial_result *t = &f->trial;
    if (!packed->is_known) {
        return 0;
    }
    int r = f->machines == NULL ? 0
                                : sql_run(s, err,
                                          "INSERT INTO machine (run_uid, facts) VALUES (?, ?) "
                                          "ON CONFLICT DO NOTHING",
                                          "ss", uid, f->machines);
    if (r < 0) {
        return r;
    }
    r = sql_run(
        s, err,
        "UPDATE attempt SET figures = ?5, throughput = ?6, unit = ?7, seconds = ?8, missing = ?9, "
        "details = ?10, others_share = ?11, cpus = ?12, time_to_accuracy_s = ?13, "
        "best_accuracy = ?14, accuracy_after = ?15, after_state = ?16, evaluations_k = ?17, "
        "evaluations_from = ?18, "
        "machine = (SELECT id FROM machine WHERE run_uid = ?1 AND facts = ?19), metrics = ?20 "
        "WHERE run_uid = ?1 AND point = ?2 AND trial = ?3 AND attempt = ?4",
        "siiiirsrssrrrrriiiss", uid, (int64_t)id->point, (int64_t)id->trial, (int64_t)id->number,
        (int64_t)VERSION, t->throughput, t->unit, f->seconds,
        t->outcome == ATTEMPT_SUCCEEDED ? t->error : NULL, t->details, t->others_share, t->cpus,
        t->to_accuracy.s, t->to_accuracy.best, t->after.accuracy, (int64_t)t->after.state,
        (int64_t)t->evaluations_k, (int64_t)t->evaluations_from, f->machines, f->metrics);
    return r < 0 ? r
                 : sql_run(s, err,
                           "INSERT INTO replica_figures (run_uid, point, trial, attempt, zstd) "
                           "VALUES (?, ?, ?, ?, ?)",
                           "siiib", uid, (int64_t)id->point, (int64_t)id->trial,
                           (int64_t)id->number, packed->replicas.data, packed->replicas.len);
}

/* ---- and back ---- */

static double real_of(sqlite3_stmt *q, int column)
{
    return sqlite3_column_type(q, column) == SQLITE_NULL ? NAN : sqlite3_column_double(q, column);
}

static char *text_of(sqlite3_stmt *q, int column)
{
    return (char *)(uintptr_t)sqlite3_column_text(q, column); /* borrowed */
}

/* From the columns of list_figures. */
static int read_row(struct sqlite_store *s, sqlite3_stmt *q, bool with_replicas,
                    store_figures_fn each, void *ctx, struct err *err)
{
    struct attempt_id id;
    int r = sql_attempt_id(s, q, 0, &id, err);
    if (r < 0) {
        return r;
    }
    const int64_t after = sqlite3_column_int64(q, 13);
    struct trial_figures f = {
        .trial = {.throughput = real_of(q, 4),
                  .unit = text_of(q, 5),
                  .error = text_of(q, 6),
                  .details = text_of(q, 7),
                  .others_share = real_of(q, 8),
                  .cpus = real_of(q, 9),
                  .to_accuracy = {.s = real_of(q, 10), .best = real_of(q, 11)},
                  .after = {(enum after_state)(after >= 0 && after < AFTER_STATE_COUNT
                                                   ? after
                                                   : AFTER_STATE_COUNT),
                            real_of(q, 12)},
                  .evaluations_k = (uint32_t)sqlite3_column_int64(q, 14),
                  .evaluations_from = (uint32_t)sqlite3_column_int64(q, 15)},
        .machines = text_of(q, 16),
        .metrics = text_of(q, 17),
    };
    if (sqlite3_column_int64(q, 3) != VERSION ||
        (with_replicas && sqlite3_column_type(q, 18) == SQLITE_NULL)) {
        return err_set(err, ENOENT, "store '%s': an attempt has no figures", s->path);
    }
    char *replicas = NULL;
    size_t len = 0;
    if (with_replicas) {
        r = blob_unpack(s, q, 18, "the figures of an attempt", &replicas, &len, err);
        f.replicas = (struct buf){.data = replicas, .len = len};
    }
    r = r < 0 ? r : each(ctx, &id, &f);
    free(replicas);
    return r;
}

#define COLUMNS                                                                                    \
    "SELECT a.point, a.trial, a.attempt, figures, throughput, unit, missing, details, "            \
    "others_share, cpus, time_to_accuracy_s, best_accuracy, accuracy_after, after_state, "         \
    "evaluations_k, evaluations_from, m.facts, a.metrics"
#define OF_RUN                                                                                     \
    " LEFT JOIN machine m ON m.id = a.machine WHERE a.run_uid = ? ORDER BY a.point, a.trial, "     \
    "a.attempt"

int figures_list(struct store *base, const char *uid, bool with_replicas, store_figures_fn each,
                 void *ctx, struct err *err)
{
    struct sqlite_store *s = sqlite_store_of(base);
    _cleanup_(sql_finalizep) sqlite3_stmt *q = NULL;
    int r = sql_prepare(s, &q, err,
                        with_replicas ? COLUMNS ", f.zstd FROM attempt a LEFT JOIN "
                                                "replica_figures f USING (run_uid, point, trial, "
                                                "attempt)" OF_RUN
                                      : COLUMNS " FROM attempt a" OF_RUN,
                        "s", uid);
    while (r >= 0 && (r = sql_step(s, q, err)) > 0) {
        r = read_row(s, q, with_replicas, each, ctx, err);
    }
    return r;
}
