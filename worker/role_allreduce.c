/* `benchworker allreduce`: one rank of a gang that measures all-reduce. Rank 0 prints the table of
 * nccl-tests, which the log rule of that name reads; docs/worker.md explains it. Ranks find each
 * other as workers of a training do: by BENCHD_WORKER_ADDRS, with the run's secret. */
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <jansson.h>

#include "base/build_info.h"
#include "base/exit_code.h"
#include "base/mem.h"
#include "base/parse.h"
#include "base/str.h"
#include "base/vec_walk.h"
#include "config.h"
#include "worker/allreduce_measure.h"
#include "worker/comm/nccl/collective_nccl.h"
#include "worker/role_verb.h"
#include "worker/role_env.h"
#include "worker/role_options.h"

#define MAX_BYTES ((size_t)16 << 30)

static const struct arg_opt options[] = {
    {"minbytes", 'b', "SIZE", "First size of a message, as 4096 or 4K (default 4K)"},
    {"maxbytes", 'e', "SIZE", "Last size of a message (default 100M)"},
    {"stepfactor", 'f', "N", "Each size is N times the one before"},
    {"stepbytes", 'i', "SIZE",
     "Each size is so much larger than the one before (default 1M, without -f)"},
    {"check", 'c', "N", "Calls of each size whose sums are checked; 0: none (default 1)"},
    {"backend", 0, "NAME",
     "What carries the bytes: tcp, shm (shared memory of one host), nccl (a GPU for each rank), or "
     "auto: shm where it works, else tcp (default tcp)"},
    {"algorithm", 0, "NAME",
     "ring, halving-doubling (a power of two of ranks), or auto by size (default auto); to be "
     "measured, halving or doubling"},
    {"output_file", 'J', "FILE", "Also write the figures to FILE, as JSON"},
};

/* A transport of messages. Another one is a row. */
static const struct backend {
    const char *name;
    enum exchange_transport transport;
    int (*open)(const struct collective_params *params, struct collective **ret,
                struct exchange_fault *ret_fault, struct err *err);
} backends[] = {
    {"tcp", EXCHANGE_TRANSPORT_TCP, collective_mesh_new},
    {"shm", EXCHANGE_TRANSPORT_SHARED_MEMORY, collective_mesh_new},
    {"nccl", EXCHANGE_TRANSPORT_NCCL, collective_nccl_new},
    {"auto", EXCHANGE_TRANSPORT_AUTO, collective_mesh_new},
};

struct command {
    struct role_env env;
    struct allreduce_params params;
    enum collective_algorithm algorithm;
    const struct backend *backend; /* what was asked for */
    const char *carrier;           /* what it came to be: not auto, if there are peers */
    const char *json_file;         /* NULL: none */
    json_t *rows;                  /* owned */
    double busbw_sum;
    size_t n_busbw;
    uint64_t n_wrong;
};

/* ---- options ---- */

/* 4096, 4K, 1M, 2G: powers of 1024, as nccl-tests reads them. */
static int take_size(const struct args *a, const char *name, const char *fallback, size_t *ret,
                     struct err *err)
{
    const char *text = args_get(a, name, fallback);
    const size_t len = strlen(text);
    const char unit = len > 0 ? text[len - 1] : '\0';
    const int shift = unit == 'K' || unit == 'k'   ? 10
                      : unit == 'M' || unit == 'm' ? 20
                      : unit == 'G' || unit == 'g' ? 30
                                                   : 0;
    _cleanup_(freep) char *digits = xstrndup(text, shift > 0 ? len - 1 : len);
    int64_t number;
    if (parse_i64_in(digits, 1, (int64_t)(MAX_BYTES >> shift), &number) < 0 ||
        ((size_t)number << shift) % sizeof(float) != 0) {
        return err_set(err, EINVAL,
                       "--%s '%s': expected a multiple of 4 up to 16G, as 4096, 4K or 100M", name,
                       text);
    }
    *ret = (size_t)number << shift;
    return 0;
}

static int take_sizes(const struct args *a, struct allreduce_params *p, struct err *err)
{
    const struct role_number step = ROLE_NUMBER("stepfactor", 0, 2, 1000000, &p->factor);
    int r = take_size(a, "minbytes", "4K", &p->min_bytes, err);
    r = r < 0 ? r : take_size(a, "maxbytes", "100M", &p->max_bytes, err);
    r = r < 0 ? r : take_size(a, "stepbytes", "1M", &p->step_bytes, err);
    r = r < 0 ? r : role_take_numbers(a, &step, 1, err);
    if (r >= 0 && args_has(a, "stepfactor") && args_has(a, "stepbytes")) {
        return err_set(err, EINVAL, "--stepfactor and --stepbytes exclude each other");
    }
    if (r >= 0 && p->max_bytes < p->min_bytes) {
        return err_set(err, EINVAL, "--maxbytes %zu is less than --minbytes %zu", p->max_bytes,
                       p->min_bytes);
    }
    return r;
}

static int take_algorithm(const struct args *a, enum collective_algorithm *ret, struct err *err)
{
    const char *name = args_get(a, "algorithm", "auto");
    const int index = str_index(name, collective_algorithm_names, COLLECTIVE_ALGORITHMS);
    if (index >= 0) {
        *ret = (enum collective_algorithm)index;
        return 0;
    }
    return err_set(err, EINVAL,
                   "--algorithm '%s': expected ring, halving-doubling, halving, doubling or auto",
                   name);
}

static int take_backend(const struct args *a, const struct backend **ret, struct err *err)
{
    const char *name = args_get(a, "backend", backends[0].name);
    *ret = array_find(backends, COUNT_OF(backends), it, str_eq(name, it->name));
    return *ret != NULL
               ? 0
               : err_set(err, EINVAL, "--backend '%s': expected tcp, shm, nccl or auto", name);
}

static int take_options(struct command *c, struct err *err)
{
    const struct role_env *e = &c->env;
    struct allreduce_params *p = &c->params;
    const struct role_number check = ROLE_NUMBER("check", 1, 0, 1000000, &p->checks);
    if (e->n_trainers > COLLECTIVE_RANKS_MAX) {
        return err_set(err, EINVAL, "%lld workers: at most %u can measure together",
                       (long long)e->n_trainers, COLLECTIVE_RANKS_MAX);
    }
    p->rank = (uint32_t)e->index;
    p->n_ranks = (uint32_t)e->n_trainers;
    p->warmup = (uint32_t)e->warmup_steps;
    p->iters = (uint32_t)e->steps;
    c->json_file = args_get(&e->args, "output_file", NULL);
    int r = take_sizes(&e->args, p, err);
    r = r < 0 ? r : role_take_numbers(&e->args, &check, 1, err);
    r = r < 0 ? r : take_algorithm(&e->args, &c->algorithm, err);
    r = r < 0 ? r : take_backend(&e->args, &c->backend, err);
    if (r >= 0 && c->backend->transport == EXCHANGE_TRANSPORT_NCCL &&
        c->algorithm != COLLECTIVE_AUTO) {
        return err_set(err, EINVAL, "--algorithm '%s': NCCL chooses its own; leave it out",
                       collective_algorithm_names[c->algorithm]);
    }
    return r;
}

/* ---- the table ---- */

static void print_columns(const char *const left[5], const char *const right[4])
{
    printf("# %10s  %12s  %8s  %6s  %6s", left[0], left[1], left[2], left[3], left[4]);
    for (int i = 0; i < 2; i++) {
        printf("  %8s  %6s  %6s  %6s", right[0], right[1], right[2], right[3]);
    }
    (void)putchar('\n'); /* main reports a failed write */
}

static void print_head(const struct command *c)
{
    const struct allreduce_params *p = &c->params;
    printf("# benchworker %s allreduce: %u rank%s, backend %s, algorithm %s\n"
           "# calls of a size: %u to warm up, %u measured, %u checked\n#\n",
           BENCHD_VERSION, p->n_ranks, p->n_ranks == 1 ? "" : "s", c->carrier,
           collective_algorithm_names[c->algorithm], p->warmup, p->iters, p->checks);
    printf("# %82s  %32s\n", "out-of-place", "in-place");
    print_columns((const char *const[]){"size", "count", "type", "redop", "root"},
                  (const char *const[]){"time", "algbw", "busbw", "#wrong"});
    print_columns((const char *const[]){"(B)", "(elements)", "", "", ""},
                  (const char *const[]){"(us)", "(GB/s)", "(GB/s)", ""});
    (void)fflush(stdout); /* the same */
}

static void print_figures(const struct command *c, size_t bytes, const struct allreduce_figures *f)
{
    char wrong[24];
    (void)snprintf(wrong, sizeof(wrong), "%llu", (unsigned long long)f->n_wrong);
    printf("  %8.2f  %6.3f  %6.3f  %6s", f->time_us, allreduce_algbw(bytes, f->time_us),
           allreduce_busbw(bytes, f->time_us, c->params.n_ranks),
           c->params.checks > 0 ? wrong : "N/A");
}

static json_t *figures_json(const struct command *c, size_t bytes,
                            const struct allreduce_figures *f)
{
    return json_pack("{s:f, s:[f,f], s:f, s:f, s:f, s:I}", "time_us", f->time_us, "call_us_range",
                     f->least_us, f->most_us, "algbw_gb_per_s", allreduce_algbw(bytes, f->time_us),
                     "busbw_gb_per_s", allreduce_busbw(bytes, f->time_us, c->params.n_ranks),
                     "cpu_ns_per_byte", f->cpu_ns_per_byte, "wrong", (json_int_t)f->n_wrong);
}

static void take_row(struct command *c, const struct allreduce_row *row)
{
    const struct allreduce_figures *both[2] = {&row->out_of_place, &row->in_place};
    for (int i = 0; i < 2; i++) {
        c->busbw_sum += allreduce_busbw(row->bytes, both[i]->time_us, c->params.n_ranks);
        c->n_busbw++;
        c->n_wrong += both[i]->n_wrong;
    }
    json_t *o = json_pack("{s:I, s:I, s:s, s:o, s:o}", "bytes", (json_int_t)row->bytes, "count",
                          (json_int_t)(row->bytes / sizeof(float)), "way", row->way, "out_of_place",
                          figures_json(c, row->bytes, both[0]), "in_place",
                          figures_json(c, row->bytes, both[1]));
    (void)json_array_append_new(c->rows, o); /* fails without memory only */
    if (c->params.rank == 0) {
        printf("%12zu  %12zu  %8s  %6s  %6d", row->bytes, row->bytes / sizeof(float), "float",
               "sum", -1);
        print_figures(c, row->bytes, both[0]);
        print_figures(c, row->bytes, both[1]);
        (void)putchar('\n'); /* main reports a failed write */
        (void)fflush(stdout);
    }
}

static double busbw_mean(const struct command *c)
{
    return c->n_busbw > 0 ? c->busbw_sum / (double)c->n_busbw : 0;
}

static int write_json(const struct command *c, struct err *err)
{
    const struct allreduce_params *p = &c->params;
    if (c->json_file == NULL || p->rank != 0) {
        return 0;
    }
    json_auto_t *o = json_pack(
        "{s:s, s:s, s:i, s:s, s:s, s:i, s:i, s:i, s:f, s:I, s:O}", "program",
        "benchworker " BENCHD_VERSION, "source", build_source(), "ranks", (int)p->n_ranks,
        "backend", c->carrier, "algorithm", collective_algorithm_names[c->algorithm], "warmup",
        (int)p->warmup, "iters", (int)p->iters, "checks", (int)p->checks, "busbw_mean_gb_per_s",
        busbw_mean(c), "wrong", (json_int_t)c->n_wrong, "rows", c->rows);
    FILE *file = fopen(c->json_file, "we");
    int r =
        file == NULL || json_dumpf(o, file, JSON_INDENT(2)) < 0 || putc('\n', file) == EOF ? -1 : 0;
    if (file != NULL && fclose(file) != 0) {
        r = -1;
    }
    return r < 0 ? err_set_errno(err, errno, "write '%s'", c->json_file) : 0;
}

/* ---- the run ---- */

/* The first one counts. */
static int report(const struct command *c, int code, const struct err *err)
{
    static atomic_flag has_said = ATOMIC_FLAG_INIT;
    if (!atomic_flag_test_and_set(&has_said)) {
        fprintf(stderr, "benchworker allreduce: worker/%lld: %s\n", (long long)c->env.index,
                err->msg);
    }
    return code;
}

/* Of NCCL, in another thread. Rule zero: it ends the process below main, because the main thread
 * may wait in that library for ever. */
static void die_of_fault(void *ctx, const struct exchange_fault *fault, const char *message)
{
    struct err err;
    (void)err_set(&err, EIO, "%s", message);
    _exit(report(ctx, fault->exit_code, &err));
}

/* Every rank measures the same, or their calls do not fit together. */
static void digest_of(const struct command *c, uint8_t ret[static AUTH_DIGEST_SIZE])
{
    const struct allreduce_params *p = &c->params;
    _cleanup_(freep) char *text =
        xasprintf("Collective Fp32 workers=%u sizes=%zu:%zu:%zu:%zu calls=%u:%u:%u algorithm=%s "
                  "backend=%s",
                  p->n_ranks, p->min_bytes, p->max_bytes, p->factor, p->step_bytes, p->warmup,
                  p->iters, p->checks, collective_algorithm_names[c->algorithm], c->backend->name);
    auth_sha256(text, strlen(text), ret);
}

/* 0, or an exit code. */
static int open_ranks(struct command *c, struct collective **ret)
{
    const struct role_env *e = &c->env;
    struct collective_params p = {
        .n_ranks = c->params.n_ranks,
        .addrs = e->peer_addrs,
        .algorithm = c->algorithm,
        .transport = c->backend->transport,
        .n_max = c->params.max_bytes / sizeof(float),
        .owner = {.on_fault = die_of_fault, .ctx = c},
    };
    struct err err = {0};
    struct exchange_fault fault = {0};
    const int r = role_env_meet(e, &p.gang, &err);
    if (r < 0) {
        return report(c, r == -EINVAL ? EXIT_USAGE : EXIT_WORKER_RESOURCE, &err);
    }
    digest_of(c, p.gang.digest);
    if (c->backend->open(&p, ret, &fault, &err) < 0) {
        return report(c, fault.exit_code != 0 ? fault.exit_code : EXIT_WORKER_RESOURCE, &err);
    }
    return EXIT_OK;
}

static int measure_all(struct command *c, struct collective *ranks,
                       const struct allreduce_arrays *a, struct err *err)
{
    for (size_t bytes = c->params.min_bytes; bytes > 0;
         bytes = allreduce_next_bytes(&c->params, bytes)) {
        struct allreduce_row row;
        const int r = allreduce_measure(&c->params, ranks, a, bytes, &row, err);
        if (r < 0) {
            return r;
        }
        take_row(c, &row);
    }
    return ranks->ops->goodbye(ranks, err);
}

static int end_failed(const struct command *c, struct collective *ranks, const struct err *err)
{
    struct exchange_fault fault = {0};
    ranks->ops->fault(ranks, &fault);
    const int code = fault.exit_code != 0 ? fault.exit_code : EXIT_WORKER_RESOURCE;
    if (fault.exit_code == 0) {
        ranks->ops->abandon(ranks, code, err->msg);
    }
    return report(c, code, err);
}

/* The name of the backend that was asked for, or of what `auto` chose. */
static const char *carrier_of(const struct command *c, const struct collective *ranks)
{
    if (c->backend->transport != EXCHANGE_TRANSPORT_AUTO || c->params.n_ranks == 1) {
        return c->backend->name;
    }
    const bool is_shared = ranks->ops->transport(ranks) == EXCHANGE_TRANSPORT_SHARED_MEMORY;
    return is_shared ? "shm" : "tcp";
}

static int run(struct command *c)
{
    struct collective *ranks;
    struct allreduce_arrays arrays = {0};
    struct err err = {0};
    int code = open_ranks(c, &ranks);
    if (code != EXIT_OK) {
        return code;
    }
    c->carrier = carrier_of(c, ranks);
    if (c->params.rank == 0) {
        print_head(c);
    }
    if (allreduce_arrays_new(&c->params, ranks, &arrays, &err) < 0 ||
        measure_all(c, ranks, &arrays, &err) < 0) {
        code = end_failed(c, ranks, &err);
    } else if (c->params.rank == 0) {
        printf("# Out of bounds values : %llu %s\n# Avg bus bandwidth    : %g\n#\n",
               (unsigned long long)c->n_wrong, c->n_wrong > 0 ? "FAILED" : "OK", busbw_mean(c));
    }
    allreduce_arrays_done(&arrays); /* before the collective, which may own them */
    ranks->ops->free(ranks);
    if (code == EXIT_OK && write_json(c, &err) < 0) {
        code = report(c, EXIT_WORKER_RESOURCE, &err);
    }
    if (code == EXIT_OK && c->n_wrong > 0) {
        (void)err_set(&err, EPROTO, "%llu numbers are wrong", (unsigned long long)c->n_wrong);
        code = report(c, EXIT_WORKER_PROTOCOL, &err);
    }
    return code;
}

int role_allreduce(int argc, char *const *argv)
{
    struct command c = {0};
    struct err err = {0};
    int r = role_env_read_rank(
        "allreduce", "Measure all-reduce among workers, size by size, as nccl-tests does.", options,
        COUNT_OF(options), argc, argv, &c.env, &err);
    if (r > 0) {
        return EXIT_OK;
    }
    const bool has_env = r == 0;
    r = r < 0 ? r : take_options(&c, &err);
    if (r < 0) {
        fprintf(stderr, "benchworker allreduce: %s\n", err.msg);
        if (has_env) {
            role_env_done(&c.env);
        }
        return EXIT_USAGE;
    }
    c.rows = json_array();
    const int code = run(&c);
    json_decref(c.rows);
    role_env_done(&c.env);
    return code;
}
