/* What a large run takes in a store, and how long it takes to write and to read: 44 points of 160 pods (60
 * parameter servers, 100 trainers), five trials each of 100 steps, without logs.
 *
 *   store_size FILE [POINTS [TRIALS]]
 *
 * FILE must not exist. The rows are those of a real run: summaries with their series as the worker writes
 * them, environments with the keys of a real one and a host of each pod's own. Prints one JSON object. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/parse.h"
#include "base/splitmix.h"
#include "core/record.h"
#include "store/store.h"

#define SERVERS 60
#define TRAINERS 100
#define STEPS 100
#define UID "0c2e4b8e-0000-4000-8000-000000000001"

static char *environment(const struct replica_id *id, uint64_t *random)
{
    return xasprintf(
        "{\"blas\":\"OpenBLAS 0.3.21 NO_LAPACKE DYNAMIC_ARCH NO_AFFINITY SkylakeX MAX_THREADS=64\","
        "\"blas_core\":\"SkylakeX\",\"build\":\"benchworker 0.1.0\",\"build_options\":\"release\","
        "\"caches\":\"L1d 48K, L1i 32K, L2 1280K, L3 49152K\",\"cgroup_cpu_limit\":10,"
        "\"cgroup_memory_limit\":5368709120,\"clocksource\":\"tsc\",\"compiler\":\"gcc 12.2.0\","
        "\"cpu_features\":\"sse4_2 avx2 fma avx512f avx512bw avx512dq avx512vl avx512_vnni\","
        "\"cpu_governor\":null,\"cpu_mhz\":%u.%u,\"cpu_model\":\"Intel(R) Xeon(R) Processor @ "
        "2.80GHz\",\"cpuset\":\"0-63\",\"host\":\"vgg16-pserver-sweep-7k3fq-p%ut%ua%u-%s-%u\","
        "\"kernel\":\"6.1.0-34-amd64\",\"model\":\"vgg16-fluid-fc512\",\"seed\":1,\"source\":"
        "\"7070174f2c0b5a4f0e3cf1d2a4a7d9d1e6b8c3f5\",\"threads\":1}",
        2700 + splitmix_below(random, 200), splitmix_below(random, 1000000), id->attempt.point,
        id->attempt.trial, id->attempt.number, role_to_string(id->role), id->index);
}

static char *summary(const struct replica_id *id, uint64_t *random)
{
    int64_t step_ns[STEPS], total_ns = 0;
    for (size_t i = 0; i < STEPS; i++) {
        step_ns[i] = 410000000 + splitmix_below(random, 40000000);
        total_ns += step_ns[i];
    }
    const bool is_trainer = id->role == ROLE_TRAINER;
    struct summary s = {.samples = is_trainer ? STEPS * 64 : 0,
                        .duration_ns = total_ns,
                        .steps = STEPS,
                        .bytes_tx = 6102328800 + splitmix_below(random, 100000),
                        .bytes_rx = 6102328800 + splitmix_below(random, 100000),
                        .loss_first = is_trainer ? 2.3 + splitmix_below(random, 1000) / 1e6 : 0,
                        .loss_last = is_trainer ? 2.1 + splitmix_below(random, 1000) / 1e6 : 0,
                        .throttled_ns = splitmix_below(random, 1000000000),
                        .max_rss_bytes = 700000000 + 4096 * (uint64_t)splitmix_below(random, 9999)};
    for (int i = 0; i < PHASE_COUNT; i++) {
        s.phase_ns[i] = total_ns / PHASE_COUNT + splitmix_below(random, 100000000);
    }
    for (size_t i = 0; i < 64; i++) {
        s.environment_digest[i] = "0123456789abcdef"[splitmix_below(random, 16)];
    }
    struct buf out = BUF_INIT;
    const struct record_who who = {id->role, id->index, id->attempt.number};
    record_write_summary(&out, &who, &s, step_ns, STEPS);
    return buf_take(&out);
}

static void add_replicas(struct attempt_row *row, enum role role, uint32_t n, uint64_t *random)
{
    for (uint32_t i = 0; i < n; i++) {
        const struct replica_id id = {row->id, role, i};
        *vec_push(&row->replicas) = (struct replica_row){
            .id = id,
            .summary_json = summary(&id, random),
            .environment_json = environment(&id, random),
            .log_bytes = 20000,
        };
    }
}

static int write_run(struct store *s, uint32_t points, uint32_t trials, int64_t *ret_ns,
                     struct err *err)
{
    const struct run_row run = {.uid = (char *)UID,
                                .name = (char *)"vgg16-pserver-sweep-7k3fq",
                                .benchmark = (char *)"vgg16-pserver-sweep",
                                .definition_json = (char *)"{}"};
    int r = s->ops->put_run(s, &run, err);
    uint64_t random = 1;
    int64_t took_ns = 0;
    for (uint32_t i = 0; i < points * trials && r >= 0; i++) {
        struct attempt_row row = {.id = {i % points, i / points, 0}, .outcome = ATTEMPT_SUCCEEDED};
        add_replicas(&row, ROLE_PSERVER, SERVERS, &random);
        add_replicas(&row, ROLE_TRAINER, TRAINERS, &random);
        const int64_t started_ns = clock_monotonic_ns();
        r = s->ops->save_attempt(s, UID, &row, NULL, 0, err);
        took_ns += clock_monotonic_ns() - started_ns;
        attempt_row_done(&row);
    }
    *ret_ns = took_ns;
    return r;
}

/* The best of five, in CPU time. */
static int read_run(struct store *s, int64_t *ret_ns, struct err *err)
{
    *ret_ns = INT64_MAX;
    for (int i = 0; i < 5; i++) {
        struct attempt_row *rows = NULL;
        size_t n = 0;
        const int64_t started_ns = clock_thread_cpu_ns();
        int r = s->ops->list_attempts(s, UID, &rows, &n, err);
        if (r < 0) {
            return r;
        }
        const int64_t took_ns = clock_thread_cpu_ns() - started_ns;
        *ret_ns = took_ns < *ret_ns ? took_ns : *ret_ns;
        for (size_t k = 0; k < n; k++) {
            attempt_row_done(&rows[k]);
        }
        free(rows);
    }
    return 0;
}

static int measure(const char *file, int64_t points, int64_t trials, struct err *err)
{
    _cleanup_(freep) char *url = xasprintf("sqlite:%s", file);
    struct store *s = NULL;
    int64_t wrote_ns = 0, read_ns = 0, bytes = 0;
    int r = store_open(url, true, &s, err);
    r = r < 0 ? r : write_run(s, (uint32_t)points, (uint32_t)trials, &wrote_ns, err);
    r = r < 0 ? r : read_run(s, &read_ns, err);
    r = r < 0 ? r : s->ops->get_used(s, &bytes, err);
    store_close(s);
    const int64_t n = points * trials;
    if (r >= 0) {
        (void)printf("{\"points\": %" PRId64 ", \"trials\": %" PRId64 ", \"pods\": %d, "
                     "\"bytes\": %" PRId64 ", \"bytes_a_replica\": %" PRId64
                     ", \"save_ms_an_attempt\": %.2f, \"list_cpu_ms\": %.1f}\n",
                     points, trials, SERVERS + TRAINERS, bytes, bytes / n / (SERVERS + TRAINERS),
                     (double)wrote_ns / (double)n / 1e6, (double)read_ns / 1e6);
    }
    return r;
}

int main(int argc, char **argv)
{
    int64_t points = 44, trials = 5;
    if (argc < 2 || (argc > 2 && parse_i64_in(argv[2], 1, 10000, &points) < 0) ||
        (argc > 3 && parse_i64_in(argv[3], 1, 100, &trials) < 0)) {
        (void)fprintf(stderr, "usage: store_size FILE [POINTS [TRIALS]]\n");
        return 2;
    }
    struct err err;
    if (measure(argv[1], points, trials, &err) < 0) {
        (void)fprintf(stderr, "store_size: %s\n", err.msg);
        return 1;
    }
    return 0;
}
