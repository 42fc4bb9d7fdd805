/* MPI_Allreduce as `benchworker allreduce` measures it, for script/bench allreduce: allreduce_mpi
 * BYTES WARMUP ITERS [add]. With "add" two ranks do in its place what no all-reduce can do without:
 * each adds half of the other's numbers to its own, where they lie, and copies the sums of the
 * other half. Compiled by mpicc there with lib/base/parse.c, and no part of the build. Rank 0
 * prints one JSON line. */
#include <mpi.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "base/parse.h"

static double cpu_s(void)
{
    struct rusage u;
    (void)getrusage(RUSAGE_SELF, &u); /* cannot fail */
    return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
           (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;
}

/* `data` of both ranks is in one shared window. */
static void add_halves(MPI_Win window, int rank, int n, float *data)
{
    MPI_Aint size;
    int unit;
    const float *other;
    MPI_Win_shared_query(window, 1 - rank, &size, &unit, &other);
    const int begin = rank == 0 ? 0 : n / 2, end = rank == 0 ? n / 2 : n;
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = begin; i < end; i++) {
        data[i] += other[i];
    }
    MPI_Barrier(MPI_COMM_WORLD);
    const int from = rank == 0 ? n / 2 : 0;
    memcpy(data + from, other + from, (size_t)(rank == 0 ? n - n / 2 : n / 2) * sizeof *data);
}

static void sum(MPI_Win window, int rank, int n, float *data)
{
    if (window != MPI_WIN_NULL) {
        add_halves(window, rank, n, data);
    } else {
        MPI_Allreduce(MPI_IN_PLACE, data, n, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    }
}

int main(int argc, char **argv)
{
    int rank, n_ranks;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &n_ranks);
    int64_t bytes, warmup, iters;
    const bool adds = argc == 5 && strcmp(argv[4], "add") == 0;
    if ((argc != 4 && !adds) || (adds && n_ranks != 2) ||
        parse_i64_in(argv[1], 4, (int64_t)4 * INT32_MAX, &bytes) < 0 ||
        parse_i64_in(argv[2], 0, INT32_MAX, &warmup) < 0 ||
        parse_i64_in(argv[3], 1, INT32_MAX, &iters) < 0) {
        fprintf(stderr, "usage: allreduce_mpi BYTES WARMUP ITERS [add]\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
        return 2;
    }
    const int n = (int)(bytes / (int64_t)sizeof(float));
    float *data;
    MPI_Win window = MPI_WIN_NULL;
    if (adds) {
        MPI_Win_allocate_shared(bytes, sizeof *data, MPI_INFO_NULL, MPI_COMM_WORLD, &data, &window);
        MPI_Win_lock_all(0, window);
    } else {
        data = malloc((size_t)bytes);
    }
    double begin = 0, cpu_begin = 0;
    for (int i = 0; i < n; i++) {
        data[i] = 0;
    }
    for (int64_t i = 0; i < warmup + iters; i++) {
        if (i == warmup) {
            MPI_Barrier(MPI_COMM_WORLD);
            begin = MPI_Wtime();
            cpu_begin = cpu_s();
        }
        sum(window, rank, n, data);
    }
    double own[2] = {MPI_Wtime() - begin, cpu_s() - cpu_begin}, sums[2];
    for (int i = 0; i < n; i++) {
        data[i] = 1;
    }
    sum(window, rank, n, data);
    int n_wrong = 0;
    for (int i = 0; i < n; i++) {
        n_wrong += data[i] != (float)n_ranks;
    }
    MPI_Reduce(own, sums, 2, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0) {
        printf("{\"time_us\": %.3f, \"cpu_ns_per_byte\": %.4f, \"wrong\": %d}\n",
               sums[0] / n_ranks / (double)iters * 1e6,
               sums[1] / (double)iters / (double)bytes * 1e9, n_wrong);
    }
    if (adds) {
        MPI_Win_unlock_all(window);
        MPI_Win_free(&window);
    } else {
        free(data);
    }
    MPI_Finalize();
    return 0;
}
