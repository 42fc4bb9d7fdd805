/* MPI_Allreduce as `benchworker allreduce` measures it, for script/bench allreduce: allreduce_mpi
 * BYTES WARMUP ITERS. Compiled by mpicc there with lib/base/parse.c, and no part of the build. Rank
 * 0 prints one JSON line. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "base/parse.h"

static double cpu_s(void)
{
    struct rusage u;
    (void)getrusage(RUSAGE_SELF, &u); /* cannot fail */
    return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
           (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;
}

int main(int argc, char **argv)
{
    int rank, n_ranks;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &n_ranks);
    int64_t bytes, warmup, iters;
    if (argc != 4 || parse_i64_in(argv[1], 4, (int64_t)4 * INT32_MAX, &bytes) < 0 ||
        parse_i64_in(argv[2], 0, INT32_MAX, &warmup) < 0 ||
        parse_i64_in(argv[3], 1, INT32_MAX, &iters) < 0) {
        fprintf(stderr, "usage: allreduce_mpi BYTES WARMUP ITERS\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
        return 2;
    }
    const int n = (int)(bytes / (int64_t)sizeof(float));
    float *data = malloc((size_t)bytes);
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
        MPI_Allreduce(MPI_IN_PLACE, data, n, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    }
    double own[2] = {MPI_Wtime() - begin, cpu_s() - cpu_begin}, sums[2];
    for (int i = 0; i < n; i++) {
        data[i] = 1;
    }
    MPI_Allreduce(MPI_IN_PLACE, data, n, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
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
    free(data);
    MPI_Finalize();
    return 0;
}
