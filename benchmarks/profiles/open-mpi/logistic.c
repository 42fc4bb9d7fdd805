/* Task 2a of mlbench: logistic regression by stochastic gradient descent, its gradients
 * added by MPI_Allreduce.
 *
 *   mpicc -O3 -o /usr/local/bin/mlbench-logistic logistic.c -lm
 *   mpirun mlbench-logistic [--samples N] [--test-samples N] [--features N] [--batch N] [--epochs
 *   N] [--alpha A] [--seed N] [--data FILE --test-data FILE] [--validate 0|1]
 *
 * --data and --test-data name files in the text format of LIBSVM, as epsilon is published
 * (epsilon_normalized.bz2 and epsilon_normalized.t.bz2): "LABEL INDEX:VALUE ...", the label 1 or
 * -1, indices from 1 to --features. A name that ends in .bz2 is read through bzip2. At most
 * --samples and --test-samples lines are read.
 *
 * Without files the data have the form of epsilon (400,000 and 100,000 samples of 2,000 features,
 * each of length 1) and come from a seeded generator: normal features, feature j with the standard
 * deviation j^(-1/4), so that one epoch is not enough; the label is the side of a random plane,
 * seen through noise, so that no model can be right in more than 91% of all cases. Sample i is the
 * same on every machine. Rank r trains samples r, r + k, ... of k.
 *
 * --validate 1 is for the choice of batch and alpha: every fifth sample of the training data is for
 * the test, and the other four fifths are for training. The test data are not used.
 *
 * Settings of the task: batch 100 a rank, a learning rate of alpha / sqrt(t) in step t, alpha 200,
 * 400, 600, 700 and 800 for 1, 2, 4, 8 and more ranks, L2 2.5e-6, no momentum. After each epoch all
 * ranks test, and rank 0 prints
 *
 *   epoch 1: loss 0.4102, 1520.5 samples/s, accuracy 0.8125 after 41.705 s; 200 steps: backward
 *   30.120 s, wait 8.345 s, update 3.240 s
 *
 * in one line for the log rule `epochs`: of the steps of this epoch, the time in which rank 0
 * computed its gradient (forward and backward), waited in MPI_Allreduce, and updated. The loss is
 * the mean over the epoch, the time that of all training steps since the start, by rank 0's clock:
 * making data and testing are no part of it, as in mlbench. */
#include <errno.h>
#include <math.h>
#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NOISE 0.3 /* of the labels: arctan(0.3) / pi = 9.3% of them are wrong */
#define L2 2.5e-6
#define USAGE 2

struct options {
    long samples, test_samples, features, batch, epochs, seed, validate;
    double alpha;                 /* 0: by the number of ranks */
    const char *data, *test_data; /* NULL: generated */
};

struct data { /* of one rank */
    long n, room;
    long total; /* samples of all ranks */
    float *x;   /* n x features */
    float *y;   /* -1 or 1 */
};

enum part { /* of a set of samples; the last two are for --validate */
    ALL,
    FOUR_FIFTHS,
    FIFTH,
};

static int rank, size;

static void fail(const char *what, const char *value)
{
    fprintf(stderr, "logistic: %s: %s\n", what, value);
    MPI_Abort(MPI_COMM_WORLD, USAGE);
}

/* ---- arguments ---- */

static double number(const char *name, const char *text, double min, double max)
{
    char *end;
    errno = 0;
    const double value = text == NULL ? NAN : strtod(text, &end);
    if (!(value >= min && value <= max) || *end != '\0' || end == text || errno != 0) {
        char message[160];
        snprintf(message, sizeof(message), "%s needs a number from %g to %g", name, min, max);
        fail(message, text == NULL ? "there is none" : text);
    }
    return value;
}

static struct options read_options(int argc, char **argv)
{
    struct options o = {400000, 100000, 2000, 100, 20, 1, 0, 0, NULL, NULL};
    const struct {
        const char *name;
        double min, max;
        long *ret;
    } known[] = {
        {"--samples", 1, 1e9, &o.samples},   {"--test-samples", 1, 1e9, &o.test_samples},
        {"--features", 1, 1e6, &o.features}, {"--batch", 1, 1e6, &o.batch},
        {"--epochs", 1, 1e6, &o.epochs},     {"--seed", 0, 1e15, &o.seed},
        {"--validate", 0, 1, &o.validate},
    };
    for (int i = 1; i < argc; i += 2) {
        size_t k = 0;
        while (k < sizeof(known) / sizeof(known[0]) && strcmp(argv[i], known[k].name) != 0) {
            k++;
        }
        if (k < sizeof(known) / sizeof(known[0])) {
            *known[k].ret = (long)number(argv[i], argv[i + 1], known[k].min, known[k].max);
        } else if (strcmp(argv[i], "--alpha") == 0) {
            o.alpha = number(argv[i], argv[i + 1], 1e-9, 1e9);
        } else if (strcmp(argv[i], "--data") == 0) {
            o.data = argv[i + 1];
        } else if (strcmp(argv[i], "--test-data") == 0) {
            o.test_data = argv[i + 1];
        } else {
            fail("unknown option", argv[i]);
        }
    }
    if (o.data == NULL ? o.test_data != NULL : o.test_data == NULL && !o.validate) {
        fail("--data and --test-data", "name both files");
    }
    return o;
}

/* ---- data ---- */

/* splitmix64: a function of its state alone. */
static uint64_t mix(uint64_t z)
{
    z += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

/* Nearly normal, variance 1: the sum of four uniform numbers of 16 bits. */
static float normal(uint64_t bits)
{
    const uint32_t sum =
        (bits & 65535) + (bits >> 16 & 65535) + (bits >> 32 & 65535) + (bits >> 48);
    return (float)((sum - 2 * 65535.0) / 65536.0 * 1.7320508);
}

static void fill(float *x, long n, uint64_t key)
{
    for (long j = 0; j < n; j++) {
        x[j] = normal(mix(key + (uint64_t)j));
    }
}

static float dot(const float *a, const float *b, long n)
{
    float sums[16] = {0};
    long j = 0;
    for (; j + 16 <= n; j += 16) {
        for (int k = 0; k < 16; k++) {
            sums[k] += a[j + k] * b[j + k];
        }
    }
    float sum = 0;
    for (; j < n; j++) {
        sum += a[j] * b[j];
    }
    for (int k = 0; k < 16; k++) {
        sum += sums[k];
    }
    return sum;
}

static void *array(long n, size_t bytes)
{
    void *p = calloc((size_t)n, bytes);
    if (p == NULL) {
        fail("out of memory", "give fewer --samples or --features, or more ranks");
    }
    return p;
}

/* Returns the next row, of zeros. */
static float *add_row(struct data *d, long features)
{
    if (d->n == d->room) {
        d->room = d->room == 0 ? 1024 : 2 * d->room;
        d->x = realloc(d->x, (size_t)(d->room * features) * sizeof(float));
        d->y = realloc(d->y, (size_t)d->room * sizeof(float));
        if (d->x == NULL || d->y == NULL) {
            fail("out of memory", "give fewer --samples or --features, or more ranks");
        }
    }
    return memset(d->x + d->n++ * features, 0, (size_t)features * sizeof(float));
}

/* Sample i. Returns its label. */
static float make_row(const struct options *o, const float *plane, long i, float *x)
{
    const uint64_t key = mix(mix((uint64_t)o->seed) + (uint64_t)i);
    fill(x, o->features, key);
    const float side = dot(x, plane, o->features) + (float)NOISE * normal(mix(~key));
    for (long j = 0; j < o->features; j++) {
        x[j] /= sqrtf(sqrtf((float)(j + 1)));
    }
    const float length = sqrtf(dot(x, x, o->features));
    for (long j = 0; j < o->features; j++) {
        x[j] /= length;
    }
    return side < 0 ? -1 : 1;
}

/* ---- LIBSVM text ---- */

struct text {
    const char *path; /* NULL: no file */
    FILE *file;
    bool is_pipe;
    char *line;
    size_t room;
    long n; /* lines read */
};

static void fail_at(const struct text *t, const char *why)
{
    char place[1024];
    snprintf(place, sizeof(place), "%s:%ld", t->path, t->n);
    fail(place, why);
}

static struct text open_text(const char *path)
{
    struct text t = {.path = path};
    const size_t length = path == NULL ? 0 : strlen(path);
    if (path == NULL) {
        return t;
    }
    t.file = fopen(path, "r");
    if (t.file != NULL && length > 4 && strcmp(path + length - 4, ".bz2") == 0) {
        fclose(t.file);
        setenv("LOGISTIC_FILE", path, 1);
        t.is_pipe = true;
        t.file = popen("exec bzip2 -dc <\"$LOGISTIC_FILE\"", "r");
    }
    if (t.file == NULL) {
        fail(path, strerror(errno));
    }
    return t;
}

static bool next_line(struct text *t)
{
    const ssize_t length = getline(&t->line, &t->room, t->file);
    t->n += length >= 0;
    if (length >= 0 && (size_t)length != strlen(t->line)) {
        fail_at(t, "a NUL is not text");
    }
    return length >= 0;
}

static void close_text(struct text *t, bool is_at_end)
{
    const int status = t->file == NULL ? 0 : t->is_pipe ? pclose(t->file) : fclose(t->file);
    if (is_at_end && status != 0) {
        fail(t->path, "it cannot be read to its end");
    }
    free(t->line);
}

/* The line that was read last. Returns its label. */
static float read_row(const struct text *t, float *x, long features)
{
    const char *const spaces = " \t\r\n";
    char *p, *end;
    const double label = strtod(t->line, &end);
    if (end == t->line || (label != 1 && label != -1)) {
        fail_at(t, "the label must be 1 or -1");
    }
    long before = 0;
    for (p = end; p[strspn(p, spaces)] != '\0'; p = end) {
        const long index = strtol(p, &end, 10);
        if (strchr(spaces, *p) == NULL || end == p || *end != ':') {
            fail_at(t, "expected INDEX:VALUE");
        }
        if (index <= before || index > features) {
            fail_at(t, "indices must rise from 1 to --features");
        }
        p = end + 1;
        const float value = strtof(p, &end);
        if (end == p || strchr(spaces, *p) != NULL || !isfinite(value)) {
            fail_at(t, "a VALUE is not a number");
        }
        x[index - 1] = value;
        before = index;
    }
    return (float)label;
}

/* This rank's share of `part` of samples first .. first + n - 1, or of the first n lines of a file.
 */
static struct data load(const struct options *o, const float *plane, const char *path, long first,
                        long n, enum part part)
{
    struct data d = {0};
    struct text t = open_text(path);
    long i = 0;
    for (; i < n && (path == NULL || next_line(&t)); i++) {
        const bool is_fifth = i % 5 == 4;
        if ((part == ALL || (part == FIFTH) == is_fifth) && d.total++ % size == rank) {
            float *x = add_row(&d, o->features);
            d.y[d.n - 1] =
                path == NULL ? make_row(o, plane, first + i, x) : read_row(&t, x, o->features);
        }
    }
    close_text(&t, i < n);
    if (d.total == 0) {
        fail(path == NULL ? "--samples" : path, "no sample");
    }
    return d;
}

/* The plane's normal vector, of length 1. */
static float *make_plane(const struct options *o)
{
    float *plane = array(o->features, sizeof(float));
    fill(plane, o->features, mix(~(uint64_t)o->seed));
    const float length = sqrtf(dot(plane, plane, o->features));
    for (long j = 0; j < o->features; j++) {
        plane[j] /= length;
    }
    return plane;
}

/* ---- training ---- */

static double alpha_of(const struct options *o)
{
    return o->alpha > 0 ? o->alpha
           : size == 1  ? 200
           : size <= 2  ? 400
           : size <= 4  ? 600
           : size <= 8  ? 700
                        : 800;
}

/* One step: `order` has the samples of the batch. Returns the sum of their losses; the gradient is
 * left in `gradient`. */
static double add_gradient(const struct options *o, const struct data *d, const float *w,
                           const long *order, float *gradient)
{
    double loss = 0;
    memset(gradient, 0, (size_t)o->features * sizeof(float));
    for (long i = 0; i < o->batch; i++) {
        const float *x = d->x + order[i] * o->features, y = d->y[order[i]];
        const double margin = (double)y * (double)dot(x, w, o->features);
        loss += margin > 0 ? log1p(exp(-margin)) : log1p(exp(margin)) - margin;
        const float pull = (float)(-(double)y / (1 + exp(margin)) / (double)o->batch);
        for (long j = 0; j < o->features; j++) {
            gradient[j] += pull * x[j];
        }
    }
    return loss;
}

static double accuracy_of(const struct options *o, const struct data *test, const float *w)
{
    long counts[2] = {0, test->n};
    for (long i = 0; i < test->n; i++) {
        counts[0] += (dot(test->x + i * o->features, w, o->features) < 0) == (test->y[i] < 0);
    }
    MPI_Allreduce(MPI_IN_PLACE, counts, 2, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    return (double)counts[0] / (double)counts[1];
}

static void shuffle(long *order, long n, uint64_t key)
{
    for (long i = n - 1; i > 0; i--) {
        const long j = (long)(mix(key + (uint64_t)i) % (uint64_t)(i + 1)), kept = order[i];
        order[i] = order[j];
        order[j] = kept;
    }
}

static void train(const struct options *o, const struct data *d, const struct data *test)
{
    const long n_steps = d->total / size / o->batch; /* all ranks make as many */
    float *w = array(o->features, sizeof(float)), *gradient = array(o->features, sizeof(float));
    long *order = array(d->n, sizeof(long)), t = 0;
    for (long i = 0; i < d->n; i++) {
        order[i] = i;
    }
    double trained_s = 0;
    for (long epoch = 1; epoch <= o->epochs; epoch++) {
        shuffle(order, d->n, mix((uint64_t)(o->seed + epoch * 4096 + rank)));
        MPI_Barrier(MPI_COMM_WORLD);
        const double begin_s = MPI_Wtime();
        double loss = 0, backward_s = 0, wait_s = 0;
        for (long step = 0; step < n_steps; step++) {
            const double step_s = MPI_Wtime();
            loss += add_gradient(o, d, w, order + step * o->batch, gradient);
            const double ready_s = MPI_Wtime();
            MPI_Allreduce(MPI_IN_PLACE, gradient, (int)o->features, MPI_FLOAT, MPI_SUM,
                          MPI_COMM_WORLD);
            wait_s += MPI_Wtime() - ready_s;
            backward_s += ready_s - step_s;
            const float rate = (float)(alpha_of(o) / sqrt((double)++t));
            for (long j = 0; j < o->features; j++) {
                w[j] -= rate * (gradient[j] / (float)size + (float)L2 * w[j]);
            }
        }
        const double epoch_s = MPI_Wtime() - begin_s;
        trained_s += epoch_s;
        MPI_Allreduce(MPI_IN_PLACE, &loss, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        const double accuracy = accuracy_of(o, test, w);
        if (rank == 0) {
            const double samples = (double)(n_steps * o->batch * size);
            printf("epoch %ld: loss %.4f, %.1f samples/s, accuracy %.4f after %.3f s; %ld steps: "
                   "backward %.6f s, wait %.6f s, update %.6f s\n",
                   epoch, loss / samples, samples / epoch_s, accuracy, trained_s, n_steps,
                   backward_s, wait_s, epoch_s - backward_s - wait_s);
            fflush(stdout);
        }
    }
    free(w);
    free(gradient);
    free(order);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    const struct options o = read_options(argc, argv);
    float *plane = make_plane(&o);
    struct data train_data =
        load(&o, plane, o.data, 0, o.samples, o.validate ? FOUR_FIFTHS : ALL);
    if (train_data.total < o.batch * size) {
        fail(o.data == NULL ? "--samples" : o.data, "fewer than a batch for each rank");
    }
    struct data test_data = o.validate
                                ? load(&o, plane, o.data, 0, o.samples, FIFTH)
                                : load(&o, plane, o.test_data, o.samples, o.test_samples, ALL);
    train(&o, &train_data, &test_data);
    free(plane);
    free(train_data.x);
    free(train_data.y);
    free(test_data.x);
    free(test_data.y);
    MPI_Finalize();
    return 0;
}
