/* See html_origin.h. */
#include "report/html_origin.h"

#include <string.h>

#include <jansson.h>

#include "report/html_parts.h"
#include "report/system_lines.h"
#include "report/table.h"

#define MAX_DEFINITION (64 << 10)

/* ---- where it ran ---- */

void html_put_nodes(struct buf *out, const struct result *r)
{
    struct table *t = layout_nodes(r);
    if (t == NULL) {
        return;
    }
    buf_puts(out, "<section>\n<h2>Nodes</h2>\n");
    html_put_table(out, "Nodes", t);
    buf_puts(out, "<p class=\"soft\">");
    html_escape(layout_nodes_method, out);
    buf_puts(out, "</p>\n</section>\n");
}

static void put_fact(struct buf *out, const char *name, const char *value)
{
    if (value != NULL) {
        html_put_element(out, "dt", name);
        html_put_element(out, "dd", value);
    }
}

/* Those that wrote no start record: a launcher, a program whose log is read. */
static void put_silent(struct buf *out, const struct layout *l)
{
    struct buf systems = BUF_INIT;
    const size_t n = system_lines_put_silent(l, &systems);
    if (n > 0) {
        buf_printf(out,
                   "<p>%zu replica%s of succeeded trials said nothing of CPU, kernel and build", n,
                   n == 1 ? "" : "s");
        if (l->systems) {
            buf_puts(out, ": those of ");
            html_escape(buf_cstr(&systems), out);
        }
        buf_puts(out, ".</p>\n");
    }
    buf_done(&systems);
}

void html_put_environment(struct buf *out, const struct layout *l)
{
    const struct result *r = l->result;
    buf_puts(out, "<section>\n<h2>Environment</h2>\n");
    if (r->def->cpus > 0) {
        buf_printf(out, "<p>All replicas ran on one machine, with %lld CPU%s for them.</p>\n",
                   (long long)r->def->cpus, r->def->cpus == 1 ? "" : "s");
    }
    if (r->hardware.len == 0) {
        buf_puts(out, "<p>No replica said its CPU and kernel.</p>\n");
    } else {
        put_silent(out, l);
    }
    for (size_t i = 0; i < r->hardware.len; i++) {
        const struct hardware *h = &r->hardware.items[i];
        struct buf users = BUF_INIT;
        system_lines_put_users(l, i, &users);
        buf_puts(out, "<dl>\n");
        put_fact(out, "System", l->systems ? buf_cstr(&users) : NULL);
        buf_done(&users);
        buf_printf(out, "<dt>Replicas</dt>\n<dd>%zu of succeeded trials</dd>\n", h->n_replicas);
        put_fact(out, "CPU", h->cpu_model);
        put_fact(out, "Kernel", h->kernel);
        put_fact(out, "BLAS core", h->blas_core);
        put_fact(out, "Build", h->build);
        put_fact(out, "Source", h->source);
        buf_puts(out, "</dl>\n");
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
    system_lines_put_local(spec, &systems);
    if (systems.len > 0) {
        buf_puts(out, "<p>On another machine, first put your own files in place of those that the "
                      "commands of these systems name: ");
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
    put_local_files(out, def->spec);
    buf_puts(out, "<details><summary>Definition</summary>\n<pre>");
    html_escape(text, out);
    buf_puts(out, "</pre></details>\n</section>\n");
    put_origin(out, page);
}
