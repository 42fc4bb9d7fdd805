/* Access to OpenBLAS, and a correction of its CPU detection.
 *
 * OpenBLAS 0.3.21 does not know Zen 5 and runs its Haswell (AVX2) kernels there: 115 GFLOPS instead
 * of 160 to 226. OPENBLAS_CORETYPE selects the kernels when the library is loaded, so main first
 * sets the variable and executes the program again, once. */
#pragma once

#include "worker/kernels/cpu.h" /* cpu_features, for the start record */

const char *blas_config(void); /* version and build, static */
const char *blas_core(void);   /* "SkylakeX", "Haswell", ... static */
/* If another core fits better, sets OPENBLAS_CORETYPE and executes /proc/self/exe with argv again.
 * Returns if there is nothing to do or exec failed; training then only runs slower. */
void blas_repair(char *const *argv);
void blas_set_threads(unsigned n);
