/* The settings of a replica, see role_env.h. One table defines variables, options and --help. */
#include "worker/role_env.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/parse.h"
#include "base/str.h"
#include "core/address_list.h"
#include "core/emulation_limits.h"
#include "exchange/ring_plan.h"
#include "worker/comm/ring/exchange_ring.h"
#include "worker/comm/link/handshake.h"
#include "worker/role_options.h"

#define TRAINER (1u << ROLE_TRAINER)
#define PSERVER (1u << ROLE_PSERVER)
#define WORKER (1u << ROLE_WORKER)
#define TRAINING (TRAINER | WORKER)
#define BOTH (TRAINER | PSERVER)
#define ALL (TRAINING | PSERVER)

enum kind { TEXT, NUMBER };
#define TEXT_AT(member, fallback) TEXT, offsetof(struct role_env, member), 0, 0, fallback
#define NUMBER_AT(member, min, max, fallback)                                                      \
    NUMBER, offsetof(struct role_env, member), min, max, fallback

/* clang-format off */
static const struct variable {
    const char *name; /* BENCHD_NAME */
    struct arg_opt opt;
    unsigned roles;
    enum kind kind;
    size_t at; /* the offset of a `const char *` or int64_t in struct role_env */
    int64_t min, max;
    const char *fallback;
} variables[] = {
    {"RUN", {"run", 0, "NAME", "Name of the run (default manual)"}, ALL, TEXT_AT(run, "manual")},
    {"POINT", {"point", 0, "N", "Number of the point (default 0)"}, ALL, NUMBER_AT(point, 0, UINT32_MAX, "0")},
    {"TRIAL", {"trial", 0, "N", "Number of the trial (default 0)"}, ALL, NUMBER_AT(trial, 0, UINT32_MAX, "0")},
    {"ATTEMPT", {"attempt", 0, "N", "Number of the attempt (default 0)"},
     ALL, NUMBER_AT(attempt, 0, UINT32_MAX, "0")},
    {"INDEX", {"index", 0, "N", "Index of this replica within its role (default 0)"},
     ALL, NUMBER_AT(index, 0, FRAME_MAX_INDEX, "0")},
    {"PSERVERS", {"pservers", 0, "N", "Number of parameter servers (default 1)"},
     BOTH, NUMBER_AT(n_pservers, 0, FRAME_MAX_INDEX + 1, "1")},
    {"TRAINERS", {"trainers", 0, "N", "Number of trainers (default 1)"},
     BOTH, NUMBER_AT(n_trainers, 1, FRAME_MAX_INDEX + 1, "1")},
    {"WORKERS", {"workers", 0, "N", "Number of workers (default 1)"},
     WORKER, NUMBER_AT(n_trainers, 1, FRAME_MAX_INDEX + 1, "1")},
    {"LISTEN", {"listen", 0, "HOST:PORT", "Address to listen on"}, PSERVER | WORKER, TEXT_AT(listen, NULL)},
    {"SECRET_FILE", {"secret-file", 0, "FILE", "File with the run's secret: 32 bytes, not readable by others"},
     ALL, TEXT_AT(secret_file, NULL)},
    {"SECRET_FD", {"secret-fd", 0, "N", "Open file descriptor to read the secret from"},
     ALL, NUMBER_AT(secret_fd, -1, INT32_MAX, "-1")},
    {"SUMMARY_FILE", {"summary-file", 0, "FILE", "Also write the summary to FILE"}, ALL, TEXT_AT(summary_file, NULL)},
    {"MODEL", {"model", 0, "NAME", "Network to train (default vgg16-fluid-fc512)"},
     ALL, TEXT_AT(model_name, "vgg16-fluid-fc512")},
    {"SEED", {"seed", 0, "N", "Seed of parameters, data and dropout (default 1)"},
     ALL, NUMBER_AT(seed, 0, INT64_MAX, "1")},
    {"DATA", {"data", 0, "SOURCE", "Data set: synthetic, idx:DIR or cifar10:DIR (default synthetic)"},
     TRAINING, TEXT_AT(data, "synthetic")},
    {"BATCH_SIZE", {"batch-size", 'b', "N", "Samples per step (default 32)"},
     TRAINING, NUMBER_AT(batch_size, 1, 65536, "32")},
    {"THREADS", {"threads", 't', "N", "Compute threads (default 1)"}, TRAINING, NUMBER_AT(threads, 1, 1024, "1")},
    {"SERVER_THREADS", {"server-threads", 0, "N", "Threads of each parameter server (default 1)"},
     BOTH, NUMBER_AT(server_threads, 1, EXCHANGE_SERVER_THREADS_MAX, "1")},
    {"WARMUP_STEPS", {"warmup-steps", 0, "N", "Warm-up steps before the barrier (default 2)"},
     TRAINING, NUMBER_AT(warmup_steps, 0, 1000000000, "2")},
    {"STEPS", {"steps", 0, "N", "Measured steps after the barrier (default 10)"},
     TRAINING, NUMBER_AT(steps, 1, 1000000000, "10")},
    {"WIRE", {"wire", 0, "FORMAT", "With servers: numbers on the network, FP32 or BF16 (default FP32)"},
     ALL, TEXT_AT(wire_name, "FP32")},
    {"MODE", {"mode", 0, "MODE", "With servers: when to exchange, Sync, Async, or 'Sync localSteps=4' (default Sync)"},
     ALL, TEXT_AT(mode_name, "Sync")},
    {"TRANSPORT", {"transport", 0, "KIND",
      "How numbers reach the others: Auto, TCP, or NCCL of workers (default Auto: TCP)"},
     ALL, TEXT_AT(transport_name, "Auto")},
    {"COMPUTE", {"compute", 0, "KIND", "Real, or Emulated: sleep instead of computing (default Real)"},
     TRAINING, TEXT_AT(compute, "Real")},
    {"TRACE", {"trace", 0, "TIMES", "Emulated: times of the layers in ns, as conv1_1=310000:640000,..."},
     TRAINING, TEXT_AT(trace, NULL)},
    {"JITTER", {"jitter", 0, "RATIO", "Emulated: standard deviation of a step's time (default 0)"},
     TRAINING, TEXT_AT(jitter, "0")},
    {"ARENA_FD", {"arena-fd", 0, "N", "Emulated: open file that all trainers of a machine share"},
     TRAINING, NUMBER_AT(arena_fd, -1, INT32_MAX, "-1")},
    {"RENDEZVOUS_S", {"rendezvous-s", 0, "N", "Seconds to wait until all peers are connected (default 60)"},
     ALL, NUMBER_AT(rendezvous_s, 1, 86400, "60")},
    {"PEER_TIMEOUT_S", {"peer-timeout-s", 0, "N", "Seconds of silence after which a peer is lost (default 6)"},
     ALL, NUMBER_AT(peer_timeout_s, 3, 86400, "6")},
};
/* clang-format on */

static const struct {
    struct arg_opt opt;
    unsigned roles;
} other_options[] = {
    {{"pserver-addrs", 0, "LIST",
      "Addresses of all parameter servers: host:port,host:port or name-{0..19}:port"},
     TRAINER},
    {{"worker-addrs", 0, "LIST",
      "Addresses of all workers, in their order: host:port,host:port or name-{0..19}:port"},
     WORKER},
    {{"exchange", 0, "KIND", "Gradient exchange: PServer or None (default PServer)"}, TRAINER},
    {{"exchange", 0, "KIND", "Gradient exchange: AllReduce"}, WORKER},
    {{"print-digest", 0, NULL, "Print the SHA-256 of the final parameters to stderr"}, TRAINING},
    {{"print-accuracy", 0, NULL,
      "Print the accuracy of the final parameters on the test set to stderr"},
     TRAINING},
};

#define OPTIONS_MAX (COUNT_OF(variables) + COUNT_OF(other_options))

/* Lists them in the order of the tables. */
static size_t list_options(enum role role, struct arg_opt ret[OPTIONS_MAX])
{
    size_t n = 0;
    for (size_t i = 0; i < COUNT_OF(variables); i++) {
        if ((variables[i].roles & 1u << role) != 0) {
            ret[n++] = variables[i].opt;
        }
    }
    for (size_t i = 0; i < COUNT_OF(other_options); i++) {
        if ((other_options[i].roles & 1u << role) != 0) {
            ret[n++] = other_options[i].opt;
        }
    }
    return n;
}

/* The option's value, else the variable's, else the fallback. ret_source names it in messages. */
static const char *look_up(const struct args *args, const char *name, const char *option,
                           const char *fallback, char ret_source[static 48])
{
    const char *value = args_get(args, option, NULL);
    if (value != NULL) {
        (void)snprintf(ret_source, 48, "--%s", option);
        return value;
    }
    (void)snprintf(ret_source, 48, "BENCHD_%s", name);
    value = getenv(ret_source);
    return value != NULL && value[0] != '\0' ? value : fallback;
}

static int read_variable(struct role_env *e, const struct variable *v, struct err *err)
{
    char source[48];
    const char *value = look_up(&e->args, v->name, v->opt.name, v->fallback, source);
    void *at = (char *)e + v->at;
    if (v->kind == TEXT) {
        memcpy(at, &value, sizeof(value));
        return 0;
    }
    int64_t number;
    if (parse_i64_in(value, v->min, v->max, &number) < 0) {
        return err_set(err, EINVAL, "%s '%s': expected a whole number from %lld to %lld", source,
                       value, (long long)v->min, (long long)v->max);
    }
    memcpy(at, &number, sizeof(number));
    return 0;
}

/* Counts all addresses, and stores the first n_wanted. */
struct address_count {
    struct net_addr *addrs; /* (n_wanted) */
    int64_t n, n_wanted;
};

static int take_address(void *ctx, const char *text, struct err *err)
{
    struct address_count *count = ctx;
    struct net_addr addr;
    int r = net_addr_parse(text, &addr, err);
    if (r >= 0 && count->n < count->n_wanted) {
        count->addrs[count->n] = addr;
    }
    count->n++;
    return r;
}

/* Reads the addresses of the role's peers: the servers of a trainer, all workers of a worker. */
static int read_addrs(struct role_env *e, struct err *err)
{
    char source[48];
    const bool is_worker = e->role == ROLE_WORKER;
    const char *list = look_up(&e->args, is_worker ? "WORKER_ADDRS" : "PSERVER_ADDRS",
                               is_worker ? "worker-addrs" : "pserver-addrs", NULL, source);
    if (list == NULL) {
        return is_worker ? err_set(err, EINVAL,
                                   "no addresses of the workers; set --worker-addrs or "
                                   "BENCHD_WORKER_ADDRS")
                         : err_set(err, EINVAL,
                                   "no parameter server addresses; set --pserver-addrs or "
                                   "BENCHD_PSERVER_ADDRS, or pass --exchange None");
    }
    struct address_count count = {.n_wanted = is_worker ? e->n_trainers : e->n_pservers};
    count.addrs = e->peer_addrs = xnew_array(struct net_addr, (size_t)count.n_wanted);
    int r = address_list_read(list, FRAME_MAX_INDEX + 1, take_address, &count, err);
    if (r < 0) {
        return err_wrap(err, r, "%s", source);
    }
    if (count.n != count.n_wanted) {
        return err_set(err, EINVAL, "%s holds %lld addresses, expected %lld, one per %s", source,
                       (long long)count.n, (long long)count.n_wanted,
                       is_worker ? "worker" : "parameter server");
    }
    return 0;
}

static int read_transport(struct role_env *e, struct err *err)
{
    char source[48];
    (void)look_up(&e->args, "TRANSPORT", "transport", NULL,
                  source); /* transport_name holds what it has found */
    const int transport = exchange_transport_from_string(e->transport_name);
    const bool is_worker = e->role == ROLE_WORKER;
    if (transport < 0 || (transport == EXCHANGE_TRANSPORT_NCCL && !is_worker)) {
        return err_set(err, EINVAL, "%s '%s': expected Auto%s", source, e->transport_name,
                       is_worker ? ", TCP or NCCL" : " or TCP");
    }
    e->transport = (enum exchange_transport)transport;
    return 0;
}

/* What only parameter servers and their trainers do: other replicas refuse it, because to ignore it
 * would measure something else. */
static int check_servers(const struct role_env *e, bool is_needed, const char *source,
                         const char *value, struct err *err)
{
    return !is_needed || e->exchange == EXCHANGE_PSERVER
               ? 0
               : err_set(err, EINVAL, "%s '%s' needs parameter servers, but the exchange is %s",
                         source, value, exchange_kind_names[e->exchange]);
}

static int read_wire(struct role_env *e, struct err *err)
{
    char source[48];
    (void)look_up(&e->args, "WIRE", "wire", NULL, source); /* wire_name holds what it has found */
    const int wire = exchange_wire_from_string(e->wire_name);
    if (wire < 0) {
        return err_set(err, EINVAL, "%s '%s': expected FP32 or BF16", source, e->wire_name);
    }
    e->wire = (enum exchange_wire)wire;
    return check_servers(e, e->wire != EXCHANGE_WIRE_FP32, source, e->wire_name, err);
}

static int read_mode(struct role_env *e, struct err *err)
{
    char source[48];
    (void)look_up(&e->args, "MODE", "mode", NULL, source); /* mode_name holds what it has found */
    const int r = exchange_mode_parse(e->mode_name, &e->mode, err);
    if (r < 0) {
        return err_wrap(err, r, "%s", source);
    }
    const bool is_sync = exchange_mode_eq(&e->mode, &EXCHANGE_MODE_SYNC);
    if (check_servers(e, !is_sync, source, e->mode_name, err) < 0) {
        return -EINVAL;
    }
    if (e->mode.local_steps > 0 && e->wire != EXCHANGE_WIRE_FP32) {
        return err_set(err, EINVAL,
                       "%s '%s' needs wire FP32: a trainer's own parameters must not be rounded",
                       source, e->mode_name);
    }
    const int64_t period = exchange_mode_period(&e->mode);
    if (e->role == ROLE_TRAINER && (e->warmup_steps % period != 0 || e->steps % period != 0)) {
        return err_set(err, EINVAL,
                       "%s '%s' exchanges after every %lld steps, so --warmup-steps and --steps "
                       "must be multiples of it",
                       source, e->mode_name, (long long)period);
    }
    return 0;
}

static int read_exchange(struct role_env *e, struct err *err)
{
    static const char *const usual[] = {
        [ROLE_TRAINER] = "PServer", [ROLE_PSERVER] = "PServer", [ROLE_WORKER] = "AllReduce"};
    static const char *const expected[] = {[ROLE_TRAINER] = "PServer or None",
                                           [ROLE_PSERVER] = "PServer",
                                           [ROLE_WORKER] = "AllReduce"};
    char source[48];
    const char *kind = look_up(&e->args, "EXCHANGE", "exchange", usual[e->role], source);
    const int exchange = exchange_kind_from_string(kind);
    const bool is_none = exchange == EXCHANGE_NONE;
    if (!str_eq(kind, usual[e->role]) && !(is_none && e->role == ROLE_TRAINER)) {
        return err_set(err, EINVAL, "%s '%s': expected %s", source, kind, expected[e->role]);
    }
    e->exchange = (enum exchange_kind)exchange;
    int r = read_wire(e, err);
    r = r < 0 ? r : read_mode(e, err);
    r = r < 0 ? r : read_transport(e, err);
    if (r < 0 || is_none || (e->role == ROLE_WORKER && e->n_trainers == 1)) {
        return r; /* it has no peers */
    }
    if (e->role != ROLE_WORKER && e->n_pservers < 1) {
        return err_set(err, EINVAL,
                       "exchange PServer needs at least one parameter server; set --pservers");
    }
    return e->role == ROLE_PSERVER ? 0 : read_addrs(e, err);
}

static int check_compute(struct role_env *e, struct err *err)
{
    const bool trains = e->role != ROLE_PSERVER;
    e->is_emulated = trains && str_eq(e->compute, "Emulated");
    if (!trains || str_eq(e->compute, "Real")) {
        return 0;
    }
    if (!e->is_emulated) {
        return err_set(err, EINVAL, "compute '%s': expected Real or Emulated", e->compute);
    }
    if (!exchange_mode_eq(&e->mode, &EXCHANGE_MODE_SYNC)) {
        return err_set(err, EINVAL,
                       "mode '%s': compute Emulated takes only Sync, because it checks the sums of "
                       "each step",
                       e->mode_name);
    }
    if (e->transport == EXCHANGE_TRANSPORT_NCCL) {
        return err_set(
            err, EINVAL,
            "transport '%s': compute Emulated takes only TCP, because its trainers stand "
            "for machines of their own",
            e->transport_name);
    }
    if (e->trace == NULL) {
        return err_set(err, EINVAL,
                       "compute Emulated needs the times of the layers; set --trace or "
                       "BENCHD_TRACE");
    }
    if (parse_f64(e->jitter, &e->jitter_ratio) < 0 || e->jitter_ratio < 0 ||
        e->jitter_ratio > EMULATED_JITTER_MAX) {
        return err_set(err, EINVAL, "jitter '%s': expected a number from 0 to %g", e->jitter,
                       EMULATED_JITTER_MAX);
    }
    if (e->warmup_steps + e->steps > EMULATED_STEPS_MAX) {
        return err_set(
            err, EINVAL,
            "compute Emulated takes at most %d steps, warm-up included, because the sums "
            "of each are computed before",
            EMULATED_STEPS_MAX);
    }
    return 0;
}

/* Checks the place of this replica among the others. */
static int check_gang(const struct role_env *e, struct err *err)
{
    const bool listens = e->role == ROLE_PSERVER || (e->role == ROLE_WORKER && e->n_trainers > 1);
    int64_t count = e->role == ROLE_PSERVER ? e->n_pservers : e->n_trainers;
    const char *role = getenv("BENCHD_ROLE");
    if (role != NULL && !str_eq(role, role_to_string(e->role))) {
        return err_set(err, EINVAL, "BENCHD_ROLE is '%s', but the command is benchworker %s", role,
                       role_to_string(e->role));
    }
    if (e->index >= count) {
        return err_set(err, EINVAL,
                       "index %lld is out of range: this run has %lld %ss, counted from 0",
                       (long long)e->index, (long long)count, role_to_string(e->role));
    }
    if (listens && e->listen == NULL) {
        return err_set(err, EINVAL,
                       "no address to listen on; set --listen HOST:PORT or BENCHD_LISTEN");
    }
    return 0;
}

#define ENVIRONMENT                                                                                \
    "\n\nAn option with a value can also be set in the environment: --seed as BENCHD_SEED. The "   \
    "option takes precedence."

/* Parses argv and reads the variables. 1: help was printed. */
static int read_settings(int argc, char *const *argv, struct role_env *e, struct err *err)
{
    static const char *const texts[] = {
        [ROLE_PSERVER] = "Keep a part of the parameters for all trainers and apply their "
                         "gradients." ENVIRONMENT,
        [ROLE_TRAINER] = "Train with parameter servers, or alone with --exchange None." ENVIRONMENT,
        [ROLE_WORKER] = "Train with other workers in a ring; each applies the gradients of its "
                        "part." ENVIRONMENT,
    };
    e->options = xnew_array(struct arg_opt, OPTIONS_MAX);
    const struct role_command command = {.name = role_to_string(e->role),
                                         .text = texts[e->role],
                                         .options = e->options,
                                         .n_options = list_options(e->role, e->options)};
    int r = role_parse(&command, argc, argv, &e->args, err);
    for (size_t i = 0; r == 0 && i < COUNT_OF(variables); i++) {
        if ((variables[i].roles & 1u << e->role) != 0) {
            r = read_variable(e, &variables[i], err);
        }
    }
    return r;
}

static int read_prints(struct role_env *e, struct err *err)
{
    e->prints_digest = args_has(&e->args, "print-digest");
    e->prints_accuracy = args_has(&e->args, "print-accuracy");
    if ((e->prints_digest || e->prints_accuracy) && e->is_emulated) {
        return err_set(err, EINVAL, "--print-%s: an emulated trainer has no parameters",
                       e->prints_digest ? "digest" : "accuracy");
    }
    return 0;
}

int role_env_read(enum role role, int argc, char *const *argv, struct role_env *ret,
                  struct err *err)
{
    struct role_env e = {.role = role};
    int r = read_settings(argc, argv, &e, err);
    r = r != 0 ? r : read_exchange(&e, err);
    r = r != 0 ? r : check_gang(&e, err);
    r = r != 0 ? r : role_find_model(e.model_name, &e.model, err);
    r = r != 0 ? r : check_compute(&e, err);
    r = r != 0 ? r : read_prints(&e, err);
    if (r != 0) {
        role_env_done(&e);
        return r;
    }
    *ret = e;
    return 0;
}

void role_env_done(struct role_env *e)
{
    args_done(&e->args);
    free(e->options);
    e->options = NULL;
    free(e->peer_addrs);
    e->peer_addrs = NULL;
}

static int read_secret(const struct role_env *e, uint8_t ret[static 32], struct err *err)
{
    if (e->secret_file != NULL) {
        return auth_secret_from_file(e->secret_file, ret, err);
    }
    if (e->secret_fd >= 0) {
        return auth_secret_from_fd((int)e->secret_fd, ret, err);
    }
    return err_set(err, EINVAL,
                   "no secret; set --secret-file FILE with 32 random bytes (umask 077; "
                   "head -c 32 /dev/urandom > FILE), the same for all replicas");
}

struct frame_id role_env_id(const struct role_env *e)
{
    return (struct frame_id){
        .run = frame_run_id(e->run, (uint32_t)e->point, (uint32_t)e->trial),
        .attempt = (uint32_t)e->attempt,
        .role = e->role,
        .index = (uint32_t)e->index,
    };
}

struct slices role_env_slices(const struct role_env *e)
{
    const size_t n = model_def_n_params(e->model);
    if (e->role == ROLE_WORKER) {
        return ring_slices(n, (uint32_t)e->n_trainers);
    }
    struct slices s =
        slices_of_gang(n, (uint32_t)(e->n_pservers * e->server_threads), (uint32_t)e->n_trainers);
    s.n_threads = (uint32_t)e->server_threads;
    return s;
}

void role_env_digest(const struct role_env *e, uint8_t ret[static 32])
{
    struct slices slices = role_env_slices(e);
    if (e->role == ROLE_WORKER) {
        exchange_ring_digest(e->model_name, (uint64_t)e->seed, &slices, e->transport, ret);
        return;
    }
    handshake_digest(e->model_name, (uint64_t)e->seed, &e->mode, e->wire, (uint32_t)e->n_trainers,
                     &slices, ret);
}

int role_env_meet(const struct role_env *e, struct meet_params *ret, struct err *err)
{
    *ret = (struct meet_params){
        .self = role_env_id(e),
        .listen_fd = -1,
        .rendezvous_ns = e->rendezvous_s * INT64_C(1000000000),
        .silence_ns = e->peer_timeout_s * INT64_C(1000000000),
    };
    role_env_digest(e, ret->digest);
    if (e->role == ROLE_WORKER && e->n_trainers == 1) {
        return 0;
    }
    if (e->role != ROLE_TRAINER) {
        struct net_addr own;
        int r = net_addr_parse(e->listen, &own, err);
        r = r < 0 ? r : net_listen(&own, err);
        if (r < 0) {
            return r;
        }
        ret->listen_fd = r;
    }
    if (read_secret(e, ret->secret, err) < 0) {
        fd_close(&ret->listen_fd);
        return -EINVAL;
    }
    return 0;
}
