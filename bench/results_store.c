/* Makes the stores that `script/bench front` reads: a run of 44 points and five trials, or of
 * POINTS (a multiple of 200, at most 10,000), written by the code that writes real ones.
 *
 *   results_store FILE [POINTS]
 *
 * FILE must not exist. One or two trainers have one or two servers. Each replica has a summary
 * with its steps and an environment with the keys of a real one. The figures follow from a seed;
 * trials differ by 1%. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/parse.h"
#include "base/splitmix.h"
#include "core/environment.h"
#include "core/record.h"
#include "load/loaded_run.h"
#include "spec/run_def.h"
#include "spec/spec_load.h"
#include "store/store.h"

#define NODES 40
#define STEPS 100
#define SEED 20181120
#define CREATED_UNIX_MS INT64_C(1760000000000)
#define RUN_MS INT64_C(1800000)

/* Four points for each batch size, multiplied by what else is swept. */
#define DEFINITION                                                                                 \
    "{\"apiVersion\":\"benchd.io/"                                                                 \
    "v1alpha1\",\"kind\":\"Benchmark\",\"metadata\":{\"name\":\"small-sweep\"},"                   \
    "\"spec\":{\"systems\":[{\"name\":\"benchworker\",\"profile\":\"benchworker\"}],"              \
    "\"workload\":{\"model\":\"vgg16-fluid-fc512\",\"dataset\":{\"kind\":\"Synthetic\"},"          \
    "\"batchSize\":64,\"threads\":1,\"seed\":1,"                                                   \
    "\"exchange\":{\"kind\":\"PServer\"},\"compute\":\"Real\"},"                                   \
    "\"sweep\":{\"grid\":{\"pservers\":[1,2],\"trainers\":[1,2],"                                  \
    "\"batch_size\":[%s]%s}},"                                                                     \
    "\"baseline\":{\"kind\":\"Point\",\"where\":{\"trainers\":1}},"                                \
    "\"roles\":{\"pserver\":{\"replicas\":{\"from\":\"pservers\"},\"template\":" TEMPLATE "},"     \
    "\"trainer\":{\"replicas\":{\"from\":\"trainers\"},\"template\":" TEMPLATE "}},"               \
    "\"measure\":{\"warmupSteps\":2,\"steps\":100},"                                               \
    "\"repeats\":{\"min\":5,\"order\":\"Interleaved\"}}}"
#define TEMPLATE "{\"spec\":{\"containers\":[{\"name\":\"main\"}]}}"

static double normal(uint64_t *state)
{
    const double u = (double)((splitmix_next(state) >> 11) + 1) / 9007199254740992.0;
    const double v = (double)((splitmix_next(state) >> 11) + 1) / 9007199254740992.0;
    return sqrt(-2 * log(u)) * cos(2 * M_PI * v);
}

static struct environment environment(const struct replica_id *id, uint64_t *random)
{
    _cleanup_(freep) char *text = xasprintf(
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
    json_auto_t *record = environment_parse(text);
    return environment_of(record, NULL, NULL);
}

static struct summary *summary(const struct replica_id *id, double speed, uint64_t *random)
{
    int64_t step_ns[STEPS], total_ns = 0;
    for (size_t i = 0; i < STEPS; i++) {
        step_ns[i] = (int64_t)((410000000 + splitmix_below(random, 40000000)) / speed);
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
                        .max_rss_bytes = 700000000 + 4096 * (uint64_t)splitmix_below(random, 9999),
                        .cpu_ns = total_ns - splitmix_below(random, 100000000)};
    for (int i = 0; i < PHASE_COUNT; i++) {
        s.phase_ns[i] =
            (int64_t)((double)total_ns / (PHASE_COUNT + 1)) + splitmix_below(random, 100000000);
    }
    s.environment_digest = xmalloc(65);
    for (size_t i = 0; i < 64; i++) {
        s.environment_digest[i] = "0123456789abcdef"[splitmix_below(random, 16)];
    }
    s.environment_digest[64] = '\0';
    summary_set_series(&s, step_ns, STEPS);
    return xmemdup(&s, sizeof(s));
}

/* `speed`: steps take the usual time divided by it. */
static void add_replicas(struct attempt_row *row, enum role role, uint32_t n, double speed,
                         uint64_t *random)
{
    for (uint32_t i = 0; i < n; i++) {
        const struct replica_id id = {row->id, role, i};
        *vec_push(&row->replicas) = (struct replica_row){
            .id = id,
            .summary = summary(&id, speed, random),
            .environment = environment(&id, random),
            .log_bytes = 20000,
        };
    }
}

static int put_run(struct store *s, struct run_def *def, struct err *err)
{
    char *text = json_dumps(def->spec->definition, JSON_COMPACT);
    const struct run_row row = {
        .uid = def->uid,
        .name = def->name,
        .benchmark = def->spec->name,
        .definition_json = text,
        .created_unix_ms = def->created_unix_ms,
        .cpus = def->cpus,
        .rehearsal = def->rehearsal,
        .status = {.phase = RUN_PENDING, .trials_total = def->n_slots},
    };
    const int r = text == NULL ? err_set(err, EINVAL, "no JSON") : s->ops->put_run(s, &row, err);
    free(text);
    return r;
}

static int save_trial(struct store *s, const struct run_def *def, const struct slot *slot,
                      double speed, int64_t started_unix_ms, uint64_t *random, struct err *err)
{
    const struct point *point = &def->matrix.points[slot->point];
    struct attempt_row row = {.id = {slot->point, slot->trial, 0},
                              .outcome = ATTEMPT_SUCCEEDED,
                              .started_unix_ms = started_unix_ms,
                              .ended_unix_ms = started_unix_ms + 60000};
    add_replicas(&row, ROLE_PSERVER, point->replicas[ROLE_PSERVER], speed, random);
    add_replicas(&row, ROLE_TRAINER, point->replicas[ROLE_TRAINER], speed, random);
    const struct trial_terms terms = run_def_terms(def, slot->point);
    const int r = s->ops->save_attempt(s, def->uid, &row, &terms, NULL, 0, NULL, err);
    attempt_row_done(&row);
    return r;
}

/* `speed`: of the whole run. */
static int save_run(struct store *s, struct run_def *def, double speed, uint64_t *random,
                    struct err *err)
{
    int r = s->ops->begin_write(s, err);
    r = r < 0 ? r : put_run(s, def, err);
    for (uint32_t i = 0; i < def->n_slots && r >= 0; i++) {
        r = save_trial(s, def, &def->slots[i], speed * exp(0.01 * normal(random)),
                       def->created_unix_ms + 1000 * (int64_t)i, random, err);
    }
    const struct run_status status = {
        .phase = RUN_SUCCEEDED,
        .reason = "Completed",
        .trials_done = def->n_slots,
        .trials_total = def->n_slots,
        .started_unix_ms = def->created_unix_ms,
        .ended_unix_ms = def->created_unix_ms + RUN_MS,
    };
    r = r < 0 ? r : s->ops->put_status(s, def->uid, &status, err);
    return s->ops->end_write(s, r, err);
}

/* "8,16,24", n numbers. */
static void put_multiples(uint32_t of, uint32_t n, struct buf *out)
{
    for (uint32_t i = 1; i <= n; i++) {
        buf_printf(out, "%s%u", i == 1 ? "" : ",", i * of);
    }
}

/* `multiple`: of 200 points; 0: 44 points. */
static char *definition(uint32_t multiple)
{
    _cleanup_(buf_done) struct buf batches = BUF_INIT, threads = BUF_INIT;
    put_multiples(8, multiple > 0 ? 50 : 11, &batches);
    if (multiple > 0) {
        buf_puts(&threads, ",\"threads\":[");
        put_multiples(1, multiple, &threads);
        buf_putc(&threads, ']');
    }
    return xasprintf(DEFINITION, buf_cstr(&batches), buf_cstr(&threads));
}

static int make(const char *file, uint32_t multiple, struct err *err)
{
    _cleanup_(freep) char *text = definition(multiple);
    _cleanup_(freep) char *url = xasprintf("sqlite:%s", file);
    const struct run_def_params params = {.name = "small-sweep-00000",
                                          .uid = "0c2e4b8e-0000-4000-8000-000000000000",
                                          .cpus = 640,
                                          .created_unix_ms = CREATED_UNIX_MS};
    struct diags diags = {0};
    struct spec *spec = NULL;
    struct run_def *def = NULL;
    struct store *s = NULL;
    uint64_t random = SEED;
    int r = spec_load(text, strlen(text), NULL, &spec, &diags);
    r = r < 0 ? r : run_def_new(spec, &params, &def, &diags);
    if (r < 0) {
        r = err_set(err, EINVAL, "the definition: %s: %s", diags.list.items[0].path,
                    diags.list.items[0].message);
    } else {
        r = store_open(url, true, &s, err);
        r = r < 0 ? r : save_run(s, def, 0.95 * exp(0.01 * normal(&random)), &random, err);
        store_close(s);
    }
    run_def_free(def);
    diags_done(&diags);
    return r;
}

int main(int argc, char **argv)
{
    int64_t points = 0;
    if (argc < 2 || argc > 3 ||
        (argc == 3 && (parse_i64_in(argv[2], 200, 10000, &points) < 0 || points % 200 != 0))) {
        (void)fprintf(stderr, "usage: results_store FILE [POINTS]\n");
        return 2;
    }
    struct err err = {0};
    if (make(argv[1], (uint32_t)(points / 200), &err) < 0) {
        (void)fprintf(stderr, "results_store: %s\n", err.msg);
        return 1;
    }
    return 0;
}
