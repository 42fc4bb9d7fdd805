/* The checksums that parameters must have, for a process that knows them in advance: an emulated
 * trainer or worker (worker/emulated_arena.h). Pure. */
#pragma once

#include <stdint.h>

#include "base/err.h"
#include "worker/comm/link/frame.h"

/* Of the slice of a PARAMS frame that has arrived whole, so that the frame's checksum is that of
 * its bytes. `checksums` are (n_steps, n_slices) CRC-32Cs; NULL, or a later step: nothing is known,
 * and anything is right. -EPROTO: it is wrong. */
int param_checksums_check(const uint32_t *checksums, uint64_t n_steps, uint32_t n_slices,
                          const struct frame *f, struct err *err);
