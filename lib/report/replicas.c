/* A result by replica, see report.h: how long each worked, how much of its time went to the
 * exchange, and which was the slowest of its role. */
#include <math.h>

#include "report/csv.h"
#include "report/layout.h"
#include "report/marks.h"
#include "report/report.h"
#include "report/table.h"
#include "report/terminal.h"
#include "result/number.h"
#include "result/replicas.h"

#define MS_PER_NS 1e-6

static const char no_replicas[] = "No trial has succeeded.";
static const char method[] =
    "Work: the replica's own, which is data, forward and backward of a trainer or worker and "
    "update "
    "of a pserver; the median over succeeded trials. Exchange: share of its measured time in other "
    "phases than its own work and update; a pserver waits there for trainers. Excess: time a step "
    "beyond the median of the others of its role in the same trial, the median over trials. "
    "Slowest: in how many trials it was the slowest of its role.";

/* "-" where it is not known. */
static void share_cell(struct table *t, double share, bool with_sign)
{
    if (isnan(share)) {
        table_cell(t, "-");
    } else {
        table_cell(t, with_sign ? "%+.1f%%" : "%.1f%%", 100 * share);
    }
}

static void work_cell(struct table *t, double work_ns)
{
    struct buf text = BUF_INIT;
    number_format(MS_PER_NS * work_ns, &text);
    table_cell(t, "%s", buf_cstr(&text));
    buf_done(&text);
}

/* Start records are written by replicas; table_cell takes control characters out. */
static void node_cell(struct table *t, const struct replica_line *line)
{
    if (line->n_nodes > 1) {
        table_cell(t, "%s and others", line->node);
    } else {
        table_cell(t, "%s", line->node == NULL ? "-" : line->node);
    }
}

static struct table *table_of(const struct replica_lines *lines, bool is_wide)
{
    struct table *t = table_new();
    table_column(t, "POINT", TABLE_RIGHT);
    table_column(t, "REPLICA", TABLE_LEFT);
    table_column(t, "STEPS", TABLE_RIGHT);
    table_column(t, "WORK MS", TABLE_RIGHT);
    table_column(t, "EXCHANGE", TABLE_RIGHT);
    table_column(t, "EXCESS", TABLE_RIGHT);
    table_column(t, "SLOWEST", TABLE_RIGHT);
    if (is_wide) {
        table_column(t, "THROTTLED", TABLE_RIGHT);
        table_column(t, "NODE", TABLE_LEFT);
    }
    vec_each (const struct replica_line, line, &lines->list) {
        table_cell(t, "%u", line->point);
        table_cell(t, "%s/%u", role_to_string(line->role), line->index);
        table_cell(t, "%llu", (unsigned long long)line->n_steps);
        work_cell(t, line->work_ns);
        share_cell(t, line->exchange, false);
        share_cell(t, line->excess, true);
        if (line->n_compared > 0) {
            table_cell(t, "%zu of %zu", line->n_slowest, line->n_compared);
        } else {
            table_cell(t, "-");
        }
        if (is_wide) {
            share_cell(t, line->throttled, false);
            node_cell(t, line);
        }
    }
    return t;
}

static void put_point(const struct layout *l, uint32_t point, struct buf *out)
{
    buf_printf(out, "Point %u: ", point);
    layout_describe_point(l, point, out);
}

/* Points that have a line. */
static bool is_new_point(const struct replica_lines *lines, size_t i)
{
    return i == 0 || lines->list.items[i].point != lines->list.items[i - 1].point;
}

/* "slowest: point 2: trainer/1 ...": beyond their spread, see pace.h. */
static void put_slow(const struct result *r, void (*put)(void *ctx, const char *text), void *ctx)
{
    vec_each (const struct slow_replica, s, &r->slow) {
        struct buf text = BUF_INIT;
        layout_describe_slow(NULL, s, &text);
        put(ctx, buf_cstr(&text));
        buf_done(&text);
    }
}

struct text_out {
    struct buf *out;
    struct terminal term;
};

static void put_text_slow(void *ctx, const char *text)
{
    struct text_out *o = ctx;
    buf_puts(o->out, "  ");
    terminal_colored(o->out, &o->term, TERMINAL_YELLOW, "!");
    buf_putc(o->out, ' ');
    terminal_wrapped(o->out, &o->term, text, 4, 4);
}

static void put_text_table(struct text_out *o, const struct replica_lines *lines)
{
    struct table *wide = table_of(lines, true), *narrow = table_of(lines, false);
    if (!terminal_table(o->out, &o->term, wide) && !terminal_table(o->out, &o->term, narrow)) {
        buf_putc(o->out, '\n');
        table_format_parts(narrow, 2, o->term.columns, o->out); /* each with point and replica */
    }
    table_free(wide);
    table_free(narrow);
}

void report_replicas_text(const struct result *r, const struct report_opts *opts, struct buf *out)
{
    struct text_out o = {out, terminal_of(opts)};
    struct replica_lines lines;
    struct layout l;
    replica_lines_init(&lines, r);
    layout_init(&l, r);
    terminal_colored(out, &o.term, TERMINAL_BOLD, r->def->name);
    buf_printf(out, "   %s", run_phase_to_string(r->phase));
    marks_put_text(r, &o.term, out);
    buf_putc(out, '\n');
    if (lines.list.len == 0) {
        terminal_wrapped(out, &o.term, no_replicas, 0, 2);
    } else {
        put_text_table(&o, &lines);
        buf_putc(out, '\n');
        for (size_t i = 0; i < lines.list.len; i++) {
            struct buf text = BUF_INIT;
            if (is_new_point(&lines, i)) {
                put_point(&l, lines.list.items[i].point, &text);
                terminal_wrapped(out, &o.term, buf_cstr(&text), 0, 2);
            }
            buf_done(&text);
        }
        buf_putc(out, '\n');
        terminal_wrapped(out, &o.term, method, 0, 2);
        put_slow(r, put_text_slow, &o);
    }
    layout_done(&l);
    replica_lines_done(&lines);
}

static void put_markdown_slow(void *ctx, const char *text)
{
    buf_puts(ctx, "- **Slow:** ");
    markdown_escape(text, ctx);
    buf_putc(ctx, '\n');
}

void report_replicas_markdown(const struct result *r, struct buf *out)
{
    struct replica_lines lines;
    struct layout l;
    replica_lines_init(&lines, r);
    layout_init(&l, r);
    buf_puts(out, "## ");
    markdown_escape(r->def->name, out);
    buf_printf(out, "\n\n%s", run_phase_to_string(r->phase));
    marks_put_markdown(r, out);
    buf_puts(out, "\n\n");
    if (lines.list.len == 0) {
        buf_printf(out, "%s\n", no_replicas);
    } else {
        struct table *t = table_of(&lines, true);
        table_format_markdown(t, out);
        table_free(t);
        buf_putc(out, '\n');
        for (size_t i = 0; i < lines.list.len; i++) {
            struct buf text = BUF_INIT;
            if (is_new_point(&lines, i)) {
                put_point(&l, lines.list.items[i].point, &text);
                buf_puts(out, "- ");
                markdown_escape(buf_cstr(&text), out);
                buf_putc(out, '\n');
            }
            buf_done(&text);
        }
        buf_printf(out, "- %s\n", method);
        put_slow(r, put_markdown_slow, out);
    }
    layout_done(&l);
    replica_lines_done(&lines);
}

void report_replicas_csv(const struct result *r, struct buf *out)
{
    struct replica_lines lines;
    replica_lines_init(&lines, r);
    buf_puts(out, "run,point,role,index,node,nodes,trials,steps,work_ns,exchange,throttled,excess,"
                  "trials_compared,trials_slowest\n");
    vec_each (const struct replica_line, line, &lines.list) {
        csv_text(out, r->def->name);
        buf_printf(out, ",%u,%s,%u,", line->point, role_to_string(line->role), line->index);
        csv_text(out, line->node == NULL ? "" : line->node);
        buf_printf(out, ",%zu,%zu,%llu", line->n_nodes, line->n_trials,
                   (unsigned long long)line->n_steps);
        csv_number(out, line->work_ns);
        csv_number(out, line->exchange);
        csv_number(out, line->throttled);
        csv_number(out, line->excess);
        buf_printf(out, ",%zu,%zu\n", line->n_compared, line->n_slowest);
    }
    replica_lines_done(&lines);
}
