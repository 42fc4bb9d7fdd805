/* IDX files, the format of MNIST and Fashion-MNIST: big-endian magic number and dimensions, then
 * bytes. */
#include <stdlib.h>

#include "base/mem.h"
#include "worker/data/dataset.h"
#include "worker/data/gzfile.h"

#define IDX_MAGIC_IMAGES 0x00000803u /* unsigned bytes, three dimensions */
#define IDX_MAGIC_LABELS 0x00000801u
#define SIDE 28

static int read_u32(struct gzfile *f, const char *what, uint32_t *ret, struct err *err)
{
    uint8_t b[4];
    int r = gzfile_read(f, b, sizeof(b), what, err);
    if (r < 0) {
        return r;
    }
    *ret = (uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 | (uint32_t)b[2] << 8 | b[3];
    return 0;
}

/* The first two words: a magic number, which must be `magic`, and a count. */
static int read_head(struct gzfile *f, uint32_t magic, size_t *ret_n, struct err *err)
{
    uint32_t found = 0, n = 0;
    int r = read_u32(f, "the magic number", &found, err);
    if (r < 0 || (r = read_u32(f, "the number of items", &n, err)) < 0) {
        return r;
    }
    if (found != magic) {
        return err_set(err, EBADMSG, "'%s': magic number 0x%08x, expected 0x%08x (IDX %s)", f->path,
                       found, magic, magic == IDX_MAGIC_IMAGES ? "images" : "labels");
    }
    if (n < 1 || n > DATA_MAX_SAMPLES) {
        return err_set(err, EBADMSG, "'%s': %u items, expected 1 to %d", f->path, n,
                       DATA_MAX_SAMPLES);
    }
    *ret_n = n;
    return 0;
}

/* Reads n_bytes into *ret (owned, also on failure); the file must end after them. */
static int read_bytes(struct gzfile *f, size_t n_bytes, const char *what, uint8_t **ret,
                      struct err *err)
{
    *ret = malloc(n_bytes);
    if (*ret == NULL) {
        return err_set(err, ENOMEM, "'%s': no memory for %zu bytes", f->path, n_bytes);
    }
    int r = gzfile_read(f, *ret, n_bytes, what, err);
    return r < 0 ? r : gzfile_expect_end(f, err);
}

static int load_images(struct dataset *d, struct gzfile *f, struct err *err)
{
    uint32_t rows = 0, columns = 0;
    int r = read_head(f, IDX_MAGIC_IMAGES, &d->n, err);
    if (r < 0 || (r = read_u32(f, "the number of rows", &rows, err)) < 0 ||
        (r = read_u32(f, "the number of columns", &columns, err)) < 0) {
        return r;
    }
    if (rows != SIDE || columns != SIDE) {
        return err_set(err, EBADMSG, "'%s': images of %ux%u, expected %dx%d", f->path, rows,
                       columns, SIDE, SIDE);
    }
    d->c = 1;
    d->h = d->w = SIDE;
    return read_bytes(f, d->n * SIDE * SIDE, "all images", &d->pixels, err);
}

static int load_labels(struct dataset *d, struct gzfile *f, struct err *err)
{
    size_t n = 0;
    int r = read_head(f, IDX_MAGIC_LABELS, &n, err);
    if (r < 0) {
        return r;
    }
    if (n != d->n) {
        return err_set(err, EBADMSG, "'%s': %zu labels for %zu images", f->path, n, d->n);
    }
    r = read_bytes(f, n, "all labels", &d->labels, err);
    return r < 0 ? r : gzfile_check_labels(f, d->labels, n, err);
}

int idx_load(struct dataset *d, const char *dir, struct err *err)
{
    const char *prefix = d->split == DATA_TRAIN ? "train" : "t10k";
    static int (*const loaders[])(struct dataset *, struct gzfile *, struct err *) = {load_images,
                                                                                      load_labels};
    static const char *const suffixes[] = {"images-idx3-ubyte", "labels-idx1-ubyte"};
    for (int i = 0; i < 2; i++) {
        _cleanup_(freep) char *name = xasprintf("%s-%s", prefix, suffixes[i]);
        struct gzfile f;
        int r = gzfile_open(&f, dir, name, err);
        if (r < 0) {
            return r;
        }
        r = loaders[i](d, &f, err);
        gzfile_close(&f);
        if (r < 0) {
            return r;
        }
    }
    return 0;
}
