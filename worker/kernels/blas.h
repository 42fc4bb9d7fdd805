/* OpenBLAS as we use it, and the repair of its CPU detection.
 *
 * OpenBLAS 0.3.21 does not know Zen 5 and runs its Haswell (AVX2) kernels there: 115 GFLOPS instead
 * of 160-226. Its core is fixed at load time by OPENBLAS_CORETYPE, so main sets the variable and
 * executes itself again, once, before anything else. */
#pragma once

#include "worker/kernels/cpu.h" /* cpu_features, for the start record beside these */

const char *blas_config(void); /* version and build, static */
const char *blas_core(void);   /* "SkylakeX", "Haswell", ... static */
/* The core that suits the CPU flags, or NULL if the one in use is fine or was chosen by the user
 * (OPENBLAS_CORETYPE is set). */
const char *blas_wanted_core(void);
/* Sets OPENBLAS_CORETYPE and executes /proc/self/exe with argv again if a better core is wanted.
 * Returns only when nothing was to do or exec failed (then training just runs slower). */
void blas_repair(char *const *argv);
void blas_set_threads(unsigned n);
