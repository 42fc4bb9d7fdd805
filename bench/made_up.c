/* See made_up.h. */
#include "made_up.h"

#include <stddef.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/splitmix.h"
#include "core/record.h"

#define NODES 40

static char *environment(const struct replica_id *id, uint64_t *random)
{
    return xasprintf(
        "{\"blas\":\"OpenBLAS 0.3.21 NO_LAPACKE DYNAMIC_ARCH NO_AFFINITY SkylakeX MAX_THREADS=64\","
        "\"blas_core\":\"SkylakeX\",\"build\":\"benchworker 0.1.0\",\"build_options\":\"release\","
        "\"caches\":\"L1d 48K, L1i 32K, L2 1280K, L3 49152K\",\"cgroup_cpu_limit\":10,"
        "\"cgroup_memory_limit\":5368709120,\"clock_source\":\"tsc\",\"compiler\":\"gcc 12.2.0\","
        "\"cpu_features\":\"sse4_2 avx2 fma avx512f avx512bw avx512dq avx512vl avx512_vnni\","
        "\"cpu_governor\":null,\"cpu_mhz\":%u.%06u,\"cpu_model\":\"Intel(R) Xeon(R) Processor @ "
        "2.80GHz\",\"cpuset\":\"0-63\",\"host\":\"vgg16-pserver-sweep-7k3fq-p%ut%ua%u-%s-%u\","
        "\"kernel\":\"6.1.0-34-amd64\",\"model\":\"vgg16-fluid-fc512\",\"node\":\"node-%02u\","
        "\"seed\":1,"
        "\"source\":\"7070174f2c0b\",\"threads\":1}",
        2700 + splitmix_below(random, 200), splitmix_below(random, 1000000), id->attempt.point,
        id->attempt.trial, id->attempt.number, role_to_string(id->role), id->index,
        id->index % NODES);
}

static char *summary(const struct replica_id *id, double speed, uint64_t *random)
{
    int64_t step_ns[MADE_UP_STEPS], total_ns = 0;
    for (size_t i = 0; i < MADE_UP_STEPS; i++) {
        step_ns[i] = (int64_t)((410000000 + splitmix_below(random, 40000000)) / speed);
        total_ns += step_ns[i];
    }
    const bool is_trainer = id->role == ROLE_TRAINER;
    struct summary s = {.samples = is_trainer ? MADE_UP_STEPS * 64 : 0,
                        .duration_ns = total_ns,
                        .steps = MADE_UP_STEPS,
                        .bytes_tx = 6102328800 + splitmix_below(random, 100000),
                        .bytes_rx = 6102328800 + splitmix_below(random, 100000),
                        .loss_first = is_trainer ? 2.3 + splitmix_below(random, 1000) / 1e6 : 0,
                        .loss_last = is_trainer ? 2.1 + splitmix_below(random, 1000) / 1e6 : 0,
                        .throttled_ns = splitmix_below(random, 1000000000),
                        .max_rss_bytes = 700000000 + 4096 * (uint64_t)splitmix_below(random, 9999),
                        .cpu_ns = total_ns - splitmix_below(random, 100000000)};
    for (int i = 0; i < PHASE_COUNT; i++) {
        s.phase_ns[i] =
            (int64_t)((double)total_ns / (PHASE_COUNT + 1)) + splitmix_below(random, 100000000);
    }
    for (size_t i = 0; i < sizeof(s.environment_digest) - 1; i++) {
        s.environment_digest[i] = "0123456789abcdef"[splitmix_below(random, 16)];
    }
    struct buf out = BUF_INIT;
    const struct record_who who = {id->role, id->index, id->attempt.number};
    record_write_summary(&out, &who, &s, step_ns, MADE_UP_STEPS);
    return buf_take(&out);
}

void made_up_replicas(struct attempt_row *row, enum role role, uint32_t n, double speed,
                      uint64_t *random)
{
    for (uint32_t i = 0; i < n; i++) {
        const struct replica_id id = {row->id, role, i};
        *vec_push(&row->replicas) = (struct replica_row){
            .id = id,
            .summary_json = summary(&id, speed, random),
            .environment_json = environment(&id, random),
            .log_bytes = 20000,
        };
    }
}
