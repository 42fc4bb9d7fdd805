/* See run_page.h. */
#include "report/run_page.h"

#include <string.h>

#include <jansson.h>

#include "base/str.h"
#include "base/vec_walk.h"
#include "result/nodes.h"

#define MAX_DEFINITION (64 << 10)

/* ---- where it ran ---- */

void run_page_put_nodes(struct sheet *s, const struct result *r)
{
    if (r->nodes.len > 1) {
        sheet_open(s, SHEET_PLAIN, "Nodes");
        sheet_table(s, NULL, layout_nodes(r), 1);
        sheet_line(s, &sheet_soft, "%s", layout_nodes_method);
        if (nodes_have_pairs(r)) {
            sheet_line(s, &sheet_soft, "%s", layout_pairs_method);
        }
        sheet_close(s);
    }
}

/* What a start record says of where its replica ran. */
static const struct fact {
    const char *name, *title; /* in a sentence; of a column */
    enum hardware_text text;
} facts[HARDWARE_TEXTS] = {
    {"CPU", "CPU", HARDWARE_CPU_MODEL},
    {"Kernel", "KERNEL", HARDWARE_KERNEL},
    {"BLAS core", "BLAS CORE", HARDWARE_BLAS_CORE},
    {"Build", "BUILD", HARDWARE_BUILD},
    {"Source", "SOURCE", HARDWARE_SOURCE},
};

/* All said the same, or none said it. */
static bool is_common(const struct result *r, const struct fact *fact)
{
    return vec_all(&r->hardware, h,
                   str_eq_or_null(h->texts[fact->text], r->hardware.items[0].texts[fact->text]));
}

/* What they share, once. */
static void put_common(struct sheet *s, const struct result *r)
{
    for (size_t i = 0; i < HARDWARE_TEXTS; i++) {
        const char *text = r->hardware.items[0].texts[facts[i].text];
        if (text != NULL && is_common(r, &facts[i])) {
            sheet_term(s, SHEET_PLAIN, facts[i].name, "%s", text);
        }
    }
}

/* "tensorflow-ps, tensorflow-mwms": the systems whose replicas ran on this kind of machine. */
static void put_users(const struct result *r, const struct hardware *h, struct buf *out)
{
    for (size_t i = 0; i < h->of_system.len; i++) {
        if (h->of_system.items[i] > 0) {
            buf_printf(out, "%s%s", out->len == 0 ? "" : ", ", r->def->spec->systems.items[i].name);
        }
    }
}

/* What they do not share: a row for each kind of machine and build. */
static void put_kinds(struct sheet *s, const struct layout *l)
{
    const struct result *r = l->result;
    struct table *t = table_new();
    for (size_t i = 0; i < r->hardware.len; i++) {
        _cleanup_(buf_done) struct buf users = BUF_INIT;
        if (l->words.systems) {
            put_users(r, &r->hardware.items[i], &users);
            table_text(t, "SYSTEM", "%s", buf_cstr(&users));
        }
        table_number(t, "REPLICAS", "%zu", r->hardware.items[i].n_replicas);
        for (size_t k = 0; k < HARDWARE_TEXTS; k++) {
            const char *text = r->hardware.items[i].texts[facts[k].text];
            if (!is_common(r, &facts[k])) {
                table_text(t, facts[k].title, "%s", text == NULL ? "-" : text);
            }
        }
        table_end_row(t);
    }
    sheet_table(s, NULL, t, 1);
    sheet_name_table(s, "Kinds of machines and builds");
}

void run_page_put_environment(struct sheet *s, const struct layout *l)
{
    const struct result *r = l->result;
    sheet_open(s, SHEET_PLAIN, "Environment");
    if (r->def->cpus > 0) {
        sheet_line(s, &sheet_paragraph,
                   "All replicas ran on one machine, with %lld CPU%s for them.",
                   (long long)r->def->cpus, plural(r->def->cpus));
    }
    if (r->nodes.len == 1) { /* several have a table */
        sheet_term(s, SHEET_PLAIN, "Node", "%s", r->nodes.items[0].name);
    }
    if (r->hardware.len == 0) {
        sheet_line(s, &sheet_paragraph, "No replica reported its CPU and kernel.");
    } else {
        put_common(s, r);
    }
    if (r->hardware.len > 1) {
        put_kinds(s, l);
    }
    sheet_close(s);
}

/* ---- how to run it again ---- */

static void put_save(struct sheet *s, const struct sheet_mark *mark, const char *where,
                     const char *name)
{
    sheet_line(s, mark, "%s as ", where);
    sheet_span(s, SHEET_CODE, "%s.json", name);
    sheet_span(s, SHEET_PLAIN, ", then:");
}

static void put_again(struct sheet *s, const struct run_def *def, const char *definition)
{
    static const struct sheet_mark screen = {.is_paragraph = true, .look = SHEET_ON_SCREEN};
    static const struct sheet_mark printed = {.is_paragraph = true, .look = SHEET_PRINTED};
    static const struct sheet_mark command = {.is_paragraph = true, .look = SHEET_COMMAND};
    static const struct sheet_mark folded = {.is_paragraph = true, .look = SHEET_FOLDED};
    const char *name = def->spec->name;
    const bool is_local = def->cpus > 0;
    sheet_open(s, SHEET_PLAIN, "Run it again");
    put_save(s, &screen, "Save the definition below", name);
    put_save(s, &printed, "The file that this was printed from has the definition. Save it", name);
    sheet_line(s, &command, "benchctl run -f %s.json%s", name, is_local ? " --local" : "");
    if (is_local) {
        sheet_line(s, &sheet_paragraph,
                   "Images and resources of the definition are those of pods in a cluster. This "
                   "run had none: its processes shared one machine.");
    }
    sheet_line(s, &folded, "Definition");
    sheet_details(s, definition);
    sheet_close(s);
}

void run_page_put_definition(struct sheet *s, const struct run_page *page)
{
    const struct run_def *def = page->result->def;
    _cleanup_(freep) char *text = json_dumps(def->spec->definition, JSON_INDENT(2));
    if (text != NULL && strlen(text) <= MAX_DEFINITION) {
        put_again(s, def, text);
    }
    sheet_line(s, &sheet_soft, "Run %s. Page made by %s.", def->uid, page->program);
}
