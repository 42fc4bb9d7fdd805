/* Turns the outputs of an attempt's replicas into the row and the logs that the store keeps.
 * Used by reconcile_pass.c. */
#pragma once

#include "base/buf.h"
#include "base/err.h"
#include "base/vec.h"
#include "decide/observed.h"
#include "decide/plan.h"
#include "run/launcher.h"
#include "store/store.h"

struct attempt_output {
    struct attempt_row row;       /* owned; the caller sets its times */
    VEC(struct replica_log) logs; /* data borrowed from the launcher, unless */
    bool owns_logs;
    struct buf pods;             /* their names: "a|b|c" */
    int64_t measured_to_unix_ms; /* of the first replica that says it; 0: none does */
};

/* `action` is a SAVE_RESULT. Collects the attempt's replicas by role and index. A replica that has
 * vanished or was never started has no log; one that was not observed has no row either. -EAGAIN:
 * some output is still being fetched, and every member was asked for. */
int attempt_collect(struct launcher *launcher, const struct action *action,
                    const struct observed_replica *seen, size_t n_seen, struct attempt_output *ret,
                    struct err *err);
/* Outcome and error of a SAVE_RESULT. */
void attempt_set_verdict(struct attempt_row *row, const struct action *action);
/* Adds figures of the attempt to the first summary of a replica that leads, if one has any. */
void attempt_add_metrics(struct attempt_output *output, const uint32_t sizes[static ROLE_COUNT],
                         const struct metrics *metrics);
/* Adds a name to alternatives of a regular expression; NULL adds nothing. */
void attempt_add_name(struct buf *names, const char *name);
void attempt_output_done(struct attempt_output *output);
