/* Helpers for tests that need a definition, see small_definition.h. */
#include "tests/test.h"
#include "small_definition.h"

#include "base/buf.h"

const char definition_text[] =
    /* 1 */ "apiVersion: benchd.io/v1alpha1\n"
            /* 2 */ "kind: Benchmark\n"
            /* 3 */ "metadata: {name: sample}\n"
            /* 4 */ "spec:\n"
            /* 5 */ "  systems: [{name: benchworker, profile: benchworker}]\n"
            /* 6 */ "  workload:\n"
            /* 7 */ "    model: vgg16-fluid-fc512\n"
            /* 8 */ "    dataset: {kind: Synthetic}\n"
            /* 9 */ "    batchSize: 64\n"
            /* 10 */ "    exchange: {kind: PServer, mode: Sync, wire: FP32}\n"
            /* 11 */ "  sweep:\n"
            /* 12 */ "    grid: {pservers: [1, 2], trainers: [1, 2, 4], batch_size: [16]}\n"
            /* 13 */ "  parameters:\n"
            /* 14 */ "  - name: cpu\n"
            /* 15 */ "    targets: [{roles: [pserver, trainer], paths: "
            "[/spec/containers/0/resources/requests/cpu]}]\n"
            /* 16 */ "  baseline: {kind: SingleNode}\n"
            /* 17 */ "  roles:\n"
            /* 18 */ "    pserver: {replicas: {from: pservers}, template: &pod {spec: {containers: "
            "[{name: "
            "main}]}}}\n"
            /* 19 */ "    trainer: {replicas: {from: trainers}, template: *pod}\n"
            /* 20 */ "  measure: {warmupSteps: 1, steps: 5}\n"
            /* 21 */ "  repeats: {min: 2, order: Interleaved}\n";

char *definition_with(const char *from, const char *to)
{
    const char *at = strstr(definition_text, from);
    if (at == NULL) {
        fail_msg("'%s' is not in definition_text", from);
    }
    return xasprintf("%.*s%s%s", (int)(at - definition_text), definition_text, to,
                     at + strlen(from));
}

struct run_def *run_def_of(struct spec *spec_take, const struct run_def_params *params)
{
    struct run_def *def = NULL;
    _cleanup_(diags_done) struct diags diags = {0};
    assert_int_equal(run_def_new(spec_take, params, &def, &diags), 0);
    return def;
}

char *definition_errors(const char *text, const struct spec_overrides *overrides)
{
    _cleanup_(diags_done) struct diags diags = {0};
    struct buf out = BUF_INIT;
    _cleanup_(spec_freep) struct spec *spec = NULL;
    if (spec_load(text, strlen(text), overrides, &spec, &diags) < 0) {
        assert_null(spec);
        assert_true(diags.list.len > 0);
        diags_format(&diags, "f.yaml", text, &out);
    } else {
        assert_int_equal(diags.list.len, 0);
    }
    buf_puts(&out, "");
    return out.data == NULL ? xstrdup("") : buf_take(&out);
}

struct spec *definition_load(const char *text, const struct spec_overrides *overrides)
{
    _cleanup_(diags_done) struct diags diags = {0};
    struct spec *spec = NULL;
    if (spec_load(text, strlen(text), overrides, &spec, &diags) < 0) {
        struct buf out = BUF_INIT;
        diags_format(&diags, "f.yaml", text, &out);
        fail_msg("expected a valid definition, got\n%s", buf_cstr(&out));
    }
    return spec;
}

int shipped_template_read(const void *ctx, const char *name, char **ret_path, struct buf *ret_text,
                          struct err *err)
{
    (void)ctx; /* the source tree is one */
    (void)err; /* a missing file fails the test */
    *ret_path = xasprintf("benchmarks/%s", name);
    _cleanup_(freep) char *text = golden_read(*ret_path);
    buf_puts(ret_text, text);
    return 0;
}

struct node *option_fields(int64_t steps, int64_t repeats)
{
    const struct {
        const char *map, *key;
        int64_t value;
    } rows[] = {{"measure", "steps", steps}, {"repeats", "min", repeats}};
    struct node *fields = tree_new(NODE_MAP);
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        if (rows[i].value != 0) {
            struct node *value = tree_new(NODE_INT);
            value->i = rows[i].value;
            value->origin =
                xasprintf("--%s %lld", i == 0 ? "steps" : "repeats", (long long)rows[i].value);
            tree_set_take(tree_enter(fields, rows[i].map), rows[i].key, value);
        }
    }
    return fields;
}
