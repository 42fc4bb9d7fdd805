/* A kernel table that is easy to read, to compare the worker's with. */
#pragma once

#include "worker/kernels/kernels.h"

void kernels_init_ref(struct kernels *k);
