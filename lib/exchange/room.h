/* How many gradients may be early at a server: those that wait until the ones of all trainers
 * before them are added (docs/exchange.md). Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Of one server. */
#define ROOM_EARLY_BYTES ((size_t)64 << 20)

/* Buffers that fit, at least one. */
size_t room_buffers(size_t max_bytes, size_t slice_bytes);
/* May this trainer's gradient of a slice come? Trainer 0's lands in the sum. The last buffer is
 * only for the one that is wanted next, which is added as soon as it is complete: so no order of
 * requests gets stuck. */
bool room_is_free(size_t n_buffers, size_t n_reserved, uint32_t trainer, bool is_wanted_next);
