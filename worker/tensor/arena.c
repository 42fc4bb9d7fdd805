#include "worker/tensor/arena.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <sys/mman.h>

#define ARENA_ALIGN 64
#define HUGE_PAGE ((size_t)2 << 20)

int arena_new(struct arena *a, size_t n_floats, const char *what, struct err *err)
{
    if (n_floats > (SIZE_MAX - ARENA_ALIGN) / sizeof(float)) {
        return err_set(err, ENOMEM, "%s: %zu floats do not fit the address space", what, n_floats);
    }
    size_t bytes = (n_floats * sizeof(float) + ARENA_ALIGN - 1) / ARENA_ALIGN * ARENA_ALIGN;
    size_t align = bytes < HUGE_PAGE ? ARENA_ALIGN : HUGE_PAGE;
    void *data = NULL;
    if (posix_memalign(&data, align, bytes == 0 ? ARENA_ALIGN : bytes) != 0) {
        return err_set(err, ENOMEM, "%s: no memory for %zu bytes; use a smaller batch", what,
                       bytes);
    }
    arena_prefer_huge_pages(data, bytes);
    memset(data, 0, bytes);
    *a = (struct arena){.data = data, .n = n_floats};
    return 0;
}

void arena_prefer_huge_pages(void *data, size_t bytes)
{
    uintptr_t first = ((uintptr_t)data + HUGE_PAGE - 1) & ~(HUGE_PAGE - 1);
    uintptr_t end = ((uintptr_t)data + bytes) & ~(HUGE_PAGE - 1);
    if (first < end) {
        (void)madvise((void *)first, end - first, MADV_HUGEPAGE); /* only for speed */
    }
}
