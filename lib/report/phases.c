/* Where the time of a step goes, by point and role, and what limits each point; see report.h. */
#include <inttypes.h>
#include <math.h>

#include "report/csv.h"
#include "report/layout.h"
#include "report/marks.h"
#include "report/report.h"
#include "report/table.h"
#include "report/terminal.h"
#include "result/limit.h"

static const char method[] = "Milliseconds a step, means over the replicas of succeeded trials. "
                             "SEND, WAIT and RECV of a trainer are "
                             "what it waited for; what was hidden behind its computation does not "
                             "count. EXPOSED is their sum. MB: "
                             "sent and received in a step.";
static const char no_phases[] = "No replica of a succeeded trial says how its time was spent.";

static const enum role roles[] = {ROLE_TRAINER, ROLE_WORKER, ROLE_PSERVER};
#define N_ROLES (sizeof(roles) / sizeof(roles[0]))

static void ms_cell(struct table *t, double s)
{
    if (isnan(s)) {
        table_cell(t, "-");
    } else {
        table_cell(t, s < 0.1 ? "%.1f" : "%.0f", 1e3 * s);
    }
}

static void put_row(struct table *t, uint32_t point, enum role role,
                    const struct phase_times *times)
{
    table_cell(t, "%" PRIu32, point);
    table_cell(t, "%s", role_to_string(role));
    ms_cell(t, times->step_s);
    for (int i = 0; i < PHASE_COUNT; i++) {
        ms_cell(t, times->phase_s[i]);
    }
    ms_cell(t, role == ROLE_PSERVER ? NAN : times->exposed_s);
    ms_cell(t, times->cpu_s);
    table_cell(t, "%.1f", (times->bytes_tx + times->bytes_rx) / 1e6);
}

/* NULL: no replica reported phases. */
static struct table *new_table(const struct result *r)
{
    static const char *const titles[] = {"POINT", "ROLE",   "STEP", "DATA",    "FWD", "BWD", "SEND",
                                         "WAIT",  "UPDATE", "RECV", "EXPOSED", "CPU", "MB"};
    struct table *t = table_new();
    size_t n = 0;
    for (size_t i = 0; i < sizeof(titles) / sizeof(titles[0]); i++) {
        table_column(t, titles[i], i < 2 ? TABLE_LEFT : TABLE_RIGHT);
    }
    for (uint32_t p = 0; p < r->def->matrix.n_points; p++) {
        for (size_t i = 0; i < N_ROLES; i++) {
            const struct phase_times times = phase_times_of(&r->points[p], roles[i]);
            if (times.n > 0) {
                put_row(t, p, roles[i], &times);
                n++;
            }
        }
    }
    if (n == 0) {
        table_free(t);
        return NULL;
    }
    return t;
}

/* What limits the point and what would help; nothing if that is not known. */
static void describe_limit(const struct limit *l, const struct limit_facts *f, struct buf *out)
{
    const double percent = 100 * l->share, exposed = 100 * l->exposed;
    switch (l->kind) {
    case LIMIT_UNKNOWN:
        break;
    case LIMIT_COMPUTE:
        buf_printf(out, "compute: %.1f%% of a step is exposed exchange", exposed);
        if (!isnan(l->advice) && l->advice > f->n_trainers) {
            buf_printf(out, "; up to %.0f trainers keep pserver/%" PRIu32 " below 80%% of a step",
                       l->advice, f->server);
        }
        break;
    case LIMIT_STRAGGLER:
        buf_printf(out,
                   "trainer/%" PRIu32
                   ": the others wait for its gradients for %.1f%% of a step; if "
                   "it were as fast as they are, a step would take up to that much less time",
                   f->late_trainer, percent);
        break;
    case LIMIT_SERVER_CPU:
        buf_printf(out,
                   "pserver/%" PRIu32 ": it works for %.1f%% of a step, and %.1f%% is exposed "
                   "exchange; %.0f servers in place of %" PRIu32 " bring it to 25%%",
                   f->server, percent, exposed, l->advice, f->n_servers);
        break;
    case LIMIT_SERVER_LINK:
        buf_printf(
            out,
            "the servers' links: %.1f%% of a step is exposed exchange, and no server works for "
            "half of it; %.0f servers in place of %" PRIu32 " halve what each link carries",
            exposed, l->advice, f->n_servers);
        break;
    case LIMIT_TRAINER_LINK:
        buf_printf(out,
                   "the trainers' links: %.1f%% of a step is exposed exchange, and no server works "
                   "for half of it",
                   exposed);
        if (!isnan(l->advice)) {
            buf_printf(out, "; %.1f times the batch would bring it to 10%%", l->advice);
        }
        break;
    }
}

static bool has_row(const struct point_result *p)
{
    for (size_t i = 0; i < N_ROLES; i++) {
        if (phase_times_of(p, roles[i]).n > 0) {
            return true;
        }
    }
    return false;
}

/* "Point 1 (pservers 1, trainers 4) is limited by ...", "Point 2: trainers 1, baseline" */
static void describe_point(const struct layout *l, const struct point_result *p, struct buf *out)
{
    const struct limit_facts facts = limit_facts_of(p);
    const struct limit limit = limit_find(&facts);
    const bool is_limited = limit.kind != LIMIT_UNKNOWN;
    const bool has_words = l->names.len > 0 || l->systems || p->point->is_baseline;
    buf_printf(out, "Point %" PRIu32, p->point->index);
    if (has_words || !is_limited) {
        buf_puts(out, is_limited ? " (" : ": ");
        layout_describe_point(l, p->point->index, out);
        buf_puts(out, p->point->is_baseline ? ", baseline" : "");
        buf_puts(out, is_limited ? ")" : "");
    }
    if (is_limited) {
        buf_puts(out, " is limited by ");
        describe_limit(&limit, &facts, out);
    }
}

/* A line for each point in the table, with what limits it where that is known. */
static void put_points(const struct result *r, void (*put)(void *ctx, const char *text), void *ctx)
{
    struct layout layout;
    layout_init(&layout, r);
    for (uint32_t p = 0; p < r->def->matrix.n_points; p++) {
        if (has_row(&r->points[p])) {
            struct buf text = BUF_INIT;
            describe_point(&layout, &r->points[p], &text);
            put(ctx, buf_cstr(&text));
            buf_done(&text);
        }
    }
    layout_done(&layout);
}

struct text_out {
    struct buf *out;
    struct terminal term;
};

static void put_text(void *ctx, const char *text)
{
    struct text_out *o = ctx;
    terminal_wrapped(o->out, &o->term, text, 0, 2);
}

void report_phases_text(const struct result *r, const struct report_opts *opts, struct buf *out)
{
    struct text_out o = {out, terminal_of(opts)};
    terminal_colored(out, &o.term, TERMINAL_BOLD, r->def->name);
    buf_printf(out, "   %s", run_phase_to_string(r->phase));
    marks_put_text(r, &o.term, out);
    buf_putc(out, '\n');
    struct table *t = new_table(r);
    if (t == NULL) {
        terminal_wrapped(out, &o.term, no_phases, 0, 2);
        return;
    }
    terminal_parts(out, &o.term, t, 2, 1); /* each with point and role */
    table_free(t);
    buf_putc(out, '\n');
    terminal_wrapped(out, &o.term, method, 0, 2);
    put_points(r, put_text, &o);
}

static void put_markdown(void *ctx, const char *text)
{
    buf_puts(ctx, "- ");
    markdown_escape(text, ctx);
    buf_putc(ctx, '\n');
}

void report_phases_markdown(const struct result *r, struct buf *out)
{
    buf_puts(out, "## ");
    markdown_escape(r->def->name, out);
    buf_printf(out, "\n\n%s", run_phase_to_string(r->phase));
    marks_put_markdown(r, out);
    buf_puts(out, "\n\n");
    struct table *t = new_table(r);
    if (t == NULL) {
        buf_printf(out, "%s\n", no_phases);
        return;
    }
    table_format_markdown(t, out);
    table_free(t);
    buf_printf(out, "\n- %s\n", method);
    put_points(r, put_markdown, out);
}

static void put_csv_row(const struct result *r, uint32_t point, enum role role,
                        const struct phase_times *t, struct buf *out)
{
    csv_text(out, r->def->name);
    buf_printf(out, ",%" PRIu32 ",%s,%zu", point, role_to_string(role), t->n);
    csv_number(out, t->step_s);
    for (int i = 0; i < PHASE_COUNT; i++) {
        csv_number(out, t->phase_s[i]);
    }
    csv_number(out, role == ROLE_PSERVER ? NAN : t->exposed_s);
    csv_number(out, t->cpu_s);
    csv_number(out, t->bytes_tx);
    csv_number(out, t->bytes_rx);
    const struct limit_facts facts = limit_facts_of(&r->points[point]);
    const struct limit limit = limit_find(&facts);
    buf_printf(out, ",%s", limit_kind_to_string(limit.kind));
    csv_number(out, limit.share);
    csv_number(out, limit.advice);
    buf_putc(out, '\n');
}

void report_phases_csv(const struct result *r, struct buf *out)
{
    buf_puts(out, "run,point,role,replicas,step_s");
    for (int i = 0; i < PHASE_COUNT; i++) {
        buf_printf(out, ",%s_s", phase_to_string((enum phase)i));
    }
    buf_puts(out, ",exposed_s,cpu_s,bytes_tx,bytes_rx,limit,limit_share,advice\n");
    for (uint32_t p = 0; p < r->def->matrix.n_points; p++) {
        for (size_t i = 0; i < N_ROLES; i++) {
            const struct phase_times times = phase_times_of(&r->points[p], roles[i]);
            if (times.n > 0) {
                put_csv_row(r, p, roles[i], &times, out);
            }
        }
    }
}
