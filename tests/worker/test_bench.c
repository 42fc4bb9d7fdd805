/* `benchworker bench` from outside: the document that others read, the trace, the mask. */
#include <jansson.h>

#include "tests/test.h"
#include "base/exit_code.h"
#include "child_program.h"

static char *program;
static struct child child;

#define RUN(...) run((char *[]){program, __VA_ARGS__, NULL})

static void run(char **argv)
{
    child.argv = argv;
    child_run(&child);
}

static json_t *bench_json(void)
{
    RUN("bench", "--batch", "2", "--steps", "3", "-o", "json");
    assert_int_equal(child.exit_code, EXIT_OK);
    assert_string_equal(child.err, "");
    json_error_t error;
    json_t *o = json_loads(child.out, JSON_REJECT_DUPLICATES, &error);
    if (o == NULL) {
        fail_msg("not JSON: %s\n%s", error.text, child.out);
    }
    return o;
}

static double number(const json_t *o, const char *key)
{
    const json_t *value = json_object_get(o, key);
    if (!json_is_number(value)) {
        fail_msg("'%s' is missing or no number", key);
    }
    return json_number_value(value);
}

TEST(document)
{
    _cleanup_(json_decrefp) json_t *o = bench_json();
    static const char *const numbers[] = {"samples_per_s", "samples_per_cpu_s", "peak_rss_bytes",
                                          "model_bytes",   "loss_nats",         "update_cpu_ms"};
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        assert_true(number(o, numbers[i]) > 0);
    }
    assert_true(number(o, "batch_size") == 2);
    assert_true(number(o, "threads") == 1);
    assert_true(number(o, "steps") == 3);
    /* 6 samples in all: the rate of the whole lies between those of the
     * slowest and fastest step. */
    const double rate = 6e9 / number(o, "cpu_ns");
    const json_t *range = json_object_get(o, "samples_per_cpu_s_range");
    double median = number(o, "samples_per_cpu_s");
    assert_true(json_number_value(json_array_get(range, 0)) <= median);
    assert_true(json_number_value(json_array_get(range, 1)) >= median);
    assert_true(json_number_value(json_array_get(range, 0)) <= rate * (1 + 1e-9));
    assert_true(json_number_value(json_array_get(range, 1)) >= rate * (1 - 1e-9));
    assert_true(number(o, "duration_ns") > 0);
    assert_non_null(strstr(json_string_value(json_object_get(o, "blas")), "OpenBLAS"));
    assert_true(json_is_string(json_object_get(o, "blas_core")));
    assert_true(json_is_string(json_object_get(o, "cpu_features")));
    const json_t *probe = json_object_get(o, "probe");
    assert_true(number(probe, "spins_per_s") > 0 && number(probe, "copy_bytes_per_s") >= 0);
    assert_true(number(probe, "cpu_ms") > 0 && number(probe, "cpu_ms") < 250); /* two a replica */
}

/* Each convolution has all parts but the first layer's input gradient; all
 * together are the step. */
TEST(layers)
{
    json_t *o = bench_json(), *layer;
    size_t i, convs = 0;
    double sum = number(o, "update_cpu_ms");
    json_array_foreach (json_object_get(o, "layers"), i, layer) {
        const char *name = json_string_value(json_object_get(layer, "name"));
        const json_t *ms = json_object_get(layer, "cpu_ms");
        bool is_conv = strncmp(name, "conv", 4) == 0;
        convs += is_conv;
        assert_true(!is_conv || number(ms, "forward") > 0);
        assert_true(!is_conv || number(ms, "backward_weight") > 0);
        assert_true(!is_conv || number(ms, "passes") > 0);
        assert_true(!is_conv || (number(ms, "backward_data") > 0) == (i > 0));
        sum += number(ms, "forward") + number(ms, "backward_data") + number(ms, "backward_weight") +
               number(ms, "passes") + number(ms, "other");
    }
    assert_int_equal(convs, 13);
    double slowest =
        2 * 1e3 /
        json_number_value(json_array_get(json_object_get(o, "samples_per_cpu_s_range"), 0));
    if (sum > slowest) {
        fail_msg("parts sum to %g ms a step, the slowest step took %g", sum, slowest);
    }
    json_decref(o);
}

/* As spec.workload.trace of a definition has it: each layer with its time in both passes, which
 * together are the step of the head. */
TEST(trace)
{
    RUN("bench", "--batch", "2", "--steps", "3", "-o", "trace");
    assert_int_equal(child.exit_code, EXIT_OK);
    const char *head = strstr(child.out, "batch 2, 1 thread: ");
    assert_non_null(head);
    const double step_ms = strtod(strchr(head, ':') + 1, NULL);
    assert_non_null(strstr(child.out, "\nbatchSize: 2\ntrace:\n  layers:\n  - {name: conv1_1, "));
    double sum_ms = 0;
    size_t n_trained = 0;
    for (const char *at = child.out; (at = strstr(at, "- {name: ")) != NULL; at++) {
        char name[17];
        double forward_us, backward_us;
        assert_int_equal(
            sscanf(at, "- {name: %16[^,], forwardMicroseconds: %lf, backwardMicroseconds: %lf}",
                   name, &forward_us, &backward_us),
            3);
        const bool is_trained = strncmp(name, "conv", 4) == 0 || strncmp(name, "fc", 2) == 0;
        n_trained += is_trained;
        assert_true(!is_trained || (forward_us > 0 && backward_us > 0));
        sum_ms += (forward_us + backward_us) / 1e3;
    }
    assert_int_equal(n_trained, 16);
    assert_true(sum_ms > 0.98 * step_ms - 0.1 && sum_ms < 1.02 * step_ms + 0.1);
    /* A backward pass computes two gradients: it takes longer than forward,
     * in each larger layer. */
    double forward_us, backward_us;
    const char *conv = strstr(child.out, "{name: conv3_2, ");
    assert_int_equal(sscanf(conv,
                            "{name: conv3_2, forwardMicroseconds: %lf, backwardMicroseconds: %lf}",
                            &forward_us, &backward_us),
                     2);
    assert_true(backward_us > forward_us);
}

TEST(mask)
{
    assert_int_equal(setenv("BENCH_CPU_MASK", "baseline", 1), 0);
    _cleanup_(json_decrefp) json_t *o = bench_json();
    assert_int_equal(unsetenv("BENCH_CPU_MASK"), 0);
    assert_string_equal(json_string_value(json_object_get(o, "kernels")), "baseline");
}

TEST(bad_command_lines)
{
    static const struct {
        char *option, *value;
        const char *text;
    } rows[] = {
        {"--batch", "0", "--batch '0': expected a whole number from 1 to 4096"},
        {"--steps", "x", "--steps 'x'"},
        {"--model", "vgg", "unknown model 'vgg'; known models: vgg16-fluid-fc512"},
        {"-o", "xml", "expected json or trace"},
        {"--stepps", "3", "did you mean --steps"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        RUN("bench", rows[i].option, rows[i].value);
        assert_int_equal(child.exit_code, EXIT_USAGE);
        if (strstr(child.err, rows[i].text) == NULL) {
            fail_msg("'%s %s': '%s', expected '...%s...'", rows[i].option, rows[i].value, child.err,
                     rows[i].text);
        }
    }
}

/* Sanitizers reserve terabytes of address space: no limit, no such test in their builds. */
#if !IS_SANITIZED
TEST(no_memory)
{
    child.max_bytes = (rlim_t)2 << 30;
    RUN("bench", "--batch", "4096");
    child.max_bytes = 0;
    assert_int_equal(child.exit_code, EXIT_WORKER_RESOURCE);
    assert_non_null(strstr(child.err, "batch of 4096: vgg16-fluid-fc512: no memory for "));
}
#endif

int main(void)
{
    program = xasprintf("%s/worker/benchworker", getenv("BENCHD_BUILD_DIR"));
    int failed = test_run_all(NULL);
    free(program);
    return failed;
}
