#include "worker/kernels/blas.h"

#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>

#include <cblas.h>

#include "base/str.h"
#include "worker/kernels/cpu.h"

/* Set before the second execution, so that there is never a third. */
#define REPAIRED_ENV "BENCHWORKER_BLAS_REPAIRED"

const char *blas_config(void)
{
    return openblas_get_config();
}

const char *blas_core(void)
{
    return openblas_get_corename();
}

/* OpenBLAS's cores of the AVX2 class and below: its fallbacks on an unknown CPU. */
static const char *const small_cores[] = {
    "Prescott",  "Core2",      "Nehalem",     "Sandybridge", "Haswell", "Zen",
    "Bulldozer", "Piledriver", "Steamroller", "Excavator",   "Generic",
};

/* The core that fits the CPU's features, or NULL if the one in use fits or the user chose it
 * (OPENBLAS_CORETYPE is set). */
static const char *blas_wanted_core(void)
{
    if (getenv("OPENBLAS_CORETYPE") != NULL || !cpu_has_avx512()) {
        return NULL;
    }
    const size_t n = sizeof(small_cores) / sizeof(small_cores[0]);
    return str_index(blas_core(), small_cores, n) >= 0 ? "SkylakeX" : NULL;
}

void blas_repair(char *const *argv)
{
    const char *core = blas_wanted_core();
    if (core == NULL || getenv(REPAIRED_ENV) != NULL) {
        return;
    }
    if (setenv("OPENBLAS_CORETYPE", core, 1) == 0 && setenv(REPAIRED_ENV, "1", 1) == 0) {
        execv("/proc/self/exe", argv);
    }
    /* exec failed: restore the environment and train with the core in use. */
    (void)unsetenv("OPENBLAS_CORETYPE");
    (void)unsetenv(REPAIRED_ENV);
}

void blas_set_threads(unsigned n)
{
    openblas_set_num_threads((int)n);
}
