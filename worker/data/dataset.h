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

/* ---- for dataset.c and the readers of the formats ---- */

struct dataset {
    uint32_t c, h, w; /* the shape of stored samples: (1, 28, 28) or (3, 32, 32) */
    size_t n;
    uint8_t *pixels; /* (n, c, h, w), owned; NULL if they are computed when read */
    uint8_t *labels; /* (n), owned */
    uint64_t seed;
    enum data_split split;
};

#define DATA_MAX_SAMPLES 1000000 /* the most that the header of a file may claim */

/* These fill an empty d from DIR; on failure the caller still calls dataset_free. */
int idx_load(struct dataset *d, const char *dir, struct err *err);     /* idx.c */
int cifar10_load(struct dataset *d, const char *dir, struct err *err); /* cifar10.c */
