/* What only a reader needs, see sqlite_store.h. A reader belongs to another thread than the
 * store that writes: SQLite shares nothing between two connections but the file. In WAL mode a
 * writer never waits for a reader. */
#include "store/sqlite_store.h"

#include "base/mem.h"

/* A read waits only while the writer starts the WAL anew. */
#define READER_BUSY_TIMEOUT_MS 1000
/* Instructions of SQLite's machine between two questions: some tens of microseconds. */
#define ASK_EVERY_INSTRUCTIONS 1000

static int on_progress(void *ctx)
{
    const struct sqlite_store *s = ctx;
    return s->must_stop(s->stop_ctx); /* not 0: the statement ends with SQLITE_INTERRUPT */
}

int reader_set_up(struct sqlite_store *s, struct err *err)
{
    (void)sqlite3_busy_timeout(s->db, READER_BUSY_TIMEOUT_MS); /* never fails */
    sqlite3_progress_handler(s->db, ASK_EVERY_INSTRUCTIONS, on_progress, s);
    return sql_exec(s, "PRAGMA query_only = ON; PRAGMA trusted_schema = OFF", err);
}

int reader_begin(struct store *base, struct err *err)
{
    return sql_exec(sqlite_store_of(base), "BEGIN", err);
}

void reader_end(struct store *base)
{
    struct sqlite_store *s = sqlite_store_of(base);
    if (!sqlite3_get_autocommit(s->db)) { /* an error may have ended it */
        /* Nothing was written, so nothing can be lost; it does not wait. */
        (void)sqlite3_exec(s->db, "ROLLBACK", NULL, NULL, NULL);
    }
}
