/* Profiles: what profile.yaml may say, and what definitions may then ask of it. */
#include "tests/test.h"
#include "small_definition.h"

#include <errno.h>

#include "base/buf.h"
#include "pod/replica_spec.h"
#include "spec/profile.h"
#include "spec/spec_load.h"

FREEP(profile_free, struct profile)

static const char good[] = "name: torch\n"
                           "description: a peer\n"
                           "models: [vgg16-fluid-fc512]\n"
                           "datasets: [Synthetic, IDX]\n"
                           "exchanges: [None]\n"
                           "python:\n"
                           "  requirements: requirements.txt\n"
                           "install: script/bench peers install torch\n"
                           "roles:\n"
                           "  trainer: {command: [python, ./train.py, --fast, ./]}\n";

/* `good` with the first `from` replaced. Owned. */
static char *changed(const char *from, const char *to)
{
    const char *at = strstr(good, from);
    if (at == NULL) {
        fail_msg("'%s' is not in the profile", from);
    }
    return xasprintf("%.*s%s%s", (int)(at - good), good, to, at + strlen(from));
}

static struct profile *load(const char *text)
{
    struct diags diags = {0};
    struct profile *profile = NULL;
    if (profile_load(text, strlen(text), &profile, &diags) < 0) {
        struct buf out = BUF_INIT;
        diags_format(&diags, "p.yaml", text, &out);
        fail_msg("expected a valid profile, got\n%s", buf_cstr(&out));
    }
    assert_int_equal(diags.list.len, 0);
    return profile;
}

TEST(reads_every_field)
{
    _cleanup_(profile_freep) struct profile *p = load(good);
    assert_string_equal(p->name, "torch");
    assert_string_equal(p->description, "a peer");
    assert_string_equal(p->install, "script/bench peers install torch");
    assert_string_equal(p->requirements, "requirements.txt");
    assert_int_equal(p->models.list.len, 1);
    assert_true(p->datasets[DATASET_SYNTHETIC] && p->datasets[DATASET_IDX]);
    assert_false(p->datasets[DATASET_CIFAR10] || p->exchanges[EXCHANGE_PSERVER]);
    assert_true(p->exchanges[EXCHANGE_NONE]);
    assert_int_equal(p->commands[ROLE_PSERVER].list.len, 0);
    assert_int_equal(p->commands[ROLE_TRAINER].list.len, 4);
}

TEST(refuses_what_is_wrong)
{
    static const struct {
        const char *name, *from, *to, *expected;
    } rows[] = {
        {"no name", "name: torch\n", "", "required field 'name' is missing"},
        {"bad name", "name: torch", "name: Torch.1", "'Torch.1' is not a valid name"},
        {"the native name", "name: torch", "name: benchworker",
         "is reserved for the native worker"},
        {"unknown key", "description", "descriptoin", "unknown field 'descriptoin'"},
        {"unknown dataset", "IDX]", "Mnist]", "unknown value 'Mnist'"},
        {"no requirements", "requirements: r", "versions: ['3.8'] #", "'requirements' is missing"},
        {"no command", "{command: [python, ./train.py, --fast, ./]}", "{}",
         "exactly one of command and entrypoint"},
        {"an entrypoint in a file", "{command: [python, ./train.py, --fast, ./]}",
         "{entrypoint: [./start.sh]}", "'./start.sh' is a file of this machine"},
        {"pserver without command", "[None]", "[None, PServer]",
         "requires the command of a pserver"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        _cleanup_(freep) char *text = changed(rows[i].from, rows[i].to);
        _cleanup_(diags_done) struct diags diags = {0};
        _cleanup_(profile_freep) struct profile *profile = NULL;
        _cleanup_(buf_done) struct buf out = BUF_INIT;
        int r = profile_load(text, strlen(text), &profile, &diags);
        diags_format(&diags, "p.yaml", text, &out);
        if (r != -EINVAL || profile != NULL || strstr(buf_cstr(&out), rows[i].expected) == NULL) {
            fail_msg("%s: expected -EINVAL and '%s', got %d and\n%s", rows[i].name,
                     rows[i].expected, r, buf_cstr(&out));
        }
    }
}

TEST(placing_names_files_and_interpreter)
{
    static const struct {
        const char *interpreter, *expected[4];
    } rows[] = {
        {"/env/bin/python", {"/env/bin/python", "/p/train.py", "--fast", "/p/"}},
        {NULL, {"python", "/p/train.py", "--fast", "/p/"}},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        _cleanup_(profile_freep) struct profile *p = load(good);
        profile_place(p, "/p", rows[i].interpreter);
        for (size_t k = 0; k < 4; k++) {
            assert_string_equal(p->commands[ROLE_TRAINER].list.items[k], rows[i].expected[k]);
        }
    }
}

TEST(placing_makes_paths_of_the_installer)
{
    static const struct {
        const char *install, *folder, *expected;
    } rows[] = {
        {"make all", "/a/b/c", "make all"},
        {"./get x", "/a/b/c", "/a/b/c/get x"},
        {"python3 ./../../get.py  x", "/a/b/c", "python3 /a/b/c/../../get.py  x"},
        {"a/./b .", "/a", "a/./b ."},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        _cleanup_(profile_freep) struct profile *p = load(good);
        free(p->install);
        p->install = xstrdup(rows[i].install);
        profile_place(p, rows[i].folder, NULL);
        assert_string_equal(p->install, rows[i].expected);
    }
}

static struct profiles one_profile(void)
{
    struct profiles profiles = {0};
    *vec_push(&profiles.list) = load(good);
    profile_place(profiles.list.items[0], "/p", "/env/bin/python");
    return profiles;
}

#define SINGLE "exchange: {kind: None}"
#define SERVED "exchange: {kind: PServer, mode: Sync, wire: FP32}"

/* The sample definition with two systems, of one trainer without servers. Owned. */
static char *two_systems(const char *profile, const char *from, const char *to)
{
    _cleanup_(freep) char *text = xasprintf("apiVersion: benchd.io/v1alpha1\n"
                                            "kind: Benchmark\n"
                                            "metadata: {name: sample}\n"
                                            "spec:\n"
                                            "  systems:\n"
                                            "  - {name: native, profile: benchworker}\n"
                                            "  - {name: peer, profile: %s}\n"
                                            "  workload: {model: vgg16-fluid-fc512, " SINGLE "}\n"
                                            "  sweep: {grid: {batch_size: [16]}}\n"
                                            "  roles: {trainer: {replicas: {value: 1}}}\n"
                                            "  measure: {steps: 5}\n",
                                            profile);
    const char *at = strstr(text, from);
    assert_non_null(at);
    return xasprintf("%.*s%s%s", (int)(at - text), text, to, at + strlen(from));
}

TEST(a_definition_asks_what_the_profile_has)
{
    static const struct {
        const char *name, *profile, *from, *to, *expected;
    } rows[] = {
        {"good", "torch", "steps: 5", "steps: 6", ""},
        {"unknown profile", "torsh", "", "",
         "f.yaml:7:27: error: spec.systems[1].profile: unknown value 'torsh'"},
        {"served", "torch", SINGLE, SERVED,
         "f.yaml:7:27: error: spec.systems[1].profile: profile 'torch' does not support "
         "exchange PServer; it trains on a single node only"},
        {"bf16 without servers", "torch", SINGLE, "exchange: {kind: None, wire: BF16}",
         "spec.workload.exchange.wire: wire BF16: only benchworker's parameter servers have it"},
        {"data", "torch", SINGLE, SINGLE ", dataset: {kind: CIFAR10, path: /d}",
         "profile 'torch' does not support dataset CIFAR10"},
    };
    _cleanup_(profiles_done) struct profiles profiles = one_profile();
    struct spec_overrides overrides = {.profiles = &profiles};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        _cleanup_(freep) char *text = two_systems(rows[i].profile, rows[i].from, rows[i].to);
        _cleanup_(freep) char *errors = definition_errors(text, &overrides);
        bool is_good = rows[i].expected[0] == '\0' ? errors[0] == '\0'
                                                   : strstr(errors, rows[i].expected) != NULL;
        if (!is_good) {
            fail_msg("%s: expected '%s', got\n%s", rows[i].name, rows[i].expected, errors);
        }
    }
}

/* What its program does is said in the definition, unless the system says another thing. */
TEST(a_definition_takes_the_mode_of_the_profile)
{
    static const struct {
        const char *profile, *system, *workload, *label;
    } rows[] = {
        {"mode: Async\n", "", "exchange: {kind: PServer, mode: Sync}", "peer (Async)"},
        {"mode: Async\n", ", exchange: {kind: PServer}", "exchange: {kind: PServer}",
         "peer (Async)"},
        {"mode: Async\n", ", exchange: {kind: PServer, mode: Sync}", "exchange: {kind: PServer}",
         "peer"},
        {"mode: Async\n", "", "exchange: {kind: None}", "peer"},
        {"mode: Async\n", ", exchange: {kind: AllReduce}", "exchange: {kind: None}", "peer"},
        {"", "", "exchange: {kind: PServer}", "peer"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        _cleanup_(freep) char *profile = xasprintf("name: torch\n%s", rows[i].profile);
        const bool is_served = strstr(rows[i].workload, "PServer") != NULL;
        const bool is_reduced = strstr(rows[i].system, "AllReduce") != NULL;
        _cleanup_(freep) char *text = xasprintf(
            "apiVersion: benchd.io/v1alpha1\nkind: Benchmark\nmetadata: {name: sample}\nspec:\n"
            "  systems: [{name: native, profile: benchworker}, {name: peer, profile: torch, "
            "command: [a]%s}]\n"
            "  workload: {model: vgg16-fluid-fc512, batchSize: 1, %s}\n"
            "  sweep: {grid: {trainers: [2]}}\n"
            "  roles: {trainer: {replicas: {from: trainers}}%s%s}\n  measure: {steps: 5}\n",
            rows[i].system, rows[i].workload, is_served ? ", pserver: {replicas: {value: 1}}" : "",
            is_reduced ? ", worker: {replicas: {from: trainers}}" : "");
        _cleanup_(profiles_done) struct profiles profiles = {0};
        *vec_push(&profiles.list) = load(profile);
        struct spec *spec = definition_load(text, &(struct spec_overrides){.profiles = &profiles});
        assert_string_equal(spec->systems.items[0].label, "native");
        assert_string_equal(spec->systems.items[1].label, rows[i].label);
        spec_free(spec);
    }
}

/* The command of the only trainer of a point, words joined by spaces, or the error. Owned. */
static char *command_of(struct spec *spec_take, uint32_t point)
{
    struct run_def_params params = {.name = "sample-7k3fq", .uid = "u"};
    _cleanup_(run_def_freep) struct run_def *def = run_def_of(spec_take, &params);
    struct replica_id id = {.attempt.point = point, .role = ROLE_TRAINER};
    struct gang_addresses none = {0};
    _cleanup_(replica_spec_done) struct replica_spec spec = {0};
    struct err err = {0};
    struct buf out = BUF_INIT;
    if (replica_spec_build(def, &id, &none, &spec, &err) < 0) {
        buf_puts(&out, err.msg);
    }
    for (char **word = spec.argv; word != NULL && *word != NULL; word++) {
        buf_printf(&out, "%s%s", word == spec.argv ? "" : " ", *word);
    }
    return buf_take(&out);
}

TEST(each_system_runs_its_own_command)
{
    _cleanup_(profiles_done) struct profiles profiles = one_profile();
    struct spec_overrides overrides = {.profiles = &profiles};
    _cleanup_(freep) char *text = two_systems("torch", "", "");
    _cleanup_(freep) char *native = command_of(definition_load(text, &overrides), 0);
    assert_string_equal(native, "benchworker trainer");
    _cleanup_(freep) char *peer = command_of(definition_load(text, &overrides), 1);
    assert_string_equal(peer, "/env/bin/python /p/train.py --fast /p/");
}

/* As a run is gone on with: its stored definition knows no profile, the shell brings them. */
TEST(a_stored_definition_gets_its_commands)
{
    _cleanup_(profiles_done) struct profiles profiles = one_profile(), none = {0};
    struct err err;
    _cleanup_(freep) char *text = two_systems("torch", "", "");
    _cleanup_(freep) char *without = command_of(definition_load(text, NULL), 1);
    assert_non_null(strstr(without, "profile 'torch' has no command for role trainer"));
    struct spec *spec = definition_load(text, NULL);
    assert_int_equal(profiles_set_commands(&none, spec, &err), -ENOENT);
    assert_string_equal(err.msg, "system 'peer': profile 'torch' not found");
    assert_int_equal(profiles_set_commands(&profiles, spec, &err), 0);
    _cleanup_(freep) char *with = command_of(spec, 1);
    assert_string_equal(with, "/env/bin/python /p/train.py --fast /p/");
}

/* The profiles that are shipped can be read, and have what the shipped definition asks for. */
TEST(shipped_profiles_are_good)
{
    static const char *const names[] = {"fluid", "jax-cpu", "paddle", "pytorch", "tensorflow"};
    _cleanup_(profiles_done) struct profiles profiles = {0};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        _cleanup_(freep) char *path = xasprintf("benchmarks/profiles/%s/profile.yaml", names[i]);
        _cleanup_(freep) char *text = golden_read(path);
        struct profile *profile = load(text);
        assert_string_equal(profile->name, names[i]);
        *vec_push(&profiles.list) = profile;
    }
    _cleanup_(freep) char *text = golden_read("benchmarks/vgg16-single-node.yaml");
    for (int local = 0; local < 2; local++) {
        struct spec_overrides overrides = {
            .local = local, .profiles = &profiles, .read_template = shipped_template_read};
        _cleanup_(spec_freep) struct spec *spec = definition_load(text, &overrides);
        assert_int_equal(spec->systems.len, 6);
    }
}

TEST(a_profile_that_benchd_has_not)
{
    static const struct {
        const char *profile, *error;
    } rows[] = {
        {"profile: pytorh", ":5:42: error: spec.systems[0].profile: benchd has no profile 'py"},
        {"profile: pytorh, rendezvous: []", ""},
        {"profile: torchrun", ""},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        _cleanup_(freep) char *text = definition_with("profile: benchworker", rows[i].profile);
        _cleanup_(freep) char *errors =
            definition_errors(text, &(struct spec_overrides){.is_new = true});
        if (strstr(errors, rows[i].error) == NULL || !rows[i].error[0] != !errors[0]) {
            fail_msg("%s: %s", rows[i].profile, errors);
        }
        spec_free(definition_load(text, NULL)); /* as a stored one */
    }
}

TEST(a_profile_without_variables)
{
    _cleanup_(profiles_done) struct profiles profiles = {0};
    *vec_push(&profiles.list) = load("name: mine\n");
    _cleanup_(freep) char *text =
        definition_with("profile: benchworker", "profile: mine, command: [x]");
    _cleanup_(spec_freep) struct spec *spec =
        definition_load(text, &(struct spec_overrides){.profiles = &profiles});
    const json_t *systems = json_object_get(json_object_get(spec->definition, "spec"), "systems");
    assert_true(json_is_array(json_object_get(json_array_get(systems, 0), "rendezvous")));
}
