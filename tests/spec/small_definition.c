/* Helpers for tests that need a definition, see small_definition.h. */
#include "tests/test.h"
#include "small_definition.h"

#include "base/buf.h"
#include "base/mem.h"

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
            /* 10 */ "    exchange: {kind: PServer, mode: Sync, wire: Fp32}\n"
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

char *definition_errors(const char *text, const struct spec_overrides *overrides)
{
    struct diags diags = {0};
    struct buf out = BUF_INIT;
    struct spec *spec = NULL;
    if (spec_load(text, strlen(text), overrides, &spec, &diags) < 0) {
        assert_null(spec);
        assert_true(diags.list.len > 0);
        diags_format(&diags, "f.yaml", text, &out);
    } else {
        assert_int_equal(diags.list.len, 0);
    }
    spec_free(spec);
    diags_done(&diags);
    buf_puts(&out, "");
    return out.data == NULL ? xstrdup("") : buf_take(&out);
}

struct spec *definition_load(const char *text, const struct spec_overrides *overrides)
{
    struct diags diags = {0};
    struct spec *spec = NULL;
    if (spec_load(text, strlen(text), overrides, &spec, &diags) < 0) {
        struct buf out = BUF_INIT;
        diags_format(&diags, "f.yaml", text, &out);
        fail_msg("expected a valid definition, got\n%s", buf_cstr(&out));
    }
    diags_done(&diags);
    return spec;
}

char *source_file_read(const char *path)
{
    _cleanup_(freep) char *full = xasprintf("%s/%s", getenv("BENCHD_SOURCE_DIR"), path);
    FILE *file = fopen(full, "rb");
    if (file == NULL) {
        fail_msg("cannot open '%s'", full);
    }
    struct buf text = BUF_INIT;
    char chunk[4096];
    for (size_t n; (n = fread(chunk, 1, sizeof(chunk), file)) > 0;) {
        buf_append(&text, chunk, n);
    }
    (void)fclose(file); /* only read from */
    return buf_take(&text);
}

int shipped_template_read(const void *ctx, const char *name, char **ret_path, struct buf *ret_text,
                          struct err *err)
{
    (void)ctx; /* the source tree is one */
    (void)err; /* a missing file fails the test */
    *ret_path = xasprintf("benchmarks/%s", name);
    _cleanup_(freep) char *text = source_file_read(*ret_path);
    buf_puts(ret_text, text);
    return 0;
}
