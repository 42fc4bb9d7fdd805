/* A store in a folder of its own, for tests of what stands above the store. */
#pragma once

#include <unistd.h>

#include <sqlite3.h>

#include "tests/test.h"
#include "base/mem.h"
#include "spec/run_def.h"
#include "store/store.h"

static inline struct store *store_in_folder(char folder[static 64], char url[static 96])
{
    (void)snprintf(folder, 64, "/tmp/benchd-test-XXXXXX");
    assert_non_null(mkdtemp(folder));
    (void)snprintf(url, 96, "sqlite:%s/results.db", folder);
    struct store *s = NULL;
    assert_int_equal(store_open(url, true, &s, NULL), 0);
    return s;
}

/* A run as it was frozen, which has come so far. */
static inline void store_put_def(struct store *s, const struct run_def *def,
                                 const struct run_status *status)
{
    _cleanup_(freep) char *definition = json_dumps(def->spec->definition, JSON_COMPACT);
    const struct run_row row = {.uid = def->uid,
                                .name = def->name,
                                .benchmark = def->spec->name,
                                .definition_json = definition,
                                .created_unix_ms = def->created_unix_ms,
                                .cpus = def->cpus};
    assert_int_equal(s->ops->put_run(s, &row, NULL), 0);
    assert_int_equal(s->ops->put_status(s, def->uid, status, NULL), 0);
}

/* An attempt of it; n logs. */
static inline void store_put_attempt(struct store *s, const struct run_def *def,
                                     const struct attempt_row *row, const struct replica_log *logs,
                                     size_t n)
{
    const struct trial_terms terms = run_def_terms(def, row->id.point);
    assert_int_equal(s->ops->save_attempt(s, def->uid, row, &terms, logs, n, NULL, NULL), 0);
}

/* As somebody with an editor of SQLite files. */
static inline void store_exec(const char *path, const char *sql)
{
    sqlite3 *db = NULL;
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    if (sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK) {
        fail_msg("%s: %s", sql, sqlite3_errmsg(db));
    }
    sqlite3_close(db);
}

/* After the store was closed. No claim may be left. */
static inline void store_folder_remove(const char *folder)
{
    static const char *const ends[] = {"", "-wal", "-shm"};
    for (size_t i = 0; i < N_ROWS(ends); i++) {
        char path[96];
        (void)snprintf(path, sizeof(path), "%s/results.db%s", folder, ends[i]);
        (void)unlink(path); /* not all of them are left */
    }
    assert_int_equal(rmdir(folder), 0);
}
