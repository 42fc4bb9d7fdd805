/* What the CPU has, asked once; x86 only, elsewhere nothing. */
#pragma once

#include <stdbool.h>

bool cpu_has_avx2(void);   /* with FMA */
bool cpu_has_avx512(void); /* F, BW, DQ, VL: what Skylake-X has */
/* CPU features that kernels care about, space-separated: "avx2 fma avx512f ...". Static. */
const char *cpu_features(void);
