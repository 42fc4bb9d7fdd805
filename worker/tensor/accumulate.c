#include "worker/tensor/accumulate.h"

void grad_add(float *restrict sum, const float *restrict grad, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        sum[i] += grad[i];
    }
}
