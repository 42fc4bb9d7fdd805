/* The inside of the SQLite store, shared by its files; no other file includes it.
 *
 * Every call that writes is one transaction from BEGIN IMMEDIATE to COMMIT: it is all there or not
 * at all, whatever fails in between. */
#pragma once

#include <sqlite3.h>

#include "base/err.h"
#include "base/vec.h"
#include "store/store.h"

struct claim {
    char *uid, *path; /* owned */
    int fd;           /* holds the lock */
};

/* Its bytes are borrowed. */
struct log_piece {
    uint32_t index; /* of the replica */
    const char *data;
    size_t len;
};

struct log_row {
    char *bytes;              /* owned; the pieces are in them */
    struct log_piece *pieces; /* owned */
    size_t n_pieces;
};

struct packed {
    void *data; /* owned */
    size_t len;
};

/* The last row of logs that was read. */
struct log_cache {
    struct packed packed; /* its bytes, by which it is known again; empty: none */
    struct log_row logs;
};

struct sqlite_store {
    struct store base;
    sqlite3 *db;
    char *path; /* absolute, owned */
    VEC(struct claim) claims;
    bool is_file;          /* run_file.c: of a run alone, without a name in errors */
    bool is_exported;      /* such a file, opened as a store: it is only read */
    bool is_writing;       /* from sql_begin to sql_end */
    bool is_outer;         /* from sql_begin_all to sql_end_all: those two do nothing */
    bool is_full;          /* no write has succeeded since one found the disk full */
    int64_t reserve_bytes; /* 0: none is kept */
    bool is_wait_shared;   /* wait_left_ms is that of all calls together */
    int64_t wait_left_ms;
    bool (*must_stop)(void *ctx); /* of a reader; else NULL */
    void *stop_ctx;
    struct histogram times; /* of statements */
    struct ZSTD_DCtx_s
        *unpacker; /* made when it is needed first: most of the time of a small blob; owned */
    struct log_cache logs;
    sqlite3_stmt *insert_replica, *select_replicas, *select_attempts; /* NULL until needed first */
    struct environment_cache {                                        /* read last */
        struct {
            int64_t id;
            json_t *facts; /* owned; NULL: empty */
        } list[8];
        size_t next; /* is replaced */
    } environments;
};

static inline struct sqlite_store *sqlite_store_of(struct store *s)
{
    return (struct sqlite_store *)s; /* `base` is the first member */
}

/* Declares a function as an operation of store.h, which says what it does. */
#define STORE_OP(name) __typeof__(*((struct store_ops *)NULL)->name)

/* --- sqlite.c: open, close, runs, readers --- */

/* Without a file; the path may be NULL. store_close frees it. */
struct sqlite_store *sqlite_store_new(const char *path);
/* Opens a file by its path or URI, with what all connections have. */
int sqlite_connect(struct sqlite_store *s, const char *name, int flags, struct err *err);
/* What is open reads no more once that says true (store_open_reader). NULL: it always reads. */
void sqlite_stop_when(struct sqlite_store *s, bool (*must_stop)(void *ctx), void *ctx);
/* The path as SQLite's URI, with "mode=ro" or the like. Owned. */
char *sqlite_uri(const char *path, const char *how);
/* That of a store which is only read. Owned. */
char *sqlite_reader_uri(const char *path);

/* --- sql.c: statements, transactions, SQLite's codes as errors that name the file --- */

/* SQLite's last error on this store as -Exxx and a text with the file and the reason. */
int sql_error(struct sqlite_store *s, int rc, struct err *err);
/* -code: what is wrong with the file, and what to do about it. */
int sql_fail(struct sqlite_store *s, struct err *err, int code, const char *reason,
             const char *fix);
/* The file contains something that this program never writes: -EBADMSG. */
int sql_damaged(struct sqlite_store *s, struct err *err, const char *what);

int sql_exec(struct sqlite_store *s, const char *sql, struct err *err);
/* Prepares and binds: one letter of `types` an argument: s text (NULL: null), i int64_t,
 * b `const void *` and size_t, r double (NaN: null). */
int sql_prepare(struct sqlite_store *s, sqlite3_stmt **ret, struct err *err, const char *sql,
                const char *types, ...);
/* Binds anew what is prepared. Texts must live until it is at rest: that ends its run, whether or
 * not there are more rows. */
int sql_bind(struct sqlite_store *s, sqlite3_stmt *stmt, struct err *err, const char *types, ...);
void sql_rest(sqlite3_stmt *stmt);
/* 1: a row; 0: no more. */
int sql_step(struct sqlite_store *s, sqlite3_stmt *stmt, struct err *err);
/* The end of a statement that is prepared if r >= 0: runs it, or takes the first column of its
 * first row, if r says that there is one. Both finalize it. */
int sql_finish(struct sqlite_store *s, int r, sqlite3_stmt *stmt, struct err *err);
int sql_take_int(int r, sqlite3_stmt *stmt, int64_t *ret);

/* These end with the text, the types and the values of sql_prepare. Steps to the first row: */
#define sql_first(s, ret, err, ...)                                                                \
    ({                                                                                             \
        sqlite3_stmt **const first_ = (ret);                                                       \
        const int prepared_ = sql_prepare(s, first_, err, __VA_ARGS__);                            \
        prepared_ < 0 ? prepared_ : sql_step(s, *first_, err);                                     \
    })
/* The first column of the first row, 0 without a row. */
#define sql_get_int(s, ret, err, ...)                                                              \
    ({                                                                                             \
        sqlite3_stmt *get_ = NULL;                                                                 \
        const int got_ = sql_first(s, &get_, err, __VA_ARGS__);                                    \
        sql_take_int(got_, get_, ret);                                                             \
    })
/* Runs it to the end. The number of changed rows. */
#define sql_run(s, err, ...)                                                                       \
    ({                                                                                             \
        sqlite3_stmt *run_ = NULL;                                                                 \
        const int ran_ = sql_prepare(s, &run_, err, __VA_ARGS__);                                  \
        sql_finish(s, ran_, run_, err);                                                            \
    })
/* `call` in a transaction, which sql_end ends. */
#define sql_in_transaction(s, err, call)                                                           \
    ({                                                                                             \
        const int began_ = sql_begin(s, err);                                                      \
        began_ < 0 ? began_ : sql_end(s, (call), err);                                             \
    })
/* A transaction of one statement, which changes the run or adds to it. -ENOENT without a run. */
#define sql_change_run(s, uid, err, ...)                                                           \
    sql_in_transaction(s, err, sql_changed_run(s, uid, sql_run(s, err, __VA_ARGS__), err))
/* Of the number of changed rows: 0, or -ENOENT. */
int sql_changed_run(const struct sqlite_store *s, const char *uid, int r, struct err *err);
int sql_no_run(const struct sqlite_store *s, const char *uid, struct err *err); /* -ENOENT */
/* How many runs have this uid: 0 or 1. */
int sql_count_runs(struct sqlite_store *s, const char *uid, int64_t *ret, struct err *err);

/* Reads the columns from `first` on: a letter of `types` and a pointer for each. -EBADMSG names a
 * column that has another value; the texts before it are owned, too.
 *   s n t  char *: owned; s is never NULL, t is UTF-8
 *   b      const char *: borrowed until the next step
 *   u i    uint32_t, int32_t
 *   c l    int64_t; c is 0 or more
 *   f      bool: 0 or 1
 *   r p    double: finite, NaN for null; p is above 0 */
int sql_read(struct sqlite_store *s, sqlite3_stmt *q, int first, struct err *err, const char *types,
             ...);

int sql_begin(struct sqlite_store *s, struct err *err);
/* Ends the transaction: commits if r >= 0, else rolls back. Returns r, or why the commit failed. */
int sql_end(struct sqlite_store *s, int r, struct err *err);
STORE_OP(begin_write) sql_begin_all;
STORE_OP(end_write) sql_end_all;

static inline void sql_finalizep(sqlite3_stmt **stmt)
{
    sqlite3_finalize(*stmt); /* repeats the error of the last step, which was reported there */
}

/* The end of a list of rows: they are the caller's if r >= 0, else done(&row) of each frees them.
 * Evaluates to 0 or r. */
#define sql_hand_over(r, rows, done, ret, ret_n)                                                   \
    ({                                                                                             \
        const int result_ = (r);                                                                   \
        if (result_ < 0) {                                                                         \
            vec_done_each(rows, done);                                                             \
        } else {                                                                                   \
            *(ret) = (rows)->items;                                                                \
            *(ret_n) = (rows)->len;                                                                \
        }                                                                                          \
        result_ < 0 ? result_ : 0;                                                                 \
    })

/* --- schema.c: the tables (schema.sql) --- */

#define SCHEMA_VERSION 18
/* Marks a SQLite file as a benchd store: "bnch". */
#define SCHEMA_APPLICATION 1651401576
extern const char schema_sql[];
/* Of a file with tables: refuses one of another program or of another SCHEMA_VERSION; a newer one
 * with -EPROTONOSUPPORT. 0 of a file without tables, else 1. */
int schema_accept(struct sqlite_store *s, struct err *err);
/* The tables of an empty file. */
int schema_create(struct sqlite_store *s, struct err *err);
/* Gives a new file its tables; refuses one of another SCHEMA_VERSION, and other programs' files. */
int schema_prepare(struct sqlite_store *s, struct err *err);

/* --- sqlite_status.c: the columns of a run's status, and its events --- */

#define STATUS_COLUMNS                                                                             \
    "phase, reason, message, trials_done, trials_failed, trials_total, current_point, "            \
    "current_trial, current_attempt, current_cut_short, started_unix_ms, ended_unix_ms, lanes"
/* From the columns STATUS_COLUMNS, the first of which is `first`. */
int status_read(struct sqlite_store *s, sqlite3_stmt *q, int first, struct run_status *ret,
                struct err *err);
int status_write(struct sqlite_store *s, const char *uid, const struct run_status *st,
                 struct err *err);

STORE_OP(add_event) events_add;
STORE_OP(list_events) events_list;

/* --- sqlite_files.c: files that commands named --- */

STORE_OP(put_file) files_put;
STORE_OP(list_files) files_list;

/* --- sqlite_space.c: a disk that is full: the reserve for deletions --- */

STORE_OP(keep_reserve) space_keep_reserve;
STORE_OP(get_space) space_get;
STORE_OP(get_used) space_get_used;
STORE_OP(try_space) space_try;
/* True: there was one, and its space is free now; the store counts as full. */
bool space_release_reserve(struct sqlite_store *s);
/* `call`, again where the disk is full and there is a reserve. The store counts as full then. */
#define space_with_reserve(s, call)                                                                \
    ({                                                                                             \
        bool was_full_ = (s)->is_full;                                                             \
        int r_;                                                                                    \
        while ((r_ = (call)) == -ENOSPC && space_release_reserve(s)) {                             \
            was_full_ = true;                                                                      \
        }                                                                                          \
        (s)->is_full |= was_full_;                                                                 \
        r_;                                                                                        \
    })
void space_after_deletion(struct sqlite_store *s);

/* --- sqlite_attempts.c: attempts --- */

STORE_OP(save_attempt) attempts_save;
STORE_OP(list_wanted) attempts_list_wanted;
STORE_OP(list_outcomes) attempts_list_outcomes;
/* From and to which point, trial and number. */
struct attempt_range {
    int64_t low[3], high[3];
};
/* Also of attempts whose numbers are damaged, where all are wanted. */
struct attempt_range attempts_range(const struct attempt_wanted *wanted);

/* --- sqlite_replicas.c: their replicas, a row each --- */

int replicas_insert(struct sqlite_store *s, const char *uid, const struct attempt_row *row,
                    struct err *err);
/* Adds their replicas to all attempts of the range, which `rows` has by point, trial and number. */
int replicas_read(struct sqlite_store *s, const char *uid, const struct attempt_range *range,
                  struct attempt_row *rows, size_t n, struct err *err);
void replicas_finalize(struct sqlite_store *s);

/* --- sqlite_logs.c: the logs of an attempt, compressed --- */

/* A shared row; these three are pure. */
void log_row_done(struct log_row *row);
void log_row_write(const struct log_piece *pieces, size_t n, struct buf *out);
/* Takes the bytes, with 0. -EBADMSG: they are no row. */
int log_row_read(char *bytes_take, size_t len, struct log_row *ret, struct err *err);

/* A row: the logs of one or more replicas of a role, of which this is the first. */
struct packed_log {
    enum role role;
    uint32_t index;
    bool is_shared; /* else the bytes of one log */
    struct packed zstd;
};
struct packed_logs {
    VEC(struct packed_log) rows;
};
STORE_OP(pack_logs) logs_pack;
STORE_OP(free_packed) logs_free;
int logs_insert(struct sqlite_store *s, const char *uid, const struct attempt_id *id,
                const struct packed_logs *logs, struct err *err);
STORE_OP(get_log) logs_get;
void log_cache_done(struct log_cache *cache);

/* --- sqlite_figures.c: the figures of attempts --- */

int figures_write(struct sqlite_store *s, const char *uid, const struct attempt_row *row,
                  const struct trial_terms *terms, struct err *err);
STORE_OP(list_figures) figures_list;

/* --- sqlite_ends.c: what is left of a run that has ended --- */

STORE_OP(put_verdict) ends_put_verdict;
STORE_OP(get_brief) ends_get_brief;
STORE_OP(set_object) ends_set_object;
STORE_OP(sync_objects) ends_sync_objects;
STORE_OP(find_deleted) ends_find_deleted;
STORE_OP(list_open) ends_list_open;
STORE_OP(list_finished) ends_list_finished;

/* --- claim.c: the right to drive a run: a lock file that dies with the process --- */

STORE_OP(claim_run) claim_take;
STORE_OP(probe_run) claim_probe;
STORE_OP(release_run) claim_release;
void claim_release_all(struct sqlite_store *s);
