/* What was computed of a run's attempts when it had ended: bytes that mean nothing here, a row
 * for the build that made them. It lives as long as what it was made of: triggers delete it with
 * the first change, and what was made of fewer attempts, or of a run that has been deleted
 * since, is not taken. */
#include "store/sqlite_internal.h"

#include "base/mem.h"

#define IS_FINAL "phase IN ('Succeeded', 'PartiallyFailed', 'Failed', 'Cancelled')"

/* 0, or why these figures are not those of the run as it is now. */
static int check_run(struct sqlite_store *s, const char *uid, const struct figures_source *source,
                     struct err *err)
{
    _cleanup_(sql_finalizep) sqlite3_stmt *q = NULL;
    int r = sql_prepare(s, &q, err,
                        "SELECT " IS_FINAL ", (SELECT count(*) FROM attempt WHERE run_uid = uid), "
                        "incarnation "
                        "FROM run WHERE uid = ?",
                        "s", uid);
    if (r < 0 || (r = sql_step(s, q, err)) < 0) {
        return r;
    }
    if (r == 0) {
        return err_set(err, ENOENT, "store '%s': there is no run '%s'", s->path, uid);
    }
    if (sqlite3_column_int64(q, 0) == 0 || sqlite3_column_int64(q, 1) != source->n_attempts ||
        sqlite3_column_int64(q, 2) != source->incarnation) {
        return err_set(err, ESTALE, "store '%s': run '%s' has changed since its figures were made",
                       s->path, uid);
    }
    return 0;
}

/* Two builds that are used by turns (benchctl and another benchctl) keep theirs; those of
 * builds before them go. */
#define MAX_VERSIONS INT64_C(2)

static int write_figures(struct sqlite_store *s, const char *uid, const char *version,
                         const struct figures_source *source, const struct packed parts[static 2],
                         struct err *err)
{
    int r = check_run(s, uid, source, err);
    r = r < 0 ? r
              : sql_run(s, err,
                        "INSERT OR REPLACE INTO figures (run_uid, version, points, replicas) "
                        "VALUES (?, ?, ?, ?)",
                        "ssbb", uid, version, parts[0].data, parts[0].len, parts[1].data,
                        parts[1].len);
    return r < 0 ? r
                 : sql_run(s, err,
                           "DELETE FROM figures WHERE run_uid = ?1 AND rowid NOT IN (SELECT rowid "
                           "FROM figures WHERE run_uid = ?1 ORDER BY rowid DESC LIMIT ?2)",
                           "si", uid, MAX_VERSIONS);
}

int figures_put(struct store *base, const char *uid, const char *version,
                const struct figures_source *source, const struct stored_figures *figures,
                struct err *err)
{
    struct sqlite_store *s = sqlite_store_of(base);
    struct packed parts[2] = {0};
    int r = blob_pack(figures->points, figures->points_len, &parts[0], err);
    r = r < 0 ? r : blob_pack(figures->replicas, figures->replicas_len, &parts[1], err);
    if (r >= 0 && (r = sql_begin(s, err)) >= 0) {
        r = sql_end(s, write_figures(s, uid, version, source, parts, err), err);
    }
    free(parts[0].data);
    free(parts[1].data);
    return r < 0 ? r : 0;
}

int figures_get(struct store *base, const char *uid, const char *version, bool with_replicas,
                struct stored_figures *ret, struct err *err)
{
    struct sqlite_store *s = sqlite_store_of(base);
    struct stored_figures figures = {0};
    _cleanup_(sql_finalizep) sqlite3_stmt *q = NULL;
    if (s->version < FIGURES_SINCE_VERSION) {
        return err_set(err, ENOENT, "store '%s': it is older than stored figures", s->path);
    }
    int r = sql_prepare(
        s, &q, err,
        with_replicas ? "SELECT points, replicas FROM figures WHERE run_uid = ? AND version = ?"
                      : "SELECT points FROM figures WHERE run_uid = ? AND version = ?",
        "ss", uid, version);
    if (r < 0 || (r = sql_step(s, q, err)) < 0) {
        return r;
    }
    if (r == 0) {
        return err_set(err, ENOENT, "store '%s': run '%s' has no such figures", s->path, uid);
    }
    r = blob_unpack(s, q, 0, "figures", &figures.points, &figures.points_len, err);
    if (r >= 0 && with_replicas) {
        r = blob_unpack(s, q, 1, "figures", &figures.replicas, &figures.replicas_len, err);
    }
    if (r < 0) {
        stored_figures_done(&figures);
        return r;
    }
    *ret = figures;
    return 0;
}
