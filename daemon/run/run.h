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
#include "daemon/run/run_env.h"
#include "daemon/run/run_life.h"
#include "result/result.h"

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
        char *object;           /* the answer, JSON, owned; NULL: not answered */
        bool needs_benchmark;   /* the call is for it */
        char *benchmark;        /* its spec, JSON, owned; NULL if the run needs none */
    } reading;                  /* READING */
    struct kube_call *freezing; /* FREEZING; NULL: answered */
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
