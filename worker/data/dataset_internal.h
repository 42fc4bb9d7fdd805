/* The memory of a dataset, shared by dataset.c and the readers of the formats. */
#pragma once

#include "worker/data/dataset.h"

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
