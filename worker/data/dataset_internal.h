/* The memory of a dataset, shared by dataset.c and the readers of the formats. */
#pragma once

#include "worker/data/dataset.h"

struct dataset {
    uint32_t c, h, w; /* of the stored samples: (1, 28, 28) or (3, 32, 32) */
    size_t n;
    uint8_t *pixels; /* (n, c, h, w), owned; NULL: synthetic, computed when read */
    uint8_t *labels; /* (n), owned */
    uint64_t seed;
    enum data_split split;
};

#define DATA_MAX_SAMPLES 1000000 /* the most that the header of a file may claim */

/* These fill an empty d from DIR; on failure the caller still calls dataset_free. */
int idx_load(struct dataset *d, const char *dir, struct err *err);     /* idx.c */
int cifar10_load(struct dataset *d, const char *dir, struct err *err); /* cifar10.c */
/* Returns -EBADMSG with the first label that is not a class, from the file at `path`. */
static inline int labels_check(const char *path, const uint8_t *labels, size_t n, struct err *err)
{
    for (size_t i = 0; i < n; i++) {
        if (labels[i] >= DATA_CLASSES) {
            return err_set(err, EBADMSG, "'%s': label %u of sample %zu, expected 0 to %d", path,
                           labels[i], i, DATA_CLASSES - 1);
        }
    }
    return 0;
}
