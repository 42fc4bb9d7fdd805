/* One BenchmarkRun as benchd drives it: from its object to a frozen run in the store, to a driver
 * over pods, and back into the object's status. daemon.c says when; the work is in
 *   run_accept.c    object -> definition -> store
 *   run_drive.c     driver, cancel and suspend
 *   run_publish.c   status -> object
 *   run_remove.c    time to live, deletion
 * which call down into run.c and never each other. The state is `life`, see run_life.h.
 *
 * The truth is in the object, the store and the pods: this struct is made anew after a restart. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

#include "daemon/cluster/bmr_facts.h"
#include "daemon/cluster/event_recorder.h"
#include "daemon/run/options.h"
#include "daemon/run/run_life.h"
#include "daemon/web/daemon_view.h"
#include "kube/cache.h"
#include "kube/client.h"
#include "result/result.h"
#include "run/pods/pods.h"
#include "store/store.h"

/* What every run of benchd uses and none owns. daemon.c fills it; it lives longer than the runs. */

struct run_env {
    struct uv_loop_s *loop;
    struct kube_client *client;
    struct store *store;
    const char *ns;
    struct options options;
    const struct kube_cache *benchmarks, *runs,
        *pods;                             /* what the watches hold; NULL before they start */
    const struct pod_workloads *workloads; /* what their watch holds */
    const unsigned char *key;              /* KEY_SIZE bytes; runs' secrets are derived from it */
    bool is_store_full;                    /* nothing can be accepted or driven */
    bool are_objects_known;                /* the store knows which of its runs have objects */
    struct node_labels *node_labels;       /* labels to read; a launcher notes which it may not */
    bool has_dns; /* addressing Auto: do names of the cluster resolve here? */

    struct event_recorder *events;
    struct pods_counters *pod_counters;
    struct daemon_counters *counters;
    void (*wake)(void *ctx); /* something has changed: look at all runs in the loop's next turn */
    void *ctx;
};

#define RUN_RETRY_NS (5 * INT64_C(1000000000)) /* after a failed request */
#define RUN_PARK_DOUBLINGS_MAX 6               /* 5 s to 320 s */
#define RUN_PARK_TIMES_MAX 8                   /* then it ends: after 16 min */

/* What the object asks for, as the watch showed it last. */
struct run_asked {
    int64_t generation;
    int64_t wait_s; /* 0: not said */
    bool cancel, suspend, is_deleting;
    bool is_gone; /* the object */
    bool erase;   /* its results go with it, at once */
};

/* What a run has in one state only; valid as `life` says. */
union run_at {
    int64_t retry_ns; /* WAITING: not tried before that; 0: at once */
    struct {
        struct kube_call *call;
        char *object;         /* the answer, JSON, owned; NULL: not answered */
        bool needs_benchmark; /* the call is for it */
        json_t *benchmark;    /* its spec, owned; NULL if the run needs none */
    } reading;                /* READING */
    struct {
        struct kube_call *call; /* NULL: answered */
        struct run_def *def;    /* owned */
    } freezing;                 /* FREEZING */
    struct {
        struct template_check *check; /* NULL: not sent yet */
        struct run_def *def;          /* owned */
    } checking;                       /* CHECKING */
    struct {                          /* DRIVEN, DONE */
        struct launcher *launcher;
        struct driver *driver;
        struct prometheus *prometheus; /* NULL: none */
    } driven;
};

/* Why it is not accepted (yet): the last reason, also while it is tried again. */
struct run_refusal {
    const char *reason; /* static; NULL: none */
    char *text;         /* owned */
};

/* The object's status, as this process writes it. Once it is settled, a final run has no JSON. */
struct run_publication {
    struct kube_call *call;
    json_t *written;                  /* last; NULL: never, or it failed */
    struct bmr_conditions conditions; /* last known */
    int64_t next_ns;                  /* not written before that */
    bool sent_final;                  /* what was sent last is of a run that has ended */
    int64_t sent_generation;
    bool is_settled; /* the object has the final status, of this phase and generation */
    enum run_phase settled_phase;
    int64_t settled_generation;
};

/* The results of a run that has ended are being read, once, by another thread. */
struct run_summarizing {
    struct summarize_run *call; /* NULL: not now */
    int64_t retry_ns;           /* not tried before that */
    bool must_store;            /* the verdict is known and not stored yet */
};

/* The end of its time to live: the object is removed, the stored results stay. */
struct run_expiry {
    enum { EXPIRY_NOT_DUE, EXPIRY_DUE, EXPIRY_SENT } state;
    union {
        int64_t retry_ns;       /* DUE: not tried before that */
        struct kube_call *call; /* SENT */
    };
};

/* After an error of its own the run waits, longer each time; the others go on. */
struct run_parking {
    unsigned n_times; /* since it last made progress */
    int64_t until_ns; /* 0: not parked */
};

struct run {
    const struct run_env *env;
    char *name, *uid, *created, *benchmark; /* owned; benchmark: the definition's name */
    struct run_asked asked;
    enum run_life life; /* changed by run_enter alone */
    union run_at at;
    struct run_refusal refusal;
    struct run_def *def; /* owned; NULL if it is not accepted, or after run_drop_def */
    bool is_seen;        /* run_accept has looked at it */
    unsigned n_round;    /* of the queue, in which it did so last */
    struct run_status status;
    int64_t eta_s; /* -1: unknown */
    struct daemon_progress progress;
    struct daemon_wait wait;    /* as of the last run_refresh_shown */
    int64_t advanced_unix_ms;   /* see struct daemon_run; while it is driven */
    struct run_verdict verdict; /* ENDED and PAST: of the object's time to live too */
    struct run_summarizing summarizing;
    struct run_publication publication;
    struct run_expiry expiry;
    struct run_parking parking;
    struct daemon_run *shown; /* to other threads; NULL: not yet, or history, which the store has */
};

struct run *run_new(const struct run_env *env, const struct bmr_facts *facts);
void run_free(struct run *run); /* detaches: its pods live on */
/* Takes in a new state of the object. */
void run_update(struct run *run, const struct bmr_facts *facts);
/* Moves to the next state, with its data in `at` zeroed, and frees the data of the last one. False:
 * the event cannot happen in this state; it is logged and changes nothing. */
bool run_enter(struct run *run, enum run_life_event event);

bool run_is_final(const struct run *run);
bool run_is_driven(const struct run *run);
/* Seconds that its object stays after the end; -1: for ever, or not known. */
int64_t run_ttl_s(const struct run *run);
/* So lately that its metrics are still shown. */
bool run_ended_lately(const struct run *run);
/* The object has the final status, and nothing is left to write. */
bool run_is_settled(const struct run *run);
/* Leaves the run alone for a while, because of `why`; a change of its object ends that.
 * It must not be driven. */
void run_park(struct run *run, const struct err *why);
bool run_is_parked(const struct run *run);
/* Not accepted for now: `reason` is static. */
void run_hold_off(struct run *run, const char *reason, const char *text);
/* How pods find each other, by `def`, which the run need not have accepted yet. */
enum pod_naming run_naming(const struct run *run, const struct run_def *def);
/* An Event of the object. */
void run_emit(const struct run *run, enum event_type type, const char *reason, const char *note);
void run_wake(const struct run *run);
/* Reads `def` from the store, where the definition of every accepted run is. */
int run_load_def(struct run *run, struct err *err);
/* Frees `def` of a run that is not driven: hundreds may be queued. Its verdict and `shown` have all
 * that is asked of it until it is driven. */
void run_drop_def(struct run *run);
/* Replaces `shown` if something in it has changed; NULL for a run that ended long ago. */
void run_refresh_shown(struct run *run, int64_t now_unix_ms);

/* --- run_accept.c: from a run's object to a frozen run in the store --- */

/* Returns true if run_accept would do something now, and so needs the object. */
bool run_may_accept(const struct run *run);
/* Reads, freezes, checks and stores the definition. Each step takes a request's time, so it is
 * called again at each look. Returns 1 once the run is accepted and stored; 0 if it is not yet, or
 * was refused; an error if the store is broken. `may_read` says that there is room in memory for a
 * definition (run_life_is_read). */
int run_accept(struct run *run, const struct bmr_facts *facts, bool may_read, struct err *err);
/* Ends a run that is not accepted as Failed. `reason` is static. */
void run_refuse(struct run *run, const char *reason, const char *text);

/* --- run_drive.c: driving a run over its pods, one run at a time --- */

/* Returns true if the run is accepted and not suspended already. On a full disk this is true only
 * of a run that must end its pods. */
bool run_is_due(const struct run *run);
int run_start(struct run *run, struct err *err);
/* Passes cancel and suspend on to the driver; for a run without one it decides them. */
int run_steer(struct run *run, struct err *err);
/* Takes the answer of a driver that is done. After an error the driver gave up, and the run is not
 * driven. */
int run_stop(struct run *run, struct err *err);
/* Ends a run that is parked again and again as Failed, because of `why`. Where even that cannot be
 * stored, it stays parked. */
void run_give_up(struct run *run, const struct err *why);
/* Stops driving; the pods live on for the next benchd. */
void run_detach(struct run *run);

/* --- run_publish.c --- */

/* Writes the run's status into its object, at most once a second and only when it changed. The
 * verdict of a run that has ended is made before. Returns true if a request was sent. */
bool run_publish(struct run *run);

/* --- run_remove.c --- */

/* Removes the object of a final run whose time to live is over; not before all objects are known,
 * because a list that still has it would bring it back in the store; and never one that asks to
 * erase the results, which the person who deletes it decides. */
void run_expire(struct run *run);
/* The object is gone: what the store has of the run becomes a tombstone, or is erased if who
 * deleted the object asked for that; it stays if only the time to live was over. Its pods go with
 * the object. 0: the caller frees the run; an error: it stays, and is not driven. */
int run_drop_deleted(struct run *run, struct err *err);
/* Erases the results of one run whose object was deleted longer ago than the time to restore them.
 * A tombstone of before RETENTION_FIRST_DATE_MS has no date: it gets `now`. 1: there may be more;
 * 0: nothing was erased. */
int run_purge(const struct run_env *env, int64_t now_unix_ms, struct err *err);

/* ---- summarize_run.c ---- */

/* Reads the results of a run that has ended and says what they say, on a thread of its own and from
 * a connection of its own to the store: hundreds of megabytes must not hold up the Lease. One at a
 * time; further requests wait. Edge file: libuv's work queue. */
/* From the loop's thread, once. `r` 0: the verdict, borrowed; -EBADMSG: the rows cannot be read;
 * -ENOENT: the run is not there; any other error may pass. */
typedef void (*summarize_run_done_fn)(void *ctx, int r, const struct run_verdict *verdict,
                                      const struct err *err);

struct summarize_run;
struct uv_loop_s;
/* The strings are copied. */
struct summarize_run *summarize_run_start(struct uv_loop_s *loop, const char *store_url,
                                          const char *uid, summarize_run_done_fn on_done,
                                          void *ctx);
/* on_done will not be called. Only before it was. */
void summarize_run_abandon(struct summarize_run *j);

/* The same on the caller's thread. */
int summarize_run(struct store *store, const char *uid, struct run_verdict *ret, struct err *err);
