#include "tests/test.h"
#include "compare/compare_parts.h"
#include "result/result_build.h"

#include "compare_fixture.h"

TEST(differences)
{
    static const double x[] = {40, 70, 120, 200};
    _cleanup_(fixture_done) struct fixture a, b;
    make_run(&a, "demo-7k3fq", 3, x, 0);
    fixture_init(&b, "{grid: {pservers: [1], trainers: [1, 2, 4, 8]}}",
                 POINT_BASELINE "  repeats: {min: 4}\n"
                                "  workload: {model: vgg16-fluid-fc512, dataset: {kind: CIFAR10, "
                                "path: /data}, batchSize: 16,\n"
                                "             exchange: {kind: PServer, mode: Sync, wire: FP32}}\n",
                 12);
    rename_run(&b, "demo-q2v8n");
    b.def->spec->warmup_steps += 1;
    b.def->spec->steps += 2;
    free(b.def->spec->workload.model);
    b.def->spec->workload.model = xstrdup("resnet50");
    for (uint32_t p = 0; p < 4; p++) {
        for (uint32_t t = 0; t < 3; t++) {
            fixture_throughput(&b, p, t, x[p]);
        }
    }
    for (size_t row = 0; row < b.rows.len; row++) {
        for (size_t k = 0; k < b.rows.items[row].replicas.len; k++) {
            fixture_set_environment(&b, row, k,
                                    row == 4
                                        ? "{\"blas_core\":\"ZEN\",\"cgroup_cpu_limit\":1.5,"
                                          "\"cpu_model\":\"EPYC\",\"kernel\":\"6.1.0-34-amd64\"}"
                                        : "{\"blas_core\":\"HASWELL\",\"cgroup_cpu_limit\":1.5,"
                                          "\"cpu_model\":\"EPYC\",\"kernel\":\"6.1.0-34-amd64\"}");
        }
    }
    fixture_throughput(&b, 0, 3, x[0])->outcome = ATTEMPT_FAILED; /* its machine does not count */
    fixture_set_environment(&b, b.rows.len - 1, 0, "{\"cpu_model\":\"Broken\"}");
    fixture_set_environment(&b, 0, 0, NULL);
    fixture_build(&b, RUN_SUCCEEDED);
    struct comparison *c = compare(&a, &b, &defaults);
    _cleanup_(buf_done) struct buf text = BUF_INIT;
    vec_each (struct difference, d, &c->differences) {
        buf_printf(&text, "%s: %s -> %s\n", d->what, d->base, d->candidate);
    }
    assert_string_equal(buf_cstr(&text), "model: vgg16-fluid-fc512 -> resnet50\n"
                                         "data set: Synthetic -> CIFAR10 /data\n"
                                         "warm-up steps: 2 -> 3\n"
                                         "steps: 8 -> 10\n"
                                         "CPUs given: 16 -> 12\n"
                                         "CPU: Intel(R) Xeon(R) CPU E5-2620 v4 @ 2.10GHz -> EPYC\n"
                                         "CPU limit: unknown -> 1.5\n"
                                         "BLAS core: HASWELL -> HASWELL and ZEN\n");
    comparison_free(c);
    c = NULL;
    const struct compare_params strict = {.threshold_ratio = 0.02, .is_strict = true};
    const char *fix = NULL;
    struct err err = {0};
    assert_int_equal(comparison_new(a.result, b.result, &strict, &c, &fix, &err), -EINVAL);
    assert_null(c);
    assert_non_null(strstr(err.msg, "run/demo-7k3fq and run/demo-q2v8n differ in more than their "
                                    "points: model vgg16-fluid-fc512 -> resnet50, data set "));
    assert_string_equal(fix, "measure both in the same way, or omit --strict");
    assert_int_equal(comparison_new(a.result, a.result, &strict, &c, &fix, &err), 0);
    comparison_free(c);
}

static void set_environments(struct fixture *f, const char *json)
{
    for (size_t row = 0; row < f->rows.len; row++) {
        for (size_t k = 0; k < f->rows.items[row].replicas.len; k++) {
            fixture_set_environment(f, row, k, json);
        }
    }
    fixture_build(f, RUN_SUCCEEDED);
}

/* Whatever made the numbers: each is seen, and --strict names each, however
 * many there are (below). */
TEST(provenance)
{
    static const struct {
        const char *base, *candidate, *difference; /* NULL: none */
    } rows[] = {
        {"\"source\":\"e95bcff11d02\"", "\"source\":\"e95bcff11d02\"", NULL},
        {"\"source\":\"e95bcff11d02\"", "\"source\":\"e95bcff11d02-dirty-3f9a0c1b\"",
         "source: e95bcff11d02 -> e95bcff11d02-dirty-3f9a0c1b"},
        {"\"source\":\"unknown\"", "\"source\":\"unknown\"", "source: unknown -> unknown"},
        {"\"source\":\"e95bcff11d02\"", "\"host\":\"h\"", "source: e95bcff11d02 -> unknown"},
        {"\"host\":\"h\"", "\"host\":\"h\"",
         NULL}, /* a foreign system: its build says what it is */
        {"\"compiler\":\"gcc 12.2.0\"", "\"compiler\":\"clang 14.0.6\"",
         "compiler: gcc 12.2.0 -> clang 14.0.6"},
        {"\"build_options\":\"buildtype=debug\"", "\"build_options\":\"buildtype=release\"",
         "build options: buildtype=debug -> buildtype=release"},
        {"\"image_id\":\"r@sha256:1\"", "\"image_id\":\"r@sha256:2\"",
         "image: r@sha256:1 -> r@sha256:2"},
        {"\"kernel\":\"6.1.0\"", "\"kernel\":\"6.2.0\"", "kernel: 6.1.0 -> 6.2.0"},
        {"\"cpu_mhz\":2101.5", "\"cpu_mhz\":2445", NULL}, /* it changes by itself */
        {"\"clock_source\":\"tsc\"", "\"clock_source\":\"hpet\"", "clock source: tsc -> hpet"},
        {"\"cpu_governor\":null", "\"cpu_governor\":\"powersave\"",
         "CPU governor: unknown -> powersave"},
        {"\"gpu_driver\":\"nvidia 535\"", "\"gpu_driver\":\"nvidia 550\"",
         "GPU driver: nvidia 535 -> nvidia 550"},
        {"\"instance_type\":\"p4d\"", "\"instance_type\":\"p5\"", "instance type: p4d -> p5"},
        {"\"program\":\"1f\"", "\"program\":\"1f\"", NULL},
        {"\"program\":\"1f\"", "\"program\":\"2f\"", "program: 1f -> 2f"},
        {"\"program\":\"unknown (a: b)\"", "\"program\":\"unknown (a: b)\"",
         "program: unknown (a: b) -> unknown (a: b)"},
        {"\"program_folder\":\"1f\"", "\"program_folder\":\"1f-dirty-2\"",
         "folder of the program: 1f -> 1f-dirty-2"},
        {"\"program_commit\":\"1f\"", "\"program_commit\":\"2f\"",
         NULL}, /* of other folders, too */
        {"\"zone\":\"a\"", "\"host\":\"h\"", "zone: a -> unknown"},
        {"\"node_labels\":{\"rack\":\"r1\"}", "\"node_labels\":{\"rack\":\"r2\"}",
         "node labels: {\"rack\":\"r1\"} -> {\"rack\":\"r2\"}"},
    };
    static const double x[] = {40, 70, 120, 200};
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        print_message("# row '%s' and '%s'\n", rows[i].base, rows[i].candidate);
        struct fixture runs[2];
        for (size_t side = 0; side < 2; side++) {
            make_run(&runs[side], side == 0 ? "demo-7k3fq" : "demo-q2v8n", 3, x, 0);
            _cleanup_(freep) char *json =
                xasprintf("{%s}", side == 0 ? rows[i].base : rows[i].candidate);
            set_environments(&runs[side], json);
        }
        struct comparison *c = compare(&runs[0], &runs[1], &defaults);
        assert_int_equal(c->differences.len, rows[i].difference != NULL);
        vec_each (struct difference, d, &c->differences) {
            _cleanup_(freep) char *text = xasprintf("%s: %s -> %s", d->what, d->base, d->candidate);
            assert_string_equal(text, rows[i].difference);
        }
        comparison_free(c);
        c = NULL;
        const struct compare_params strict = {.threshold_ratio = 0.02, .is_strict = true};
        const char *fix = NULL;
        assert_int_equal(comparison_new(runs[0].result, runs[1].result, &strict, &c, &fix, NULL),
                         rows[i].difference == NULL ? 0 : -EINVAL);
        comparison_free(c);
        fixture_done(&runs[0]);
        fixture_done(&runs[1]);
    }
}

/* A comparison needs no replica, nor a row: histories of many runs are compared without. */
TEST(replicas_may_be_forgotten)
{
    static const double x[] = {40, 70, 120, 200};
    struct fixture runs[2];
    for (size_t side = 0; side < 2; side++) {
        make_run(&runs[side], side == 0 ? "demo-7k3fq" : "demo-q2v8n", 4, x, side);
        set_environments(&runs[side], side == 0 ? "{\"kernel\":\"6.1\",\"node\":\"n\"}"
                                                : "{\"kernel\":\"6.2\",\"node\":\"n\"}");
    }
    struct comparison *c = compare(&runs[0], &runs[1], &defaults);
    _cleanup_(json_decrefp) json_t *before = comparison_to_json(c);
    comparison_free(c);
    for (size_t side = 0; side < 2; side++) {
        result_forget_replicas(runs[side].result);
        vec_each (struct attempt_row, row, &runs[side].rows) {
            attempt_row_done(row);
        }
        vec_done(&runs[side].rows);
    }
    c = compare(&runs[0], &runs[1], &defaults);
    _cleanup_(json_decrefp) json_t *after = comparison_to_json(c);
    assert_true(json_equal(before, after));
    assert_int_equal(c->differences.len, 1);
    comparison_free(c);
    fixture_done(&runs[0]);
    fixture_done(&runs[1]);
}

TEST(long_differences_are_named)
{
    static const double x[] = {40, 70, 120, 200};
    struct fixture runs[2];
    for (size_t side = 0; side < 2; side++) {
        make_run(&runs[side], side == 0 ? "demo-7k3fq" : "demo-q2v8n", 3, x, 0);
        _cleanup_(freep) char *json =
            xasprintf("{\"cpu_features\":\"%0300zu\",\"image_id\":\"%0300zu\",\"kernel\":\"%zu\"}",
                      side, side, side);
        set_environments(&runs[side], json);
    }
    struct comparison *c = NULL;
    const struct compare_params strict = {.threshold_ratio = 0.02, .is_strict = true};
    const char *fix = NULL;
    struct err err = {0};
    assert_int_equal(comparison_new(runs[0].result, runs[1].result, &strict, &c, &fix, &err),
                     -EINVAL);
    assert_string_equal(err.msg,
                        "run/demo-7k3fq and run/demo-q2v8n differ in more than their points: "
                        "CPU features, kernel, image");
    assert_string_equal(fix,
                        "measure both in the same way; without --strict the values are printed");
    fixture_done(&runs[0]);
    fixture_done(&runs[1]);
}

/* Of runs in a cluster: processes of one machine do not read templates. */
TEST(templates)
{
    static const double x[] = {40, 70, 120, 200};
    static const struct {
        const char *base, *candidate;
        int64_t cpus;
        size_t n;
    } rows[] = {
        {"{\"a\": 1, \"b\": 2}", "{\"b\":2,\"a\":1}", 0, 0},
        {"{\"a\": 1}", "{\"a\": 2}", 0, 1},
        {NULL, "{\"a\": 2}", 0, 1},
        {"{\"a\": 1}", "{\"a\": 2}", 12, 0},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        print_message("# row %zu\n", i);
        struct fixture runs[2];
        for (size_t side = 0; side < 2; side++) {
            make_run(&runs[side], side == 0 ? "demo-7k3fq" : "demo-q2v8n", 3, x, 0);
            const char *text = side == 0 ? rows[i].base : rows[i].candidate;
            struct role_spec *role = &runs[side].def->spec->roles[ROLE_TRAINER];
            json_decref(role->template);
            role->template = text == NULL ? NULL : json_loads(text, 0, NULL);
            runs[side].def->cpus = rows[i].cpus;
        }
        struct comparison *c = compare(&runs[0], &runs[1], &defaults);
        assert_int_equal(c->differences.len, rows[i].n);
        vec_each (struct difference, d, &c->differences) {
            assert_string_equal(d->what, "trainer template");
            assert_string_equal(d->base, rows[i].base == NULL ? "none" : "9c3e82dd6fcae8b1");
        }
        comparison_free(c);
        fixture_done(&runs[0]);
        fixture_done(&runs[1]);
    }
}
