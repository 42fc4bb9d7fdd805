#include "worker/comm/link/param_checksums.h"

#include <inttypes.h>
#include <stddef.h>

int param_checksums_check(const uint32_t *checksums, uint64_t n_steps, uint32_t n_slices,
                          const struct frame *f, struct err *err)
{
    if (checksums == NULL || f->step >= n_steps) {
        return 0;
    }
    const uint32_t want = checksums[f->step * n_slices + f->slice];
    if (f->payload_crc != want) {
        return err_set(err, EPROTO,
                       "wrong parameters of step %" PRIu64 ", slice %" PRIu32
                       ": checksum %08" PRIx32 ", expected %08" PRIx32
                       "; the sum of the gradients is wrong",
                       f->step, f->slice, f->payload_crc, want);
    }
    return 0;
}
