/* A run that was frozen is the same run when it is read back: points, order, everything. */
#include "store_fixture.h"

#include <jansson.h>

#include "base/mem.h"
#include "spec/spec_load.h"

static const char text[] =
    "apiVersion: benchd.io/v1alpha1\n"
    "kind: Benchmark\n"
    "metadata: {name: tiny}\n"
    "spec:\n"
    "  systems: [{name: benchworker, profile: benchworker}]\n"
    "  workload: {model: vgg16-fluid-fc512, dataset: {kind: Synthetic}, batchSize: 4, threads: 1,\n"
    "    seed: 7, exchange: {kind: PServer, mode: Sync, wire: FP32}, compute: Real}\n"
    "  sweep: {grid: {pservers: [1], trainers: [1]}}\n"
    "  baseline: {kind: SingleNode}\n"
    "  roles: {pserver: {replicas: {from: pservers}}, trainer: {replicas: {from: trainers}}}\n"
    "  measure: {warmupSteps: 2, steps: 8}\n"
    "  repeats: {min: 3, order: Interleaved}\n"
    "  local: {measure: {steps: 5}}\n";

TEST(test_a_frozen_run_comes_back)
{
    const char *const sets[] = {"pservers=1,2,3", "trainers=2,4"};
    struct spec_overrides overrides = {.local = true, .sets = sets, .n_sets = 2};
    struct run_def_params params = {.name = RUN_NAME, .uid = UID, .created_unix_ms = 42, .cpus = 4};
    _cleanup_(diags_done) struct diags diags = {0};
    struct spec *spec = NULL;
    _cleanup_(run_def_freep) struct run_def *def = NULL, *again = NULL;
    assert_int_equal(spec_load(text, strlen(text), &overrides, &spec, &diags), 0);
    assert_int_equal(run_def_new(spec, &params, &def, &diags), 0);
    _cleanup_(run_row_done) struct run_row row = make_run(UID, RUN_NAME, 42);
    free(row.definition_json);
    row.definition_json = json_dumps(def->spec->definition, JSON_COMPACT);
    row.cpus = 4;

    struct err err = {0};
    if (store_load_run_def(&row, &again, &err) < 0) {
        fail_msg("load: %s", err.msg);
    }
    assert_string_equal(again->name, RUN_NAME);
    assert_string_equal(again->uid, UID);
    assert_int_equal(again->created_unix_ms, 42);
    assert_int_equal(again->rehearsal, def->rehearsal);
    assert_int_equal(again->cpus, 4);
    assert_int_equal(again->spec->steps, 5);
    assert_int_equal(again->spec->repeats, 3);
    assert_int_equal(again->matrix.n_points, def->matrix.n_points);
    assert_int_equal(again->matrix.n_swept, 6);
    assert_int_equal(again->n_slots, def->n_slots);
    for (uint32_t i = 0; i < def->n_slots; i++) {
        assert_int_equal(again->slots[i].point, def->slots[i].point);
        assert_int_equal(again->slots[i].trial, def->slots[i].trial);
    }
    _cleanup_(freep) char *definition = json_dumps(again->spec->definition, JSON_COMPACT);
    assert_string_equal(definition, row.definition_json); /* freezing it again changes nothing */
}

/* No API server has seen what a store or an archive says. */
TEST(test_the_options_of_a_run_are_checked)
{
    static const struct {
        const char *run, *message;
        uint32_t n_lanes;
    } rows[] = {
        {"", NULL, 1},
        {"run: {parallelism: {trials: 4}}\n", NULL, 4},
        {"run: {parallelism: {trials: 99}}\n",
         "run.parallelism.trials: 99 is out of range: must be 1 to 16", 0},
        {"scheduling: {trials: 4}\n", "unknown field 'scheduling'", 0},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        _cleanup_(run_row_done) struct run_row row = make_run(UID, RUN_NAME, 1);
        free(row.definition_json);
        row.definition_json = xasprintf("%s%s", text, rows[i].run);
        _cleanup_(run_def_freep) struct run_def *def = NULL;
        struct err err = {0};
        const int r = store_load_run_def(&row, &def, &err);
        assert_int_equal(r, rows[i].message == NULL ? 0 : -EBADMSG);
        if (r < 0) {
            assert_non_null(strstr(err.msg, rows[i].message));
            continue;
        }
        assert_int_equal(run_options_lanes(&def->options), rows[i].n_lanes);
        _cleanup_(run_row_done) struct run_row again = make_run(UID, RUN_NAME, 1);
        _cleanup_(run_def_freep) struct run_def *same = NULL;
        free(again.definition_json);
        again.definition_json = run_def_text(def);
        assert_int_equal(store_load_run_def(&again, &same, &err), 0);
        assert_int_equal(run_options_lanes(&same->options), rows[i].n_lanes);
    }
}

TEST(test_a_damaged_definition_is_named)
{
    static const char *const texts[] = {"", "{", "{\"kind\": \"Benchmark\"}", "[1, 2]"};
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        _cleanup_(run_row_done) struct run_row row = make_run(UID, RUN_NAME, 1);
        free(row.definition_json);
        row.definition_json = xstrdup(texts[i]);
        struct run_def *def = NULL;
        struct err err = {0};
        assert_int_equal(store_load_run_def(&row, &def, &err), -EBADMSG);
        assert_null(def);
        assert_non_null(
            strstr(err.msg, "run '" RUN_NAME "': its stored definition cannot be read: "));
    }
}
