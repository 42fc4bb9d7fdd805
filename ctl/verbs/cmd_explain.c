/* benchctl explain PATH: what a field of a definition means. Offline. */
#include <string.h>

#include "base/mem.h"
#include "ctl/definition/crd_schema.h"
#include "spec/schemas.h"
#include "ctl/runs/show.h"
#include "ctl/verbs/verbs.h"
#include "doc/reader.h"
#include "report/terminal.h"

#define INDENT 4
#define COLUMNS_MAX 80 /* Longer lines of prose are hard to read. */

static void put_wrapped(const char *text, unsigned indent, struct buf *out)
{
    const unsigned columns = show_list_columns();
    const bool is_narrow = columns > 0 && columns < COLUMNS_MAX;
    buf_printf(out, "%*s", (int)indent, "");
    wrap_text(out, text, is_narrow ? columns : COLUMNS_MAX, indent, indent);
}

/* Prints "  name   <string>   required   one of A, B"; on a terminal that is too narrow, the bounds
 * are on a line below. */
static void put_head(const struct schema_field *field, const char *name, unsigned indent,
                     struct buf *out)
{
    const unsigned columns = show_list_columns();
    const size_t begin = out->len;
    buf_printf(out, "%*s%s   <", (int)indent, "", name);
    schema_put_type(field, out);
    buf_puts(out, field->is_required ? ">   required" : ">");
    _cleanup_(buf_done) struct buf bounds = BUF_INIT;
    schema_put_bounds(field, &bounds);
    if (bounds.len > 0 && columns > 0 && out->len - begin + 3 + bounds.len > columns) {
        buf_putc(out, '\n');
        put_wrapped(buf_cstr(&bounds), indent + INDENT, out);
    } else {
        buf_printf(out, "%s%s\n", bounds.len == 0 ? "" : "   ", buf_cstr(&bounds));
    }
}

static void put_children(const struct schema_field *field, struct buf *out)
{
    struct schema_field child;
    for (size_t i = 0; schema_child(field, i, &child); i++) {
        buf_puts(out, i == 0 ? "\nFIELDS:\n" : "");
        put_head(&child, child.name, 2, out);
        _cleanup_(buf_done) struct buf text = BUF_INIT;
        schema_put_description(&child, &text);
        if (text.len > 0) {
            put_wrapped(buf_cstr(&text), INDENT, out);
        }
    }
}

static void explain(const struct schema_field *field, const char *path, struct buf *out)
{
    buf_printf(out, "KIND:   %s   (benchd.io/v1alpha1)\n", field->kind);
    if (field->name[0] != '\0') {
        _cleanup_(buf_done) struct buf label = BUF_INIT;
        buf_printf(&label, "FIELD:  %s", path);
        put_head(field, buf_cstr(&label), 0, out);
    }
    _cleanup_(buf_done) struct buf text = BUF_INIT;
    schema_put_description(field, &text);
    if (text.len > 0) {
        buf_putc(out, '\n');
        put_wrapped(buf_cstr(&text), 0, out);
    }
    put_children(field, out);
}

/* "did you mean 'spec.systems'?", or the fields that there are. */
static void put_fix(const struct node *kinds, const struct schema_field *at, const char *path,
                    const char *wrong, struct buf *out)
{
    const char *names[64];
    size_t n = 0;
    struct schema_field child;
    while (n < COUNT_OF(names) && schema_child(at, n, &child)) {
        names[n++] = child.name;
    }
    const char *meant = suggest_name(wrong, names, n);
    struct schema_field below;
    struct err err;
    _cleanup_(freep) char *in_spec = xasprintf("spec.%s", path), *also_wrong = NULL;
    if (at->name[0] == '\0' && meant == NULL &&
        schema_find(kinds, in_spec, &below, &also_wrong, &err) == 0) {
        buf_printf(out, "did you mean '%s'?", in_spec);
        return;
    }
    if (meant != NULL) {
        const char *place = strstr(path, wrong); /* the first place: the way before it was found */
        buf_printf(out, "did you mean '%.*s%s'?", (int)(place - path), path, meant);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        buf_printf(out, "%s%s", i == 0 ? "it has: " : ", ", names[i]);
    }
    buf_puts(out, n == 0 ? "it has no fields of its own" : "");
}

static enum exit_code run(struct cli *cli)
{
    struct node *kinds = schema_kinds();
    struct err err = {0};
    const char *path = cli->args.n_words > 0 ? cli->args.words[0] : "";
    struct schema_field field;
    _cleanup_(buf_done) struct buf out = BUF_INIT;
    _cleanup_(freep) char *wrong = NULL;
    enum exit_code code;
    if (schema_find(kinds, path, &field, &wrong, &err) < 0) {
        put_fix(kinds, &field, path, wrong, &out);
        code = cli_error(EXIT_USAGE, buf_cstr(&out), "%s", err.msg);
    } else {
        explain(&field, path, &out);
        code = cli_print(&out);
    }
    tree_free(kinds);
    return code;
}

const struct verb verb_explain = {
    .name = "explain",
    .args = "[PATH]",
    .summary = "Explain the fields of a definition",
    .examples = "  benchctl explain spec.systems\n"
                "  benchctl explain spec.systems.log\n"
                "  benchctl explain benchmarkrun.spec\n"
                "  benchctl explain spec.measure\n",
    .details = "Prints a field's type and bounds, whether it is required, its meaning and\n"
               "default, and its fields. PATH is as in the messages of validate; indexes of\n"
               "lists may be omitted. Without PATH it prints the fields of a Benchmark. A PATH\n"
               "that starts with 'benchmarkrun' (bmr) is one of a BenchmarkRun. The cluster is\n"
               "not contacted.\n"
               "\n"
               "Exit codes: 2 the field does not exist.",
    .max_words = 1,
    .run = run,
};
