/* The settings of a replica: options, variables, defaults and limits. What a wrong command line
 * prints and exits with is in test_roles.py. */
#include "tests/test.h"
#include "worker/role_env.h"

#define MAX_WORDS 12

struct setting {
    const char *name, *value;
};

/* Reads the settings of a role from words and variables that only this call sees. */
static int read_env(enum role role, const char *const *words, const struct setting *variables,
                    struct role_env *ret, struct err *err)
{
    char *argv[MAX_WORDS + 2] = {(char *)(uintptr_t)role_to_string(role)};
    int argc = 1;
    for (size_t i = 0; i < MAX_WORDS && words[i] != NULL; i++) {
        argv[argc++] = (char *)(uintptr_t)words[i];
    }
    *err = (struct err){0};
    for (const struct setting *v = variables; v->name != NULL; v++) {
        assert_int_equal(setenv(v->name, v->value, 1), 0);
    }
    int r = role_env_read(role, argc, argv, ret, err);
    for (const struct setting *v = variables; v->name != NULL; v++) {
        assert_int_equal(unsetenv(v->name), 0);
    }
    return r;
}

TEST(precedence)
{
    static const struct {
        const char *name;
        const char *words[MAX_WORDS];
        struct setting variables[4];
        int64_t seed, steps;
    } rows[] = {
        {"nothing is set", {"--exchange", "None"}, {{0}}, 1, 10},
        {"an option", {"--exchange", "None", "--seed", "7"}, {{0}}, 7, 10},
        {"a variable", {"--exchange", "None"}, {{"BENCHD_SEED", "8"}}, 8, 10},
        {"both: the option", {"--exchange", "None", "--seed", "7"}, {{"BENCHD_SEED", "8"}}, 7, 10},
        {"an empty variable is none", {"--exchange", "None"}, {{"BENCHD_SEED", ""}}, 1, 10},
        {"the exchange as a variable",
         {NULL},
         {{"BENCHD_EXCHANGE", "None"}, {"BENCHD_STEPS", "3"}},
         1,
         3},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        _cleanup_(role_env_done) struct role_env e;
        struct err err;
        int r = read_env(ROLE_TRAINER, rows[i].words, rows[i].variables, &e, &err);
        print_message("# row '%s': %s\n", rows[i].name, err.msg);
        assert_int_equal(r, 0);
        assert_int_equal(e.seed, rows[i].seed);
        assert_int_equal(e.steps, rows[i].steps);
        assert_int_equal(e.exchange, EXCHANGE_NONE);
    }
}

struct limit_row {
    const char *name;
    enum role role;
    const char *words[MAX_WORDS];
    struct setting variables[4];
    const char *says; /* NULL: accepted */
};

static void check_rows(const struct limit_row *rows, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct role_env e;
        struct err err;
        int r = read_env(rows[i].role, rows[i].words, rows[i].variables, &e, &err);
        print_message("# row '%s': %d %s\n", rows[i].name, r, err.msg);
        assert_int_equal(r, rows[i].says == NULL ? 0 : -EINVAL);
        if (r == 0) {
            role_env_done(&e);
        } else {
            assert_non_null(strstr(err.msg, rows[i].says));
        }
    }
}

TEST(modes)
{
    /* clang-format off */
    static const struct limit_row rows[] = {
        {"a warm-up that ends between two exchanges", ROLE_TRAINER,
         {"--pserver-addrs", "a:1", "--warmup-steps", "2", "--steps", "8"},
         {{"BENCHD_MODE", "Sync localSteps=4"}},
         "BENCHD_MODE 'Sync localSteps=4' exchanges after every 4 steps"},
        {"steps that do", ROLE_TRAINER,
         {"--pserver-addrs", "a:1", "--warmup-steps", "4", "--steps", "9"},
         {{"BENCHD_MODE", "Sync localSteps=4"}},
         "so --warmup-steps and --steps must be multiples of it"},
        {"a server has no steps", ROLE_PSERVER, {"--listen", "a:1", "--mode", "Sync localSteps=7"},
         {{0}}, NULL},
        {"local steps without servers", ROLE_TRAINER,
         {"--exchange", "None", "--mode", "Sync localSteps=2"}, {{0}},
         "--mode 'Sync localSteps=2' needs parameter servers"},
        {"Async without servers", ROLE_TRAINER, {"--exchange", "None", "--mode", "Async"}, {{0}},
         "--mode 'Async' needs parameter servers"},
        {"local steps in bf16", ROLE_PSERVER,
         {"--listen", "a:1", "--mode", "Sync localSteps=2", "--wire", "BF16"}, {{0}},
         "--mode 'Sync localSteps=2' needs wire FP32"},
        {"an unknown mode", ROLE_PSERVER, {"--listen", "a:1", "--mode", "Sink"}, {{0}},
         "--mode: 'Sink'"},
        {"a worker exchanges after each step", ROLE_WORKER, {NULL},
         {{"BENCHD_MODE", "Sync localSteps=2"}},
         "BENCHD_MODE 'Sync localSteps=2' needs parameter servers, but the exchange is AllReduce"},
        {"emulated trainers do", ROLE_TRAINER,
         {"--pserver-addrs", "a:1", "--mode", "Async", "--compute", "Emulated"}, {{0}},
         "compute Emulated takes only Sync"},
    };
    /* clang-format on */
    check_rows(rows, N_ROWS(rows));
}

TEST(limits)
{
    /* clang-format off */
    static const struct limit_row rows[] = {
        {"one step", ROLE_TRAINER, {"--exchange", "None", "--steps", "1"}, {{0}}, NULL},
        {"no step", ROLE_TRAINER, {"--exchange", "None", "--steps", "0"}, {{0}}, "--steps '0'"},
        {"no warm-up", ROLE_TRAINER, {"--exchange", "None", "--warmup-steps", "0"}, {{0}}, NULL},
        {"the last index", ROLE_TRAINER, {"--exchange", "None", "--trainers", "3", "--index", "2"},
         {{0}}, NULL},
        {"an index too many", ROLE_TRAINER,
         {"--exchange", "None", "--trainers", "3", "--index", "3"}, {{0}},
         "index 3 is out of range: this run has 3 trainers"},
        {"a server's index is among the servers", ROLE_PSERVER,
         {"--listen", "a:1", "--trainers", "3", "--index", "1"}, {{0}},
         "index 1 is out of range: this run has 1 pservers"},
        {"the same, with as many servers", ROLE_PSERVER,
         {"--listen", "a:1", "--pservers", "2", "--index", "1"}, {{0}}, NULL},
        {"a server without an address", ROLE_PSERVER, {NULL}, {{0}}, "no address to listen on"},
        {"a trainer needs servers", ROLE_TRAINER, {"--pserver-addrs", "a:1", "--pservers", "0"},
         {{0}}, "at least one parameter server"},
        {"without servers", ROLE_TRAINER, {"--exchange", "None", "--pservers", "0"}, {{0}}, NULL},
        {"an address for each server", ROLE_TRAINER,
         {"--pserver-addrs", "a:1,b:2", "--pservers", "2"}, {{0}}, NULL},
        {"an address too few", ROLE_TRAINER, {"--pserver-addrs", "a:1", "--pservers", "2"}, {{0}},
         "holds 1 addresses, expected 2"},
        {"an address too many", ROLE_TRAINER, {"--pserver-addrs", "a:1,b:2"}, {{0}},
         "holds 2 addresses, expected 1"},
        {"a pattern of too few", ROLE_TRAINER, {"--pserver-addrs", "a-{0..1}:1", "--pservers", "3"},
         {{0}}, "holds 2 addresses, expected 3"},
        {"a pattern that goes on", ROLE_TRAINER, {"--pserver-addrs", "a-{0..4294967295}:1"}, {{0}},
         "more than 65536 addresses"},
        {"a pattern that is none", ROLE_TRAINER, {NULL}, {{"BENCHD_PSERVER_ADDRS", "a-{0..}:1"}},
         "BENCHD_PSERVER_ADDRS: 'a-{0..}:1' is not HOST:PORT, and not a pattern"},
        {"a comma at the end", ROLE_TRAINER, {"--pserver-addrs", "a:1,"}, {{0}}, "host:port"},
        {"a worker alone needs nothing", ROLE_WORKER, {NULL}, {{0}}, NULL},
        {"workers, as variables", ROLE_WORKER, {"--index", "1"},
         {{"BENCHD_WORKERS", "2"}, {"BENCHD_WORKER_ADDRS", "a:1,b:2"}, {"BENCHD_LISTEN", "b:2"}},
         NULL},
        {"a worker needs the others' addresses", ROLE_WORKER, {"--workers", "2", "--listen", "a:1"},
         {{0}}, "set --worker-addrs"},
        {"a worker's address too few", ROLE_WORKER,
         {"--workers", "2", "--listen", "a:1", "--worker-addrs", "a:1"}, {{0}},
         "holds 1 addresses, expected 2, one per worker"},
        {"a worker needs an address to listen on", ROLE_WORKER,
         {"--workers", "2", "--worker-addrs", "a:1,b:2"}, {{0}}, "no address to listen on"},
        {"workers have one exchange", ROLE_WORKER, {"--exchange", "PServer"}, {{0}},
         "expected AllReduce"},
        {"servers have one exchange", ROLE_PSERVER, {"--listen", "a:1"},
         {{"BENCHD_EXCHANGE", "None"}}, "BENCHD_EXCHANGE 'None': expected PServer"},
        {"workers are emulated with a trace", ROLE_WORKER, {"--compute", "Emulated"}, {{0}},
         "compute Emulated needs the times of the layers"},
        {"by a variable, too", ROLE_WORKER, {NULL},
         {{"BENCHD_COMPUTE", "Emulated"}, {"BENCHD_TRACE", "fc1=1:2"}}, NULL},
        {"workers do not send bf16", ROLE_WORKER, {"--wire", "BF16"}, {{0}}, "--wire"},
        {"nor by a variable", ROLE_WORKER, {NULL}, {{"BENCHD_WIRE", "BF16"}},
         "BENCHD_WIRE 'BF16' needs parameter servers, but the exchange is AllReduce"},
        {"a ring of workers neither", ROLE_WORKER,
         {"--workers", "2", "--listen", "a:1", "--worker-addrs", "a:1,b:2"},
         {{"BENCHD_WIRE", "BF16"}},
         "BENCHD_WIRE 'BF16' needs parameter servers, but the exchange is AllReduce"},
        {"what they do anyway", ROLE_WORKER, {NULL},
         {{"BENCHD_WIRE", "FP32"}, {"BENCHD_COMPUTE", "Real"}}, NULL},
        {"an unknown format, as a variable", ROLE_TRAINER, {"--pserver-addrs", "a:1"},
         {{"BENCHD_WIRE", "Fp8"}}, "BENCHD_WIRE 'Fp8': expected FP32 or BF16"},
        {"an unknown format, as an option", ROLE_PSERVER, {"--listen", "a:1", "--wire", "bf16"},
         {{0}}, "--wire 'bf16': expected FP32 or BF16"},
        {"bf16 without servers", ROLE_TRAINER, {"--exchange", "None"}, {{"BENCHD_WIRE", "BF16"}},
         "BENCHD_WIRE 'BF16' needs parameter servers, but the exchange is None"},
        {"the role is this one", ROLE_TRAINER, {"--exchange", "None"}, {{"BENCHD_ROLE", "trainer"}},
         NULL},
        {"the role is another", ROLE_TRAINER, {"--exchange", "None"}, {{"BENCHD_ROLE", "pserver"}},
         "BENCHD_ROLE is 'pserver'"},
    };
    /* clang-format on */
    check_rows(rows, N_ROWS(rows));
}

/* NCCL is for workers. Only they compare what was asked for. */
TEST(transports)
{
    /* clang-format off */
    static const struct {
        enum role role;
        const char *words[MAX_WORDS];
        struct setting variables[2];
        int wants; /* a transport, or -EINVAL */
        const char *says;
    } rows[] = {
        {ROLE_WORKER, {NULL}, {{0}}, EXCHANGE_TRANSPORT_AUTO, ""},
        {ROLE_WORKER, {NULL}, {{"BENCHD_TRANSPORT", "TCP"}}, EXCHANGE_TRANSPORT_TCP, ""},
        {ROLE_WORKER, {"--transport", "NCCL"}, {{"BENCHD_TRANSPORT", "TCP"}},
         EXCHANGE_TRANSPORT_NCCL, ""},
        {ROLE_WORKER, {NULL}, {{"BENCHD_TRANSPORT", "Udp"}}, -EINVAL,
         "BENCHD_TRANSPORT 'Udp': expected Auto, TCP or NCCL"},
        {ROLE_PSERVER, {"--transport", "TCP", "--pservers", "1", "--listen", "127.0.0.1:1"}, {{0}},
         EXCHANGE_TRANSPORT_TCP, ""},
        {ROLE_PSERVER, {"--transport", "NCCL"}, {{0}}, -EINVAL,
         "--transport 'NCCL': expected Auto or TCP"},
        {ROLE_WORKER, {"--transport", "NCCL", "--compute", "Emulated"}, {{0}}, -EINVAL,
         "transport 'NCCL': compute Emulated takes only TCP"},
    };
    /* clang-format on */
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        struct role_env e;
        struct err err;
        const int r = read_env(rows[i].role, rows[i].words, rows[i].variables, &e, &err);
        print_message("# row %zu: %s\n", i, err.msg);
        assert_int_equal(r < 0 ? r : (int)e.transport, rows[i].wants);
        assert_non_null(strstr(err.msg, rows[i].says));
        if (r == 0) {
            uint8_t digest[32], of_auto[32];
            role_env_digest(&e, digest);
            e.transport = EXCHANGE_TRANSPORT_AUTO;
            role_env_digest(&e, of_auto);
            assert_int_equal(memcmp(digest, of_auto, sizeof(digest)) == 0,
                             rows[i].role != ROLE_WORKER ||
                                 rows[i].wants == EXCHANGE_TRANSPORT_AUTO);
            role_env_done(&e);
        }
    }
}

TEST(addresses_in_their_order)
{
    static const char *const words[MAX_WORDS] = {"--pserver-addrs", "a:1,[::1]:2,c:3", "--pservers",
                                                 "3"};
    static const struct setting none[1] = {{0}};
    static const char *const ports[] = {"1", "2", "3"};
    _cleanup_(role_env_done) struct role_env e;
    struct err err;
    assert_int_equal(read_env(ROLE_TRAINER, words, none, &e, &err), 0);
    for (size_t i = 0; i < N_ROWS(ports); i++) {
        assert_string_equal(e.peer_addrs[i].port, ports[i]);
    }
}

TEST(addresses_of_a_pattern)
{
    static const char *const words[MAX_WORDS] = {"--pservers", "20"};
    static const struct setting pattern[] = {
        {"BENCHD_PSERVER_ADDRS", "p0t1a0-pserver-{0..19}.sample:7164"}, {NULL, NULL}};
    _cleanup_(role_env_done) struct role_env e;
    struct err err;
    assert_int_equal(read_env(ROLE_TRAINER, words, pattern, &e, &err), 0);
    assert_string_equal(e.peer_addrs[0].host, "p0t1a0-pserver-0.sample");
    assert_string_equal(e.peer_addrs[19].host, "p0t1a0-pserver-19.sample");
    assert_string_equal(e.peer_addrs[19].port, "7164");
}

/* What makes two processes replicas of one trial, and what keeps them apart. */
TEST(identity)
{
    static const struct {
        const char *name;
        const char *words[MAX_WORDS];
        bool is_same_run, is_same_digest;
        uint32_t index, attempt;
    } rows[] = {
        {"the same", {"--exchange", "None"}, true, true, 0, 0},
        {"another trainer",
         {"--exchange", "None", "--trainers", "2", "--index", "1"},
         true,
         false,
         1,
         0},
        {"another attempt", {"--exchange", "None", "--attempt", "3"}, true, true, 0, 3},
        {"another trial", {"--exchange", "None", "--trial", "1"}, false, true, 0, 0},
        {"another point", {"--exchange", "None", "--point", "1"}, false, true, 0, 0},
        {"another run", {"--exchange", "None", "--run", "other"}, false, true, 0, 0},
        {"another seed", {"--exchange", "None", "--seed", "2"}, true, false, 0, 0},
        {"other servers", {"--exchange", "None", "--pservers", "2"}, true, false, 0, 0},
    };
    static const struct setting none[1] = {{0}};
    uint8_t first[AUTH_DIGEST_SIZE] = {0};
    uint64_t run = 0;
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        _cleanup_(role_env_done) struct role_env e;
        struct err err;
        uint8_t digest[AUTH_DIGEST_SIZE];
        print_message("# row '%s'\n", rows[i].name);
        assert_int_equal(read_env(ROLE_TRAINER, rows[i].words, none, &e, &err), 0);
        struct frame_id id = role_env_id(&e);
        role_env_digest(&e, digest);
        run = i == 0 ? id.run : run;
        if (i == 0) {
            memcpy(first, digest, sizeof(first));
        }
        assert_int_equal(id.run == run, rows[i].is_same_run);
        assert_int_equal(memcmp(digest, first, sizeof(first)) == 0, rows[i].is_same_digest);
        assert_int_equal(id.index, rows[i].index);
        assert_int_equal(id.attempt, rows[i].attempt);
        assert_int_equal(id.role, ROLE_TRAINER);
    }
}
