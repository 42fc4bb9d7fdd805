/* Fills the table for this machine. */
#include <stddef.h>

#include "base/str.h"
#include "worker/kernels/blas.h"
#include "worker/kernels/cpu.h"
#include "worker/kernels/isa.h"

struct isa {
    const char *name;
    void (*passes_init)(struct kernels *k);
    void (*gemm_init)(struct kernels *k);
};

/* Best first. */
static const struct isa isas[] = {
#if defined(__x86_64__)
    {"avx512", passes_init_avx512, gemm_init_avx512},
    {"avx2", passes_init_avx2, gemm_init_avx2},
#endif
    {"baseline", passes_init_baseline, gemm_init_baseline},
};

static int cpu_has_isa(const char *name)
{
    return str_eq(name, "baseline") || (str_eq(name, "avx2") && cpu_has_avx2()) ||
           (str_eq(name, "avx512") && cpu_has_avx512());
}

int kernels_init_isa(struct kernels *k, uint32_t threads, const char *isa)
{
    for (size_t i = 0; i < sizeof(isas) / sizeof(isas[0]); i++) {
        if (str_eq(isas[i].name, isa) && cpu_has_isa(isa)) {
            kernels_init_ref(k);
            k->name = "openblas";
            k->isa = isas[i].name;
            isas[i].passes_init(k);
            isas[i].gemm_init(k);
            blas_set_threads(threads);
            return 0;
        }
    }
    return -1;
}

void kernels_init_best(struct kernels *k, uint32_t threads)
{
    for (size_t i = 0; i < sizeof(isas) / sizeof(isas[0]); i++) {
        if (kernels_init_isa(k, threads, isas[i].name) == 0) {
            return;
        }
    }
}
