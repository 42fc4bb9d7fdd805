/* See run_page.h. */
#include "report/run_page.h"

#include <math.h>
#include <string.h>

#include <jansson.h>

#include "base/str.h"
#include "base/vec_walk.h"
#include "report/prose.h"
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

/* Those that wrote no start record: a launcher, a program whose log is read. */
static void put_silent(struct sheet *s, const struct layout *l)
{
    _cleanup_(buf_done) struct buf systems = BUF_INIT;
    const size_t n = prose_systems_put_users(l, NO_HARDWARE, &systems);
    if (n > 0) {
        sheet_line(s, &sheet_paragraph,
                   "%zu replica%s of succeeded trials did not report CPU, kernel and build%s%s.", n,
                   plural(n), l->words.systems ? ": those of " : "",
                   l->words.systems ? buf_cstr(&systems) : "");
    }
}

/* A single one has no other to be compared with. */
static void put_only_node(struct sheet *s, const struct result *r)
{
    struct buf text = BUF_INIT;
    if (r->nodes.len != 1) {
        return;
    }
    const struct node_result *node = &r->nodes.items[0];
    const double throttled = node_result_throttled_ratio(node);
    buf_printf(&text, "%zu replica%s of succeeded trials ran on node %s", node->n_replicas,
               plural(node->n_replicas), node->name);
    if (!isnan(throttled)) {
        buf_printf(&text, ", which throttled them for %.1f%% of their time", 100 * throttled);
    }
    buf_putc(&text, '.');
    sheet_put_line(s, &sheet_paragraph, &text);
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
static void put_common(struct sheet *s, const struct layout *l)
{
    const struct result *r = l->result;
    if (r->hardware.len == 1 && l->words.systems) {
        _cleanup_(buf_done) struct buf users = BUF_INIT;
        (void)prose_systems_put_users(l, 0, &users); /* the entry has their number */
        sheet_term(s, SHEET_PLAIN, "System", "%s", buf_cstr(&users));
    }
    if (r->hardware.len == 1) {
        sheet_term(s, SHEET_PLAIN, "Replicas", "%zu of succeeded trials",
                   r->hardware.items[0].n_replicas);
    }
    for (size_t i = 0; i < HARDWARE_TEXTS; i++) {
        const char *text = r->hardware.items[0].texts[facts[i].text];
        if (text != NULL && is_common(r, &facts[i])) {
            sheet_term(s, SHEET_PLAIN, facts[i].name, "%s", text);
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
            (void)prose_systems_put_users(l, i, &users); /* as above */
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
    put_only_node(s, r);
    if (r->hardware.len == 0) {
        sheet_line(s, &sheet_paragraph, "No replica reported its CPU and kernel.");
    } else {
        put_silent(s, l);
        put_common(s, l);
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
    _cleanup_(buf_done) struct buf systems = BUF_INIT;
    sheet_open(s, SHEET_PLAIN, "Run it again");
    put_save(s, &screen, "Save the definition below", name);
    put_save(s, &printed, "The file that this was printed from has the definition. Save it", name);
    sheet_line(s, &command, "benchctl run -f %s.json%s", name, is_local ? " --local" : "");
    if (is_local) {
        sheet_line(s, &sheet_paragraph,
                   "Images and resources of the definition are those of pods in a cluster. This "
                   "run had none: its processes shared one machine.");
    }
    prose_systems_put_local(def->spec, &systems);
    if (systems.len > 0) {
        sheet_line(s, &sheet_paragraph,
                   "On another machine, first change the paths in the commands of: %s.",
                   buf_cstr(&systems));
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
