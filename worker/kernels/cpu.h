/* What the CPU has, asked once; features of x86 only, elsewhere none. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

bool cpu_has_avx2(void);   /* with FMA */
bool cpu_has_avx512(void); /* F, BW, DQ, VL: what Skylake-X has */
/* AMX with bf16, beside AVX-512. The first call asks Linux for the use of tile registers, which it
 * grants to the whole process or not. */
bool cpu_has_amx(void);
/* CPU features that kernels care about, space-separated: "avx2 fma avx512f ...". Static. */
const char *cpu_features(void);
/* Of one core, 0 if unknown. Large second-level caches hold more of what a block of tiles needs. */
size_t cpu_l2_bytes(void);
