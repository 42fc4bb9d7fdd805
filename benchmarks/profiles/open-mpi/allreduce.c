/* MPI_Allreduce of floats in the table of nccl-tests, for the definition allreduce-systems.
 *
 *   mpicc -O3 -o /usr/local/bin/mpi-allreduce allreduce.c
 *   mpirun mpi-allreduce [--minbytes=N] [--maxbytes=N] [--warmup_iters=N] [--iters=N]
 *
 * Sizes double from the least to the most. A time is the mean of the calls and of the ranks; in
 * place is MPI_IN_PLACE. Each size ends with a sum that is checked, on each rank. busbw = bytes /
 * time x 2 (n - 1)/n, in GB/s, as nccl-tests has it. */
#include <errno.h>
#include <mpi.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define USAGE 2

struct options {
    long minbytes, maxbytes, warmup_iters, iters;
};

struct figures {
    double us, algbw, busbw;
    long wrong;
};

static int rank, size;

static void fail(const char *what, const char *value)
{
    fprintf(stderr, "mpi-allreduce: %s: %s\n", what, value);
    MPI_Abort(MPI_COMM_WORLD, USAGE);
}

static struct options read_options(int argc, char **argv)
{
    struct options o = {61018408, 61018408, 5, 20};
    const struct {
        const char *name;
        long min, max;
        long *ret;
    } known[] = {
        {"--minbytes=", sizeof(float), 4L << 30, &o.minbytes},
        {"--maxbytes=", sizeof(float), 4L << 30, &o.maxbytes},
        {"--warmup_iters=", 0, 1000000, &o.warmup_iters},
        {"--iters=", 1, 1000000, &o.iters},
    };
    for (int i = 1; i < argc; i++) {
        size_t k = 0;
        while (k < sizeof(known) / sizeof(known[0]) &&
               strncmp(argv[i], known[k].name, strlen(known[k].name)) != 0) {
            k++;
        }
        if (k == sizeof(known) / sizeof(known[0])) {
            fail("unknown option", argv[i]);
        }
        const char *text = argv[i] + strlen(known[k].name);
        char *end;
        errno = 0;
        *known[k].ret = strtol(text, &end, 10);
        if (*text == '\0' || *end != '\0' || errno != 0 || *known[k].ret < known[k].min ||
            *known[k].ret > known[k].max) {
            fail("not a number that it can have", argv[i]);
        }
    }
    if (o.minbytes > o.maxbytes) {
        fail("--minbytes", "more than --maxbytes");
    }
    return o;
}

static float *numbers(long n)
{
    float *x = malloc((size_t)n * sizeof(float));
    if (x == NULL) {
        fail("out of memory", "give fewer --maxbytes");
    }
    for (long i = 0; i < n; i++) {
        x[i] = 0;
    }
    return x;
}

static void add_up(float *from, float *to, long n, bool in_place)
{
    MPI_Allreduce(in_place ? MPI_IN_PLACE : from, to, (int)n, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
}

/* Numbers of any rank that are not the sum of rank + 1. */
static long count_wrong(float *from, float *to, long n, bool in_place)
{
    long wrong = 0, all;
    for (long i = 0; i < n; i++) {
        from[i] = to[i] = (float)(rank + 1);
    }
    add_up(from, to, n, in_place);
    for (long i = 0; i < n; i++) {
        wrong += to[i] != (float)size * (float)(size + 1) / 2;
    }
    MPI_Allreduce(&wrong, &all, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    return all;
}

static struct figures measure(const struct options *o, float *from, float *to, long n,
                              bool in_place)
{
    double begin = 0, own, sum;
    for (long i = 0; i < n; i++) {
        from[i] = to[i] = 0; /* sums of sums stay numbers */
    }
    for (long i = 0; i < o->warmup_iters + o->iters; i++) {
        if (i == o->warmup_iters) {
            MPI_Barrier(MPI_COMM_WORLD);
            begin = MPI_Wtime();
        }
        add_up(from, to, n, in_place);
    }
    own = MPI_Wtime() - begin;
    MPI_Allreduce(&own, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    struct figures f = {.us = sum / size / (double)o->iters * 1e6};
    f.algbw = (double)n * sizeof(float) / f.us / 1e3;
    f.busbw = f.algbw * 2 * (size - 1) / size;
    f.wrong = count_wrong(from, to, n, in_place);
    return f;
}

static void print_head(const struct options *o)
{
    char version[MPI_MAX_LIBRARY_VERSION_STRING];
    int length;
    MPI_Get_library_version(version, &length);
    version[strcspn(version, ",\n")] = '\0';
    printf("# %s allreduce: %d ranks\n# calls of a size: %ld to warm up, %ld measured\n#\n",
           version, size, o->warmup_iters, o->iters);
    printf("# %82s  %32s\n# %10s  %12s  %8s  %6s  %6s", "out-of-place", "in-place", "size", "count",
           "type", "redop", "root");
    for (int i = 0; i < 2; i++) {
        printf("  %8s  %6s  %6s  %6s", "time", "algbw", "busbw", "#wrong");
    }
    printf("\n# %10s  %12s  %8s  %6s  %6s", "(B)", "(elements)", "", "", "");
    for (int i = 0; i < 2; i++) {
        printf("  %8s  %6s  %6s  %6s", "(us)", "(GB/s)", "(GB/s)", "");
    }
    printf("\n");
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    const struct options o = read_options(argc, argv);
    const long most = o.maxbytes / (long)sizeof(float);
    float *from = numbers(most), *to = numbers(most);
    double busbw_sum = 0;
    long wrong = 0, n_figures = 0;
    if (rank == 0) {
        print_head(&o);
    }
    for (long bytes = o.minbytes; bytes <= o.maxbytes; bytes *= 2) {
        const long n = bytes / (long)sizeof(float);
        if (rank == 0) {
            printf("%12ld  %12ld  %8s  %6s  %6d", bytes, n, "float", "sum", -1);
        }
        for (int in_place = 0; in_place < 2; in_place++) {
            const struct figures f = measure(&o, from, to, n, in_place != 0);
            if (rank == 0) {
                printf("  %8.2f  %6.3f  %6.3f  %6ld", f.us, f.algbw, f.busbw, f.wrong);
            }
            busbw_sum += f.busbw;
            n_figures++;
            wrong += f.wrong;
        }
        if (rank == 0) {
            printf("\n");
            fflush(stdout);
        }
    }
    if (rank == 0) {
        printf("# Out of bounds values : %ld %s\n# Avg bus bandwidth    : %g\n#\n", wrong,
               wrong > 0 ? "FAILED" : "OK", busbw_sum / (double)n_figures);
    }
    free(from);
    free(to);
    MPI_Finalize();
    return wrong > 0 ? 1 : 0;
}
