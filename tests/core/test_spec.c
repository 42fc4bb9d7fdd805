#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "definition.h"

#include <errno.h>
#include <string.h>

#include "base/mem.h"
#include "core/sweep.h"

#define N_ROWS(a) (sizeof(a) / sizeof((a)[0]))

static void assert_axis(const struct spec *spec, size_t i, const char *expected)
{
    struct buf text = BUF_INIT;
    assert_true(i < spec->sweep.axes.len);
    buf_printf(&text, "%s:", spec->sweep.axes.items[i].name);
    vec_each (const struct value, v, &spec->sweep.axes.items[i].values) {
        buf_puts(&text, v->is_int ? " " : " s");
        value_format(v, &text);
    }
    assert_string_equal(buf_cstr(&text), expected);
    buf_done(&text);
}

static void reads_every_field(void **state)
{
    (void)state;
    struct spec *s = definition_load(definition_text, NULL);
    assert_string_equal(s->name, "sample");
    assert_string_equal(s->description, "");
    assert_int_equal(s->systems.len, 1);
    assert_string_equal(s->systems.items[0].profile, "benchworker");
    assert_string_equal(s->workload.model, "vgg16-fluid-fc512");
    assert_int_equal(s->workload.dataset, DATASET_SYNTHETIC);
    assert_int_equal(s->workload.batch_size, 64);
    assert_int_equal(s->workload.exchange, EXCHANGE_PSERVER);
    assert_int_equal(s->sweep.kind, SWEEP_GRID);
    assert_axis(s, 0, "batch_size: 16");
    assert_axis(s, 1, "pservers: 1 2");
    assert_axis(s, 2, "trainers: 1 2 4");
    assert_int_equal(s->parameters.len, 1);
    assert_true(s->parameters.items[0].targets.items[0].roles[ROLE_PSERVER]);
    assert_false(s->parameters.items[0].targets.items[0].roles[ROLE_WORKER]);
    assert_string_equal(s->roles[ROLE_TRAINER].replicas.from, "trainers");
    assert_false(s->roles[ROLE_WORKER].present);
    assert_int_equal(s->warmup_steps, 1);
    assert_int_equal(s->steps, 5);
    assert_int_equal(s->repeats, 2);
    spec_free(s);
}

static void has_defaults(void **state)
{
    (void)state;
    _cleanup_(freep) char *text = definition_with("  measure: {warmupSteps: 1, steps: 5}\n"
                                                  "  repeats: {min: 2, order: Interleaved}\n",
                                                  "  measure: {steps: 5}\n");
    struct spec *s = definition_load(text, NULL);
    assert_int_equal(s->workload.threads, 1);
    assert_int_equal(s->workload.seed, 1);
    assert_int_equal(s->warmup_steps, 10);
    assert_int_equal(s->steps, 5);
    assert_int_equal(s->repeats, 3);
    assert_int_equal(s->order, ORDER_INTERLEAVED);
    assert_int_equal(s->baseline.kind, BASELINE_SINGLE_NODE);
    assert_int_equal(s->failure_policy.on_trial_failure, ON_FAILURE_RETRY);
    assert_int_equal(s->failure_policy.max_failed_trials, 3);
    assert_int_equal(s->run_policy.backoff_limit, 3);
    assert_int_equal(s->run_policy.active_deadline_s, 3600);
    spec_free(s);
}

static const char *const shipped[] = {
    "vgg16-acceleration-2018", "vgg16-batch-2018",  "vgg16-batch-sweep",  "vgg16-pserver-2018",
    "vgg16-pserver-sweep",     "vgg16-single-node", "vgg16-trainer-sweep",
};

/* A frozen definition, read again, is the same definition. */
static void assert_round_trip(const struct spec *spec)
{
    _cleanup_(freep) char *frozen = json_dumps(spec->definition, 0);
    struct spec *again = definition_load(frozen, NULL);
    assert_true(json_equal(spec->definition, again->definition));
    assert_string_equal(spec->name, again->name);
    assert_int_equal(spec->steps, again->steps);
    assert_int_equal(spec->repeats, again->repeats);
    struct diags diags = {0};
    struct matrix a, b;
    assert_int_equal(matrix_expand(spec, &a, &diags), 0);
    assert_int_equal(matrix_expand(again, &b, &diags), 0);
    assert_int_equal(a.n_points, b.n_points);
    for (uint32_t i = 0; i < a.n_points; i++) {
        assert_true(params_contain(&a.points[i].params, &b.points[i].params));
        assert_true(params_contain(&b.points[i].params, &a.points[i].params));
        assert_memory_equal(a.points[i].replicas, b.points[i].replicas,
                            sizeof(a.points[i].replicas));
        assert_int_equal(a.points[i].baseline_index, b.points[i].baseline_index);
    }
    matrix_done(&a);
    matrix_done(&b);
    spec_free(again);
}

static void accepts_shipped_files(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_ROWS(shipped); i++) {
        _cleanup_(freep) char *path = xasprintf("benchmarks/%s.yaml", shipped[i]);
        print_message("# file %s\n", path);
        _cleanup_(freep) char *text = source_file_read(path);
        for (int local = 0; local <= 1; local++) {
            struct spec_overrides overrides = {.local = local};
            struct spec *spec = definition_load(text, &overrides);
            assert_string_equal(spec->name, shipped[i]);
            assert_round_trip(spec);
            json_t *block = json_object_get(json_object_get(spec->definition, "spec"), "local");
            assert_int_equal(block == NULL, local);
            spec_free(spec);
        }
    }
}

/* One change of the sample definition each, and what the message must say. */
static void reports_what_is_wrong(void **state)
{
    (void)state;
    static const struct {
        const char *from, *to;
        const char *place;   /* "LINE:COLUMN" */
        const char *message; /* "path: text" */
        const char *fix;     /* NULL: any */
    } rows[] = {
        {"benchd.io/v1alpha1", "benchd.io/v1", "1:13", "apiVersion: unknown value 'benchd.io/v1'",
         "the only value is benchd.io/v1alpha1"},
        {"kind: Benchmark", "kind: BenchmarkRun", "2:7", "kind: unknown value 'BenchmarkRun'",
         NULL},
        {"name: sample", "name: Sample", "3:18", "metadata.name: 'Sample' is not a valid name",
         NULL},
        {"metadata: {name: sample}", "metadata: {}", "3:1",
         "metadata.name: required field 'name' is missing", "add 'name: ...'"},
        {"batchSize: 64", "batchsize: 64", "9:5", "spec.workload.batchsize: unknown field",
         "did you mean 'batchSize'?"},
        {"batchSize: 64", "batchSize: \"64\"", "9:16",
         "spec.workload.batchSize: must be a whole number, and is the text '64'",
         "remove the quotes: 64"},
        {"batchSize: 64", "batchSize: 70000", "9:16",
         "spec.workload.batchSize: 70000 is out of range: it must be 1 to 65536", NULL},
        {"batchSize: 64", "batchSize: 6.5", "9:16",
         "spec.workload.batchSize: must be a whole number, and is a decimal number", NULL},
        {"batchSize: 64", "threads: 0", "9:14", "spec.workload.threads: 0 is out of range", NULL},
        {"kind: Synthetic", "kind: synthetic", "8:21",
         "spec.workload.dataset.kind: unknown value 'synthetic'", "did you mean 'Synthetic'?"},
        {"kind: PServer", "kind: AllReduce", "10:22",
         "spec.workload.exchange.kind: 'AllReduce' is not supported by this version",
         "allowed: PServer or None"},
        {"mode: Sync", "mode: Async", "10:37",
         "spec.workload.exchange.mode: 'Async' is not supported by this version", NULL},
        {"wire: Fp32", "wire: Bf16", "10:49",
         "spec.workload.exchange.wire: 'Bf16' is not supported by this version", NULL},
        {"batchSize: 64", "compute: Emulated", "9:14",
         "spec.workload.compute: 'Emulated' is not supported by this version", NULL},
        {"min: 2, order", "min: 2, max: 9, order", "21:21",
         "spec.repeats.max: 'max' is not supported by this version", "remove it"},
        {"  measure:", "  addressing: Auto\n  measure:", "20:3",
         "spec.addressing: 'addressing' is not supported by this version", NULL},
        {"  measure:", "  runPolicy: {cleanPodPolicy: All}\n  measure:", "20:15",
         "spec.runPolicy.cleanPodPolicy: 'cleanPodPolicy' is not supported", NULL},
        {"kind: Benchmark", "kind: Benchmark\nsuspend: true", "3:1",
         "suspend: 'suspend' is not supported by this version", NULL},
        {"batch_size: [16]", "batch_size: [10O]", "12:64",
         "spec.sweep.grid.batch_size[0]: must be a whole number, and is the text '10O'",
         "did you mean 100?"},
        {"batch_size: [16]", "workers: [1]", "12:51",
         "spec.sweep.grid.workers: 'workers' is not supported by this version", NULL},
        {"batch_size: [16]", "cpu: [1.5]", "12:57", "spec.sweep.grid.cpu[0]: a sweep value is",
         "quote the decimal: \"1.5\""},
        {"batch_size: [16]", "cpu: [true]", "12:57", "spec.sweep.grid.cpu[0]: a sweep value is",
         NULL},
        {"batch_size: [16]", "cpu: [a, a]", "12:60",
         "spec.sweep.grid.cpu[1]: the value a is there twice", NULL},
        {"batch_size: [16]", "batch_size: 16", "12:63",
         "spec.sweep.grid.batch_size: must be a list", NULL},
        {"trainers: [1, 2, 4]", "trainer: [1, 2, 4]", "12:30",
         "spec.sweep.grid.trainer: unknown sweep name 'trainer'", "did you mean 'trainers'?"},
        {"    grid: {pservers: [1, 2], trainers: [1, 2, 4], batch_size: [16]}\n",
         "    points: [{pservers: 1, trainers: 1}, {pservers: 2}]\n", "12:42",
         "spec.sweep.points[1]: lacks 'trainers'", NULL},
        {"    grid: {pservers: [1, 2], trainers: [1, 2, 4], batch_size: [16]}\n",
         "    points: [{pservers: 1, trainers: 1}, {pservers: 1, trainers: 1}]\n", "12:42",
         "spec.sweep.points[1]: point 1 is the same as point 0", NULL},
        {"    grid: {pservers: [1, 2], trainers: [1, 2, 4], batch_size: [16]}\n",
         "    grid: {pservers: [1], trainers: [1]}\n    exclude: [{trainers: 2}]\n", "13:15",
         "spec.sweep.exclude[0]: it excludes no point", NULL},
        {"batch_size: [16]}\n", "batch_size: [16]}\n    exclude: [{cpu: 2}]\n", "13:16",
         "spec.sweep.exclude[0].cpu: 'cpu' is not swept", NULL},
        {"name: cpu", "name: threads", "14:11",
         "spec.parameters[0].name: 'threads' is built in", NULL},
        {"  baseline:", "  - {name: cpu, targets: []}\n  baseline:", "16:12",
         "spec.parameters[1].name: a parameter 'cpu' is there already", NULL},
        {"[/spec/containers/0/resources/requests/cpu]", "[/spec/a, /spec/containers/0/name/x]",
         "15:60", "spec.parameters[0].targets[0].paths[1]: the template of pserver has no", NULL},
        {"name: cpu", "name: Cpu", "14:11", "spec.parameters[0].name: 'Cpu' is not a valid", NULL},
        {"roles: [pserver, trainer]", "roles: [worker]", "15:24",
         "spec.parameters[0].targets[0].roles[0]: 'worker' is not supported", NULL},
        {"[/spec/containers", "[spec/containers", "15:51",
         "spec.parameters[0].targets[0].paths[0]: 'spec/containers/0/resources/requests/cpu' is "
         "not a path",
         NULL},
        {"containers/0/resources", "containers/1/resources", "15:51",
         "spec.parameters[0].targets[0].paths[0]: the template of pserver has no such place", NULL},
        {"kind: SingleNode}", "kind: Point, where: {cpu: 1}}", "16:35",
         "spec.baseline.where.cpu: 'cpu' is not swept", NULL},
        {"from: pservers", "from: pserver", "18:32",
         "spec.roles.pserver.replicas.from: 'pserver' is not swept", "did you mean 'pservers'?"},
        {"from: trainers", "from: threads", "19:32",
         "spec.roles.trainer.replicas.from: 'threads' does not count replicas", NULL},
        {"from: trainers", "value: 2", "12:30",
         "spec.sweep.grid.trainers: 'trainers' is swept, but no role takes", NULL},
        {"{from: trainers}", "3", "19:25", "spec.roles.trainer.replicas: must be a map",
         "write replicas: {value: 3}"},
        {"{name: main}", "{name: main, command: [1]}", "18:102",
         "spec.roles.pserver.template.spec.containers[0].command[0]: must be a text, and is a",
         "put quotes around it"},
        {"{name: main}", "{name: main, env: [{name: A, value: 1}]}", "18:115",
         "spec.roles.pserver.template.spec.containers[0].env[0].value: must be a text",
         "put quotes around it"},
        {"{name: main}", "{name: main, resources: {requests: {cpu: 4cores}}}", "18:120",
         "spec.roles.pserver.template.spec.containers[0].resources.requests.cpu: '4cores' is not "
         "a quantity",
         NULL},
        {"[{name: main}]", "[]", "18:78",
         "spec.roles.pserver.template.spec.containers: the list is empty", NULL},
        {"steps: 5", "steps: 1000001", "20:36", "spec.measure.steps: 1000001 is out of range",
         NULL},
        {"order: Interleaved", "order: interleaved", "21:28",
         "spec.repeats.order: unknown value 'interleaved'", "did you mean 'Interleaved'?"},
        {"  repeats:", "  thresholds: [{metric: speed, min: 1}]\n  repeats:", "21:25",
         "spec.thresholds[0].metric: unknown value 'speed'", NULL},
        {"  repeats:", "  thresholds: [{metric: speedup, min: \"1\"}]\n  repeats:", "21:39",
         "spec.thresholds[0].min: must be a number, and is a text", NULL},
        {"  repeats:", "  local: {roles: {}}\n  repeats:", "21:11",
         "spec.local.roles: unknown field 'roles': it cannot be changed for --local", NULL},
        {"  repeats:", "  local: {sweep: {grid: {pservers: [0]}}}\n  repeats:", "21:37",
         "spec.local.sweep.grid.pservers[0]: 0 is out of range", NULL},
        {"  repeats:", "  local: {measure: {steps: 0}}\n  repeats:", "21:28",
         "spec.local.measure.steps: 0 is out of range", NULL},
    };
    size_t n_failed = 0;
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        _cleanup_(freep) char *text = definition_with(rows[i].from, rows[i].to);
        _cleanup_(freep) char *errors = definition_errors(text, NULL);
        _cleanup_(freep) char *start =
            xasprintf("f.yaml:%s: error: %s", rows[i].place, rows[i].message);
        _cleanup_(freep) char *fix =
            xasprintf("\n  fix: %s", rows[i].fix == NULL ? "" : rows[i].fix);
        if (strstr(errors, start) == NULL ||
            (rows[i].fix != NULL && strstr(errors, fix) == NULL) ||
            strstr(errors, "\n1 error in f.yaml\n") == NULL) {
            n_failed++;
            print_message("row %zu '%s' -> '%s'\nexpected one error: %s%s\ngot:\n%s", i,
                          rows[i].from, rows[i].to, start, rows[i].fix == NULL ? "" : fix, errors);
        }
    }
    assert_int_equal(n_failed, 0);
}

static void reports_all_at_once(void **state)
{
    (void)state;
    _cleanup_(freep) char *text =
        definition_with("batchSize: 64", "batchSize: 0\n    turbo: 1\n    seed: -1");
    _cleanup_(freep) char *errors = definition_errors(text, NULL);
    assert_non_null(strstr(errors, "f.yaml:9:16: error: spec.workload.batchSize: 0 is out"));
    assert_non_null(strstr(errors, "f.yaml:10:5: error: spec.workload.turbo: unknown field"));
    assert_non_null(strstr(errors, "f.yaml:11:11: error: spec.workload.seed: -1 is out"));
    assert_non_null(strstr(errors, "\n3 errors in f.yaml\n"));
}

static void merges_local(void **state)
{
    (void)state;
    _cleanup_(freep) char *text = definition_with(
        "  repeats:",
        "  local:\n"
        "    workload: {batchSize: 8, dataset: {kind: Idx, path: /d}}\n"
        "    sweep: {grid: {pservers: [1], batch_size: [4, 8]}}\n"
        "    measure: {steps: 2}\n"
        "    repeats: {min: 1}\n"
        "  repeats:");
    struct spec_overrides overrides = {.local = true};
    struct spec *s = definition_load(text, &overrides);
    assert_axis(s, 0, "batch_size: 4 8");
    assert_axis(s, 1, "pservers: 1");
    assert_axis(s, 2, "trainers: 1 2 4");
    assert_int_equal(s->workload.batch_size, 8);
    assert_int_equal(s->workload.dataset, DATASET_IDX);
    assert_string_equal(s->workload.dataset_path, "/d");
    assert_int_equal(s->warmup_steps, 1);
    assert_int_equal(s->steps, 2);
    assert_int_equal(s->repeats, 1);
    assert_round_trip(s);
    spec_free(s);
    s = definition_load(text, NULL);
    assert_int_equal(s->steps, 5);
    assert_round_trip(s);
    spec_free(s);
}

static void local_of_another_kind_replaces(void **state)
{
    (void)state;
    _cleanup_(freep) char *text = definition_with(
        "batch_size: [16]}\n", "batch_size: [16]}\n    exclude: [{trainers: 4}]\n"
                               "  local: {sweep: {zip: {pservers: [1, 2], trainers: [3, 5]}}}\n");
    struct spec_overrides overrides = {.local = true};
    struct spec *s = definition_load(text, &overrides);
    assert_int_equal(s->sweep.kind, SWEEP_ZIP);
    assert_int_equal(s->sweep.axes.len, 2);
    assert_int_equal(s->sweep.exclude.len, 0);
    spec_free(s);
}

static void overridden_values_drop_dead_excludes(void **state)
{
    (void)state;
    _cleanup_(freep) char *text = definition_with(
        "batch_size: [16]}\n",
        "batch_size: [16]}\n    exclude: [{trainers: 4}, {trainers: 1, pservers: 2}]\n");
    static const char *const sets[] = {"trainers=1,2"};
    struct spec_overrides overrides = {.sets = sets, .n_sets = 1};
    struct spec *s = definition_load(text, &overrides);
    assert_int_equal(s->sweep.exclude.len, 1);
    assert_round_trip(s);
    spec_free(s);
}

static void options_come_on_top(void **state)
{
    (void)state;
    _cleanup_(freep) char *text = definition_with(
        "  repeats:", "  local: {sweep: {grid: {pservers: [1]}}, measure: {steps: 2}}\n  repeats:");
    static const char *const sets[] = {"trainers=3", "cpu=400m,2", "batch_size=8,32"};
    struct spec_overrides overrides = {
        .local = true, .sets = sets, .n_sets = 3, .steps = 7, .repeats = 9};
    struct spec *s = definition_load(text, &overrides);
    assert_axis(s, 0, "batch_size: 8 32");
    assert_axis(s, 1, "cpu: s400m 2");
    assert_axis(s, 2, "pservers: 1");
    assert_axis(s, 3, "trainers: 3");
    assert_int_equal(s->steps, 7);
    assert_int_equal(s->repeats, 9);
    assert_round_trip(s);
    spec_free(s);
}

static void wrong_options_name_themselves(void **state)
{
    (void)state;
    static const char grid[] = "grid: {pservers: [1, 2], trainers: [1, 2, 4], batch_size: [16]}";
    static const char zip[] = "zip: {pservers: [1, 2], trainers: [1, 2]}";
    static const struct {
        const char *sweep, *set;
        int64_t steps, repeats;
        const char *expected;
    } rows[] = {
        {grid, "pservers=x", 0, 0,
         "--set pservers=x: error: spec.sweep.grid.pservers[0]: must be a whole number, and is the "
         "text 'x'"},
        {grid, "pservers=1O", 0, 0, "  fix: did you mean 10?"},
        {grid, "pservers=", 0, 0, "--set pservers=: error: a name or a value is missing"},
        {grid, "=1", 0, 0, "--set =1: error: a name or a value is missing"},
        {grid, "pservers", 0, 0, "--set pservers: error: there is no '='"},
        {grid, "pservers=1,,2", 0, 0,
         "--set pservers=1,,2: error: spec.sweep.grid.pservers[1]: must be a whole number"},
        {grid, "pservers=1,1", 0, 0,
         "--set pservers=1,1: error: spec.sweep.grid.pservers[1]: the value 1 is there twice"},
        {grid, "pserver=1", 0, 0,
         "--set pserver=1: error: spec.sweep.grid.pserver: unknown sweep name 'pserver'"},
        {grid, "trainers=99999999999999999999", 0, 0, "--set trainers=99999999999999999999: error"},
        {grid, "trainers=012", 0, 0, "--set trainers=012: error: spec.sweep.grid.trainers[0]"},
        {zip, "trainers=2", 0, 0,
         "--set trainers=2: error: the sweep is a list of 'zip', and --set changes a grid only"},
        {grid, NULL, 2000000, 0,
         "--steps 2000000: error: spec.measure.steps: 2000000 is out of range"},
        {grid, NULL, -1, 0, "--steps -1: error: spec.measure.steps: -1 is out of range"},
        {grid, NULL, 0, 1001, "--repeats 1001: error: spec.repeats.min: 1001 is out of range"},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        _cleanup_(freep) char *text = definition_with(grid, rows[i].sweep);
        struct spec_overrides overrides = {.sets = &rows[i].set,
                                           .n_sets = rows[i].set != NULL,
                                           .steps = rows[i].steps,
                                           .repeats = rows[i].repeats};
        _cleanup_(freep) char *errors = definition_errors(text, &overrides);
        if (strstr(errors, rows[i].expected) == NULL ||
            strstr(errors, "\n1 error in f.yaml\n") == NULL) {
            fail_msg("row %zu\nexpected: %s\ngot:\n%s", i, rows[i].expected, errors);
        }
    }
}

static void leaves_the_result_alone_on_failure(void **state)
{
    (void)state;
    struct diags diags = {0};
    struct spec *spec = (struct spec *)&diags;
    assert_int_equal(spec_load("", 0, NULL, &spec, &diags), -EINVAL);
    assert_ptr_equal(spec, &diags);
    assert_int_equal(spec_load("- 1", 3, NULL, &spec, &diags), -EINVAL);
    assert_int_equal(diags.list.len, 2);
    diags_done(&diags);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_every_field),
        cmocka_unit_test(has_defaults),
        cmocka_unit_test(accepts_shipped_files),
        cmocka_unit_test(reports_what_is_wrong),
        cmocka_unit_test(reports_all_at_once),
        cmocka_unit_test(merges_local),
        cmocka_unit_test(local_of_another_kind_replaces),
        cmocka_unit_test(overridden_values_drop_dead_excludes),
        cmocka_unit_test(options_come_on_top),
        cmocka_unit_test(wrong_options_name_themselves),
        cmocka_unit_test(leaves_the_result_alone_on_failure),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
