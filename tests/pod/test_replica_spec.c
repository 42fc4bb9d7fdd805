#include "tests/test.h"
#include "small_definition.h"

#include <errno.h>

#include "base/str.h"
#include "pod/replica_spec.h"
#include "spec/spec_load.h"

/* The definition behind the example of docs/contracts/environment.md. */
static struct run_def *make_run(const char *text, const char *const *sets, size_t n_sets)
{
    struct spec_overrides overrides = {.sets = sets, .n_sets = n_sets};
    struct spec *spec = definition_load(text, &overrides);
    struct run_def_params params = {.name = "vgg16-pserver-sweep-7k3fq", .uid = "u"};
    return run_def_of(spec, &params);
}

static struct run_def *make_example_run(void)
{
    _cleanup_(freep) char *text = definition_with("measure: {warmupSteps: 1, steps: 5}",
                                                  "measure: {warmupSteps: 2, steps: 8}");
    static const char *const sets[] = {"pservers=1", "trainers=3,1,2"};
    return make_run(text, sets, 2);
}

static char *join(char *const *lines)
{
    struct buf out = BUF_INIT;
    for (; *lines != NULL; lines++) {
        buf_printf(&out, "%s\n", *lines);
    }
    return buf_take(&out);
}

static struct gang_addresses example_addresses(void)
{
    static char *pservers[] = {"127.0.0.1:40112"};
    static char *trainers[] = {"127.0.0.1:40113", "127.0.0.1:40114"};
    return (struct gang_addresses){
        .of_role = {[ROLE_PSERVER] = pservers, [ROLE_TRAINER] = trainers}};
}

/* The example of the contract, but for the line the launcher adds. */
TEST(environment_is_what_the_contract_says)
{
    _cleanup_(freep) char *contract = golden_read("docs/contracts/environment.md");
    char *start = strstr(contract, "```\n") + strlen("```\n");
    char *secret = strstr(start, "BENCHD_SECRET_FD=3\n");
    char *rest = secret + strlen("BENCHD_SECRET_FD=3\n");
    _cleanup_(freep) char *expected = xasprintf("%.*s%.*s", (int)(secret - start), start,
                                                (int)(strstr(rest, "```") - rest), rest);

    _cleanup_(run_def_freep) struct run_def *def = make_example_run();
    struct replica_id id = {.attempt.point = 2, .role = ROLE_TRAINER, .index = 1};
    struct gang_addresses addresses = example_addresses();
    _cleanup_(replica_spec_done) struct replica_spec spec;
    struct err err;
    assert_int_equal(replica_spec_build(def, &id, &addresses, &spec, &err), 0);
    _cleanup_(freep) char *got = join(spec.envp);
    assert_string_equal(got, expected);
    assert_string_equal(spec.argv[0], "benchworker");
    assert_string_equal(spec.argv[1], "trainer");
    assert_null(spec.argv[2]);
}

static void assert_env(const struct replica_spec *spec, const char *expected)
{
    for (char **it = spec->envp; *it != NULL; it++) {
        if (str_eq(*it, expected)) {
            return;
        }
    }
    _cleanup_(freep) char *all = join(spec->envp);
    fail_msg("expected '%s' in\n%s", expected, all);
}

static bool has_env(const struct replica_spec *spec, const char *start)
{
    for (char **it = spec->envp; *it != NULL; it++) {
        if (str_has_prefix(*it, start)) {
            return true;
        }
    }
    return false;
}

/* Of the first replica of a role, while no address is known. replica_spec_done. */
static struct replica_spec build(const struct run_def *def, uint32_t point, enum role role)
{
    const struct replica_id id = {.attempt.point = point, .role = role};
    const struct gang_addresses unknown = {0};
    struct replica_spec spec = {0};
    struct err err = {0};
    if (replica_spec_build(def, &id, &unknown, &spec, &err) < 0) {
        fail_msg("%s", err.msg);
    }
    return spec;
}

TEST(trainers_are_emulated)
{
    _cleanup_(freep) char *text = definition_with(
        "batchSize: 64",
        "batchSize: 64\n    compute: Emulated\n    trace: {jitter: \"0.05\", layers: "
        "[{name: fc1, forwardMicroseconds: 2, backwardMicroseconds: 3}]}");
    _cleanup_(run_def_freep) struct run_def *def = make_run(text, NULL, 0);
    for (enum role role = ROLE_PSERVER; role <= ROLE_WORKER; role++) {
        _cleanup_(replica_spec_done) struct replica_spec spec = build(def, 0, role);
        if (role != ROLE_PSERVER) { /* trainers, or workers */
            assert_env(&spec, "BENCHD_COMPUTE=Emulated");
            assert_env(&spec, "BENCHD_TRACE=fc1=2000:3000");
            assert_env(&spec, "BENCHD_JITTER=0.050000000000000003");
        } else { /* a server does not know */
            assert_false(has_env(&spec, "BENCHD_COMPUTE="));
            assert_false(has_env(&spec, "BENCHD_TRACE="));
        }
    }
    _cleanup_(run_def_freep) struct run_def *real = make_example_run();
    _cleanup_(replica_spec_done) struct replica_spec spec = build(real, 0, ROLE_TRAINER);
    assert_false(has_env(&spec, "BENCHD_COMPUTE="));
}

/* Who exchanges is told what is not the default; a baseline sends nothing. */
TEST(what_is_said_of_an_exchange)
{
    static const struct {
        const char *name, *expected; /* NULL: it is not said */
        enum exchange_wire wire;
        struct exchange_mode mode;
        enum exchange_transport transport;
        uint32_t server_threads;
    } rows[] = {
        {"BENCHD_WIRE=", NULL, .wire = EXCHANGE_WIRE_FP32},
        {"BENCHD_WIRE=", "BENCHD_WIRE=BF16", .wire = EXCHANGE_WIRE_BF16},
        {"BENCHD_SERVER_THREADS=", NULL, .server_threads = 0},
        {"BENCHD_SERVER_THREADS=", "BENCHD_SERVER_THREADS=2", .server_threads = 2},
        {"BENCHD_MODE=", NULL, .mode = {0}},
        {"BENCHD_MODE=", "BENCHD_MODE=Async", .mode = {.kind = EXCHANGE_ASYNC}},
        {"BENCHD_MODE=", "BENCHD_MODE=Sync localSteps=2", .mode = {.local_steps = 2}},
        {"BENCHD_TRANSPORT=", NULL, .transport = EXCHANGE_TRANSPORT_AUTO},
        {"BENCHD_TRANSPORT=", "BENCHD_TRANSPORT=TCP", .transport = EXCHANGE_TRANSPORT_TCP},
        {"BENCHD_TRANSPORT=", "BENCHD_TRANSPORT=NCCL", .transport = EXCHANGE_TRANSPORT_NCCL},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        _cleanup_(run_def_freep) struct run_def *def = make_example_run();
        const bool is_ring = str_eq(rows[i].name, "BENCHD_TRANSPORT=");
        def->spec->systems.items[0].exchange.wire = rows[i].wire;
        def->spec->systems.items[0].exchange.mode = rows[i].mode;
        def->spec->systems.items[0].exchange.transport = rows[i].transport;
        def->matrix.points[0].server_threads = rows[i].server_threads;
        def->matrix.points[0].exchange = is_ring ? EXCHANGE_ALL_REDUCE : EXCHANGE_PSERVER;
        for (enum role role = is_ring ? ROLE_TRAINER : ROLE_PSERVER; role <= ROLE_TRAINER; role++) {
            _cleanup_(replica_spec_done) struct replica_spec spec = build(def, 0, role);
            assert_int_equal(has_env(&spec, rows[i].name), rows[i].expected != NULL);
            if (rows[i].expected != NULL) {
                assert_env(&spec, rows[i].expected);
            }
        }
        _cleanup_(replica_spec_done) struct replica_spec baseline = build(def, 3, ROLE_TRAINER);
        assert_false(has_env(&baseline, rows[i].name));
    }
}

TEST(baselines_run_without_server)
{
    _cleanup_(run_def_freep) struct run_def *def = make_example_run();
    _cleanup_(replica_spec_done) struct replica_spec spec = build(def, 3, ROLE_TRAINER);
    assert_env(&spec, "BENCHD_EXCHANGE=None");
    assert_env(&spec, "BENCHD_PSERVERS=0");
    assert_env(&spec, "BENCHD_TRAINERS=1");
    assert_env(&spec, "BENCHD_PARAM_PSERVERS=0");
    assert_env(&spec, "BENCHD_LISTEN=[::]:7164");
    assert_false(has_env(&spec, "BENCHD_PSERVER_ADDRS="));
    assert_false(has_env(&spec, "BENCHD_TRAINER_ADDRS="));
}

static const char full_container[] =
    "{name: main, command: [/bin/run, $(HOME)], args: [--fast], env: [{name: AB, value: ab}, "
    "{name: A, value: old}, "
    "{name: B, value: $(A)}, {name: A, value: new}, {name: BENCHD_STEPS, value: \"1\"}, "
    "{name: BENCHD_OTHER, value: x}, {name: POD, valueFrom: {fieldRef: {}}}, {name: EMPTY}], "
    "resources: {requests: {cpu: 1500m, memory: 2Gi}}}";

TEST(templates_give_command_environment_and_requests)
{
    _cleanup_(freep) char *text = definition_with("{name: main}", full_container);
    _cleanup_(run_def_freep) struct run_def *def = make_run(text, NULL, 0);
    _cleanup_(replica_spec_done) struct replica_spec spec = build(def, 0, ROLE_PSERVER);
    _cleanup_(freep) char *argv = join(spec.argv);
    assert_string_equal(argv, "/bin/run\n$(HOME)\n--fast\n");
    assert_string_equal(spec.envp[0], "AB=ab");
    assert_string_equal(spec.envp[1], "A=new");
    assert_string_equal(spec.envp[2], "B=old"); /* as a pod: what A is at that place */
    assert_string_equal(spec.envp[3], "EMPTY=");
    assert_string_equal(spec.envp[4], "BENCHD_RUN=vgg16-pserver-sweep-7k3fq");
    assert_env(&spec, "BENCHD_STEPS=5");
    assert_false(has_env(&spec, "BENCHD_OTHER="));
    assert_false(has_env(&spec, "POD="));
    assert_int_equal(spec.cpu_millicores, 1500);
    assert_int_equal(spec.mem_bytes, 2147483648);
}

static const char foreign[] =
    "apiVersion: benchd.io/v1alpha1\nkind: Benchmark\nmetadata: {name: sample}\n"
    "spec:\n"
    "  systems:\n"
    "  - name: mine\n"
    "    profile: other\n"
    "    image: mine:1\n"
    "    command: [python3, \"$(HOME)/train.py\"]\n"
    "    args: [\"--rank=$(BENCHD_INDEX)\", \"$$(HOME)\", \"$(NOBODY)\"]\n"
    "    env: [{name: HOME, value: /h}, {name: BATCH, value: \"b$(BENCHD_BATCH_SIZE)\"}]\n"
    "    roles: {worker: {env: [{name: HOME, value: /w}]}}\n"
    "  workload: {model: resnet50, dataset: {kind: Real}, batchSize: 32, exchange: {kind: "
    "AllReduce}}\n"
    "  sweep: {grid: {workers: [2], net: [resnet50, \"in$(HOME)\"]}}\n"
    "  parameters:\n"
    "  - {name: net, targets: [{roles: [worker], env: [NET], args: [--net, --model=]}]}\n"
    "  roles: {worker: {replicas: {from: workers}, template: {spec: {containers: "
    "[{env: [{name: BATCH, value: t}, {name: OWN, value: o}]}]}}}}\n"
    "  measure: {steps: 5}\n";

TEST(a_system_runs_its_own_command)
{
    _cleanup_(run_def_freep) struct run_def *def = make_run(foreign, NULL, 0);
    struct replica_id id = {.attempt.point = 1, .role = ROLE_WORKER, .index = 1};
    struct gang_addresses unknown = {0};
    _cleanup_(replica_spec_done) struct replica_spec spec;
    struct err err;
    assert_int_equal(replica_spec_build(def, &id, &unknown, &spec, &err), 0);
    _cleanup_(freep) char *argv = join(spec.argv);
    assert_string_equal(argv,
                        "python3\n/w/train.py\n--rank=1\n$(HOME)\n$(NOBODY)\n--net\nin$(HOME)\n"
                        "--model=in$(HOME)\n");
    _cleanup_(freep) char *words = join(spec.words);
    assert_string_equal(words,
                        "python3\n$(HOME)/train.py\n--rank=$(BENCHD_INDEX)\n$$(HOME)\n$(NOBODY)\n"
                        "--net\nin$$(HOME)\n--model=in$$(HOME)\n");
    assert_env(&spec, "HOME=/w");
    assert_env(&spec, "BATCH=b32");
    assert_env(&spec, "OWN=o");
    assert_env(&spec, "NET=in$(HOME)");
    assert_env(&spec, "BENCHD_MODEL=resnet50");
    assert_env(&spec, "BENCHD_DATA=Real");
    assert_env(&spec, "BENCHD_EXCHANGE=AllReduce");
    assert_env(&spec, "BENCHD_WORKERS=2");
    assert_env(&spec, "BENCHD_PARAM_NET=in$(HOME)");
    assert_false(has_env(&spec, "HOME=/h"));
    assert_false(has_env(&spec, "BATCH=t"));
}

/* Python prints to a pipe at once, unless the definition gives the variable a value. benchworker is
 * no Python program. */
TEST(python_does_not_buffer)
{
    static const char system_env[] = "env: [{name: HOME, value: /h}",
                      own[] = "{name: OWN, value: o}";
    static const char *const rows[][3] = {
        {"", "", "PYTHONUNBUFFERED=1"},
        {system_env, "env: [{name: PYTHONUNBUFFERED, value: \"\"}", "PYTHONUNBUFFERED="},
        {own, "{name: PYTHONUNBUFFERED, value: \"\"}", "PYTHONUNBUFFERED="},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        const char *at = strstr(foreign, rows[i][0]);
        _cleanup_(freep) char *text = xasprintf("%.*s%s%s", (int)(at - foreign), foreign,
                                                rows[i][1], at + strlen(rows[i][0]));
        _cleanup_(run_def_freep) struct run_def *def = make_run(text, NULL, 0);
        _cleanup_(replica_spec_done) struct replica_spec spec = build(def, 1, ROLE_WORKER);
        assert_env(&spec, rows[i][2]);
        size_t n = 0;
        for (char **it = spec.envp; *it != NULL; it++) {
            n += str_has_prefix(*it, "PYTHONUNBUFFERED=");
        }
        assert_int_equal(n, 1);
    }
    static const char several[] = "command: [torchrun, --nproc_per_node=2, ";
    const char *at = strstr(foreign, "command: [python3, ");
    _cleanup_(freep) char *text = xasprintf("%.*s%s%s", (int)(at - foreign), foreign, several,
                                            at + strlen("command: [python3, "));
    for (int i = 0; i < 2; i++) { /* benchworker; processes that would tear each other's lines */
        _cleanup_(run_def_freep) struct run_def *def =
            i == 0 ? make_example_run() : make_run(text, NULL, 0);
        _cleanup_(replica_spec_done) struct replica_spec spec =
            build(def, 1, i == 0 ? ROLE_TRAINER : ROLE_WORKER);
        assert_false(has_env(&spec, "PYTHONUNBUFFERED="));
    }
}

/* As Kubernetes does it: a limit without a request is a request too. */
TEST(limits_stand_in_for_requests)
{
    static const struct {
        const char *resources;
        int64_t cpu_millicores, mem_bytes;
    } rows[] = {
        {"{limits: {cpu: 2, memory: 1Gi}}", 2000, 1073741824},
        {"{requests: {cpu: 500m}, limits: {cpu: 2, memory: 1Ki}}", 500, 1024},
        {"{requests: {}, limits: {}}", 0, 0},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        _cleanup_(freep) char *container =
            xasprintf("{name: main, resources: %s}", rows[i].resources);
        _cleanup_(freep) char *text = definition_with("{name: main}", container);
        _cleanup_(run_def_freep) struct run_def *def = make_run(text, NULL, 0);
        _cleanup_(replica_spec_done) struct replica_spec spec = build(def, 0, ROLE_TRAINER);
        if (spec.cpu_millicores != rows[i].cpu_millicores || spec.mem_bytes != rows[i].mem_bytes) {
            fail_msg("%s: expected %lld millicores, %lld bytes; got %lld, %lld", rows[i].resources,
                     (long long)rows[i].cpu_millicores, (long long)rows[i].mem_bytes,
                     (long long)spec.cpu_millicores, (long long)spec.mem_bytes);
        }
    }
}

TEST(data_and_arguments_without_command)
{
    _cleanup_(freep) char *text =
        definition_with("dataset: {kind: Synthetic}", "dataset: {kind: IDX, path: /data/fashion}");
    char *at = strstr(text, "{name: main}");
    _cleanup_(freep) char *with_args = xasprintf("%.*s{name: main, args: [-v]}%s", (int)(at - text),
                                                 text, at + strlen("{name: main}"));
    _cleanup_(run_def_freep) struct run_def *def = make_run(with_args, NULL, 0);
    _cleanup_(replica_spec_done) struct replica_spec spec = build(def, 0, ROLE_PSERVER);
    _cleanup_(freep) char *argv = join(spec.argv);
    assert_string_equal(argv, "benchworker\npserver\n-v\n");
    assert_env(&spec, "BENCHD_DATA=idx:/data/fashion");
    assert_int_equal(spec.cpu_millicores, 0);
}

TEST(parameters_reach_the_template_by_path)
{
    static const char *const sets[] = {"cpu=400m,4"};
    _cleanup_(run_def_freep) struct run_def *def = make_run(definition_text, sets, 1);
    static const char *const expected[] = {"\"400m\"", "4"};
    static const int64_t millicores[] = {400, 4000};
    struct err err;
    for (uint32_t point = 0; point < def->matrix.n_swept; point++) {
        const struct value *cpu = params_get(&def->matrix.points[point].params, "cpu");
        size_t i = cpu->is_int;
        _cleanup_(json_decrefp) json_t *pod;
        assert_int_equal(
            replica_template_render(def, &def->matrix.points[point], ROLE_TRAINER, &pod, &err), 0);
        _cleanup_(freep) char *got = json_dumps(pod, JSON_COMPACT);
        _cleanup_(freep) char *wanted =
            xasprintf("{\"spec\":{\"containers\":[{\"name\":\"main\",\"resources\":{\"requests\":"
                      "{\"cpu\":%s}}}]}}",
                      expected[i]);
        assert_string_equal(got, wanted);
        _cleanup_(replica_spec_done) struct replica_spec spec = build(def, point, ROLE_TRAINER);
        assert_int_equal(spec.cpu_millicores, millicores[i]);
        assert_env(&spec, i == 0 ? "BENCHD_PARAM_CPU=400m" : "BENCHD_PARAM_CPU=4");
    }
    /* The spec's own template was not touched. */
    const json_t *source = json_object_get(def->spec->roles[ROLE_TRAINER].template, "spec");
    assert_null(
        json_object_get(json_array_get(json_object_get(source, "containers"), 0), "resources"));
}

TEST(parameters_change_the_roles_that_they_name)
{
    _cleanup_(freep) char *text = definition_with("roles: [pserver, trainer]", "roles: [trainer]");
    static const char *const sets[] = {"cpu=400m"};
    _cleanup_(run_def_freep) struct run_def *def = make_run(text, sets, 1);
    static const struct {
        enum role role;
        const char *template;
    } rows[] = {
        {ROLE_PSERVER, "{\"spec\":{\"containers\":[{\"name\":\"main\"}]}}"},
        {ROLE_TRAINER, "{\"spec\":{\"containers\":[{\"name\":\"main\",\"resources\":{"
                       "\"requests\":{\"cpu\":\"400m\"}}}]}}"},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        _cleanup_(json_decrefp) json_t *pod;
        struct err err = {0};
        assert_int_equal(
            replica_template_render(def, &def->matrix.points[0], rows[i].role, &pod, &err), 0);
        _cleanup_(freep) char *got = json_dumps(pod, JSON_COMPACT);
        assert_string_equal(got, rows[i].template);
    }
}

TEST(roles_without_template_have_an_empty_container)
{
    _cleanup_(freep) char *text =
        definition_with("  parameters:\n"
                        "  - name: cpu\n"
                        "    targets: [{roles: [pserver, trainer], paths: "
                        "[/spec/containers/0/resources/requests/cpu]}]\n",
                        "");
    char *at = strstr(text, ", template: *pod");
    _cleanup_(freep) char *bare =
        xasprintf("%.*s%s", (int)(at - text), text, at + strlen(", template: *pod"));
    _cleanup_(run_def_freep) struct run_def *def = make_run(bare, NULL, 0);
    _cleanup_(json_decrefp) json_t *pod;
    struct err err;
    assert_int_equal(replica_template_render(def, &def->matrix.points[0], ROLE_TRAINER, &pod, &err),
                     0);
    _cleanup_(freep) char *got = json_dumps(pod, JSON_COMPACT);
    assert_string_equal(got, "{\"spec\":{\"containers\":[{}]}}");
}

TEST(bad_values_are_errors)
{
    static const struct {
        const char *path, *set, *expected;
    } rows[] = {
        {"/spec/containers/0/resources/requests/cpu", "cpu=many",
         "template of trainer: container 0: resources.requests.cpu: 'many' is not a Kubernetes "
         "quantity"},
        {"/spec/containers/0/resources/requests/memory", "cpu=9X",
         "template of trainer: container 0: resources.requests.memory: '9X' is not a Kubernetes "
         "quantity"},
        {"/spec/containers/0/command/0", "cpu=5",
         "template of trainer: command[0] of container 0 is not a string"},
        {"/spec/containers/0/env/0/value", "cpu=5",
         "template of trainer: env[0] of container 0 needs a name and a string value"},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        _cleanup_(freep) char *text =
            definition_with("/spec/containers/0/resources/requests/cpu", rows[i].path);
        char *at = strstr(text, "{name: main}");
        _cleanup_(freep) char *full =
            xasprintf("%.*s{name: main, command: [a], env: [{name: A}]}%s", (int)(at - text), text,
                      at + strlen("{name: main}"));
        _cleanup_(run_def_freep) struct run_def *def = make_run(full, &rows[i].set, 1);
        struct replica_id id = {.role = ROLE_TRAINER};
        struct gang_addresses unknown = {0};
        struct replica_spec spec;
        struct err err;
        assert_int_equal(replica_spec_build(def, &id, &unknown, &spec, &err), -EINVAL);
        assert_string_equal(err.msg, rows[i].expected);
    }
}

TEST(names_replicas)
{
    struct replica_id a = {.attempt.point = 3,
                           .attempt.trial = 1,
                           .attempt.number = 2,
                           .role = ROLE_PSERVER,
                           .index = 7};
    _cleanup_(freep) char *name = replica_name("run-x", &a);
    assert_string_equal(name, "run-x-p3t1a2-pserver-7");
    struct replica_id b = a;
    assert_true(replica_id_eq(&a, &b));
    b.attempt.number++;
    assert_false(replica_id_eq(&a, &b));
    b = a;
    b.role = ROLE_TRAINER;
    assert_false(replica_id_eq(&a, &b));
}

/* ---- large gangs ---- */

static const char large[] =
    "apiVersion: benchd.io/v1alpha1\nkind: Benchmark\nmetadata: {name: sample}\n"
    "spec:\n  systems: [%s]\n"
    "  workload: {model: m, batchSize: 16, exchange: {kind: AllReduce}}\n"
    "  baseline: {kind: Point, where: {workers: %u}}\n"
    "  sweep: {grid: {workers: [%u]}}\n  roles: {worker: {replicas: {from: workers}}}\n";

/* One worker of n, whose host names count up; `longest` is of its "NAME=value". */
static int build_large(const char *system, uint32_t n, struct replica_spec *ret,
                       size_t *ret_longest, struct err *err)
{
    _cleanup_(freep) char *text = xasprintf(large, system, n, n);
    _cleanup_(run_def_freep) struct run_def *def = make_run(text, NULL, 0);
    _cleanup_(freep) char **list = xnew_array(char *, n);
    for (uint32_t i = 0; i < n; i++) {
        list[i] = xasprintf("worker-%u.sample:7164", i);
    }
    const struct gang_addresses addresses = {.of_role = {[ROLE_WORKER] = list}};
    const struct replica_id id = {.role = ROLE_WORKER, .index = n - 1};
    const int r = replica_spec_build(def, &id, &addresses, ret, err);
    *ret_longest = 0;
    for (char **it = ret->envp; r >= 0 && *it != NULL; it++) {
        *ret_longest = strlen(*it) > *ret_longest ? strlen(*it) : *ret_longest;
    }
    for (uint32_t i = 0; i < n; i++) {
        free(list[i]);
    }
    return r;
}

TEST(large_gangs_can_be_started)
{
    static const uint32_t sizes[] = {2200, 9000, 10000};
    for (size_t i = 0; i < N_ROWS(sizes); i++) {
        _cleanup_(replica_spec_done) struct replica_spec spec;
        struct err err;
        size_t longest;
        assert_int_equal(
            build_large("{name: s, profile: none, command: [a]}", sizes[i], &spec, &longest, &err),
            0);
        print_message("# %u replicas: %zu bytes in a string\n", sizes[i], longest);
        assert_true(longest < 131072);
    }
}

/* What a framework wants is not ours to change. */
TEST(a_list_that_no_program_can_have)
{
    struct replica_spec spec = {0};
    struct err err;
    size_t longest;
    static const char system[] =
        "{name: s, profile: none, command: [a], rendezvous: [{name: HOSTS, value: "
        "\"${worker.addresses}\"}]}";
    assert_int_equal(build_large(system, 2200, &spec, &longest, &err), 0);
    assert_true(has_env(&spec, "HOSTS=worker-0.sample:7164,worker-1.sample:7164,"));
    replica_spec_done(&spec);
    assert_int_equal(build_large(system, 9000, &spec, &longest, &err), -EINVAL);
    assert_non_null(strstr(err.msg, "variable HOSTS has "));
    assert_non_null(strstr(err.msg, "may have 131071 with its name"));
}
