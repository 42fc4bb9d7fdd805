/* For the files that worker/kernels/meson.build compiles once for each instruction set, with
 * -DKERNELS_ISA=name: ISA_SYMBOL(passes_init) becomes passes_init_avx2. dispatch.c calls the
 * functions below. */
#pragma once

#include "worker/kernels/kernels.h"

#define ISA_PASTE_(name, isa) name##_##isa
#define ISA_PASTE(name, isa) ISA_PASTE_(name, isa)
#define ISA_SYMBOL(name) ISA_PASTE(name, KERNELS_ISA)

/* BN, ReLU, dropout and pooling; defined in passes.c. */
void passes_init_baseline(struct kernels *k);
void passes_init_neon(struct kernels *k);
void passes_init_avx2(struct kernels *k);
void passes_init_avx512(struct kernels *k);
/* Convolution; defined in conv.c. */
void conv_init_baseline(struct kernels *k);
void conv_init_neon(struct kernels *k);
void conv_init_avx2(struct kernels *k);
void conv_init_avx512(struct kernels *k);
/* Fully connected layers; defined in fc.c. */
void fc_init_baseline(struct kernels *k);
void fc_init_neon(struct kernels *k);
void fc_init_avx2(struct kernels *k);
void fc_init_avx512(struct kernels *k);
