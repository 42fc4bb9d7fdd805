#include "tests/test.h"
#include "small_definition.h"

#include <jansson.h>

#include "base/str.h"
#include "doc/tree.h"
#include "spec/profile.h"

/* A gang: two servers with three trainers, or three workers. */
static char *servers[] = {"10.0.0.1:7164", "[fd00::2]:7165"};
static char *trainees[] = {"w0.s:1000", "w1.s:1001", "w2.s:1002"};
static char *const *const served_addresses[ROLE_COUNT] = {servers, trainees, NULL};
static char *const *const workers_addresses[ROLE_COUNT] = {NULL, NULL, trainees};
static char *const *const no_addresses[ROLE_COUNT] = {NULL, NULL, NULL};
static const uint32_t served[ROLE_COUNT] = {2, 3, 0};
static const uint32_t among_workers[ROLE_COUNT] = {0, 0, 3};

static struct rendezvous_member member_of(enum role role, uint32_t index)
{
    const bool is_worker = role == ROLE_WORKER;
    return (struct rendezvous_member){
        .role = role,
        .index = index,
        .run = "sample-1",
        .replicas = is_worker ? among_workers : served,
        .of_role = is_worker ? workers_addresses : served_addresses,
        .listen = "0.0.0.0:7164",
    };
}

TEST(fills_in)
{
    static const struct {
        const char *value;
        enum role role;
        uint32_t index;
        const char *expected;
    } rows[] = {
        {"plain", ROLE_TRAINER, 0, "plain"},
        {"", ROLE_TRAINER, 0, ""},
        {"$(X) $ {} }", ROLE_TRAINER, 0, "$(X) $ {} }"},
        {"${index}", ROLE_TRAINER, 2, "2"},
        {"<${index-1}|${index+10}>", ROLE_TRAINER, 2, "<1|12>"},
        {"${count} ${training} ${pservers} ${trainers} ${workers}", ROLE_PSERVER, 1, "2 3 2 3 0"},
        {"${count} ${training} ${pservers} ${trainers} ${workers}", ROLE_WORKER, 1, "3 3 0 0 3"},
        {"${port}", ROLE_TRAINER, 0, "7164"},
        {"${role}/${run}", ROLE_PSERVER, 0, "pserver/sample-1"},
        {"${training.host}:${training.port}=${training.address}", ROLE_TRAINER, 2,
         "w0.s:1000=w0.s:1000"},
        {"${training.address}", ROLE_WORKER, 1, "w0.s:1000"},
        {"${self.host} ${self.port}", ROLE_WORKER, 1, "w1.s 1001"},
        {"${self.host} ${self.port} ${self.address}", ROLE_PSERVER, 1,
         "fd00::2 7165 [fd00::2]:7165"},
        {"${pserver.hosts}", ROLE_TRAINER, 0, "10.0.0.1,fd00::2"},
        {"${pserver.addresses|json}", ROLE_TRAINER, 0, "[\"10.0.0.1:7164\",\"[fd00::2]:7165\"]"},
        {"${pserver.ports|json}", ROLE_TRAINER, 0, "[7164,7165]"},
        {"${training.addresses.rest}", ROLE_TRAINER, 0, "w1.s:1001,w2.s:1002"},
        {"${training.hosts.rest|json}", ROLE_WORKER, 0, "[\"w1.s\",\"w2.s\"]"},
        /* There is none. */
        {"a${pserver.addresses}b${pserver.host}c${pserver.ports|json}", ROLE_WORKER, 0, "abc[]"},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        const struct rendezvous_var var = {.value = (char *)rows[i].value};
        const struct rendezvous_member member = member_of(rows[i].role, rows[i].index);
        _cleanup_(freep) char *got = rendezvous_value(&var, &member);
        print_message("# '%s'\n", rows[i].value);
        assert_string_equal(got, rows[i].expected);
    }
}

TEST(not_yet_known_is_empty)
{
    const struct rendezvous_var var = {.value = (char *)"<${training.host}${training.ports|json}>"};
    struct rendezvous_member member = member_of(ROLE_WORKER, 1);
    member.of_role = no_addresses;
    _cleanup_(freep) char *got = rendezvous_value(&var, &member);
    assert_string_equal(got, "<[]>");
}

static struct profile *load(const char *text, const char **ret_errors)
{
    static char *errors;
    _cleanup_(diags_done) struct diags diags = {0};
    struct profile *profile = NULL;
    free(errors);
    errors = NULL;
    if (profile_load(text, strlen(text), &profile, &diags) < 0) {
        struct buf out = BUF_INIT;
        diags_format(&diags, "p.yaml", text, &out);
        errors = buf_take(&out);
    }
    *ret_errors = errors;
    return profile;
}

TEST(refuses_what_it_does_not_know)
{
    static const struct {
        const char *list, *expected;
    } rows[] = {
        {"[{name: A, value: '${rank}'}]", "unknown placeholder '${rank}'"},
        {"[{name: A, value: '${index} ${self.hosts}'}]", "unknown placeholder '${self.hosts}'"},
        {"[{name: A, value: '${training.rest}'}]", "unknown placeholder '${training.rest}'"},
        {"[{name: A, value: '${training.host|json}'}]", "'${training.host|json}'"},
        {"[{name: A, value: '${index+}'}]", "unknown placeholder '${index+}'"},
        {"[{name: A, value: '${index'}]", "unknown placeholder '${index'"},
        {"[{name: A, value: '${}'}]", "unknown placeholder '${}'"},
        {"[{name: A}]", "required field 'value' is missing"},
        {"[{name: BENCHD_X, value: a}]", "names that begin with BENCHD_ are benchd's own"},
        {"[{name: A, value: a, roles: [chief]}]", "unknown value 'chief'"},
        {"[{name: A, value: a, replicas: Second}]", "unknown value 'Second'"},
        {"[{name: A, value: a, when: now}]", "unknown field 'when'"},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        _cleanup_(freep) char *text = xasprintf("name: mine\nrendezvous: %s\n", rows[i].list);
        const char *errors;
        struct profile *profile = load(text, &errors);
        if (profile != NULL || errors == NULL || strstr(errors, rows[i].expected) == NULL) {
            fail_msg("%s: expected '%s', got\n%s", rows[i].list, rows[i].expected,
                     errors == NULL ? "nothing" : errors);
        }
    }
}

/* The variables of a shipped profile as "NAME=value" lines, for one member. Owned. */
static char *variables(const char *profile, const struct rendezvous_member *member)
{
    _cleanup_(freep) char *text =
        xasprintf("apiVersion: benchd.io/v1alpha1\nkind: Benchmark\nmetadata: {name: sample}\n"
                  "spec:\n"
                  "  systems: [{name: mine, profile: %s, command: [x]}]\n"
                  "  workload: {model: m, batchSize: 1, exchange: {kind: AllReduce}}\n"
                  "  sweep: {grid: {workers: [1]}}\n"
                  "  roles: {worker: {replicas: {from: workers}}}\n",
                  profile);
    _cleanup_(spec_freep) struct spec *spec = definition_load(text, NULL);
    struct buf out = BUF_INIT;
    const struct rendezvous *r = &spec->systems.items[0].rendezvous;
    for (size_t i = 0; i < r->vars.len; i++) {
        const struct rendezvous_var *var = &r->vars.items[i];
        bool is_last = rendezvous_applies(var, member);
        for (size_t k = i + 1; k < r->vars.len; k++) {
            is_last = is_last && !(str_eq(r->vars.items[k].name, var->name) &&
                                   rendezvous_applies(&r->vars.items[k], member));
        }
        if (is_last) {
            _cleanup_(freep) char *value = rendezvous_value(var, member);
            buf_printf(&out, "%s=%s\n", var->name, value);
        }
    }
    buf_puts(&out, "");
    return out.data == NULL ? xstrdup("") : buf_take(&out);
}

TEST(shipped_profiles_say_what_frameworks_read)
{
    static const struct {
        const char *profile;
        enum role role;
        uint32_t index;
        const char *expected;
    } rows[] = {
        {"none", ROLE_WORKER, 0, ""},
        {"torchrun", ROLE_WORKER, 2,
         "MASTER_ADDR=w0.s\nMASTER_PORT=1000\nRANK=2\nLOCAL_RANK=0\nWORLD_SIZE=3\n"
         "LOCAL_WORLD_SIZE=1\nGROUP_RANK=2\nTORCHELASTIC_RUN_ID=sample-1\nPL_TRAINER_NUM_NODES=3\n"
         "PET_NNODES=3\nPET_NODE_RANK=2\nPET_NPROC_PER_NODE=1\n"
         "PET_MASTER_ADDR=w0.s\nPET_MASTER_PORT=1000\n"},
        {"torchrun", ROLE_PSERVER, 0, ""},
        {"jax", ROLE_WORKER, 1,
         "JAX_COORDINATOR_ADDRESS=w0.s:1000\nJAX_NUM_PROCESSES=3\nJAX_PROCESS_ID=1\n"},
        {"open-mpi", ROLE_WORKER, 1, ""},
        {"open-mpi", ROLE_LAUNCHER, 0,
         "OMPI_MCA_orte_default_dash_host=w0.s,w1.s,w2.s\nOMPI_MCA_orte_keep_fqdn_hostnames=1\n"
         "OMPI_MCA_plm_rsh_no_tree_spawn=1\nOMPI_MCA_hwloc_base_binding_policy=none\n"
         "PRTE_MCA_hwloc_default_binding_policy=none\nOMPI_ALLOW_RUN_AS_ROOT=1\n"
         "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1\n"},
        {"tf-config", ROLE_WORKER, 1,
         "TF_CONFIG={\"cluster\":{\"worker\":[\"w0.s:1000\",\"w1.s:1001\",\"w2.s:1002\"]},"
         "\"task\":{\"type\":\"worker\",\"index\":1}}\n"},
        {"tf-config", ROLE_TRAINER, 2,
         "TF_CONFIG={\"cluster\":{\"worker\":[\"w0.s:1000\",\"w1.s:1001\",\"w2.s:1002\"],"
         "\"ps\":[\"10.0.0.1:7164\",\"[fd00::2]:7165\"]},"
         "\"task\":{\"type\":\"worker\",\"index\":2}}\n"},
        {"tf-config", ROLE_PSERVER, 1,
         "TF_CONFIG={\"cluster\":{\"worker\":[\"w0.s:1000\",\"w1.s:1001\",\"w2.s:1002\"],"
         "\"ps\":[\"10.0.0.1:7164\",\"[fd00::2]:7165\"]},"
         "\"task\":{\"type\":\"ps\",\"index\":1}}\n"},
        {"tf-config-chief", ROLE_TRAINER, 0,
         "TF_CONFIG={\"cluster\":{\"chief\":[\"w0.s:1000\"],\"worker\":[\"w1.s:1001\","
         "\"w2.s:1002\"],\"ps\":[\"10.0.0.1:7164\",\"[fd00::2]:7165\"]},"
         "\"task\":{\"type\":\"chief\",\"index\":0}}\n"},
        {"tf-config-chief", ROLE_TRAINER, 2,
         "TF_CONFIG={\"cluster\":{\"chief\":[\"w0.s:1000\"],\"worker\":[\"w1.s:1001\","
         "\"w2.s:1002\"],\"ps\":[\"10.0.0.1:7164\",\"[fd00::2]:7165\"]},"
         "\"task\":{\"type\":\"worker\",\"index\":1}}\n"},
        {"paddle-fleet", ROLE_WORKER, 1,
         "TRAINING_ROLE=TRAINER\nPADDLE_TRAINERS_NUM=3\n"
         "PADDLE_TRAINER_ENDPOINTS=w0.s:1000,w1.s:1001,w2.s:1002\nPADDLE_TRAINER_ID=1\n"
         "PADDLE_RANK_IN_NODE=0\nPADDLE_CURRENT_ENDPOINT=w1.s:1001\nPADDLE_PORT=7164\n"
         "POD_IP=w1.s\n"},
        {"paddle-fleet", ROLE_PSERVER, 0,
         "TRAINING_ROLE=PSERVER\nPADDLE_TRAINERS_NUM=3\n"
         "PADDLE_TRAINER_ENDPOINTS=w0.s:1000,w1.s:1001,w2.s:1002\n"
         "PADDLE_CURRENT_ENDPOINT=10.0.0.1:7164\n"
         "PADDLE_PSERVERS_IP_PORT_LIST=10.0.0.1:7164,[fd00::2]:7165\nPADDLE_PORT=7164\n"
         "POD_IP=10.0.0.1\n"},
        {"paddle-fluid", ROLE_TRAINER, 1,
         "TRAINING_ROLE=TRAINER\nTRAINERS=3\nPSERVERS=2\nPOD_IP=w1.s\n"
         "PADDLE_INIT_PSERVERS=10.0.0.1,fd00::2\nPADDLE_INIT_PORT=7164\n"
         "PADDLE_INIT_NUM_GRADIENT_SERVERS=3\nPADDLE_INIT_TRAINER_COUNT=1\n"
         "PADDLE_INIT_TRAINER_ID=1\nPADDLE_TRAINING_ROLE=TRAINER\n"
         "PADDLE_PSERVER_IPS=10.0.0.1,fd00::2\nPADDLE_PSERVER_PORT=7164\nPADDLE_TRAINERS=3\n"
         "PADDLE_TRAINER_IPS=w0.s,w1.s,w2.s\nPADDLE_TRAINER_ID=1\nPADDLE_CURRENT_IP=w1.s\n"},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        const struct rendezvous_member member = member_of(rows[i].role, rows[i].index);
        _cleanup_(freep) char *got = variables(rows[i].profile, &member);
        print_message("# %s, %s/%u\n", rows[i].profile, role_to_string(rows[i].role),
                      rows[i].index);
        assert_string_equal(got, rows[i].expected);
    }
}

/* Also the JSON that they make. */
TEST(shipped_profiles_are_the_files)
{
    size_t n = 0;
    for (; n < shipped_profiles_count; n++) {
        const struct embedded *shipped = &shipped_profiles[n];
        const char *errors;
        struct profile *profile = load(shipped->text, &errors);
        if (profile == NULL) {
            fail_msg("%s: %s", shipped->name, errors);
        }
        assert_string_equal(profile->name, shipped->name);
        _cleanup_(freep) char *path =
            xasprintf("benchmarks/profiles/%s/profile.yaml", shipped->name);
        _cleanup_(freep) char *text = golden_read(path);
        assert_string_equal(text, shipped->text);
        profile_free(profile);
    }
    assert_int_equal(n, 13);
    assert_null(embedded_find(shipped_profiles, shipped_profiles_count, "pytorch"));
}

/* Each folder of benchmarks/profiles has its line, as its profile.yaml has it. */
TEST(every_profile_says_what_it_is)
{
    for (size_t i = 0; i < profile_descriptions_count; i++) {
        const struct embedded *row = &profile_descriptions[i];
        _cleanup_(freep) char *path = xasprintf("benchmarks/profiles/%s/profile.yaml", row->name);
        _cleanup_(freep) char *text = golden_read(path);
        const char *errors;
        struct profile *profile = load(text, &errors);
        if (profile == NULL) {
            fail_msg("%s: %s", row->name, errors);
        }
        assert_string_equal(profile->description, row->text);
        const struct node *family = tree_get(profile->root, "family");
        const bool has_family =
            strcmp(row->name, "none") != 0 && tree_get(profile->root, "job") == NULL;
        assert_int_equal(family != NULL, has_family);
        for (size_t k = 0; family != NULL && k < family->n_children; k++) {
            const char *name = family->children[k]->s;
            if (!profile_has_family(row->name, name)) {
                fail_msg("profile_descriptions.py did not read family %s of %s", name, row->name);
            }
        }
        assert_false(profile_has_family(row->name, "Caffe"));
        profile_free(profile);
    }
    assert_int_equal(profile_descriptions_count, 19);
}

/* A run must not need the profile again: the definition that is stored has the variables. */
TEST(a_definition_takes_the_profiles_variables_over)
{
    static const char text[] =
        "apiVersion: benchd.io/v1alpha1\nkind: Benchmark\nmetadata: {name: sample}\n"
        "spec:\n"
        "  systems:\n"
        "  - {name: a, profile: mine, command: [x]}\n"
        "  - {name: b, profile: mine, command: [x], rendezvous: [{name: OWN, value: '1'}]}\n"
        "  workload: {model: m, batchSize: 1, exchange: {kind: AllReduce}}\n"
        "  sweep: {grid: {workers: [1]}}\n"
        "  roles: {worker: {replicas: {from: workers}}}\n";
    const char *errors;
    struct profiles profiles = {0};
    *vec_push(&profiles.list) =
        load("name: mine\nrendezvous: [{name: ME, value: '${index}'}]\n", &errors);
    struct spec_overrides overrides = {.profiles = &profiles};
    struct spec *spec = definition_load(text, &overrides);
    _cleanup_(freep) char *frozen = json_dumps(spec->definition, 0);
    spec_free(spec);
    profiles_done(&profiles);
    spec = definition_load(frozen, NULL);
    assert_string_equal(spec->systems.items[0].rendezvous.vars.items[0].name, "ME");
    assert_string_equal(spec->systems.items[1].rendezvous.vars.items[0].name, "OWN");
    assert_int_equal(spec->systems.items[1].rendezvous.vars.len, 1);
    spec_free(spec);
}

TEST(knows_what_it_needs)
{
    static const struct {
        const char *value;
        enum role role;
        int skip;
        bool needs;
        enum role of;
    } rows[] = {
        {"${index} ${training} ${port}", ROLE_WORKER, -1, false, 0},
        {"${training.host}", ROLE_WORKER, -1, true, ROLE_WORKER},
        {"${self.host}", ROLE_PSERVER, -1, true, ROLE_PSERVER},
        {"${pserver.hosts}", ROLE_TRAINER, ROLE_PSERVER, false, 0},
        {"${pserver.hosts} ${training.hosts}", ROLE_TRAINER, ROLE_PSERVER, true, ROLE_TRAINER},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        const struct rendezvous_var var = {.value = (char *)rows[i].value};
        const struct rendezvous_member member = member_of(rows[i].role, 0);
        enum role of = 0;
        print_message("# '%s'\n", rows[i].value);
        assert_int_equal(rendezvous_needs_addresses(&var, &member, rows[i].skip, &of),
                         rows[i].needs);
        assert_int_equal(of, rows[i].of);
    }
}
