/* The interface to the place where runs and their results are kept; sqlite.c implements it. Calls
 * block: a program with an event loop makes them from a worker thread or accepts the pause. A call
 * that returned 0 has committed; a call that failed has changed nothing. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/histogram.h"
#include "base/texts.h"
#include "base/vec.h"
#include "core/phase.h"
#include "core/program_file.h"
#include "spec/run_def.h"

/* A run as stored: what was frozen, and its status as last written. All strings owned. */
struct run_row {
    char *uid, *name, *benchmark;
    char *definition_json; /* run_def_text() */
    char *object_ns; /* namespace of the object that it belongs to; NULL: none, or it expired */
    int64_t created_unix_ms;
    int64_t cpus;
    bool rehearsal, simulated;
    struct run_status status;
    int64_t deleted_unix_ms; /* when its object was found deleted: a tombstone; 0: it was not */
    /* Another number each time that it is stored: a run that was deleted and came back is not the
     * one that was read. The store's own, put_run chooses it. */
    int64_t incarnation;
};
void run_row_done(struct run_row *row);

/* What the results of a run say, stored once when it has ended, so that they need not
 * be read again for it. */
struct run_verdict {
    bool is_judged; /* else the rest is zero */
    bool has_mute_trials;
    enum threshold_verdict thresholds; /* of all together */
    int64_t ttl_s;                     /* its object's time to live, of the definition; -1: none */
};

/* What a finished run needs: no definition, and nothing to free. */
struct run_brief {
    struct run_status status;
    struct run_verdict verdict;
    bool has_object; /* object_ns is set */
    int64_t deleted_unix_ms;
};

/* The output of one replica, saved with its attempt. Borrowed by save_attempt. */
struct replica_log {
    struct replica_id id;
    const void *data; /* uncompressed; the store compresses (zstd) */
    size_t len;
};

struct packed_logs; /* the store's own form */

/* Something that happened during a run, for people; no decision depends on it. */
struct event_row {
    int64_t unix_ms;
    enum event_type type;
    char *reason, *note; /* owned */
};
void event_row_done(struct event_row *row);

struct store_space {
    bool is_full;  /* a write found the disk full, and none has succeeded since */
    int64_t bytes; /* of its files, without the reserve */
    int64_t disk_bytes, disk_free_bytes; /* of the file system that has them; 0: not known */
};

/* A run that has ended for good, for code that decides how long it is kept. */
struct finished_run {
    char *uid, *name; /* owned */
    int64_t ended_unix_ms;
    bool has_object;
};
struct finished_runs {
    VEC(struct finished_run) oldest; /* by their end */
    size_t n_all;
};
void finished_runs_done(struct finished_runs *runs);

/* What the records of an attempt say (result/trial_figures.h). */
struct trial_figures;
/* Borrowed for the call; below 0 ends the list with that. */
typedef int (*store_figures_fn)(void *ctx, const struct attempt_id *id,
                                const struct trial_figures *figures);

struct store;

struct store_ops {
    /* -EEXIST: there is a run of that name or uid. */
    int (*put_run)(struct store *s, const struct run_row *row, struct err *err);
    /* By name or uid; -ENOENT. */
    int (*get_run)(struct store *s, const char *name_or_uid, struct run_row *ret, struct err *err);
    /* By uid; -ENOENT. */
    int (*get_brief)(struct store *s, const char *uid, struct run_brief *ret, struct err *err);
    /* Newest first; `*ret` and its rows are the caller's. Their definitions are "": each may have a
     * megabyte, and get_run has it. */
    int (*list_runs)(struct store *s, struct run_row **ret, size_t *ret_n, struct err *err);
    int (*put_status)(struct store *s, const char *uid, const struct run_status *status,
                      struct err *err);
    /* -ENOENT. */
    int (*put_verdict)(struct store *s, const char *uid, const struct run_verdict *verdict,
                       struct err *err);
    /* Frees its name for another run; -ENOENT; -EEXIST: the new name is taken. */
    int (*rename_run)(struct store *s, const char *uid, const char *name, struct err *err);
    /* The run with its attempts, replicas, logs and events; -ENOENT. */
    int (*delete_run)(struct store *s, const char *uid, struct err *err);

    /* The object that a run belongs to: its namespace (NULL: none); and when it was found deleted
     * (0: it was not). -ENOENT. */
    int (*set_object)(struct store *s, const char *uid, const char *ns, int64_t deleted_unix_ms,
                      struct err *err);
    /* All objects of a namespace, by uid: the runs of others there become tombstones of `now`, and
     * those of `uids` have an object, but for one without whose time to live is over. */
    int (*sync_objects)(struct store *s, const char *ns, const char *const *uids, size_t n,
                        int64_t now_unix_ms, size_t *ret_n_deleted, struct err *err);
    /* The oldest tombstone of before that time, as an owned uid, and its date;
     * -ENOENT if none exists. */
    int (*find_deleted)(struct store *s, int64_t before_unix_ms, char **ret_uid,
                        int64_t *ret_deleted_unix_ms, struct err *err);

    /* The first `limit` runs that ended at `from_unix_ms` or later and are final, the oldest first;
     * and how many there are of them. */
    int (*list_finished)(struct store *s, int64_t from_unix_ms, size_t limit,
                         struct finished_runs *ret, struct err *err);

    /* The runs of a namespace's objects that are not over: they have not ended for good, are not
     * judged, or ended at `from_unix_ms` or later. Appends their uids; on error, maybe some. */
    int (*list_open)(struct store *s, const char *ns, int64_t from_unix_ms, struct texts *ret,
                     struct err *err);

    /* Compresses the logs of an attempt: it reads no store, and any thread may do it. *ret is for
     * free_packed, which takes NULL too. */
    int (*pack_logs)(const struct replica_log *logs, size_t n, struct packed_logs **ret,
                     struct err *err);
    void (*free_packed)(struct packed_logs *p);
    /* One transaction: the row, its replicas, what they say, and their logs; a simulated one makes
     * the run so. `terms` are those of its point. `packed` is of these logs; NULL: it packs them
     * itself. Idempotent: the same (run, point, trial, attempt) again is 0 and changes nothing. */
    int (*save_attempt)(struct store *s, const char *uid, const struct attempt_row *row,
                        const struct trial_terms *terms, const struct replica_log *logs,
                        size_t n_logs, const struct packed_logs *packed, struct err *err);
    /* Those that match, ordered by point, trial, attempt: it reads no others. `*ret` and its rows
     * are the caller's. */
    int (*list_wanted)(struct store *s, const char *uid, const struct attempt_wanted *wanted,
                       struct attempt_row **ret, size_t *ret_n, struct err *err);
    /* The same of all, without their replicas, for callers that need the outcomes alone: it does
     * not read the replicas. */
    int (*list_outcomes)(struct store *s, const char *uid, struct attempt_row **ret, size_t *ret_n,
                         struct err *err);
    /* Of all attempts in the order of list_outcomes. -ENOENT: one of them has none, as it could not
     * be read when it got them. */
    int (*list_figures)(struct store *s, const char *uid, store_figures_fn each, void *ctx,
                        struct err *err);
    /* Uncompressed, owned; -ENOENT. */
    int (*get_log)(struct store *s, const char *uid, const struct replica_id *id, char **ret,
                   size_t *ret_len, struct err *err);

    int (*add_event)(struct store *s, const char *uid, const struct event_row *row,
                     struct err *err);
    /* In the order in which they were added. */
    int (*list_events)(struct store *s, const char *uid, struct event_row **ret, size_t *ret_n,
                       struct err *err);

    /* Borrowed for the call. -EPROTO: the name may not travel; -ENOENT: no run, or no room. */
    int (*put_file)(struct store *s, const char *uid, const struct program_file *file,
                    struct err *err);
    /* By name. -EPROTO: they are too large together. */
    int (*list_files)(struct store *s, const char *uid, struct program_file **ret, size_t *ret_n,
                      struct err *err);

    /* Exclusive right to drive a run: -EBUSY while a living process holds it (its pid is in the
     * text). Released by release_run, by close, and when the process ends. */
    int (*claim_run)(struct store *s, const char *uid, struct err *err);
    void (*release_run)(struct store *s, const char *uid);
    /* Asks without claiming: -EBUSY as above, or 0. */
    int (*probe_run)(struct store *s, const char *uid, struct err *err);

    /* What is written between these two is there as a whole or not at all, whatever happens. Other
     * processes that write wait for so long. `r` below 0: nothing of it is kept, and end_write
     * returns `r`. */
    int (*begin_write)(struct store *s, struct err *err);
    int (*end_write)(struct store *s, int r, struct err *err);

    /* From now on all calls together wait at most this long for other processes that write,
     * then they fail with -EBUSY; a next call of this sets the time anew. Without it each
     * call waits for 10 s. */
    void (*wait_at_most)(struct store *s, int64_t ms);

    /* Calls between these two see one state of the store, whatever others write in between; they
     * only read. close ends it, too. */
    int (*begin_read)(struct store *s, struct err *err);
    void (*end_read)(struct store *s);

    /* Keeps so many bytes next to the store, for delete_run, set_object and sync_objects on a full
     * disk. -ENOSPC: there is no space for that now; try_space makes it later. */
    int (*keep_reserve)(struct store *s, int64_t bytes, struct err *err);
    void (*get_space)(struct store *s, struct store_space *ret);
    /* What its rows take: the file without the pages that deleted rows have left free. */
    int (*get_used)(struct store *s, int64_t *ret_bytes, struct err *err);
    /* Of the statements of this connection, each until its first row, or its end if it has none;
     * may be NULL. */
    void (*get_times)(const struct store *s, struct histogram *ret);
    /* Of a full store: can it be written again? 0; -ENOSPC: not yet. */
    int (*try_space)(struct store *s, struct err *err);

    /* Frees caches; may be NULL. */
    void (*rest)(struct store *s);
    void (*close)(struct store *s);
};

struct store { /* implementations embed this as their first member */
    const struct store_ops *ops;
};
void store_close(struct store *s); /* NULL is fine */
static inline void store_closep(struct store **s)
{
    store_close(*s);
}

/* --- sqlite.c --- */

/* "sqlite:FILE". A missing file is created if `create`, else -ENOENT. -ENXIO: the folder does not
 * exist; the caller may have mistyped it. -EPROTONOSUPPORT: a newer schema version; -EPROTO: one
 * from before the first release; -EBADMSG: a damaged file; -ENOSPC: the disk is full; -EBUSY:
 * another process writes for long. */
int store_open(const char *url, bool create, struct store **ret, struct err *err);
/* A second connection to an open store, for a thread of its own; it cannot write, and no writer
 * waits for it. `must_stop`, if it is not NULL, is asked on that thread while a call reads; once it
 * says true, the call fails with -ECANCELED. */
int store_open_reader(const char *url, bool (*must_stop)(void *ctx), void *ctx, struct store **ret,
                      struct err *err);
/* For a store in its default place: creates its folder and an empty file, for this user alone.
 * What exists keeps its mode. */
int store_make_folder(const char *url, struct err *err);

/* --- load_def.c --- */

/* The run as it was frozen: reads row->definition_json back. */
int store_load_run_def(const struct run_row *row, struct run_def **ret, struct err *err);
