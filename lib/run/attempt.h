/* From the launcher's outputs to what the store keeps of one attempt. Used by reconcile_pass.c. */
#pragma once

#include "base/err.h"
#include "base/vec.h"
#include "decide/reconcile.h"
#include "run/launcher.h"
#include "store/store.h"

struct attempt_output {
    struct attempt_row row;       /* owned; its times are the caller's to set */
    VEC(struct replica_log) logs; /* data borrowed from the launcher */
};

/* `action` is a SAVE_RESULT. Takes what is there of the attempt's replicas, by role and index; one
 * that has vanished, or never came to life, has no log, and no row if nothing was seen of it. -EAGAIN:
 * some output is still being fetched; every member was asked. */
int attempt_collect(struct launcher *launcher, const struct action *action,
                    const struct observed_replica *seen, size_t n_seen, struct attempt_output *ret,
                    struct err *err);
void attempt_output_done(struct attempt_output *output);
