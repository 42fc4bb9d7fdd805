/* What is left of a run that has ended: its verdict, and its life without an object. */
#include "store/sqlite_store.h"

#include <jansson.h>

#include "base/mem.h"

int ends_put_verdict(struct store *base, const char *uid, const struct run_verdict *verdict,
                     struct err *err)
{
    return sql_change_run(sqlite_store_of(base), uid, err,
                          "UPDATE run SET mute_trials = ?, thresholds = ?, ttl_s = ? WHERE uid = ?",
                          "isis", (int64_t)verdict->has_mute_trials,
                          threshold_verdict_to_string(verdict->thresholds), verdict->ttl_s, uid);
}

int ends_get_brief(struct store *base, const char *uid, struct run_brief *ret, struct err *err)
{
    struct sqlite_store *s = sqlite_store_of(base);
    _cleanup_(sql_finalizep) sqlite3_stmt *q = NULL;
    struct run_brief brief;
    struct run_verdict *v = &brief.verdict;
    const char *thresholds;
    int r = sql_first(s, &q, err,
                      "SELECT mute_trials, thresholds, ttl_s, object_ns IS NOT NULL, "
                      "deleted_unix_ms, " STATUS_COLUMNS " FROM run WHERE uid = ?",
                      "s", uid);
    if (r <= 0) {
        return r < 0 ? r : sql_no_run(s, uid, err);
    }
    r = sql_read(s, q, 0, err, "fblfl", &v->has_mute_trials, &thresholds, &v->ttl_s,
                 &brief.has_object, &brief.deleted_unix_ms);
    r = r < 0 ? r : status_read(s, q, 5, &brief.status, err);
    const int kind = r < 0 || thresholds == NULL ? 0 : threshold_verdict_from_string(thresholds);
    if (r < 0 || kind < 0) {
        return r < 0 ? r : sql_damaged(s, err, "unknown verdict of a run");
    }
    v->is_judged = thresholds != NULL;
    v->thresholds = (enum threshold_verdict)kind;
    if (!v->is_judged) {
        *v = (struct run_verdict){0};
    }
    *ret = brief;
    return 0;
}

/* Also on a full disk: a deletion that was seen must not be forgotten. Once more with the space of
 * the reserve, which can be released once. */
int ends_set_object(struct store *base, const char *uid, const char *ns, int64_t deleted_unix_ms,
                    struct err *err)
{
    struct sqlite_store *s = sqlite_store_of(base);
    return space_with_reserve(
        s, sql_change_run(s, uid, err,
                          "UPDATE run SET object_ns = ?, deleted_unix_ms = nullif(?, 0) "
                          "WHERE uid = ?",
                          "sis", ns, deleted_unix_ms, uid));
}

/* The number of new tombstones. `live`: the uids as a JSON list. */
static int sync(struct sqlite_store *s, const char *ns, const char *live, int64_t now_unix_ms,
                struct err *err)
{
    const int n_deleted =
        sql_run(s, err,
                "UPDATE run SET object_ns = NULL, deleted_unix_ms = ? WHERE object_ns = ? AND "
                "uid NOT IN (SELECT value FROM json_each(?))",
                "iss", now_unix_ms, ns, live);
    if (n_deleted < 0) {
        return n_deleted;
    }
    /* The object of a run whose time to live is over may be there for a moment longer: benchd has
     * asked the server to delete it. */
    const int r =
        sql_run(s, err,
                "UPDATE run SET object_ns = ?1, deleted_unix_ms = NULL WHERE uid IN (SELECT value "
                "FROM json_each(?3)) AND (object_ns IS NOT ?1 OR deleted_unix_ms IS NOT NULL) AND "
                "NOT (object_ns IS NULL AND deleted_unix_ms IS NULL AND ifnull(ttl_s, -1) >= 0 AND "
                "ended_unix_ms + ttl_s * 1000 <= ?2)",
                "sis", ns, now_unix_ms, live);
    return r < 0 ? r : n_deleted;
}

/* Also on a full disk: nothing can be deleted before benchd knows which objects are gone. */
int ends_sync_objects(struct store *base, const char *ns, const char *const *uids, size_t n,
                      int64_t now_unix_ms, size_t *ret_n_deleted, struct err *err)
{
    struct sqlite_store *s = sqlite_store_of(base);
    json_auto_t *list = json_array();
    for (size_t i = 0; i < n; i++) {
        json_array_append_new(list, json_string(uids[i]));
    }
    _cleanup_(freep) char *live = json_dumps(list, JSON_COMPACT);
    const int r =
        space_with_reserve(s, sql_in_transaction(s, err, sync(s, ns, live, now_unix_ms, err)));
    if (r < 0) {
        return r;
    }
    *ret_n_deleted = (size_t)r;
    return 0;
}

int ends_find_deleted(struct store *base, int64_t before_unix_ms, char **ret_uid,
                      int64_t *ret_deleted_unix_ms, struct err *err)
{
    struct sqlite_store *s = sqlite_store_of(base);
    _cleanup_(sql_finalizep) sqlite3_stmt *q = NULL;
    const int r = sql_first(s, &q, err,
                            "SELECT uid, deleted_unix_ms FROM run WHERE deleted_unix_ms < ? "
                            "ORDER BY deleted_unix_ms LIMIT 1",
                            "i", before_unix_ms);
    if (r == 0) {
        return err_set(err, ENOENT, "store '%s': no run is to be erased", s->path);
    }
    return r < 0 ? r : sql_read(s, q, 0, err, "sl", ret_uid, ret_deleted_unix_ms);
}

/* As the index run_finished has it. */
#define IS_FINISHED "phase IN ('Succeeded', 'PartiallyFailed', 'Failed', 'Cancelled')"

int ends_list_finished(struct store *base, int64_t from_unix_ms, size_t limit,
                       struct finished_runs *ret, struct err *err)
{
    struct sqlite_store *s = sqlite_store_of(base);
    _cleanup_(sql_finalizep) sqlite3_stmt *q = NULL;
    struct finished_runs runs = {0};
    int64_t n_all = 0;
    int r = sql_get_int(s, &n_all, err,
                        "SELECT count(*) FROM run WHERE " IS_FINISHED " AND ended_unix_ms >= ?",
                        "i", from_unix_ms);
    r = r < 0 ? r
              : sql_prepare(s, &q, err,
                            "SELECT uid, name, ended_unix_ms, object_ns IS NOT NULL FROM run "
                            "WHERE " IS_FINISHED " AND ended_unix_ms >= ? "
                            "ORDER BY ended_unix_ms, uid LIMIT ?",
                            "ii", from_unix_ms, (int64_t)(limit < INT64_MAX ? limit : INT64_MAX));
    while (r >= 0 && (r = sql_step(s, q, err)) > 0) {
        struct finished_run *run = vec_push(&runs.oldest);
        *run = (struct finished_run){0};
        r = sql_read(s, q, 0, err, "sslf", &run->uid, &run->name, &run->ended_unix_ms,
                     &run->has_object);
    }
    if (r < 0) {
        finished_runs_done(&runs);
        return r;
    }
    runs.n_all = (size_t)n_all;
    *ret = runs;
    return 0;
}

int ends_list_open(struct store *base, const char *ns, int64_t from_unix_ms, struct texts *ret,
                   struct err *err)
{
    struct sqlite_store *s = sqlite_store_of(base);
    _cleanup_(sql_finalizep) sqlite3_stmt *q = NULL;
    int r = sql_prepare(s, &q, err,
                        "SELECT uid FROM run WHERE object_ns = ? AND (phase IS NULL OR NOT "
                        "(" IS_FINISHED ") OR thresholds IS NULL OR ended_unix_ms >= ?)",
                        "si", ns, from_unix_ms);
    while (r >= 0 && (r = sql_step(s, q, err)) > 0) {
        r = sql_read(s, q, 0, err, "s", vec_push(&ret->list));
    }
    return r;
}
