/* The state of a run as benchd's API reports it at /api/v1/runs/NAME, for the live view. Pure. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

#include "base/err.h"
#include "base/vec.h"
#include "core/phase.h"
#include "core/record.h"

struct attempt_ids {             /* a set */
    VEC(struct attempt_id) list; /* sorted */
};
bool attempt_ids_has(const struct attempt_ids *ids, struct attempt_id id);
/* Returns false if it is in the set already. */
bool attempt_ids_add(struct attempt_ids *ids, struct attempt_id id);
void attempt_ids_done(struct attempt_ids *ids);

/* The last step of trainer 0. */
struct replica_step {
    struct replica_id id;
    struct record_step of;
};

struct run_state {
    struct run_status status;
    bool has_step;
    struct replica_step step;    /* of the current attempt */
    struct attempt_ids attempts; /* the ended ones; owned */
};
/* -EPROTO names the field; *ret is written only on success. */
int run_state_read(const json_t *document, struct run_state *ret, struct err *err);
