#include "worker/tensor/accumulate.h"

#include <string.h>

void grad_copy(float *sum, const float *grad, size_t n)
{
    memcpy(sum, grad, n * sizeof(*sum));
}

void grad_add(float *restrict sum, const float *restrict grad, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        sum[i] += grad[i];
    }
}
