/* How large the pods of large gangs are. */
#include "tests/test.h"
#include "pod/body.h"

#include "small_definition.h"
#include "body_fixture.h"

enum kind { NATIVE, OWN_COMMAND, OWN_PROGRAM };

/* A run of n replicas that train and 20 servers, with long names. */
static struct run_def *make_large_run(enum kind kind, uint32_t n)
{
    static const char *const systems[] = {
        [NATIVE] = "{name: s, profile: benchworker}",
        [OWN_COMMAND] = "{name: s, profile: benchworker, command: [a]}",
        [OWN_PROGRAM] = "{name: s, profile: none, image: a, command: [a]}"};
    _cleanup_(freep) char *text = xasprintf(
        "apiVersion: benchd.io/v1alpha1\nkind: Benchmark\nmetadata: {name: sample}\n"
        "spec:\n  systems: [%s]\n"
        "  workload: {model: vgg16-fluid-fc512, dataset: {kind: Synthetic}, batchSize: 16, "
        "exchange: {kind: PServer, mode: Sync, wire: FP32}}\n"
        "  baseline: {kind: Point, where: {pservers: 20}}\n"
        "  sweep: {grid: {pservers: [20], trainers: [%u]}}\n"
        "  roles:\n    pserver: {replicas: {from: pservers}, template: &t {spec: {containers: "
        "[{name: "
        "main}]}}}\n    trainer: {replicas: {from: trainers}, template: *t}\n",
        systems[kind], n);
    struct spec *spec = definition_load(text, NULL);
    struct run_def_params params = {.name = "a-run-with-a-long-name-of-37-letters", .uid = UID};
    return run_def_of(spec, &params);
}

static char **make_addresses(const struct run_def *def, enum role role, uint32_t n)
{
    char **list = xnew_array(char *, n + 1);
    for (uint32_t i = 0; i < n; i++) {
        list[i] = pod_dns_address(def, &(struct replica_id){{0, 0, 0}, role, i});
    }
    return list;
}

static void free_addresses(char **list)
{
    for (char **it = list; *it != NULL; it++) {
        free(*it);
    }
    free(list);
}

static size_t longest_variable(const json_t *pod)
{
    const json_t *containers = json_object_get(json_object_get(pod, "spec"), "containers");
    const json_t *list = json_object_get(json_array_get(containers, 0), "env");
    size_t longest = 0, i;
    json_t *item;
    json_array_foreach (list, i, item) {
        const size_t len = json_string_length(json_object_get(item, "name")) + 1 +
                           json_string_length(json_object_get(item, "value"));
        longest = len > longest ? len : longest;
    }
    return longest;
}

/* All trainers' pods as they are posted; ret_longest: of all variables. */
static size_t bytes_of_gang(enum kind kind, uint32_t n, size_t *ret_longest)
{
    _cleanup_(run_def_freep) struct run_def *def = make_large_run(kind, n);
    char **servers = make_addresses(def, ROLE_PSERVER, 20);
    char **trainers = make_addresses(def, ROLE_TRAINER, n);
    const struct gang_addresses addresses = {
        .of_role = {[ROLE_PSERVER] = servers, [ROLE_TRAINER] = trainers}, .is_pods = true};
    size_t bytes = 0;
    json_t *pod = NULL;
    for (uint32_t i = 0; i < n; i++) {
        const struct replica_id id = {{0, 0, 0}, ROLE_TRAINER, i};
        struct err err = {0};
        if (pod == NULL && pod_body(def, &id, &addresses, POD_BY_DNS, &pod, &err) < 0) {
            fail_msg("%s", err.msg);
        }
        pod_body_renumber(def, &id, POD_BY_DNS, pod);
        bytes += json_dumpb(pod, NULL, 0, JSON_COMPACT);
        if (!pod_body_is_alike(def, 0)) {
            json_decref(pod);
            pod = NULL;
        }
        *ret_longest = i == 0 && pod != NULL ? longest_variable(pod) : *ret_longest;
    }
    json_decref(pod);
    free_addresses(servers);
    free_addresses(trainers);
    return bytes;
}

/* Each replica costs the same, in a gang of a hundred and of thousands. */
TEST(bodies_are_linear_in_replicas)
{
    static const uint32_t sizes[] = {100, 400, 2200};
    size_t longest = 0;
    const double each = (double)bytes_of_gang(NATIVE, sizes[0], &longest) / sizes[0];
    for (size_t i = 0; i < N_ROWS(sizes); i++) {
        const size_t bytes = bytes_of_gang(NATIVE, sizes[i], &longest);
        print_message("# %u replicas: %zu bytes, longest variable %zu\n", sizes[i], bytes, longest);
        assert_true((double)bytes / sizes[i] < 1.02 * each);
        assert_true(longest < 200);
    }
}

/* Another program reads lists; one that is too long for it becomes a pattern. */
TEST(lists_of_other_programs_are_bounded)
{
    static const uint32_t sizes[] = {30, 50, 100, 2200};
    for (size_t i = 0; i < N_ROWS(sizes); i++) {
        size_t longest = 0;
        for (enum kind kind = OWN_COMMAND; kind <= OWN_PROGRAM; kind++) {
            const size_t bytes = bytes_of_gang(kind, sizes[i], &longest);
            print_message("# %u replicas: %zu bytes, longest variable %zu\n", sizes[i], bytes,
                          longest);
            assert_true(longest <= ADDRESS_LIST_MAX_BYTES + 32);
            assert_true(bytes / sizes[i] < ADDRESS_LIST_MAX_BYTES + 8192);
            assert_true((longest > 2000) == (sizes[i] <= 50)); /* a list, or a pattern */
        }
    }
}
