/* The features of the CPU. Each function asks once. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

bool cpu_has_avx2(void);   /* with FMA */
bool cpu_has_avx512(void); /* F, BW, DQ, VL, as Skylake-X */
/* The features that matter to the kernels and to OpenBLAS, space-separated, by their names in
 * /proc/cpuinfo: "avx2 fma avx512f ...", "asimd asimddp ...". Static. */
const char *cpu_features(void);
/* From here on a denormal number counts as zero, as an operand and as a result (FTZ and DAZ), in
 * this thread and in those that it starts. Without this the moments of a parameter that gets no
 * gradient become denormal after some 650 steps and stay so, and Adam several times slower. */
void cpu_flush_denormals(void);
/* Returns whether this is so in the calling thread, which a multiplication shows. */
bool cpu_flushes_denormals(void);
/* The second-level cache of one core, 0 if unknown; conv_tiles.c chooses block sizes by it. */
size_t cpu_l2_bytes(void);
