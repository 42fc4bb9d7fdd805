#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "worker/data/dataset.h"
#include "worker/tensor/rng.h"

#define SIDE 32 /* of the network's input */
/* Synthetic samples, as many as CIFAR-10 has. */
#define TRAIN_SAMPLES 50000
#define TEST_SAMPLES 10000

/* Random pixels and labels, for measuring speed. */
static void synthetic_init(struct dataset *d)
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

/* Pixels (3, 32, 32) of sample i, a pure function of (seed, split, i). */
static void synthetic_pixels(const struct dataset *d, size_t i, float *x)
{
    struct rng_key key = {.seed = d->seed, .stream = rng_stream(RNG_PIXELS, d->split, i)};
    rng_uniform(key, x, DATA_SAMPLE_FLOATS);
}

static int load(struct dataset *d, const char *source, struct err *err)
{
    if (str_eq(source, "synthetic")) {
        synthetic_init(d);
        return 0;
    }
    if (str_has_prefix(source, "idx:")) {
        return idx_load(d, source + strlen("idx:"), err);
    }
    if (str_has_prefix(source, "cifar10:")) {
        return cifar10_load(d, source + strlen("cifar10:"), err);
    }
    return err_set(err, EINVAL, "unknown data source '%s'; use synthetic, idx:DIR or cifar10:DIR",
                   source);
}

int dataset_open(const char *source, enum data_split split, uint64_t seed, struct dataset **ret,
                 struct err *err)
{
    struct dataset *d = xnew(struct dataset);
    d->seed = seed;
    d->split = split;
    int r = load(d, source, err);
    if (r < 0) {
        dataset_free(d);
        return err_wrap(err, r, "%s data", split == DATA_TRAIN ? "training" : "test");
    }
    *ret = d;
    return 0;
}

void dataset_free(struct dataset *d)
{
    if (d == NULL) {
        return;
    }
    free(d->pixels);
    free(d->labels);
    free(d);
}

size_t dataset_size(const struct dataset *d)
{
    return d->n;
}

/* One sample as (3, 32, 32) in [0, 1]: smaller images are centred in zeros, grey fills all
 * channels. */
static void sample_pixels(const struct dataset *d, size_t i, float *x)
{
    if (d->pixels == NULL) {
        synthetic_pixels(d, i, x);
        return;
    }
    size_t hw = (size_t)d->h * d->w, rim = (SIDE - d->h) / 2;
    memset(x, 0, DATA_SAMPLE_FLOATS * sizeof(*x));
    for (size_t c = 0; c < 3; c++) {
        const uint8_t *src = d->pixels + (i * d->c + (d->c == 3 ? c : 0)) * hw;
        float *dst = x + (c * SIDE + rim) * SIDE + rim;
        for (size_t row = 0; row < d->h; row++) {
            for (size_t col = 0; col < d->w; col++) {
                dst[row * SIDE + col] = (float)src[row * d->w + col] / 255.0f;
            }
        }
    }
}

void dataset_read(const struct dataset *d, const struct data_batch *batch, float *x,
                  uint8_t *labels)
{
    for (uint64_t j = 0; j < batch->n; j++) {
        const uint64_t at = batch->first + j * batch->stride, i = at % d->n;
        const uint64_t epoch = batch->epoch + at / d->n;
        const struct rng_key key = {.seed = d->seed, .stream = rng_stream(RNG_SHUFFLE, 0, epoch)};
        size_t sample = (size_t)(batch->shuffle ? rng_permute(key, i, d->n) : i);
        sample_pixels(d, sample, x + j * DATA_SAMPLE_FLOATS);
        labels[j] = d->labels[sample];
    }
}
