/* May a replica be deleted: only when nothing is lost with it. Pure. */
#pragma once

#include <stdbool.h>

#include "core/phase.h"
#include "spec/spec.h"

enum cleanup_reason {
    CLEANUP_KEEP,
    CLEANUP_ROW_KEPT,    /* its attempt ended and the store has it */
    CLEANUP_INTERRUPTED, /* cancelled or out of time: its attempt never ended and has no row */
    CLEANUP_RUN_FINAL,   /* the run is over: a straggler, its results never change again */
    CLEANUP_UNKNOWN,     /* not in the definition: there is no trial to keep it for */
};

struct cleanup_facts {
    bool has_row;        /* of its attempt */
    bool in_definition;  /* point, trial, role and index exist in the run */
    bool is_run_final;   /* the status said so before this call */
    bool is_interrupted; /* the run ends now and the attempt has not ended */
};

enum cleanup_reason cleanup_decide(const struct cleanup_facts *facts);

/* cleanPodPolicy: does an ended replica stay to be looked at, although nothing needs it any more?
 * `outcome` is that of its attempt. Live replicas always go. */
bool cleanup_keeps_ended(enum clean_pod_policy policy, enum attempt_outcome outcome);
