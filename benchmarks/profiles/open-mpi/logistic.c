/* Task 2a of mlbench: logistic regression by stochastic gradient descent, its gradients
 * added by MPI_Allreduce.
 *
 *   mpicc -O3 -o /usr/local/bin/mlbench-logistic logistic.c -lm
 *   mpirun mlbench-logistic [--samples N] [--test-samples N] [--features N] [--batch N] [--epochs
 *   N] [--alpha A] [--seed N]
 *
 * The data have the form of epsilon (400,000 and 100,000 samples of 2,000 features, each of length
 * 1) and are made by a seeded generator: normal features; the label is the side of a random plane,
 * seen through noise, so that no model can be right in more than 91% of all cases. Sample i is the
 * same on every machine; rank r trains i = r, r + k, ... of k.
 *
 * Settings of the task: batch 100 a rank, a learning rate of alpha / sqrt(t) in step t, alpha 200,
 * 400, 600, 700 and 800 for 1, 2, 4, 8 and more ranks, L2 2.5e-6, no momentum. After each epoch all
 * ranks test, and rank 0 prints
 *
 *   epoch 1: loss 0.4102, 1520.5 samples/s, accuracy 0.8125 after 41.705 s
 *
 * for the log rule `epochs`. The loss is the mean over the epoch, the time that of all
 * training steps since the start, by rank 0's clock: making data and testing are no part
 * of it, as in mlbench. */
#include <errno.h>
#include <math.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NOISE 0.3 /* of the labels: arctan(0.3) / pi = 9.3% of them are wrong */
#define L2 2.5e-6
#define USAGE 2

struct options {
    long samples, test_samples, features, batch, epochs, seed;
    double alpha; /* 0: by the number of ranks */
};

struct data { /* of one rank */
    long n;
    float *x; /* n x features */
    float *y; /* -1 or 1 */
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
    struct options o = {400000, 100000, 2000, 100, 20, 1, 0};
    const struct {
        const char *name;
        double min, max;
        long *ret;
    } known[] = {
        {"--samples", 1, 1e9, &o.samples},   {"--test-samples", 1, 1e9, &o.test_samples},
        {"--features", 1, 1e6, &o.features}, {"--batch", 1, 1e6, &o.batch},
        {"--epochs", 1, 1e6, &o.epochs},     {"--seed", 0, 1e15, &o.seed},
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
        } else {
            fail("unknown option", argv[i]);
        }
    }
    if (o.samples < o.batch * size) {
        fail("--samples", "fewer than a batch for each rank");
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

/* This rank's share of samples first .. first + n - 1. */
static struct data make_data(const struct options *o, const float *plane, long first, long n)
{
    struct data d = {(n - rank + size - 1) / size, NULL, NULL};
    d.x = array(d.n > 0 ? d.n : 1, (size_t)o->features * sizeof(float));
    d.y = array(d.n > 0 ? d.n : 1, sizeof(float));
    for (long i = 0; i < d.n; i++) {
        const uint64_t key = mix(mix((uint64_t)o->seed) + (uint64_t)(first + rank + i * size));
        float *x = d.x + i * o->features;
        fill(x, o->features, key);
        const float side = dot(x, plane, o->features) + (float)NOISE * normal(mix(~key));
        const float length = sqrtf(dot(x, x, o->features));
        d.y[i] = side < 0 ? -1 : 1;
        for (long j = 0; j < o->features; j++) {
            x[j] /= length;
        }
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
    const long n_steps = o->samples / size / o->batch; /* all ranks make as many */
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
        double loss = 0;
        for (long step = 0; step < n_steps; step++) {
            loss += add_gradient(o, d, w, order + step * o->batch, gradient);
            MPI_Allreduce(MPI_IN_PLACE, gradient, (int)o->features, MPI_FLOAT, MPI_SUM,
                          MPI_COMM_WORLD);
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
            printf("epoch %ld: loss %.4f, %.1f samples/s, accuracy %.4f after %.3f s\n", epoch,
                   loss / samples, samples / epoch_s, accuracy, trained_s);
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
    struct data train_data = make_data(&o, plane, 0, o.samples);
    struct data test_data = make_data(&o, plane, o.samples, o.test_samples);
    train(&o, &train_data, &test_data);
    free(plane);
    free(train_data.x);
    free(train_data.y);
    free(test_data.x);
    free(test_data.y);
    MPI_Finalize();
    return 0;
}
