/* Data files, good and bad: each fault must be found before the first sample is used, with a text
 * that says which file and what is wrong. */
#include <sys/stat.h>
#include <unistd.h>

#include <zlib.h>

#include "tests/test.h"
#include "worker/data/dataset.h"

enum { SIDE = 28, PIXELS = SIDE * SIDE, N = 5 };

static char dir[] = "/tmp/benchd-data-XXXXXX";
static char source[64];

static char *path_of(const char *name)
{
    return xasprintf("%s/%s", dir, name);
}

static void write_file(const char *name, const void *data, size_t n)
{
    _cleanup_(freep) char *path = path_of(name);
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(data, 1, n, f), n);
    assert_int_equal(fclose(f), 0);
}

static void write_gz(const char *name, const void *data, size_t n)
{
    _cleanup_(freep) char *path = path_of(name);
    gzFile f = gzopen(path, "wb");
    assert_int_equal(gzwrite(f, data, (unsigned)n), (int)n);
    assert_int_equal(gzclose(f), Z_OK);
}

static void remove_file(const char *name)
{
    _cleanup_(freep) char *path = path_of(name);
    (void)remove(path); /* it may never have been there */
}

static size_t put_u32(uint8_t *at, uint32_t v)
{
    at[0] = (uint8_t)(v >> 24), at[1] = (uint8_t)(v >> 16), at[2] = (uint8_t)(v >> 8);
    at[3] = (uint8_t)v;
    return 4;
}

struct fault { /* 0: as it should be */
    uint32_t magic, rows, columns, label_magic;
    int count, label_count;     /* claimed; -1: 0 */
    int images_cut, labels_cut; /* bytes off the end; negative: added */
    uint8_t label;              /* put at sample 3 */
};

static uint8_t images[16 + N * PIXELS + 64], label_bytes[8 + N + 64];

static void fill(const struct fault *f)
{
    size_t at = put_u32(images, f->magic ? f->magic : 0x803);
    at += put_u32(images + at, f->count ? (uint32_t)(f->count + (f->count < 0)) : N);
    at += put_u32(images + at, f->rows ? f->rows : SIDE);
    at += put_u32(images + at, f->columns ? f->columns : SIDE);
    for (int i = 0; i < N * PIXELS; i++) {
        images[at + (size_t)i] = (uint8_t)(i * 7 + i / PIXELS);
    }
    at = put_u32(label_bytes, f->label_magic ? f->label_magic : 0x801);
    at += put_u32(label_bytes + at, f->label_count ? (uint32_t)f->label_count : N);
    for (size_t i = 0; i < N; i++) {
        label_bytes[at + i] = (uint8_t)i;
    }
    if (f->label != 0) {
        label_bytes[at + 3] = f->label;
    }
}

typedef void (*writer)(const char *name, const void *data, size_t n);

static void write_idx(const struct fault *f, writer write, const char *suffix)
{
    static const char *const names[] = {"train-images-idx3-ubyte", "train-labels-idx1-ubyte",
                                        "train-images-idx3-ubyte.gz", "train-labels-idx1-ubyte.gz"};
    for (size_t i = 0; i < N_ROWS(names); i++) {
        remove_file(names[i]);
    }
    fill(f);
    _cleanup_(freep) char *x = xasprintf("train-images-idx3-ubyte%s", suffix);
    _cleanup_(freep) char *y = xasprintf("train-labels-idx1-ubyte%s", suffix);
    write(x, images, (size_t)(16 + N * PIXELS - f->images_cut));
    write(y, label_bytes, (size_t)(8 + N - f->labels_cut));
}

static void expect_failure(const char *from, enum data_split split, const char *row, int code,
                           const char *text)
{
    struct dataset *d = NULL;
    struct err err = {0};
    int r = dataset_open(from, split, 1, &d, &err);
    if (r != code || strstr(err.msg, text) == NULL) {
        fail_msg("%s: got %d '%s', expected %d '...%s...'", row, r, err.msg, code, text);
    }
    assert_null(d);
    print_message("# %s: %s\n", row, err.msg);
}

TEST(idx_faults)
{
    static const struct {
        const char *name;
        struct fault fault;
        const char *text;
    } rows[] = {
        {"labels in the place of images",
         {.magic = 0x801},
         "magic number 0x00000801, expected 0x00000803"},
        {"images in the place of labels", {.label_magic = 0x803}, "expected 0x00000801"},
        {"byte order turned", {.magic = 0x03080000}, "magic number 0x03080000"},
        {"no image", {.count = -1}, "0 items"},
        {"absurd count", {.count = 0x7fffffff}, "2147483647 items"},
        {"other size", {.rows = 32}, "images of 32x28, expected 28x28"},
        {"other width", {.columns = 32}, "images of 28x32, expected 28x28"},
        {"more images claimed", {.count = 6, .label_count = 6}, "too short: it ends at byte 3936"},
        {"fewer labels claimed", {.label_count = 4}, "4 labels for 5 images"},
        {"empty images",
         {.images_cut = 16 + N * PIXELS},
         "ends at byte 0, expected 4 (the magic number)"},
        {"cut in the header", {.images_cut = 6 + N * PIXELS}, "ends at byte 10"},
        {"cut in the pixels", {.images_cut = 1}, "ends at byte 3935, expected 3936 (all images)"},
        {"cut in the labels", {.labels_cut = 2}, "ends at byte 11, expected 13 (all labels)"},
        {"images go on", {.images_cut = -1}, "too long: expected it to end at byte 3936"},
        {"labels go on", {.labels_cut = -3}, "too long: expected it to end at byte 13"},
        {"label above 9", {.label = 10}, "label 10 of sample 3, expected 0 to 9"},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        write_idx(&rows[i].fault, write_file, "");
        expect_failure(source, DATA_TRAIN, rows[i].name, -EBADMSG, rows[i].text);
        write_idx(&rows[i].fault, write_gz, ".gz");
        expect_failure(source, DATA_TRAIN, rows[i].name, -EBADMSG, rows[i].text);
    }
}

TEST(missing_and_unreadable)
{
    struct fault none = {0};
    write_idx(&none, write_file, "");
    remove_file("train-labels-idx1-ubyte");
    expect_failure(source, DATA_TRAIN, "labels missing", -ENOENT, "neither '/tmp");
    expect_failure(source, DATA_TEST, "test files missing", -ENOENT, "t10k-images-idx3-ubyte.gz");
    expect_failure("idx:/nonexistent", DATA_TRAIN, "no directory", -ENOENT, "/nonexistent/");
    expect_failure("cifar10:/nonexistent", DATA_TRAIN, "no directory", -ENOENT, "data_batch_1.bin");
    expect_failure("mnist:/x", DATA_TRAIN, "bad word", -EINVAL, "use synthetic, idx:DIR");

    _cleanup_(freep) char *path = path_of("train-labels-idx1-ubyte");
    assert_int_equal(mkdir(path, 0700), 0);
    expect_failure(source, DATA_TRAIN, "a directory", -EISDIR, "Is a directory");
    assert_int_equal(rmdir(path), 0);
    if (geteuid() != 0) { /* root reads everything */
        write_file("train-labels-idx1-ubyte", label_bytes, 8 + N);
        assert_int_equal(chmod(path, 0), 0);
        expect_failure(source, DATA_TRAIN, "not ours", -EACCES, "Permission denied");
    }
}

/* The container damaged, not the content. */
TEST(damaged_gzip)
{
    static const struct {
        const char *name;
        int64_t flip;   /* byte, from the end if negative; 0: none */
        int64_t length; /* to cut to, from the end if negative; 0: whole */
        const char *expected;
    } rows[] = {
        {"checksum", -6, 0, "' is damaged: incorrect data check; download it again"},
        {"cut in the trailer", 0, -3,
         "' is damaged: the compressed data end early; download it again"},
        {"cut in half", 0, 200, "' is damaged: the compressed data end early; download it again"},
        {"data", 150, 0, "' is damaged: "},
    };
    _cleanup_(freep) char *path = path_of("train-images-idx3-ubyte.gz");
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        static uint8_t raw[8192];
        struct fault none = {0};
        write_idx(&none, write_gz, ".gz");
        FILE *f = fopen(path, "rb");
        assert_non_null(f);
        int64_t n = (int64_t)fread(raw, 1, sizeof(raw), f);
        assert_int_equal(fclose(f), 0);
        if (rows[i].flip != 0) {
            raw[rows[i].flip < 0 ? n + rows[i].flip : rows[i].flip] ^= 0x55;
        }
        n = rows[i].length == 0 ? n : rows[i].length < 0 ? n + rows[i].length : rows[i].length;
        write_file("train-images-idx3-ubyte.gz", raw, (size_t)n);
        expect_failure(source, DATA_TRAIN, rows[i].name, -EBADMSG, rows[i].expected);
    }
}

static float x[16 * DATA_SAMPLE_FLOATS], x2[16 * DATA_SAMPLE_FLOATS];
static uint8_t labels[16], labels2[16];

static void check_idx_pixels(void)
{
    for (int s = 0; s < N; s++) {
        assert_int_equal(labels[s], s);
        for (int i = 0; i < DATA_SAMPLE_FLOATS; i++) {
            int row = i / 32 % 32 - 2, col = i % 32 - 2;
            float want = 0;
            if (row >= 0 && row < SIDE && col >= 0 && col < SIDE) {
                want = (float)images[16 + s * PIXELS + row * SIDE + col] / 255.0f;
            }
            assert_true(x[s * DATA_SAMPLE_FLOATS + i] == want);
        }
    }
}

TEST(idx_good)
{
    static const struct {
        writer write;
        const char *suffix;
    } rows[] = {{write_file, ""}, {write_gz, ".gz"}};
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        struct fault none = {0};
        struct dataset *d = NULL;
        write_idx(&none, rows[i].write, rows[i].suffix);
        assert_int_equal(dataset_open(source, DATA_TRAIN, 1, &d, NULL), 0);
        assert_int_equal(dataset_size(d), N);
        dataset_read(d, &(struct data_batch){.stride = 1, .n = N}, x, labels);
        check_idx_pixels();
        dataset_free(d);
    }
}

TEST(synthetic)
{
    struct dataset *d = NULL, *other = NULL, *test = NULL;
    assert_int_equal(dataset_open("synthetic", DATA_TRAIN, 1, &d, NULL), 0);
    assert_int_equal(dataset_open("synthetic", DATA_TRAIN, 2, &other, NULL), 0);
    assert_int_equal(dataset_open("synthetic", DATA_TEST, 1, &test, NULL), 0);
    assert_int_equal(dataset_size(d), 50000);
    assert_int_equal(dataset_size(test), 10000);
    struct data_batch batch = {.first = 49999, .stride = 7, .n = 16};
    dataset_read(d, &batch, x, labels);
    dataset_read(d, &batch, x2, labels2);
    assert_memory_equal(x, x2, sizeof(x));
    assert_memory_equal(labels, labels2, sizeof(labels));
    for (size_t i = 0; i < N_ROWS(x); i++) {
        assert_true(x[i] >= 0 && x[i] < 1);
    }
    for (size_t i = 0; i < 16; i++) {
        assert_true(labels[i] < 10);
    }
    assert_memory_not_equal(x, x + DATA_SAMPLE_FLOATS, DATA_SAMPLE_FLOATS * sizeof(float));
    batch.first = 0;
    dataset_read(d, &batch, x, labels);
    dataset_read(other, &batch, x2, labels2);
    assert_memory_not_equal(x, x2, sizeof(x));
    dataset_read(test, &batch, x2, labels2);
    assert_memory_not_equal(x, x2, sizeof(x));
    assert_memory_not_equal(labels, labels2, sizeof(labels));
    dataset_free(d), dataset_free(other), dataset_free(test);
}

/* Every epoch sees every sample once, in an order of its own; strided trainers share it out, and a
 * batch may go over its end. */
TEST(shuffle)
{
    enum { SIZE = 64, TRAINERS = 4, BATCH = 12 };
    struct dataset *d = NULL;
    assert_int_equal(dataset_open("synthetic", DATA_TRAIN, 1, &d, NULL), 0);
    d->n = SIZE; /* a small set, so that epochs pass */
    double order[3][SIZE], plain[SIZE];
    for (uint64_t i = 0; i < SIZE; i++) {
        dataset_read(d, &(struct data_batch){.first = i, .stride = 1, .n = 1}, x, labels);
        plain[i] = (double)x[0];
    }
    for (uint64_t epoch = 0; epoch < 3; epoch++) {
        int seen[SIZE] = {0};
        for (uint64_t t = 0; t < TRAINERS; t++) {
            dataset_read(d,
                         &(struct data_batch){.epoch = epoch,
                                              .shuffle = true,
                                              .first = t,
                                              .stride = TRAINERS,
                                              .n = SIZE / TRAINERS},
                         x, labels);
            for (uint64_t j = 0; j < SIZE / TRAINERS; j++) {
                order[epoch][t + j * TRAINERS] = (double)x[j * DATA_SAMPLE_FLOATS];
            }
        }
        for (int i = 0; i < SIZE; i++) {
            for (int j = 0; j < SIZE; j++) {
                seen[j] += order[epoch][i] == plain[j];
            }
        }
        for (int j = 0; j < SIZE; j++) {
            assert_int_equal(seen[j], 1);
        }
        assert_memory_not_equal(order[epoch], plain, sizeof(plain));
        assert_true(epoch == 0 || memcmp(order[epoch], order[epoch - 1], sizeof(plain)) != 0);
    }
    for (uint64_t at = 0; at < (uint64_t)3 * SIZE; at += BATCH) { /* 12 does not divide 64 */
        dataset_read(d, &(struct data_batch){.shuffle = true, .first = at, .stride = 1, .n = BATCH},
                     x, labels);
        for (uint64_t j = 0; j < BATCH; j++) {
            assert_true((double)x[j * DATA_SAMPLE_FLOATS] ==
                        order[(at + j) / SIZE][(at + j) % SIZE]);
        }
    }
    dataset_free(d);
}

#define CIFAR_BYTES (10000 * 3073)

/* A file of n zero bytes (a hole) with one byte set. */
static void write_cifar(const char *name, off_t n, off_t at, uint8_t value)
{
    _cleanup_(freep) char *path = path_of(name);
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(ftruncate(fileno(f), n), 0);
    assert_int_equal(fseeko(f, at, SEEK_SET), 0);
    assert_int_equal(fputc(value, f), value);
    assert_int_equal(fclose(f), 0);
}

TEST(cifar10)
{
    _cleanup_(freep) char *from = xasprintf("cifar10:%s", dir);
    struct dataset *d = NULL;
    write_cifar("test_batch.bin", CIFAR_BYTES, 2 * 3073, 10);
    expect_failure(from, DATA_TEST, "label above 9", -EBADMSG, "label 10 of sample 2");
    write_cifar("test_batch.bin", CIFAR_BYTES - 1, 0, 0);
    expect_failure(from, DATA_TEST, "one byte short", -EBADMSG, "ends at byte 30729999");
    write_cifar("test_batch.bin", CIFAR_BYTES + 1, 0, 0);
    expect_failure(from, DATA_TEST, "one byte long", -EBADMSG, "to end at byte 30730000");

    write_cifar("test_batch.bin", CIFAR_BYTES, 3 * 3073 + 1 + 1024 + 33, 51);
    assert_int_equal(dataset_open(from, DATA_TEST, 1, &d, NULL), 0);
    assert_int_equal(dataset_size(d), 10000);
    dataset_read(d, &(struct data_batch){.first = 3, .stride = 1, .n = 1}, x, labels);
    for (int i = 0; i < DATA_SAMPLE_FLOATS; i++) {
        assert_true(x[i] == (i == 1024 + 33 ? 51.0f / 255.0f : 0.0f)); /* green, row 1, column 1 */
    }
    dataset_free(d);

    for (int i = 1; i <= 4; i++) {
        char name[32];
        snprintf(name, sizeof(name), "data_batch_%d.bin", i);
        write_cifar(name, CIFAR_BYTES, 0, (uint8_t)i);
    }
    expect_failure(from, DATA_TRAIN, "fifth file missing", -ENOENT, "data_batch_5.bin");
    write_cifar("data_batch_5.bin", CIFAR_BYTES, 0, 5);
    assert_int_equal(dataset_open(from, DATA_TRAIN, 1, &d, NULL), 0);
    assert_int_equal(dataset_size(d), 50000);
    dataset_read(d, &(struct data_batch){.stride = 10000, .n = 5}, x, labels);
    assert_memory_equal(labels, ((uint8_t[]){1, 2, 3, 4, 5}), 5);
    dataset_free(d);
}

static int set_up(void)
{
    if (mkdtemp(dir) == NULL) {
        return -1;
    }
    snprintf(source, sizeof(source), "idx:%s", dir);
    return 0;
}

int main(void)
{
    int failed = set_up();
    failed |= test_run_all(NULL);
    return failed | test_remove_folder(dir);
}
