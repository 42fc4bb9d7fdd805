/* Accelerators of points: counted from templates, or given; and what sweep.require keeps. */
#include "tests/test.h"
#include "small_definition.h"

#include <errno.h>

#include "spec/matrix.h"
#include "spec/run_def.h"

static const char head[] = "apiVersion: benchd.io/v1alpha1\n"
                           "kind: Benchmark\n"
                           "metadata: {name: llm}\n"
                           "spec:\n"
                           "  systems: [{name: a, profile: none, image: i, command: [c]}]\n"
                           "  workload: {model: m, batchSize: 1, exchange: {kind: AllReduce}, "
                           "precision: BF16}\n"
                           "  repeats: {min: 1}\n";
#define GPUS "/spec/containers/0/resources/limits/nvidia.com~1gpu"
#define SWEEP(points)                                                                              \
    "  sweep: {points: [" points "]}\n  baseline: {kind: Point, where: {workers: 1}}\n"
#define LIMITS(limits)                                                                             \
    "  roles: {worker: {replicas: {from: workers}, template: {spec: {containers: [{name: c, "      \
    "resources: {limits: {" limits "}}}]}}}}\n"

TEST(devices_of_points)
{
    static const struct {
        const char *name, *text, *expected; /* devices of the points, or an error */
    } rows[] = {
        {"none", SWEEP("{workers: 1}, {workers: 2}") LIMITS("cpu: 8"), "0 0 worker"},
        {"one a pod", SWEEP("{workers: 1}, {workers: 2}") LIMITS("nvidia.com/gpu: 1"),
         "1 2 device"},
        {"as text", SWEEP("{workers: 1}, {workers: 2}") LIMITS("amd.com/gpu: '8'"), "8 16 device"},
        {"slices of GPUs, and others",
         SWEEP("{workers: 2}, {workers: 1}")
             LIMITS("nvidia.com/mig-1g.10gb: 2, google.com/tpu: 1, rdma/ib: 1"),
         "6 3 device, slices"},
        {"names that begin alike",
         SWEEP("{workers: 1}, {workers: 2}") LIMITS(
             "nvidia.com/gpu: 1, nvidia.com/gpumem: 300, nvidia.com/gpucores: 30, "
             "gpu.intel.com/i915: 1, gpu.intel.com/i915_monitoring: 1, gpu.intel.com/tiles: 2"),
         "2 4 device"},
        {"two containers",
         SWEEP("{workers: 1}, {workers: 3}") "  roles: {worker: {replicas: {from: workers}, "
                                             "template: {spec: {containers: [{name: c}, {name: d, "
                                             "resources: {limits: {nvidia.com/gpu: 2}}}]}}}}\n",
         "2 6 device"},
        {"swept in the template",
         "  parameters: [{name: gpus, targets: [{roles: [worker], paths: [" GPUS
         "]}]}]\n" SWEEP("{workers: 1, gpus: 1}, {workers: 1, gpus: 8}, {workers: 2, gpus: 8}")
             LIMITS("cpu: 8"),
         "1 8 16 device"},
        {"swept as text",
         "  parameters: [{name: gpus, targets: [{roles: [worker], paths: [" GPUS "]}]}]\n" SWEEP(
             "{workers: 1, gpus: '1'}, {workers: 1, gpus: '8'}") LIMITS("nvidia.com/gpu: 2"),
         "1 8 device"},
        {"given",
         SWEEP("{workers: 1}, {workers: 2}") "  roles: {worker: {replicas: {from: workers}, "
                                             "devices: {value: 4}}}\n",
         "4 8 device"},
        {"what is given is more than what is counted",
         SWEEP(
             "{workers: 1}, {workers: 2}") "  roles: {worker: {replicas: {from: workers}, devices: "
                                           "{value: 4}, template: {spec: {containers: [{name: c, "
                                           "resources: {limits: {nvidia.com/gpu: 1}}}]}}}}\n",
         "4 8 device"},
        {"given by a name",
         "  parameters: [{name: gpus, targets: [{roles: [worker], env: [G]}]}]\n" SWEEP(
             "{workers: 1, gpus: 2}, {workers: 2, gpus: 4}") "  roles: {worker: {replicas: {from: "
                                                             "workers}, devices: {from: gpus}}}\n",
         "2 8 4 device"},
        {"given by the number of replicas",
         SWEEP("{workers: 1}, {workers: 2}") "  roles: {worker: {replicas: {from: workers}, "
                                             "devices: {from: workers}}}\n",
         "spec.roles.worker.devices: 'workers' is the number of replicas, not of the accelerators "
         "of one"},
        {"no number",
         "  parameters: [{name: gpus, targets: [{roles: [worker], env: [G]}]}]\n" SWEEP(
             "{workers: 1, gpus: two}, {workers: 2, gpus: 1}") "  roles: {worker: {replicas: "
                                                               "{from: workers}, devices: {from: "
                                                               "gpus}}}\n",
         "spec.roles.worker.devices: 'gpus' is 'two' in at least one point; it must be a whole "
         "number from 1 to 1024"},
        {"no number in a template", SWEEP("{workers: 1}") LIMITS("amd.com/gpu: '8.0'"),
         "limits.amd.com/gpu: a limit of accelerators must be a whole number from 0 to 1024 in "
         "all"},
        {"too many in a template", SWEEP("{workers: 1}") LIMITS("google.com/tpu: 1025"),
         "limits.google.com/tpu: a limit of accelerators must be a whole number from 0 to 1024 in "
         "all"},
        {"a negative number in a template",
         SWEEP("{workers: 1}") LIMITS("nvidia.com/mig-1g.5gb: -1"),
         "limits.nvidia.com/mig-1g.5gb: a limit of accelerators must be a whole number from 0 to "
         "1024 in all"},
        {"no number in a template, by a swept value: one error",
         "  parameters: [{name: gpus, targets: [{roles: [worker], paths: [" GPUS
         "]}]}]\n  sweep: {grid: {workers: [1], gpus: [1, 2000]}, require: [devices < 9]}\n"
         "  baseline: {kind: Point, where: {workers: 1}}\n" LIMITS("cpu: 8"),
         "limits.nvidia.com/gpu: a limit of accelerators must be a whole number from 0 to 1024 in "
         "all points\n"},
        {"unknown of one point is unknown of all",
         "  parameters: [{name: gpus, targets: [{roles: [worker], paths: [" GPUS
         "]}]}]\n" SWEEP("{workers: 1, gpus: 0}, {workers: 2, gpus: 1}") LIMITS("cpu: 8"),
         "0 0 0 worker"},
        {"a point that cannot run is none",
         "  parameters: [{name: tp, targets: [{roles: [worker], env: [T]}]}]\n  sweep: {grid: "
         "{workers: [1, 2], tp: [1, 3, 16]}, require: [devices % tp == 0, tp <= devices]}\n  "
         "baseline: {kind: Point, where: {workers: 1}}\n" LIMITS("nvidia.com/gpu: 8"),
         "8 16 16 device, 1 without a baseline"},
        {"a name that is not swept",
         "  sweep: {grid: {workers: [1]}, require: [workers > 0, 'pp == 1', qq == 1]}\n  baseline: "
         "{kind: SingleNode}\n" LIMITS("cpu: 1"),
         "spec.sweep.require[1]: no number, and no swept name with one, at character 1 of 'pp == "
         "1'"},
        {"a quoted number does not",
         "  parameters: [{name: left, targets: [{roles: [worker], env: [T]}]}]\n"
         "  sweep: {grid: {workers: [1], left: ['4', '8']}, require: [left < 8]}\n  baseline: "
         "{kind: Point, where: {workers: 1}}\n" LIMITS("nvidia.com/gpu: 8"),
         "spec.sweep.require[0]: no number, and no swept name with one, at character 1 of 'left < "
         "8'"},
        {"a text of a point does not",
         "  parameters: [{name: left, targets: [{roles: [worker], env: [T]}]}]\n"
         "  sweep: {points: [{workers: 1, left: a}], require: [left < 8]}\n  baseline: "
         "{kind: Point, where: {workers: 1}}\n" LIMITS("nvidia.com/gpu: 8"),
         "spec.sweep.require[0]: no number, and no swept name with one, at character 1 of 'left < "
         "8'"},
        {"devices that are not known",
         "  sweep: {grid: {workers: [1]}, require: [devices == 1]}\n  baseline: {kind: "
         "SingleNode}\n" LIMITS("cpu: 1"),
         "spec.sweep.require[0]: no number, and no swept name with one, at character 1 of 'devices "
         "== 1'"},
        {"nothing is left",
         "  sweep: {grid: {workers: [1]}, require: [workers == 2]}\n  baseline: {kind: "
         "SingleNode}\n" LIMITS("cpu: 1"),
         "spec.sweep.require: the requirements leave no point"},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        _cleanup_(freep) char *text = xasprintf("%s%s", head, rows[i].text);
        _cleanup_(freep) char *errors = definition_errors(text, NULL);
        _cleanup_(buf_done) struct buf got = BUF_INIT;
        buf_puts(&got, errors);
        if (errors[0] == '\0') {
            _cleanup_(spec_freep) struct spec *spec = definition_load(text, NULL);
            _cleanup_(matrix_done) struct matrix m;
            uint32_t n_unbased = 0;
            assert_int_equal(matrix_expand(spec, &m, NULL), 0);
            for (uint32_t k = 0; k < m.n_points; k++) {
                buf_printf(&got, "%u ", m.points[k].devices);
                n_unbased += m.points[k].baseline_excluded;
            }
            buf_puts(&got, matrix_size_words(&m).one);
            const struct run_def def = {.spec = spec, .matrix = m};
            buf_puts(&got, run_def_terms(&def, 0).precision == PRECISION_BF16 ? "" : ", slices");
            if (n_unbased > 0) {
                buf_printf(&got, ", %u without a baseline", n_unbased);
            }
        }
        if (strstr(buf_cstr(&got), rows[i].expected) == NULL) {
            fail_msg("%s\nexpected %s\ngot %s", rows[i].name, rows[i].expected, buf_cstr(&got));
        }
    }
}

/* A text counts as its first place in the lists, one after the other. */
TEST(places_of_texts)
{
    static const struct {
        const char *left, *right, *require, *points;
    } rows[] = {
        {"[b, a, c]", "[b, a, c]", "left < right", "b-a b-c a-c "},
        {"[b, a, c, d]", "[b, a, c, d]", "left < right, right - left <= 1", "b-a a-c c-d "},
        {"[b]", "[a]", "left < right", "b-a "},
        {"[b, a]", "[a, d, b]", "left < right", "b-a b-d a-d "},
        {"[b, a]", "[a, b]", "left == right", "b-b a-a "},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        _cleanup_(freep) char *text = xasprintf(
            "%s  parameters: [{name: left, targets: [{roles: [worker], env: [T]}]}, {name: right, "
            "targets: [{roles: [worker], env: [U]}]}]\n"
            "  sweep: {grid: {workers: [1], left: %s, right: %s}, require: [%s]}\n"
            "  baseline: {kind: Point, where: {workers: 1}}\n" LIMITS("cpu: 8"),
            head, rows[i].left, rows[i].right, rows[i].require);
        _cleanup_(spec_freep) struct spec *spec = definition_load(text, NULL);
        _cleanup_(matrix_done) struct matrix m;
        _cleanup_(buf_done) struct buf got = BUF_INIT;
        struct diags diags = {0};
        assert_int_equal(matrix_expand(spec, &m, &diags), 0);
        for (uint32_t k = 0; k < m.n_points; k++) {
            const struct params *params = &m.points[k].params;
            buf_printf(&got, "%s-%s ", params_get(params, "left")->s,
                       params_get(params, "right")->s);
        }
        assert_string_equal(buf_cstr(&got), rows[i].points);
    }
}

static bool value_of(const void *ctx, const char *name, int64_t *ret)
{
    (void)ctx; /* there are two names */
    *ret = strcmp(name, "tp") == 0 ? 4 : 2;
    return strcmp(name, "tp") == 0 || strcmp(name, "p_2") == 0;
}

TEST(expressions)
{
    static const struct {
        const char *text;
        int64_t value;
        const char *error;
    } rows[] = {
        {"7", 7, NULL},
        {" tp*p_2 ", 8, NULL},
        {"1 + 2 * 3 - 8 / 4 % 5", 5, NULL},
        {"10 - 4 - 3", 3, NULL},
        {"(1 + 2) * -3", -9, NULL},
        {"tp == 4 && p_2 != 2 || 1", 1, NULL},
        {"0 && 1 || 0", 0, NULL},
        {"1 || 1 && 0", 1, NULL},
        {"1 < 2 == 1", 1, NULL},
        {"2 <= 2", 1, NULL},
        {"3 >= 4", 0, NULL},
        {"3 > 2", 1, NULL},
        {"!tp + 1", 1, NULL},
        {"tp == 4 || 8 / (p_2 - 2) == 1", 1, NULL},
        {"p_2 == 3 && 8 % (p_2 - 2) == 0", 0, NULL},
        {"1 || tq", 0, "no number, and no swept name with one, at character 6"},
        {"0 || 8 / (p_2 - 2)", 0, "a division by less than 1"},
        {"!!tp", 1, NULL},
        {"9223372036854775807", INT64_MAX, NULL},
        {"", 0, "a value is missing at character 1 of ''"},
        {"tp ==", 0, "a value is missing at character 6"},
        {"tp = 4", 0, "an operator is missing at character 4"},
        {"tp 4", 0, "an operator is missing at character 4"},
        {"(tp", 0, "a ')' is missing at character 4"},
        {"tp)", 0, "an operator is missing at character 3"},
        {"tq", 0, "no number, and no swept name with one, at character 1"},
        {"4x", 0, "no number, and no swept name with one, at character 1"},
        {"tp + $", 0, "no number and no name at character 6"},
        {"tp / (p_2 - 2)", 0, "a division by less than 1, or a number too large, at"},
        {"9223372036854775807 * tp", 0, "a division by less than 1, or a number too large, at"},
        {"-(-9223372036854775807 - 1)", 0, "a number too large, at"},
        {"9223372036854775808", 0, "no number, and no swept name with one,"},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        int64_t value = 0;
        struct err err = {0};
        const int r = expression_eval(rows[i].text, value_of, NULL, &value, &err);
        print_message("# %s: %s\n", rows[i].text, r < 0 ? err.msg : "");
        assert_true((r < 0) == (rows[i].error != NULL));
        assert_true(r < 0 ? strstr(err.msg, rows[i].error) != NULL : value == rows[i].value);
    }
    char deep[200];
    int64_t value;
    struct err err;
    memset(deep, '(', sizeof(deep));
    deep[sizeof(deep) - 1] = '\0';
    assert_int_equal(expression_eval(deep, value_of, NULL, &value, &err), -EINVAL);
    assert_non_null(strstr(err.msg, "too many parentheses"));
}
