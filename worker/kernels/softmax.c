/* The loss of a batch: the same code for every instruction set, with sums in double. */
#include <math.h>

#include "worker/kernels/kernels.h"

double kernels_softmax_xent(uint32_t n, uint32_t k, const float *logits, const uint8_t *labels,
                            float *dlogits, uint32_t *ret_right)
{
    double loss = 0;
    uint32_t right = 0;
    for (size_t i = 0; i < n; i++) {
        const float *row = logits + i * k;
        size_t best = 0;
        for (size_t j = 1; j < k; j++) {
            best = row[j] > row[best] ? j : best;
        }
        double sum = 0;
        for (size_t j = 0; j < k; j++) {
            sum += exp((double)row[j] - (double)row[best]);
        }
        double log_sum = log(sum) + (double)row[best];
        for (size_t j = 0; j < k; j++) {
            double target = j == labels[i] ? 1 : 0;
            dlogits[i * k + j] = (float)((exp((double)row[j] - log_sum) - target) / n);
        }
        loss += log_sum - (double)row[labels[i]];
        right += best == labels[i];
    }
    *ret_right = right;
    return loss / n;
}
