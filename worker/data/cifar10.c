/* CIFAR-10, binary version: files of 10,000 records of a label byte and 3x32x32 pixels. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "worker/data/dataset.h"
#include "worker/data/gzfile.h"

#define FILE_SAMPLES 10000
#define TRAIN_FILES 5

static int load_file(struct dataset *d, const char *dir, const char *name, struct err *err)
{
    uint8_t record[1 + DATA_SAMPLE_FLOATS];
    struct gzfile f;
    int r = gzfile_open(&f, dir, name, err);
    if (r < 0) {
        return r;
    }
    for (size_t i = 0; r == 0 && i < FILE_SAMPLES; i++) {
        r = gzfile_read(&f, record, sizeof(record), "10000 records of 3073 bytes", err);
        if (r == 0) {
            d->labels[d->n + i] = record[0];
            memcpy(d->pixels + (d->n + i) * DATA_SAMPLE_FLOATS, record + 1, DATA_SAMPLE_FLOATS);
        }
    }
    r = r < 0 ? r : gzfile_expect_end(&f, err);
    r = r < 0 ? r : gzfile_check_labels(&f, d->labels + d->n, FILE_SAMPLES, err);
    gzfile_close(&f);
    return r;
}

int cifar10_load(struct dataset *d, const char *dir, struct err *err)
{
    size_t files = d->split == DATA_TRAIN ? TRAIN_FILES : 1, n = files * FILE_SAMPLES;
    d->c = 3;
    d->h = d->w = 32;
    d->pixels = malloc(n * DATA_SAMPLE_FLOATS);
    d->labels = malloc(n);
    if (d->pixels == NULL || d->labels == NULL) {
        return err_set(err, ENOMEM, "no memory for %zu samples", n);
    }
    for (size_t i = 0; i < files; i++) {
        _cleanup_(freep) char *name = d->split == DATA_TRAIN
                                          ? xasprintf("data_batch_%zu.bin", i + 1)
                                          : xstrdup("test_batch.bin");
        int r = load_file(d, dir, name, err);
        if (r < 0) {
            return r;
        }
        d->n += FILE_SAMPLES;
    }
    return 0;
}
