/* A result by node, see report.h: which machines were slow or throttled. */
#include <math.h>

#include "base/text.h"
#include "report/csv.h"
#include "report/layout.h"
#include "report/marks.h"
#include "report/report.h"
#include "report/table.h"
#include "report/terminal.h"
#include "result/number.h"

const char layout_nodes_method[] =
    "Time a step: the replica's own work, which is data, forward and "
    "backward of a trainer or worker "
    "and update of a pserver; its median step time where it does not say "
    "that. Compared with replicas "
    "of the same role on other nodes in the same trial: median of a "
    "point, geometric mean over points. "
    "Slower at: by 5% or more.";
static const char no_nodes[] = "No replica of a succeeded trial says on which node it ran.";

static void ratio_cell(struct table *t, double ratio)
{
    if (isnan(ratio)) {
        table_cell(t, "-");
    } else {
        table_cell(t, "%.1f%%", 100 * ratio);
    }
}

/* With its sign. */
static void change_cell(struct table *t, double ratio)
{
    if (isnan(ratio)) {
        table_cell(t, "-");
    } else {
        table_cell(t, "%+.1f%%", 100 * ratio);
    }
}

struct table *layout_nodes(const struct result *r)
{
    static const struct {
        const char *title;
        enum table_align align;
    } columns[] = {{"NODE", TABLE_LEFT},       {"REPLICAS", TABLE_RIGHT},
                   {"POINTS", TABLE_RIGHT},    {"TIME A STEP", TABLE_RIGHT},
                   {"SLOWER AT", TABLE_RIGHT}, {"THROTTLED", TABLE_RIGHT},
                   {"CPU", TABLE_LEFT}};
    if (r->nodes.len == 0) {
        return NULL;
    }
    struct table *t = table_new();
    for (size_t i = 0; i < sizeof(columns) / sizeof(columns[0]); i++) {
        table_column(t, columns[i].title, columns[i].align);
    }
    vec_each (struct node_result, n, &r->nodes) {
        table_cell(t, "%s", n->name);
        table_cell(t, "%zu", n->n_replicas);
        table_cell(t, "%u", n->n_points);
        change_cell(t, n->excess);
        if (n->n_compared > 0) {
            table_cell(t, "%u of %u", n->n_slower, n->n_compared);
        } else {
            table_cell(t, "-");
        }
        ratio_cell(t, node_result_throttled_ratio(n));
        table_cell(t, "%s", n->cpu_model == NULL ? "-" : n->cpu_model);
    }
    return t;
}

/* Start records are written by replicas: what a terminal would obey becomes '?'. Owned. */
static char *plain(const char *text)
{
    char *copy = xstrdup(text);
    (void)text_replace_control(copy, "", '?'); /* its length is not needed */
    return copy;
}

void layout_describe_slow(const struct layout *l, const struct slow_replica *s, struct buf *out)
{
    const struct replica_id *id = &s->replica->row->id;
    if (l == NULL) {
        buf_printf(out, "point %u", s->point);
    } else {
        layout_describe_place(l, s->point, out);
    }
    buf_printf(out, ": %s/%u", role_to_string(id->role), id->index);
    if (s->replica->node != NULL) {
        _cleanup_(freep) char *node = plain(s->replica->node);
        buf_printf(out, " on node '%s'", node);
    }
    buf_printf(out,
               " needs %.1f%% more time a step than the median of %zu other%s, whose spread is "
               "%.1f%%; slowest in %zu of %zu trials",
               100 * s->excess, s->n_others, s->n_others == 1 ? "" : "s", 100 * s->spread,
               s->n_slow, s->n_trials);
}

static void put_warnings(const struct result *r, void (*put)(void *ctx, const char *text),
                         void *ctx)
{
    vec_each (struct warning, w, &r->warnings) {
        if (w->code == WARNING_SLOW_NODE || w->code == WARNING_THROTTLED ||
            w->code == WARNING_MIXED_HARDWARE) {
            _cleanup_(freep) char *text = plain(w->message);
            put(ctx, text);
        }
    }
}

struct text_out {
    struct buf *out;
    struct terminal term;
};

static void put_text_warning(void *ctx, const char *text)
{
    struct text_out *o = ctx;
    buf_puts(o->out, "  ");
    terminal_colored(o->out, &o->term, TERMINAL_YELLOW, "!");
    buf_putc(o->out, ' ');
    terminal_wrapped(o->out, &o->term, text, 4, 4);
}

void report_nodes_text(const struct result *r, const struct report_opts *opts, struct buf *out)
{
    struct text_out o = {out, terminal_of(opts)};
    terminal_colored(out, &o.term, TERMINAL_BOLD, r->def->name);
    buf_printf(out, "   %s", run_phase_to_string(r->phase));
    marks_put_text(r, &o.term, out);
    buf_putc(out, '\n');
    struct table *t = layout_nodes(r);
    if (t == NULL) {
        terminal_wrapped(out, &o.term, no_nodes, 0, 2);
        return;
    }
    terminal_parts(out, &o.term, t, 1, TERMINAL_TIGHT_GAP);
    table_free(t);
    buf_putc(out, '\n');
    terminal_wrapped(out, &o.term, layout_nodes_method, 0, 2);
    put_warnings(r, put_text_warning, &o);
}

static void put_markdown_warning(void *ctx, const char *text)
{
    buf_puts(ctx, "- **Warning:** ");
    markdown_escape(text, ctx);
    buf_putc(ctx, '\n');
}

void report_nodes_markdown(const struct result *r, struct buf *out)
{
    struct table *t = layout_nodes(r);
    buf_puts(out, "## ");
    markdown_escape(r->def->name, out);
    buf_printf(out, "\n\n%s", run_phase_to_string(r->phase));
    marks_put_markdown(r, out);
    buf_puts(out, "\n\n");
    if (t == NULL) {
        buf_printf(out, "%s\n", no_nodes);
        return;
    }
    table_format_markdown(t, out);
    table_free(t);
    buf_printf(out, "\n- %s\n", layout_nodes_method);
    put_warnings(r, put_markdown_warning, out);
}

void report_nodes_csv(const struct result *r, struct buf *out)
{
    buf_puts(out, "run,node,cpu_model,replicas,points,points_compared,points_slower,excess,slow,"
                  "throttled\n");
    vec_each (struct node_result, n, &r->nodes) {
        csv_text(out, r->def->name);
        buf_putc(out, ',');
        csv_text(out, n->name);
        buf_putc(out, ',');
        csv_text(out, n->cpu_model == NULL ? "" : n->cpu_model);
        buf_printf(out, ",%zu,%u,%u,%u", n->n_replicas, n->n_points, n->n_compared, n->n_slower);
        csv_number(out, n->excess);
        buf_printf(out, ",%s", node_result_is_slow(n) ? "true" : "false");
        csv_number(out, node_result_throttled_ratio(n));
        buf_putc(out, '\n');
    }
}
