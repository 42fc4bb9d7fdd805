/* See html_origin.h. */
#include "report/html_origin.h"

#include <math.h>
#include <string.h>

#include <jansson.h>

#include "base/str.h"
#include "report/html_parts.h"
#include "report/prose_systems.h"
#include "report/table.h"

#define MAX_DEFINITION (64 << 10)

/* ---- where it ran ---- */

void html_put_nodes(struct buf *out, const struct result *r)
{
    struct table *t = r->nodes.len > 1 ? layout_nodes(r) : NULL;
    if (t == NULL) {
        return;
    }
    buf_puts(out, "<section>\n<h2>Nodes</h2>\n");
    html_put_table(out, "Nodes", t);
    buf_puts(out, "<p class=\"soft\">");
    html_escape(layout_nodes_method, out);
    buf_puts(out, "</p>\n</section>\n");
}

/* Those that wrote no start record: a launcher, a program whose log is read. */
static void put_silent(struct buf *out, const struct layout *l)
{
    struct buf systems = BUF_INIT;
    const size_t n = prose_systems_put_silent(l, &systems);
    if (n > 0) {
        buf_printf(out, "<p>%zu replica%s of succeeded trials did not report CPU, kernel and build",
                   n, n == 1 ? "" : "s");
        if (l->systems) {
            buf_puts(out, ": those of ");
            html_escape(buf_cstr(&systems), out);
        }
        buf_puts(out, ".</p>\n");
    }
    buf_done(&systems);
}

/* A single one has no other to be compared with. */
static void put_only_node(struct buf *out, const struct result *r)
{
    if (r->nodes.len != 1) {
        return;
    }
    const struct node_result *node = &r->nodes.items[0];
    const double throttled = node_result_throttled_ratio(node);
    buf_printf(out, "<p>%zu replica%s of succeeded trials ran on node ", node->n_replicas,
               node->n_replicas == 1 ? "" : "s");
    html_escape(node->name, out);
    if (!isnan(throttled)) {
        buf_printf(out, ", which throttled them for %.1f%% of their time", 100 * throttled);
    }
    buf_puts(out, ".</p>\n");
}

/* What a start record says of where its replica ran. */
static const struct fact {
    const char *name;  /* in a sentence */
    const char *title; /* of a column */
    size_t offset;     /* of a struct hardware's text */
} facts[] = {
    {"CPU", "CPU", offsetof(struct hardware, cpu_model)},
    {"Kernel", "KERNEL", offsetof(struct hardware, kernel)},
    {"BLAS core", "BLAS CORE", offsetof(struct hardware, blas_core)},
    {"Build", "BUILD", offsetof(struct hardware, build)},
    {"Source", "SOURCE", offsetof(struct hardware, source)},
};
#define N_FACTS (sizeof(facts) / sizeof(facts[0]))

/* NULL: not said. */
static const char *text_of(const struct hardware *h, const struct fact *fact)
{
    return *(char *const *)((const char *)h + fact->offset);
}

/* All said the same, or none said it. */
static bool is_common(const struct result *r, const struct fact *fact)
{
    const char *first = text_of(&r->hardware.items[0], fact);
    vec_each (const struct hardware, h, &r->hardware) {
        const char *text = text_of(h, fact);
        if ((text == NULL) != (first == NULL) || (text != NULL && !str_eq(text, first))) {
            return false;
        }
    }
    return true;
}

/* What they share, once. */
static void put_common(struct buf *out, const struct layout *l)
{
    const struct result *r = l->result;
    struct buf list = BUF_INIT;
    if (r->hardware.len == 1 && l->systems) {
        struct buf users = BUF_INIT;
        prose_systems_put_users(l, 0, &users);
        html_put_element(&list, "dt", "System");
        html_put_element(&list, "dd", buf_cstr(&users));
        buf_done(&users);
    }
    if (r->hardware.len == 1) {
        buf_printf(&list, "<dt>Replicas</dt>\n<dd>%zu of succeeded trials</dd>\n",
                   r->hardware.items[0].n_replicas);
    }
    for (size_t i = 0; i < N_FACTS; i++) {
        const char *text = text_of(&r->hardware.items[0], &facts[i]);
        if (text != NULL && is_common(r, &facts[i])) {
            html_put_element(&list, "dt", facts[i].name);
            html_put_element(&list, "dd", text);
        }
    }
    if (list.len > 0) {
        buf_printf(out, "<dl>\n%s</dl>\n", buf_cstr(&list));
    }
    buf_done(&list);
}

/* What they do not share: a row for each kind of machine and build. */
static void put_kinds(struct buf *out, const struct layout *l)
{
    const struct result *r = l->result;
    struct table *t = table_new();
    for (size_t i = 0; i < r->hardware.len; i++) {
        struct buf users = BUF_INIT;
        if (l->systems) {
            prose_systems_put_users(l, i, &users);
            table_text(t, "SYSTEM", "%s", buf_cstr(&users));
        }
        buf_done(&users);
        table_number(t, "REPLICAS", "%zu", r->hardware.items[i].n_replicas);
        for (size_t k = 0; k < N_FACTS; k++) {
            const char *text = text_of(&r->hardware.items[i], &facts[k]);
            if (!is_common(r, &facts[k])) {
                table_text(t, facts[k].title, "%s", text == NULL ? "-" : text);
            }
        }
        table_end_row(t);
    }
    html_put_table(out, "Kinds of machines and builds", t);
}

void html_put_environment(struct buf *out, const struct layout *l)
{
    const struct result *r = l->result;
    buf_puts(out, "<section>\n<h2>Environment</h2>\n");
    if (r->def->cpus > 0) {
        buf_printf(out, "<p>All replicas ran on one machine, with %lld CPU%s for them.</p>\n",
                   (long long)r->def->cpus, r->def->cpus == 1 ? "" : "s");
    }
    put_only_node(out, r);
    if (r->hardware.len == 0) {
        buf_puts(out, "<p>No replica reported its CPU and kernel.</p>\n");
    } else {
        put_silent(out, l);
        put_common(out, l);
    }
    if (r->hardware.len > 1) {
        put_kinds(out, l);
    }
    buf_puts(out, "</section>\n");
}

static void put_origin(struct buf *out, const struct report_page *page)
{
    buf_puts(out, "<p class=\"soft\">Run ");
    html_escape(page->result->def->uid, out);
    buf_puts(out, ". Page made by ");
    html_escape(page->program, out);
    buf_puts(out, ".</p>\n");
}

static void put_local_files(struct buf *out, const struct spec *spec)
{
    struct buf systems = BUF_INIT;
    prose_systems_put_local(spec, &systems);
    if (systems.len > 0) {
        buf_puts(out, "<p>On another machine, first change the paths in the commands of: ");
        html_escape(buf_cstr(&systems), out);
        buf_puts(out, ".</p>\n");
    }
    buf_done(&systems);
}

void html_put_definition(struct buf *out, const struct report_page *page)
{
    const struct run_def *def = page->result->def;
    const bool is_local = def->cpus > 0;
    _cleanup_(freep) char *text = json_dumps(def->spec->definition, JSON_INDENT(2));
    if (text == NULL || strlen(text) > MAX_DEFINITION) {
        put_origin(out, page);
        return;
    }
    buf_puts(out,
             "<section>\n<h2>Run it again</h2>\n<p class=\"screen\">Save the definition below as "
             "<code>");
    html_escape(def->spec->name, out);
    buf_puts(out,
             ".json</code>, then:</p>\n<p class=\"printed\">The file that this was printed from "
             "has the definition. Save it as <code>");
    html_escape(def->spec->name, out);
    buf_puts(out, ".json</code>, then:</p>\n<pre>benchctl run -f ");
    html_escape(def->spec->name, out);
    buf_printf(out, ".json%s</pre>\n", is_local ? " --local" : "");
    if (is_local) {
        buf_puts(out, "<p>Images and resources of the definition are those of pods in a cluster. "
                      "This run had none: its processes shared one machine.</p>\n");
    }
    put_local_files(out, def->spec);
    buf_puts(out, "<details><summary>Definition</summary>\n<pre>");
    html_escape(text, out);
    buf_puts(out, "</pre></details>\n</section>\n");
    put_origin(out, page);
}
