/* What the stand-ins for NCCL's library and the driver's agree on. */
#pragma once

#include <poll.h>
#include <stdint.h>

/* An address on the "GPU" is that of the process's memory with this added: whoever reads it as
 * memory like any other crashes, as with a real one. */
#define STAND_IN_GPU ((uint64_t)1 << 56)

static inline void *stand_in_memory(uint64_t ptr)
{
    return (void *)(uintptr_t)(ptr - STAND_IN_GPU);
}

/* Where the real ones spin: on two cores a rank that waits so takes the CPU of the one it waits
 * for. */
static inline void stand_in_nap(void)
{
    (void)poll(NULL, 0, 1); /* nothing announces what it waits for */
}
