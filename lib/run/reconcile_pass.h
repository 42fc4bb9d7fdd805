/* One reconcile pass of the driver: observe, reconcile, apply. No event loop: driver.c calls it
 * when something changed or a time has come, tests call it with a clock of their own.
 *
 * If a replica cannot be created (no free port, a template that cannot be filled in, a launcher
 * that refuses), this file keeps it as a failed one until the plan deletes it, so that
 * reconcile() treats it like any other failure. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/vec.h"
#include "decide/attempt_history.h"
#include "decide/observed.h"
#include "run/driver.h"

struct failed_create {
    struct replica_id id;
    enum failure_class failure;
    int64_t ended_unix_ms;
    char *message; /* owned */
};

struct reconcile_pass {
    struct driver_params params; /* without its loop */
    struct run_status status;    /* as last written */
    enum run_request request;
    struct attempt_packer *packer; /* set by the driver; NULL: the store packs on the loop */
    /* Of the rows that the store has acknowledged, without their replicas: reconcile() needs only
     * the outcomes, with a stop rule the throughputs too, and the driver's memory must not grow
     * with the outputs of a long run. */
    struct attempt_history history;
    int64_t full_unix_ms; /* the store's disk was full at the last pass, then; 0: it was not */
    VEC(struct failed_create) failed_create;
    char *unknown_metrics; /* owned: why some were unknown, as the last event says; NULL: none */
};

/* Reads the run's rows from the store. */
int reconcile_pass_init(struct reconcile_pass *p, const struct driver_params *params,
                        struct err *err);
void reconcile_pass_done(struct reconcile_pass *p);

enum reconcile_pass_result { PASS_AGAIN, PASS_WAIT, PASS_FINISHED };
/* PASS_AGAIN: something was changed; call again at once. PASS_WAIT: nothing to do before a
 * change or before *ret_wait_ms have passed (-1: no limit). PASS_FINISHED: the run is final, or
 * suspended as requested, and no replica is left. An error: the store or the launcher is broken,
 * and the run cannot continue here. */
int reconcile_pass_once(struct reconcile_pass *p, int64_t *ret_wait_ms, struct err *err);
/* Removes every replica of a run whose results are not wanted. False: a removal is not confirmed;
 * call again when something has changed. */
bool reconcile_pass_abandon(struct reconcile_pass *p);
/* After an error: what the replicas have measured may be nowhere but in them, so all stay, but none
 * starts later, together with the next run. False: some may; call it again after a change. */
bool reconcile_pass_stop(struct reconcile_pass *p);
