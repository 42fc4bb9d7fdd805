#include "tests/test.h"
#include "small_definition.h"

#include <errno.h>
#include <math.h>

#include "spec/matrix.h"
#include "spec/spec_load.h"

static void assert_axis(const struct spec *spec, size_t i, const char *expected)
{
    _cleanup_(buf_done) struct buf text = BUF_INIT;
    assert_true(i < spec->sweep.axes.len);
    buf_printf(&text, "%s:", spec->sweep.axes.items[i].name);
    vec_each (const struct value, v, &spec->sweep.axes.items[i].values) {
        buf_puts(&text, v->is_int ? " " : " s");
        value_format(v, &text);
    }
    assert_string_equal(buf_cstr(&text), expected);
}

TEST(reads_every_field)
{
    _cleanup_(spec_freep) struct spec *s = definition_load(definition_text, NULL);
    assert_string_equal(s->name, "sample");
    assert_string_equal(s->description, "");
    assert_int_equal(s->systems.len, 1);
    assert_string_equal(s->systems.items[0].profile, "benchworker");
    assert_string_equal(s->workload.model, "vgg16-fluid-fc512");
    assert_int_equal(s->workload.dataset, DATASET_SYNTHETIC);
    assert_int_equal(s->workload.batch_size, 64);
    assert_int_equal(s->workload.exchange.kind, EXCHANGE_PSERVER);
    assert_int_equal(s->sweep.kind, SWEEP_GRID);
    assert_axis(s, 0, "batch_size: 16");
    assert_axis(s, 1, "pservers: 1 2");
    assert_axis(s, 2, "trainers: 1 2 4");
    assert_int_equal(s->parameters.len, 1);
    assert_true(is_for_role(json_array_get(s->parameters.items[0].targets, 0), ROLE_PSERVER));
    assert_false(is_for_role(json_array_get(s->parameters.items[0].targets, 0), ROLE_WORKER));
    assert_string_equal(s->roles[ROLE_TRAINER].replicas.from, "trainers");
    assert_false(s->roles[ROLE_WORKER].present);
    assert_int_equal(s->warmup_steps, 1);
    assert_int_equal(s->steps, 5);
    assert_int_equal(s->repeats, 2);
}

TEST(has_defaults)
{
    _cleanup_(freep) char *text = definition_with("  measure: {warmupSteps: 1, steps: 5}\n"
                                                  "  repeats: {min: 2, order: Interleaved}\n",
                                                  "  measure: {steps: 5}\n");
    _cleanup_(spec_freep) struct spec *s = definition_load(text, NULL);
    assert_int_equal(s->workload.threads, 1);
    assert_int_equal(s->workload.seed, 1);
    assert_int_equal(s->warmup_steps, 10);
    assert_int_equal(s->steps, 5);
    assert_int_equal(s->repeats, 5);
    assert_int_equal(s->order, ORDER_INTERLEAVED);
    assert_int_equal(s->baseline.kind, BASELINE_SINGLE_NODE);
    assert_int_equal(s->failure_policy.on_trial_failure, ON_FAILURE_RETRY);
    assert_int_equal(s->failure_policy.max_failed_trials, 3);
    assert_int_equal(s->run_policy.backoff_limit, 3);
    assert_int_equal(s->run_policy.invalid_repeats, 0);
    assert_int_equal(s->run_policy.active_deadline_s, 3600);
    assert_int_equal(s->run_policy.ttl_s, -1);
    assert_int_equal(s->run_policy.clean_pod_policy, CLEAN_ON_SUCCESS);
    assert_int_equal(s->addressing, ADDRESSING_AUTO);
}

#define LAYERS                                                                                     \
    "layers: [{name: conv1_1, forwardMicroseconds: 1000, backwardMicroseconds: 3000}, {name: "     \
    "fc1, "                                                                                        \
    "forwardMicroseconds: 0, backwardMicroseconds: 1}]"

/* Times stay as they are, or all are scaled to a step of that length. */
TEST(reads_a_trace)
{
    static const struct {
        const char *trace, *text;
        double jitter;
    } rows[] = {
        {"{" LAYERS "}", "conv1_1=1000000:3000000,fc1=0:1000", 0},
        {"{stepMilliseconds: 8002, jitter: \"0.05\", " LAYERS "}",
         "conv1_1=2000000000:6000000000,fc1=0:2000000", 0.05},
        {"{stepMilliseconds: 1, jitter: \"0.3\", " LAYERS "}", "conv1_1=249938:749813,fc1=0:250",
         0.3},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        _cleanup_(freep) char *more =
            xasprintf("batchSize: 64\n    compute: Emulated\n    trace: %s", rows[i].trace);
        _cleanup_(freep) char *text = definition_with("batchSize: 64", more);
        _cleanup_(spec_freep) struct spec *s = definition_load(text, NULL);
        _cleanup_(freep) char *got = trace_text(&s->workload.trace);
        assert_string_equal(got, rows[i].text);
        assert_true(s->workload.trace.jitter_ratio == rows[i].jitter);
        assert_int_equal(s->workload.compute, COMPUTE_EMULATED);
        assert_string_equal(compute_names[s->workload.compute], "Emulated");
    }
    _cleanup_(spec_freep) struct spec *plain = definition_load(definition_text, NULL);
    assert_int_equal(plain->workload.compute, COMPUTE_REAL);
    assert_int_equal(plain->workload.trace.layers.len, 0);
}

TEST(reads_cluster_fields)
{
    _cleanup_(freep) char *text = definition_with(
        "  measure:", "  addressing: IP\n"
                      "  runPolicy: {ttlSecondsAfterFinished: 0, cleanPodPolicy: None}\n"
                      "  measure:");
    _cleanup_(spec_freep) struct spec *s = definition_load(text, NULL);
    assert_int_equal(s->run_policy.ttl_s, 0);
    assert_string_equal(clean_pod_policy_names[s->run_policy.clean_pod_policy], "None");
    assert_string_equal(addressing_names[s->addressing], "IP");
}

static const char *const shipped[] = {
    "allreduce-sweep",     "allreduce-systems",    "fleetx-collective", "fleetx-pserver",
    "imagenet-2017",       "imagenet-gpu",         "llm-fsdp",          "mlbench-logistic",
    "mlbench-resnet",      "nccl-allreduce",       "node-pairs",        "vgg16-allreduce-sweep",
    "vgg16-pserver-sweep", "vgg16-rehearsal-2018", "vgg16-single-node", "vgg16-systems",
    "vgg16-systems-plan",  "vgg16-wire-sweep",
};

/* A frozen definition, read again, is the same definition. */
static void assert_round_trip(const struct spec *spec)
{
    _cleanup_(freep) char *frozen = json_dumps(spec->definition, 0);
    _cleanup_(spec_freep) struct spec *again = definition_load(frozen, NULL);
    assert_true(json_equal(spec->definition, again->definition));
    assert_string_equal(spec->name, again->name);
    assert_int_equal(spec->steps, again->steps);
    assert_int_equal(spec->repeats, again->repeats);
    assert_int_equal(spec->min_repeats, again->min_repeats);
    assert_int_equal(spec->stop.is_set, again->stop.is_set);
    struct diags diags = {0};
    _cleanup_(matrix_done) struct matrix a, b;
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
}

TEST(accepts_shipped_files)
{
    for (size_t i = 0; i < N_ROWS(shipped); i++) {
        _cleanup_(freep) char *path = xasprintf("benchmarks/%s.yaml", shipped[i]);
        print_message("# file %s\n", path);
        _cleanup_(freep) char *text = golden_read(path);
        for (int local = 0; local <= 1; local++) {
            struct spec_overrides overrides = {.local = local,
                                               .read_template = shipped_template_read};
            _cleanup_(spec_freep) struct spec *spec = definition_load(text, &overrides);
            assert_string_equal(spec->name, shipped[i]);
            assert_round_trip(spec);
            /* The first table that a user sees has intervals. */
            assert_in_range(spec->min_repeats, local ? 3 : 5, 1000);
            json_t *block = json_object_get(json_object_get(spec->definition, "spec"), "local");
            assert_int_equal(block == NULL, local);
        }
    }
}

/* Whichever systems of a shipped definition are chosen, the rest of it fits them. */
TEST(any_systems_of_a_shipped_file_can_be_chosen)
{
    static const char *const names[] = {"benchworker", "paddle-fluid",     "paddle-fluid-async",
                                        "pytorch-ddp", "tensorflow-ps",    "tensorflow-mwms",
                                        "jax",         "paddle-collective"};
    _cleanup_(freep) char *text = golden_read("benchmarks/vgg16-systems.yaml");
    for (unsigned set = 1; set < 1u << N_ROWS(names); set += IS_SANITIZED ? 17 : 3) {
        _cleanup_(buf_done) struct buf systems = BUF_INIT;
        size_t n = 0;
        for (unsigned i = 0; i < N_ROWS(names); i++) {
            if ((set >> i & 1) != 0) {
                buf_printf(&systems, "%s%s", n++ > 0 ? "," : "", names[i]);
            }
        }
        for (int local = 0; local <= 1; local++) {
            struct spec_overrides overrides = {.local = local,
                                               .systems = buf_cstr(&systems),
                                               .read_template = shipped_template_read};
            _cleanup_(spec_freep) struct spec *spec = definition_load(text, &overrides);
            assert_int_equal(spec->systems.len, n);
            assert_round_trip(spec);
        }
    }
}

/* A machine of one's own shows an interval with few trials; a cluster can
 * afford what compare needs. */
TEST(repeats_by_default)
{
    static const struct {
        const char *name, *repeats, *local;
        int64_t option;
        bool is_local;
        int64_t expected;
    } rows[] = {
        {"nothing is said", "", "", 0, false, 5},
        {"nothing is said, local", "", "", 0, true, 3},
        {"a local block without repeats", "", "  local: {measure: {steps: 2}}\n", 0, true, 3},
        {"only the order", "  repeats: {order: Sequential}\n", "", 0, true, 3},
        {"the file's number", "  repeats: {min: 7}\n", "", 0, true, 7},
        {"the local block's number", "  repeats: {min: 7}\n", "  local: {repeats: {min: 2}}\n", 0,
         true, 2},
        {"the option's", "", "", 9, true, 9},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        print_message("# row '%s'\n", rows[i].name);
        _cleanup_(freep) char *more = xasprintf("%s%s", rows[i].repeats, rows[i].local);
        _cleanup_(freep) char *text =
            definition_with("  repeats: {min: 2, order: Interleaved}\n", more);
        _cleanup_(tree_freep) struct node *fields = option_fields(0, rows[i].option);
        const struct spec_overrides overrides = {.local = rows[i].is_local,
                                                 .default_repeats =
                                                     rows[i].is_local ? REPEATS_DEFAULT_LOCAL : 0,
                                                 .fields = fields};
        _cleanup_(spec_freep) struct spec *s = definition_load(text, &overrides);
        assert_int_equal(s->repeats, rows[i].expected);
        assert_round_trip(s); /* a frozen local run keeps its number */
    }
}

TEST(points_may_stop_early)
{
#define RULE "stopWhen: {relativeHalfWidth: \"0.02\"}"
    static const struct {
        const char *name, *repeats, *local;
        int64_t option;
        bool is_local;
        int64_t min, max;
        bool has_rule;
    } rows[] = {
        {"a fixed number", "{min: 4}", "", 0, false, 4, 4, false},
        {"a range", "{min: 3, max: 10, " RULE "}", "", 0, false, 3, 10, true},
        {"min by default", "{max: 10, " RULE "}", "", 0, false, 5, 10, true},
        {"min by default, local", "{max: 10, " RULE "}", "", 0, true, 3, 10, true},
        {"as many at least as at most", "{min: 2, max: 2, " RULE "}", "", 0, false, 2, 2, false},
        {"the option's number, no more and no less", "{min: 3, max: 10, " RULE "}", "", 2, false, 2,
         2, false},
        {"the local block's range", "{min: 5, max: 20, " RULE "}",
         "  local: {repeats: {min: 3, max: 4}}\n", 0, true, 3, 4, true},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        print_message("# row '%s'\n", rows[i].name);
        _cleanup_(freep) char *more =
            xasprintf("  repeats: %s\n%s", rows[i].repeats, rows[i].local);
        _cleanup_(freep) char *text =
            definition_with("  repeats: {min: 2, order: Interleaved}\n", more);
        _cleanup_(tree_freep) struct node *fields = option_fields(0, rows[i].option);
        const struct spec_overrides overrides = {.local = rows[i].is_local,
                                                 .default_repeats =
                                                     rows[i].is_local ? REPEATS_DEFAULT_LOCAL : 0,
                                                 .fields = fields};
        _cleanup_(spec_freep) struct spec *s = definition_load(text, &overrides);
        assert_int_equal(s->min_repeats, rows[i].min);
        assert_int_equal(s->repeats, rows[i].max);
        assert_int_equal(s->stop.is_set, rows[i].has_rule);
        assert_true(!rows[i].has_rule || fabs(s->stop.half_width_ratio - 0.02) < 1e-12);
        assert_round_trip(s);
    }
}

/* --set keeps the points that have one of its values. Values for all names of them are a grid. */
TEST(set_narrows_or_replaces_a_list_of_points)
{
#define POINTS                                                                                     \
    "points: [{pservers: 1, trainers: 1}, {pservers: 1, trainers: 2}, {pservers: 2, trainers: 2}," \
    " {pservers: 2, trainers: 4}]"
    static const struct {
        const char *sweep, *sets[3], *expected;
    } rows[] = {
        {POINTS, {"trainers=2", NULL}, "1:2 2:2"},
        {POINTS, {"trainers=4,1", NULL}, "1:1 2:4"},
        {POINTS, {"trainers=2,4", "pservers=2"}, "2:2 2:4"},
        {POINTS "\n    exclude: [{trainers: 4}]", {"trainers=1,2", NULL}, "1:1 1:2 2:2"},
        {POINTS "\n    exclude: [{trainers: 4}]", {"pservers=2", NULL}, "2:2"},
        {POINTS, {"trainers=3", "pservers=1,4"}, "1:3 4:3"},
        {POINTS "\n    exclude: [{trainers: 4}]",
         {"trainers=4", "batch_size=8", "pservers=1"},
         "1:4"},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        print_message("# row %zu\n", i);
        _cleanup_(freep) char *text = definition_with(
            "grid: {pservers: [1, 2], trainers: [1, 2, 4], batch_size: [16]}", rows[i].sweep);
        size_t n_sets = 0;
        while (n_sets < 3 && rows[i].sets[n_sets] != NULL) {
            n_sets++;
        }
        const struct spec_overrides overrides = {.sets = rows[i].sets, .n_sets = n_sets};
        _cleanup_(spec_freep) struct spec *s = definition_load(text, &overrides);
        struct diags diags = {0};
        _cleanup_(matrix_done) struct matrix matrix;
        _cleanup_(buf_done) struct buf got = BUF_INIT;
        assert_int_equal(matrix_expand(s, &matrix, &diags), 0);
        for (uint32_t k = 0; k < matrix.n_swept; k++) {
            const uint32_t *replicas = matrix.points[k].replicas;
            buf_printf(&got, "%s%u:%u", k == 0 ? "" : " ", replicas[ROLE_PSERVER],
                       replicas[ROLE_TRAINER]);
        }
        assert_string_equal(buf_cstr(&got), rows[i].expected);
        assert_round_trip(s);
    }
}

TEST(merges_local)
{
    _cleanup_(freep) char *text = definition_with(
        "  repeats:", "  local:\n"
                      "    workload: {batchSize: 8, dataset: {kind: IDX, path: /d}}\n"
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

TEST(local_of_another_kind_replaces)
{
    _cleanup_(freep) char *text = definition_with(
        "batch_size: [16]}\n",
        "batch_size: [16]}\n    exclude: [{trainers: 4}]\n"
        "  local: {sweep: {points: [{pservers: 1, trainers: 3}, {pservers: 2, trainers: 5}]}}\n");
    struct spec_overrides overrides = {.local = true};
    struct spec *s = definition_load(text, &overrides);
    assert_int_equal(s->sweep.kind, SWEEP_POINTS);
    assert_int_equal(s->sweep.points.len, 2);
    assert_int_equal(s->sweep.axes.len, 0);
    assert_int_equal(s->sweep.exclude.len, 0);
    spec_free(s);

    _cleanup_(freep) char *with_path = definition_with(
        "    dataset: {kind: Synthetic}\n    batchSize: 64\n    exchange: {kind: PServer, mode: "
        "Sync, wire: FP32}\n",
        "    dataset: {kind: IDX, path: /data}\n    batchSize: 64\n    exchange: {kind: PServer}\n"
        "  local: {workload: {dataset: {kind: Synthetic}}}\n");
    s = definition_load(with_path, &overrides);
    assert_int_equal(s->workload.dataset, DATASET_SYNTHETIC);
    assert_null(s->workload.dataset_path); /* it was of the other kind */
    assert_int_equal(s->workload.batch_size, 64);
    spec_free(s);
}

/* Of all systems without an exchange of their own, and of no baseline: it sends nothing. */
TEST(bf16_on_the_wire)
{
    _cleanup_(freep) char *text = definition_with("wire: FP32", "wire: BF16, serverThreads: 2");
    struct spec *s = definition_load(text, NULL);
    assert_int_equal(s->workload.exchange.wire, EXCHANGE_WIRE_BF16);
    assert_int_equal(s->workload.exchange.server_threads, 2);
    vec_each (const struct system, it, &s->systems) {
        assert_int_equal(it->exchange.wire, EXCHANGE_WIRE_BF16);
    }
    char suffix[EXCHANGE_SUFFIX_MAX];
    exchange_suffix(&s->workload.exchange, suffix);
    assert_string_equal(suffix, " BF16 serverThreads=2");
    struct point point = {.exchange = EXCHANGE_PSERVER};
    assert_int_equal(point_exchange(s, &point).wire, EXCHANGE_WIRE_BF16);
    point.exchange = EXCHANGE_NONE;
    assert_int_equal(point_exchange(s, &point).wire, EXCHANGE_WIRE_FP32);
    spec_free(s);
    _cleanup_(freep) char *plain = definition_with("wire: FP32", "wire: FP32");
    s = definition_load(plain, NULL);
    assert_int_equal(s->systems.items[0].exchange.wire, EXCHANGE_WIRE_FP32);
    exchange_suffix(&s->workload.exchange, suffix);
    assert_string_equal(suffix, "");
    spec_free(s);
}

/* A baseline has no trainers to average parameters with. */
TEST(modes_of_an_exchange)
{
    static const struct {
        const char *field, *text, *baseline;
    } rows[] = {
        {"wire: FP32", "Sync", "Sync"},
        {"localSteps: 1", "Sync", "Sync"},
        {"localSteps: 10", "Sync localSteps=10", "Sync"},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        _cleanup_(freep) char *fields = xasprintf("mode: Sync, %s", rows[i].field);
        _cleanup_(freep) char *short_text = definition_with("mode: Sync, wire: FP32", fields);
        const char *measure = strstr(short_text, "warmupSteps: 1, steps: 5");
        _cleanup_(freep) char *text =
            xasprintf("%.*swarmupSteps: 10, steps: 20%s", (int)(measure - short_text), short_text,
                      measure + strlen("warmupSteps: 1, steps: 5"));
        _cleanup_(spec_freep) struct spec *s = definition_load(text, NULL);
        struct point point = {.exchange = EXCHANGE_PSERVER}, baseline = {.exchange = EXCHANGE_NONE};
        const struct exchange_mode modes[] = {point_exchange(s, &point).mode,
                                              point_exchange(s, &baseline).mode};
        char texts[2][EXCHANGE_MODE_TEXT_MAX];
        exchange_mode_text(&modes[0], texts[0]);
        exchange_mode_text(&modes[1], texts[1]);
        assert_string_equal(texts[0], rows[i].text);
        assert_string_equal(texts[1], rows[i].baseline);
    }
}

/* What texts say beside the name of an exchange. */
TEST(suffixes_of_an_exchange)
{
    static const struct {
        struct exchange exchange;
        const char *text;
    } rows[] = {
        {{.kind = EXCHANGE_PSERVER}, ""},
        {{.kind = EXCHANGE_PSERVER, .wire = EXCHANGE_WIRE_BF16, .mode = {.kind = EXCHANGE_ASYNC}},
         " BF16 Async"},
        {{.kind = EXCHANGE_PSERVER, .transport = EXCHANGE_TRANSPORT_TCP}, " TCP"},
        {{.kind = EXCHANGE_ALL_REDUCE}, ""},
        {{.kind = EXCHANGE_ALL_REDUCE, .transport = EXCHANGE_TRANSPORT_TCP}, " TCP"},
        {{.kind = EXCHANGE_ALL_REDUCE, .transport = EXCHANGE_TRANSPORT_NCCL}, " NCCL"},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        char suffix[EXCHANGE_SUFFIX_MAX];
        exchange_suffix(&rows[i].exchange, suffix);
        assert_string_equal(suffix, rows[i].text);
    }
}

/* An exclusion of values that an option replaced stays: it may be of a baseline. */
TEST(overridden_values_keep_excludes)
{
    _cleanup_(freep) char *text = definition_with(
        "batch_size: [16]}\n",
        "batch_size: [16]}\n    exclude: [{trainers: 4}, {trainers: 1, pservers: 2}]\n");
    static const char *const sets[] = {"trainers=1,2"};
    struct spec_overrides overrides = {.sets = sets, .n_sets = 1};
    _cleanup_(spec_freep) struct spec *s = definition_load(text, &overrides);
    assert_int_equal(s->sweep.exclude.len, 2);
    assert_round_trip(s);
}

TEST(options_come_on_top)
{
    _cleanup_(freep) char *text = definition_with(
        "  repeats:", "  local: {sweep: {grid: {pservers: [1]}}, measure: {steps: 2}}\n  repeats:");
    static const char *const sets[] = {"trainers=3", "cpu=400m,2,010,-3,0", "batch_size=8,32"};
    _cleanup_(tree_freep) struct node *fields = option_fields(7, 9);
    struct spec_overrides overrides = {.local = true, .sets = sets, .n_sets = 3, .fields = fields};
    _cleanup_(spec_freep) struct spec *s = definition_load(text, &overrides);
    assert_axis(s, 0, "batch_size: 8 32");
    assert_axis(s, 1, "cpu: s400m 2 s010 -3 0");
    assert_axis(s, 2, "pservers: 1");
    assert_axis(s, 3, "trainers: 3");
    assert_int_equal(s->steps, 7);
    assert_int_equal(s->repeats, 9);
    assert_round_trip(s);
}

TEST(systems_are_chosen_by_their_whole_names)
{
    _cleanup_(freep) char *text =
        definition_with("systems: [{name: benchworker, profile: benchworker}]",
                        "systems: [{name: ab, profile: benchworker}, {name: a, profile: "
                        "benchworker}, {name: abc, profile: benchworker}]");
    static const struct {
        const char *systems, *kept;
    } rows[] = {{"a", "a "}, {"ab", "ab "}, {"a,abc", "a abc "}, {"abc,ab", "ab abc "}};
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        struct spec_overrides overrides = {.systems = rows[i].systems};
        _cleanup_(spec_freep) struct spec *s = definition_load(text, &overrides);
        _cleanup_(buf_done) struct buf kept = BUF_INIT;
        vec_each (const struct system, it, &s->systems) {
            buf_printf(&kept, "%s ", it->name);
        }
        assert_string_equal(buf_cstr(&kept), rows[i].kept);
    }
    static const char *const unknown[][2] = {
        {"", "system ''"},
        {"bc", "--systems bc: error: spec.systems: system 'bc'"},
        {"a,x", "system 'x'"},
        {"a,", "system ''"}};
    for (size_t i = 0; i < N_ROWS(unknown); i++) {
        struct spec_overrides overrides = {.systems = unknown[i][0]};
        _cleanup_(freep) char *errors = definition_errors(text, &overrides);
        assert_non_null(strstr(errors, unknown[i][1]));
    }
}

TEST(leaves_the_result_alone_on_failure)
{
    _cleanup_(diags_done) struct diags diags = {0};
    struct spec *spec = (struct spec *)&diags;
    assert_int_equal(spec_load("", 0, NULL, &spec, &diags), -EINVAL);
    assert_ptr_equal(spec, &diags);
    assert_int_equal(spec_load("- 1", 3, NULL, &spec, &diags), -EINVAL);
    assert_int_equal(diags.list.len, 2);
}
