/* May a replica be deleted: only when nothing is lost with it. Pure. */
#pragma once

#include <stdbool.h>

#include "core/phase.h"
#include "spec/spec.h"

struct cleanup_facts {
    bool has_row;        /* of its attempt */
    bool in_definition;  /* point, trial, role and index exist in the run */
    bool is_run_final;   /* the status said so before this call */
    bool is_interrupted; /* the run ends now and the attempt has not ended */
};

bool cleanup_may_delete(const struct cleanup_facts *facts);

/* cleanPodPolicy: does an ended replica stay to be looked at, although nothing needs it any more?
 * `outcome` is that of its attempt. Live replicas always go. */
bool cleanup_keeps_ended(enum clean_pod_policy policy, enum attempt_outcome outcome);
