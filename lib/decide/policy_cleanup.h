/* Which replicas may be deleted: those whose result is stored or not needed. Pure. */
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

/* cleanPodPolicy: true if an ended replica is kept for inspection although nothing needs it any
 * more. `outcome` is that of its attempt. Live replicas are always deleted. */
bool cleanup_keeps_ended(enum clean_pod_policy policy, enum attempt_outcome outcome);
