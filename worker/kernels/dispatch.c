/* Fills the kernel table for this machine. */
#include <stddef.h>
#include <stdlib.h>

#include "base/str.h"
#include "worker/kernels/blas.h"
#include "worker/kernels/cpu.h"
#include "worker/kernels/isa.h"

struct isa {
    const char *name;
    void (*passes_init)(struct kernels *k);
    void (*conv_init)(struct kernels *k);
    void (*fc_init)(struct kernels *k);
};

/* The best instruction set comes first. */
static const struct isa isas[] = {
#if defined(__aarch64__)
    {"neon", passes_init_neon, conv_init_neon, fc_init_neon}, /* each of these CPUs has it */
#else
#if defined(__x86_64__)
    {"avx512", passes_init_avx512, conv_init_avx512, fc_init_avx512},
    {"avx2", passes_init_avx2, conv_init_avx2, fc_init_avx2},
#endif
    {"baseline", passes_init_baseline, conv_init_baseline, fc_init_baseline},
#endif
};
#define N_ISAS (sizeof(isas) / sizeof(isas[0]))

static int cpu_has_isa(const char *name)
{
    return str_eq(name, "avx512") ? cpu_has_avx512() : !str_eq(name, "avx2") || cpu_has_avx2();
}

int kernels_init_isa(struct kernels *k, const char *isa)
{
    for (size_t i = 0; i < N_ISAS; i++) {
        if (str_eq(isas[i].name, isa) && cpu_has_isa(isa)) {
            *k = (struct kernels){.isa = isas[i].name};
            isas[i].passes_init(k);
            isas[i].conv_init(k);
            isas[i].fc_init(k);
            blas_set_threads(1); /* the kernels call it from their own threads */
            return 0;
        }
    }
    return -1;
}

/* Returns where to begin in the table. An unknown name masks nothing. */
static size_t first_allowed(const char *mask)
{
    for (size_t i = 0; mask != NULL && i < N_ISAS; i++) {
        if (str_eq(isas[i].name, mask)) {
            return i;
        }
    }
    return 0;
}

void kernels_init_best(struct kernels *k)
{
    for (size_t i = first_allowed(getenv("BENCH_CPU_MASK")); i < N_ISAS; i++) {
        if (kernels_init_isa(k, isas[i].name) == 0) {
            return;
        }
    }
}
