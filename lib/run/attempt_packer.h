/* Compresses the logs of an attempt, in another thread than the event loop's: those of one may have
 * 64 MiB, which takes seconds of CPU. Used by reconcile_pass.c; the driver has
 * it. */
#pragma once

#include <stdbool.h>

#include "base/err.h"
#include "run/attempt.h"

struct uv_loop_s;
struct attempt_packer;

/* NULL: this launcher or store cannot do that, so the loop does it. `on_packed` is called from the
 * loop. */
struct attempt_packer *attempt_packer_new(struct uv_loop_s *loop, struct launcher *launcher,
                                          struct store *store, void (*on_packed)(void *ctx),
                                          void *ctx);
/* What is under way ends by itself. NULL is fine. */
void attempt_packer_free(struct attempt_packer *p);

/* Takes an attempt, with its logs from the launcher, which are nowhere else until it is dropped. */
void attempt_packer_start(struct attempt_packer *p, struct attempt_output *output_take);
/* It has that attempt, packed or not yet. For the next two it must. */
bool attempt_packer_has(struct attempt_packer *p, const struct attempt_id *id);
/* Borrowed until it is dropped. -EAGAIN: on_packed follows. */
int attempt_packer_get(struct attempt_packer *p, const struct attempt_id *id,
                       struct attempt_output **ret, struct packed_logs **ret_packed,
                       struct err *err);
void attempt_packer_drop(struct attempt_packer *p, const struct attempt_id *id);
