/* What `benchctl explain` explains is what the readers of a definition know: no
 * field more, none less. */
#include "tests/test.h"
#include "ctl/definition/crd_schema.h"

#include <errno.h>

#include "base/str.h"
#include "base/vec.h"
#include "doc/reader.h"
#include "spec/spec_load.h"

/* Every map that a definition can have, in three definitions, because roles exclude
 * each other, and systems. */
static const char servers[] =
    "apiVersion: benchd.io/v1alpha1\n"
    "kind: Benchmark\n"
    "metadata: {name: all}\n"
    "spec:\n"
    "  systems:\n"
    "  - name: a\n"
    "    profile: none\n"
    "    image: i\n"
    "    command: [c]\n"
    "    env: [{name: A, value: b}]\n"
    "    roles: {pserver: {command: [s], env: [{name: A, value: b}]}, trainer: {args: [x], env: "
    "[{name: A, value: b}]}}\n"
    "    rendezvous: [{name: A, value: '${index}'}]\n"
    "    patches: [{path: /spec/nodeSelector/x, value: z}]\n"
    "    log: {lines: [{kind: Step, pattern: 'x (?<rate>)', skip: {lines: 1}}]}\n"
    "  workload: {model: m, batchSize: 1, dataset: {kind: Synthetic}, exchange: {kind: PServer}, "
    "flops: {perSample: 1}}\n"
    "  sweep: {grid: {pservers: [1], trainers: [1, 2]}, exclude: [{trainers: 2}], require: "
    "[trainers < 9]}\n"
    "  parameters: [{name: p, targets: [{roles: [trainer], env: [P]}]}]\n"
    "  baseline: {kind: Point, where: {trainers: 1}}\n"
    "  roles:\n"
    "    pserver: {replicas: {from: pservers}, devices: {value: 1}, template: {metadata: {labels: "
    "{a: b}}, spec: "
    "{containers: [{name: c}]}}}\n"
    "    trainer: {replicas: {from: trainers}, devices: {value: 1}, template: {metadata: {labels: "
    "{a: b}}, spec: "
    "{containers: [{name: c}]}}}\n"
    "  measure: {steps: 1, timeToAccuracy: {accuracy: 0.5}, accuracyAfterTime: {seconds: 1}}\n"
    "  repeats: {min: 3, max: 5, stopWhen: {relativeHalfWidth: 0.1}}\n"
    "  thresholds: [{metric: throughput, min: 1}]\n"
    "  metrics: [{name: m, query: 'x[$(WINDOW)]'}]\n"
    "  failurePolicy: {maxFailedTrials: 1}\n"
    "  runPolicy: {backoffLimit: 1}\n"
    "  local: {workload: {batchSize: 2, dataset: {kind: Synthetic}, exchange: {kind: PServer}},\n"
    "    sweep: {grid: {trainers: [1, 2]}}, measure: {steps: 1}, repeats: {min: 3}}\n";
static const char workers[] =
    "apiVersion: benchd.io/v1alpha1\n"
    "kind: Benchmark\n"
    "metadata: {name: all}\n"
    "spec:\n"
    "  systems:\n"
    "  - name: a\n"
    "    profile: none\n"
    "    image: i\n"
    "    command: [c]\n"
    "    roles:\n"
    "      worker: {args: [x], env: [{name: A, value: b}]}\n"
    "      launcher: {command: [x], env: [{name: A, value: b}]}\n"
    "    exchange: {kind: AllReduce, mode: Sync, wire: Fp32, serverThreads: 1, transport: Auto}\n"
    "  workload: {model: m, batchSize: 1, exchange: {kind: AllReduce}}\n"
    "  sweep: {grid: {workers: [1], threads: [1]}}\n"
    "  roles: {worker: {replicas: {from: workers}, devices: {from: threads}, template: {metadata: "
    "{labels: {a: b}}, spec: {containers: [{name: c}]}}}, launcher: "
    "{template: {spec: {containers: [{name: c}]}}}}\n";

#define PODS "{spec: {containers: [{name: c}]}}"
static const char jobs[] =
    "apiVersion: benchd.io/v1alpha1\n"
    "kind: Benchmark\n"
    "metadata: {name: all}\n"
    "spec:\n"
    "  systems:\n"
    "  - name: a\n"
    "    profile: none\n"
    "    log: torch-ddp\n"
    "    job:\n"
    "      template: {apiVersion: jobset.x-k8s.io/v1, kind: JobSet, spec: {w: " PODS ", l: " PODS
    ", p: " PODS ", t: " PODS "}}\n"
    "      set: [{path: /spec/n, from: workers}, {path: /spec/c, object: c}]\n"
    "      pods: {worker: {template: /spec/w, add: {a: b}, index: i}, launcher: {template: "
    "/spec/l}, pserver: {template: /spec/p}, trainer: {template: /spec/t}}\n"
    "      succeeded: '{.status.phase}=A'\n"
    "      failed: '{.status.phase}=B'\n"
    "      objects: [{apiVersion: v1, kind: ConfigMap, metadata: {name: c}}]\n"
    "  workload: {model: m, batchSize: 1, exchange: {kind: AllReduce}}\n"
    "  sweep: {grid: {workers: [1]}}\n"
    "  roles: {worker: {replicas: {from: workers}}}\n";

static const char emulated[] =
    "apiVersion: benchd.io/v1alpha1\n"
    "kind: Benchmark\n"
    "metadata: {name: all}\n"
    "spec:\n"
    "  systems: [{name: a, profile: benchworker}]\n"
    "  workload: {model: vgg16-fluid-fc512, batchSize: 1, exchange: {kind: None}, compute: "
    "Emulated, link: {rate: 1gbit},\n"
    "    trace: {layers: [{name: fc1, forwardMicroseconds: 1, backwardMicroseconds: 1}]}}\n"
    "  sweep: {grid: {trainers: [1]}}\n"
    "  roles: {trainer: {replicas: {from: trainers}, template: {spec: {containers: [{name: "
    "c}]}}}}\n";

typedef void (*visit_fn)(void *ctx, const char *path, const struct schema_field *field);

/* Visits every field below `field`; no schema of ours contains itself. */
static void visit(const struct schema *s, const struct schema_field *field, const char *path,
                  visit_fn each, void *ctx)
{
    struct schema_field child;
    for (size_t i = 0; schema_child(s, field, i, &child); i++) {
        _cleanup_(freep) char *place =
            xasprintf("%s%s%s", path, path[0] == '\0' ? "" : ".", child.name);
        each(ctx, place, &child);
        visit(s, &child, place, each, ctx);
    }
}

static void visit_kind(const struct schema *s, const char *kind, visit_fn each, void *ctx)
{
    struct schema_field root;
    struct err err = {0};
    _cleanup_(freep) char *wrong = NULL;
    assert_int_equal(schema_find(s, kind, &root, &wrong, &err), 0);
    visit(s, &root, "", each, ctx);
}

struct seen {
    const struct schema *schema;
    VEC(char *) paths; /* of the maps that were read, without the indexes of lists */
    unsigned n_bad;
};

static char *without_indexes(const char *path)
{
    struct buf out = BUF_INIT;
    for (const char *c = path; *c != '\0'; c++) {
        const char *end = *c == '[' ? strchr(c, ']') : NULL;
        if (end == NULL) {
            buf_putc(&out, *c);
        } else {
            c = end;
        }
    }
    return buf_take(&out);
}

static bool knows(const struct field *fields, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++) {
        if (str_eq(fields[i].name, name)) {
            return true;
        }
    }
    return false;
}

static void on_map(void *ctx, const char *place, const struct field *fields, size_t n)
{
    struct seen *seen = ctx;
    char *path = without_indexes(place);
    struct schema_field field, child;
    char *wrong = NULL;
    struct err err = {0};
    *vec_push(&seen->paths) = path;
    if (str_eq(path, "metadata")) {
        return; /* that of Kubernetes */
    }
    if (schema_find(seen->schema, path, &field, &wrong, &err) < 0) {
        print_message("# '%s' is read and not explained: %s\n", path, err.msg);
        seen->n_bad++;
        free(wrong);
        return;
    }
    for (size_t i = 0; schema_child(seen->schema, &field, i, &child); i++) {
        if (!knows(fields, n, child.name)) {
            print_message("# '%s.%s' is explained and not read\n", path, child.name);
            seen->n_bad++;
        }
    }
    for (size_t i = 0; i < n; i++) {
        bool is_explained = str_eq(fields[i].name, "status");
        for (size_t k = 0; schema_child(seen->schema, &field, k, &child); k++) {
            const bool is_it = str_eq(child.name, fields[i].name);
            is_explained |= is_it;
            /* Without apiVersion, kind and metadata there is no object that
             * a schema could check. */
            const bool is_required = fields[i].is_required;
            const bool depends =
                path[0] == '\0' || str_eq(path, "spec.roles"); /* on the exchange */
            if (is_it && child.is_required != is_required && !depends) {
                print_message("# '%s.%s' is explained as required: %d\n", path, child.name,
                              child.is_required);
                seen->n_bad++;
            }
        }
        if (!is_explained) {
            print_message("# '%s.%s' is read and not explained\n", path, fields[i].name);
            seen->n_bad++;
        }
    }
}

static void load(struct seen *seen, const char *text, bool is_local)
{
    _cleanup_(diags_done) struct diags diags = {.on_map = on_map, .on_map_ctx = seen};
    struct spec *spec = NULL;
    const struct spec_overrides overrides = {.local = is_local};
    if (spec_load(text, strlen(text), &overrides, &spec, &diags) < 0) {
        _cleanup_(buf_done) struct buf out = BUF_INIT;
        diags_format(&diags, "definition", text, &out);
        print_message("# %s\n", buf_cstr(&out));
        fail();
    }
    spec_free(spec);
}

/* What is local is merged into the definition before that is read: it has the
 * fields of the same place. */
static void is_as_in_spec(struct seen *seen, const char *path, const struct schema_field *local)
{
    struct schema_field spec, a, b;
    _cleanup_(freep) char *wrong = NULL;
    struct err err = {0};
    _cleanup_(freep) char *other = xasprintf("spec.%s", path + strlen("spec.local."));
    bool is_same = schema_find(seen->schema, other, &spec, &wrong, &err) == 0;
    for (size_t i = 0; is_same; i++) {
        const bool has_a = schema_child(seen->schema, local, i, &a);
        const bool has_b = schema_child(seen->schema, &spec, i, &b);
        if (!has_a && !has_b) {
            break;
        }
        is_same = has_a && has_b && str_eq(a.name, b.name);
    }
    if (!is_same) {
        print_message("# '%s' is not as '%s'\n", path, other);
        seen->n_bad++;
    }
}

static void was_read(void *ctx, const char *path, const struct schema_field *field)
{
    struct seen *seen = ctx;
    struct schema_field child;
    if (str_eq(path, "metadata") || !schema_child(seen->schema, field, 0, &child)) {
        return;
    }
    if (str_has_prefix(path, "spec.local.")) {
        is_as_in_spec(seen, path, field);
        return;
    }
    /* spec_merge.c, template_rules.c and job_kinds.c read these, without a table of fields. */
    static const char *const objects[] = {"spec.local", "spec.systems.job.template",
                                          "spec.systems.job.objects", NULL};
    if (str_is_one_of(path, objects) || str_has_suffix(path, ".template.metadata")) {
        return;
    }
    vec_each (char *, p, &seen->paths) {
        if (str_eq(*p, path)) {
            return;
        }
    }
    print_message("# '%s' is explained and was not read\n", path);
    seen->n_bad++;
}

TEST(explains_what_is_read)
{
    _cleanup_(schema_done) struct schema schema;
    struct err err = {0};
    assert_int_equal(schema_open(&schema, &err), 0);
    struct seen seen = {.schema = &schema};
    load(&seen, servers, false);
    load(&seen, servers, true);
    load(&seen, workers, false);
    load(&seen, emulated, false);
    load(&seen, jobs, false);
    visit_kind(&schema, "Benchmark", was_read, &seen);
    assert_int_equal(seen.n_bad, 0);
    vec_each (char *, p, &seen.paths) {
        free(*p);
    }
    vec_done(&seen.paths);
}

/* A choice or a number that may be left out says what it then is. */
static void says_the_default(void *ctx, const char *path, const struct schema_field *field)
{
    struct seen *seen = ctx;
    _cleanup_(buf_done) struct buf bounds = BUF_INIT;
    schema_put_bounds(field, &bounds);
    const char *text = schema_description(seen->schema, field);
    static const char *const words[] = {"efault", "Absent", "xactly one", "equired unless"};
    bool is_said = field->is_required || bounds.len == 0 || !str_has_prefix(path, "spec.");
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        is_said |= strstr(text, words[i]) != NULL;
    }
    if (!is_said) {
        print_message("# '%s': no default: %s\n", path, text);
        seen->n_bad++;
    }
}

TEST(defaults_are_said)
{
    _cleanup_(schema_done) struct schema schema;
    struct err err = {0};
    assert_int_equal(schema_open(&schema, &err), 0);
    struct seen seen = {.schema = &schema};
    visit_kind(&schema, "Benchmark", says_the_default, &seen);
    assert_int_equal(seen.n_bad, 0);
}

static void has_a_description(void *ctx, const char *path, const struct schema_field *field)
{
    struct seen *seen = ctx;
    const bool is_ours = str_has_prefix(path, "spec") || str_has_prefix(path, "status");
    if (is_ours && schema_description(seen->schema, field)[0] == '\0') {
        print_message("# %s: '%s' has no description\n", field->kind, path);
        seen->n_bad++;
    }
}

/* kubectl explain prints the same schema. */
TEST(every_field_is_described)
{
    _cleanup_(schema_done) struct schema schema;
    struct err err = {0};
    assert_int_equal(schema_open(&schema, &err), 0);
    struct seen seen = {.schema = &schema};
    visit_kind(&schema, "Benchmark", has_a_description, &seen);
    visit_kind(&schema, "BenchmarkRun", has_a_description, &seen);
    assert_int_equal(seen.n_bad, 0);
}

TEST(finds_fields)
{
    static const struct {
        const char *path, *kind, *type, *bounds;
        bool is_required;
    } rows[] = {
        {"", "Benchmark", "object", "", false},
        {"bm", "Benchmark", "object", "", false},
        {"spec.systems", "Benchmark", "[]object", "", true},
        {"spec.systems[3].name", "Benchmark", "string", "", true},
        {"benchmark.spec.systems.log.lines.kind", "Benchmark", "string",
         "one of Summary, Epoch, Step, Info", true},
        {"spec.workload.batchSize", "Benchmark", "integer", "1 to 2147483648", false},
        {"spec.sweep.grid", "Benchmark", "map[string][]integer or string", "", false},
        {"spec.systems.log", "Benchmark", "string or object", "", false},
        {"spec.systems.patches.value", "Benchmark", "any", "", true},
        {"spec.systems.rendezvous.with", "Benchmark", "[]string",
         "one of pserver, trainer, worker, launcher", false},
        {"bmr.spec.definition.systems.name", "BenchmarkRun", "string", "", true},
        {"benchmarkrun.status.failed", "BenchmarkRun", "integer", "0 or more", false},
    };
    _cleanup_(schema_done) struct schema schema;
    struct err err = {0};
    assert_int_equal(schema_open(&schema, &err), 0);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct schema_field field;
        char *wrong = NULL;
        assert_int_equal(schema_find(&schema, rows[i].path, &field, &wrong, &err), 0);
        _cleanup_(buf_done) struct buf type = BUF_INIT, bounds = BUF_INIT;
        schema_put_type(&field, &type);
        schema_put_bounds(&field, &bounds);
        if (!str_eq(field.kind, rows[i].kind) || !str_eq(buf_cstr(&type), rows[i].type) ||
            !str_eq(buf_cstr(&bounds), rows[i].bounds) ||
            field.is_required != rows[i].is_required) {
            fail_msg("'%s': %s <%s> '%s' required %d", rows[i].path, field.kind, buf_cstr(&type),
                     buf_cstr(&bounds), field.is_required);
        }
    }
    struct schema_field at;
    _cleanup_(freep) char *wrong = NULL;
    assert_int_equal(schema_find(&schema, "spec.systems.nam.x", &at, &wrong, &err), -ENOENT);
    assert_string_equal(wrong, "nam");
    assert_string_equal(at.name, "systems");
}
