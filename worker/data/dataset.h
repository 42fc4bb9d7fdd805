/* Training data: synthetic, IDX (Fashion-MNIST, MNIST; gzip or plain), CIFAR-10 binary. Every file
 * is read and checked completely before use: magic number, counts, size, labels. Samples become (3,
 * 32, 32) floats in [0, 1]; 28x28 grey images are zero-padded by 2 and copied to three channels. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define DATA_SAMPLE_FLOATS (3 * 32 * 32)
#define DATA_CLASSES 10

struct dataset;

enum data_split { DATA_TRAIN, DATA_TEST };

/* `source` is "synthetic", "idx:DIR" or "cifar10:DIR". -ENOENT, -EBADMSG (damaged, wrong size),
 * -EINVAL (unknown source); the text names the file, what was expected and what was found. */
int dataset_open(const char *source, enum data_split split, uint64_t seed, struct dataset **ret,
                 struct err *err);
void dataset_free(struct dataset *d);
size_t dataset_size(const struct dataset *d);

/* Writes the n samples first, first + stride, ... as x (n, 3, 32, 32) and labels (n). They count
 * from the beginning of `epoch`, and go on in the next one, which has all samples again: with
 * `shuffle`, each in a seeded order of its own. A pure function of its arguments. */
struct data_batch {
    uint64_t epoch;
    bool shuffle;
    uint64_t first, stride;
    uint32_t n;
};
void dataset_read(const struct dataset *d, const struct data_batch *batch, float *x,
                  uint8_t *labels);
