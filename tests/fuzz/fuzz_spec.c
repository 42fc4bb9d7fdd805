/* Fuzz target: any bytes as a definition. Beyond not crashing, it holds that a refused text has a
 * diagnostic, and that what was accepted is accepted again, and equal, when it was frozen. */
#include "fuzz.h"

#include "base/buf.h"
#include "spec/spec_load.h"

static void check_frozen(const struct spec *spec)
{
    struct diags diags = {0};
    struct spec *again = NULL;
    _cleanup_(freep) char *frozen = json_dumps(spec->definition, 0);
    require(frozen != NULL);
    require(spec_load(frozen, strlen(frozen), NULL, &again, &diags) == 0);
    require(json_equal(spec->definition, again->definition));
    spec_free(again);
}

/* Every file has the same template, so that what names one is read to its end. */
static int read_template(const void *ctx, const char *name, char **ret_path, struct buf *ret_text,
                         struct err *err)
{
    (void)ctx;
    (void)err;
    *ret_path = xstrdup(name);
    buf_puts(ret_text, "spec: {containers: [{name: main, resources: {limits: {cpu: 1}}}]}");
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    for (int local = 0; local <= 1; local++) {
        struct spec_overrides overrides = {.local = local, .read_template = read_template};
        struct diags diags = {0};
        struct spec *spec = NULL;
        if (spec_load((const char *)data, size, &overrides, &spec, &diags) == 0) {
            require(diags.list.len == 0);
            check_frozen(spec);
            spec_free(spec);
            continue;
        }
        require(diags.list.len > 0);
        _cleanup_(buf_done) struct buf out = BUF_INIT;
        _cleanup_(buf_done) struct buf text = BUF_INIT;
        buf_append(&text, data, size);
        diags_format(&diags, "f.yaml", buf_cstr(&text), &out);
        diags_done(&diags);
    }
    return 0;
}
