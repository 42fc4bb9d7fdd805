/* One BenchmarkRun as the daemon drives it: from its object to a frozen run in the store, to a
 * driver over pods, and back into the object's status. Used by daemon.c, which says when.
 *
 *   new --run_accept--> accepted --run_start--> active --driver done--> final | suspended
 *    '--> refused (its definition is wrong)                                |
 *         or waiting (its Benchmark is not there yet)       run_status --> object
 *
 * Truth is in the object, the store and the pods: this struct is made anew after a restart. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "daemon/state.h"

#define RUN_RETRY_NS (5 * INT64_C(1000000000))

/* A dry run of one pod. */
struct template_check {
    struct run *run;
    enum role role;
    struct kube_call *call;
    char *refusal; /* the server's words; NULL: none */
};

struct run {
    struct daemon *d;
    char *name, *uid, *created, *benchmark; /* owned */
    int64_t generation;
    bool cancel, suspend, is_deleting; /* as the object asks */
    bool is_gone;                      /* its object is */
    bool is_expired;                   /* by its TTL: the stored results stay */

    struct run_def *def;     /* NULL: not accepted */
    char *refusal_text;      /* owned; NULL: not refused */
    const char *refusal;     /* static */
    bool is_refused;         /* for good */
    bool is_past;            /* it has ended, and the store knows nothing (readable) of it */
    bool is_stored;          /* put and claimed */
    bool is_definition_kept; /* the object has it, though the watch may not have said so yet */
    struct kube_call *definition_call;
    enum { CHECK_NOT_BEGUN, CHECK_BEGUN } checked; /* its templates, by the API server */
    struct template_check checks[ROLE_COUNT];
    int64_t retry_ns; /* of the last failed write */
    struct run_status status;

    struct launcher *launcher; /* while active */
    struct driver *driver;
    bool is_driver_done;
    int64_t eta_s;
    bool has_mute_trials, has_failed_threshold, is_judged;
    struct daemon_progress progress;

    json_t *conditions; /* as written last; NULL: none */
    json_t *written;    /* the status as written last; NULL: never in this life */
    struct kube_call *status_call;
    int64_t written_ns;
    struct kube_call *delete_call;
};

struct run *run_new(struct daemon *d, const json_t *bmr);
void run_free(struct run *run); /* detaches: its pods live on */
/* Its object is gone: its pods go with it, and what is stored of it, unless only its time was over.
 * Frees it; an error: the store is broken. */
int run_bury(struct run *run, struct err *err);
/* Takes in a new state of the object. */
void run_update(struct run *run, const json_t *bmr);
/* Reads, freezes and stores the definition; some steps take a call's time. 1: accepted and stored;
 * 0: not yet, or refused; an error: the store is broken. */
int run_accept(struct run *run, const json_t *bmr, const json_t *benchmark, struct err *err);
/* It is not accepted: `reason` is static; `is_final`: for good. */
void run_refuse(struct run *run, const char *reason, bool is_final, const char *text);
enum pod_naming run_naming(const struct run *run, const struct run_def *def);
/* template.c. True: nothing was found against them; false: not yet known, or the run was refused. */
bool run_check_templates(struct run *run, const struct run_def *def);
void run_drop_checks(struct run *run);
/* Is there anything to drive: not final, and not already standing as it shall. */
bool run_is_due(const struct run *run);
int run_start(struct run *run, struct err *err);
/* Passes cancel and suspend on; for a run that is not driven, decides them. */
int run_steer(struct run *run, struct err *err);
/* Nobody drives it any more, its pods live on: another daemon finds them. */
void run_detach(struct run *run);
/* After the driver is done. */
int run_stop(struct run *run, struct err *err);
bool run_is_final(const struct run *run);
/* Writes the object's status, if it is not as it should be. */
void run_publish(struct run *run);
/* Removes the object of a final run whose time is over. */
void run_expire(struct run *run);
void run_inspect(const struct run *run, struct daemon_run *ret);
