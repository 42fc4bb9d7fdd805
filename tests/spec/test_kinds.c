/* Whatever stands in a definition in the place of a value of another kind is an error with a place,
 * or is as good: nothing reads a list as a map, or a text that is none. */
#include "tests/test.h"
#include "small_definition.h"

#include <jansson.h>

#include "doc/tree.h"

static const char *const values[] = {"[]",       "{}", "[1, 2]", "[[]]", "[{}]", "{\"a\": 1}",
                                     "\"text\"", "-1", "1.5",    "true", "null"};
static const char *const sets[] = {"trainers=1,2"};
static const struct spec_overrides ways[] = {
    {0},
    {.local = true},
    {.local = true, .systems = "w", .sets = sets, .n_sets = 1},
};

/* As every program writes a definition that it has changed. */
static json_t *read_definition(const char *text)
{
    static const struct tree_limits limits = TREE_LIMITS_DEFAULT;
    struct diags diags = {0};
    struct node *root = NULL;
    assert_int_equal(tree_parse(text, strlen(text), &limits, &root, &diags), 0);
    json_t *json = tree_to_json(root);
    tree_free(root);
    assert_non_null(json);
    return json;
}

/* A refusal must say something: definition_errors checks it. Returns whether any way refused it. */
static size_t load(const json_t *definition)
{
    _cleanup_(freep) char *text = json_dumps(definition, 0);
    size_t n_refused = 0;
    for (size_t i = 0; i < N_ROWS(ways); i++) {
        _cleanup_(tree_freep) struct node *fields = option_fields(3, 2);
        struct spec_overrides how = ways[i];
        how.fields = how.n_sets > 0 ? fields : NULL;
        _cleanup_(freep) char *errors = definition_errors(text, &how);
        n_refused += errors[0] != '\0';
    }
    return n_refused;
}

static json_t *get(const json_t *parent, const char *key, size_t at)
{
    return key != NULL ? json_object_get(parent, key) : json_array_get(parent, at);
}

static void put(json_t *parent, const char *key, size_t at, json_t *value)
{
    assert_int_equal(
        key != NULL ? json_object_set(parent, key, value) : json_array_set(parent, at, value), 0);
}

static size_t try_below(json_t *root, json_t *parent);

/* Each value in the place of one, and then of each below it. Returns how often a
 * definition was refused. */
static size_t try_at(json_t *root, json_t *parent, const char *key, size_t at)
{
    _cleanup_(json_decrefp) json_t *own = json_incref(get(parent, key, at));
    size_t n_refused = 0;
    for (size_t i = 0; i < N_ROWS(values); i += IS_SANITIZED ? 3 : 1) {
        _cleanup_(json_decrefp) json_t *other = json_loads(values[i], JSON_DECODE_ANY, NULL);
        put(parent, key, at, other);
        n_refused += load(root);
    }
    put(parent, key, at, own);
    n_refused += try_below(root, own);
    return n_refused;
}

static size_t try_below(json_t *root, json_t *parent)
{
    size_t n_refused = 0;
    VEC(char *) keys = {0}; /* of its own: the map changes meanwhile */
    const char *key;
    json_t *child;
    json_object_foreach (parent, key, child) {
        *vec_push(&keys) = xstrdup(key);
    }
    for (size_t i = 0; i < keys.len; i++) {
        n_refused += try_at(root, parent, keys.items[i], 0);
        free(keys.items[i]);
    }
    vec_done(&keys);
    for (size_t i = 0; i < json_array_size(parent); i++) {
        n_refused += try_at(root, parent, NULL, i);
    }
    return n_refused;
}

static void try_all(const char *text, size_t least)
{
    _cleanup_(json_decrefp) json_t *root = read_definition(text);
    _cleanup_(freep) char *errors = definition_errors(text, &ways[0]);
    assert_string_equal(errors, "");
    const size_t n_refused = try_below(root, root);
    if (!IS_SANITIZED && n_refused < least) {
        fail_msg("expected at least %zu refusals, got %zu, of\n%s", least, n_refused, text);
    }
}

static const char head[] = "apiVersion: benchd.io/v1alpha1\n"
                           "kind: Benchmark\n"
                           "metadata: {name: s}\n"
                           "spec:\n"
                           "  systems: [{name: w, profile: benchworker}]\n"
                           "  workload: {model: vgg16-fluid-fc512, batchSize: 8}\n"
                           "  roles: {pserver: {replicas: {from: pservers}}, trainer: {replicas: "
                           "{from: trainers}}}\n";

TEST(of_a_grid)
{
    _cleanup_(freep) char *text = xasprintf(
        "%s  sweep: {grid: {pservers: [1, 2], trainers: [1, 2]}, exclude: [{trainers: 2}]}\n"
        "  local: {sweep: {grid: {trainers: [1, 2, 3]}}, measure: {steps: 2}, repeats: {min: 1}}\n"
        "  thresholds: [{metric: efficiency, where: {trainers: 1}, min: \"0.5\"}]\n",
        head);
    try_all(text, 900);
}

TEST(of_a_list_of_points)
{
    _cleanup_(freep) char *text =
        xasprintf("%s  sweep: {points: [{pservers: 1, trainers: 2}, {pservers: 2, trainers: 2}]}\n"
                  "  local: {sweep: {points: [{pservers: 1, trainers: 1}]}}\n"
                  "  baseline: {kind: Point, where: {pservers: 1}}\n",
                  head);
    try_all(text, 900);
}

TEST(of_points)
{
    _cleanup_(freep) char *text =
        xasprintf("%s  sweep: {points: [{pservers: 1, trainers: 1}, {pservers: 2, trainers: 2}], "
                  "exclude: [{trainers: 2}]}\n"
                  "  parameters: [{name: cpu, targets: [{roles: [trainer], env: [CPU]}]}]\n"
                  "  runPolicy: {backoffLimit: 2}\n",
                  head);
    try_all(text, 900);
}

/* Two systems, one of them somebody else's, with all that such a one may say. */
TEST(of_systems)
{
    static const char text[] =
        "apiVersion: benchd.io/v1alpha1\n"
        "kind: Benchmark\n"
        "metadata: {name: s, labels: {a: b}}\n"
        "spec:\n"
        "  systems:\n"
        "  - {name: w, profile: benchworker, exchange: {kind: AllReduce}}\n"
        "  - name: other\n"
        "    profile: none\n"
        "    image: i\n"
        "    command: [a]\n"
        "    args: [b]\n"
        "    env: [{name: X, value: v}]\n"
        "    roles: {worker: {args: [c], env: [{name: Z, value: z}]}}\n"
        "    patches: [{roles: [worker], path: /spec/nodeSelector, value: {gpu: p100}}]\n"
        "    rendezvous: [{name: MASTER, value: a}]\n"
        "    log: {lines: [{kind: Step, pattern: '(?<rate>) +frames/s'}]}\n"
        "  workload: {model: vgg16-fluid-fc512, batchSize: 8, exchange: {kind: AllReduce}}\n"
        "  sweep: {grid: {workers: [1, 2]}}\n"
        "  roles: {worker: {replicas: {from: workers}, template: {spec: {containers: [{name: m, "
        "env: [{name: V, value: v}], resources: {limits: {cpu: 1}}}]}}}}\n"
        "  repeats: {min: 3, max: 4, stopWhen: {relativeHalfWidth: \"0.02\"}}\n";
    try_all(text, 1500);
}
