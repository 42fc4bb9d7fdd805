/* Forced in front of the reference kernels and the model for test_gradient (-include): the same
 * source in double precision, so that numeric gradients can be compared to nine digits. The headers
 * with float in them come first and keep theirs. */
#pragma once

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif
#ifdef DOUBLE_WITH_TESTS
#include "tests/test.h"
#endif

#define float double
