/* Random pixels and labels, for measuring speed. */
#include "base/mem.h"
#include "worker/data/dataset_internal.h"
#include "worker/tensor/rng.h"

/* As many as CIFAR-10 has. */
#define TRAIN_SAMPLES 50000
#define TEST_SAMPLES 10000

void synthetic_init(struct dataset *d)
{
    d->n = d->split == DATA_TRAIN ? TRAIN_SAMPLES : TEST_SAMPLES;
    d->c = 3;
    d->h = d->w = 32;
    d->labels = xnew_array(uint8_t, d->n);
    struct rng_key key = {.seed = d->seed, .stream = rng_stream(RNG_LABELS, d->split, 0)};
    for (size_t i = 0; i < d->n; i++) {
        uint32_t words[4];
        rng_block(key, i, words);
        d->labels[i] = (uint8_t)((uint64_t)words[0] * DATA_CLASSES >> 32);
    }
}

void synthetic_pixels(const struct dataset *d, size_t i, float *x)
{
    struct rng_key key = {.seed = d->seed, .stream = rng_stream(RNG_PIXELS, d->split, i)};
    rng_uniform(key, x, DATA_SAMPLE_FLOATS);
}
