/* Where the time of a step goes, by point and role, and what limits each point; see sheets.h. */
#include <inttypes.h>
#include <math.h>

#include "report/layout.h"
#include "report/sheets.h"
#include "result/phases.h"

static const char method[] =
    "Milliseconds a step, means over the replicas of succeeded trials. SEND, WAIT and RECV of a "
    "trainer are the time it waited, without what was hidden behind its computation. EXPOSED is "
    "their sum. MB: sent and received in a step.";

static const enum role roles[] = {ROLE_TRAINER, ROLE_WORKER, ROLE_LAUNCHER, ROLE_PSERVER};

static void put_time(struct sheet *s, const char *title, const char *name, double ns)
{
    struct table *t = row_people(s);
    if (t != NULL) {
        table_known(t, title, !isnan(ns), ns < 1e8 ? "%.1f" : "%.0f", ns / 1e6);
    } else {
        row_number(s, NULL, name, ns / 1e9, 1);
    }
}

static void put_row(struct sheet *s, const struct result *r, uint32_t point, enum role role,
                    const struct step_means *m)
{
    static const char *const titles[] = {"DATA", "FWD", "BWD", "SEND", "WAIT", "UPDATE", "RECV"};
    const struct limit limit = limit_find(&r->points[point].kept->limit);
    struct table *t = row_people(s);
    row_text(s, NULL, "run", r->def->name);
    table_text(t, "POINT", "%" PRIu32, point); /* parts of the table begin with it and the role */
    row_count(s, NULL, "point", point);
    row_text(s, "ROLE", "role", role_to_string(role));
    row_count(s, NULL, "replicas", m->n_replicas);
    put_time(s, "STEP", "step_s", m->step_ns);
    for (int i = 0; i < PHASE_COUNT; i++) {
        _cleanup_(freep) char *name = xasprintf("%s_s", phase_to_string((enum phase)i));
        put_time(s, titles[i], name, m->phase_ns[i]);
    }
    put_time(s, "EXPOSED", "exposed_s", role == ROLE_PSERVER ? NAN : m->exposed_ns);
    put_time(s, "CPU", "cpu_s", m->cpu_ns);
    table_known(t, "MB", !isnan(m->bytes_tx), "%.1f", (m->bytes_tx + m->bytes_rx) / 1e6);
    row_number(s, NULL, "bytes_tx", m->bytes_tx, 1);
    row_number(s, NULL, "bytes_rx", m->bytes_rx, 1);
    row_text(s, NULL, "limit", limit_kind_names[limit.kind]);
    row_number(s, NULL, "limit_share", limit.share, 1);
    row_number(s, NULL, "advice", limit.advice, 1);
    row_end(s);
}

static void put_rows(struct sheet *s, const struct result *r)
{
    put_row(s, r, 0, roles[0], &(struct step_means){0});
    row_drop_all(s);
    for (uint32_t p = 0; p < r->def->matrix.n_points; p++) {
        for (size_t i = 0; i < COUNT_OF(roles); i++) {
            const struct step_means *means = phases_of(r->points[p].kept, roles[i]);
            if (means != NULL) {
                put_row(s, r, p, roles[i], means);
            }
        }
    }
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

/* "Point 1 (pservers 1, trainers 4) is limited by ...", "Point 2: trainers 1, baseline" */
static void describe_point(const struct layout *l, const struct point_result *p, struct buf *out)
{
    const struct limit limit = limit_find(&p->kept->limit);
    const bool is_limited = limit.kind != LIMIT_UNKNOWN;
    const bool has_words = l->words.names.len > 0 || l->words.systems || p->point->is_baseline;
    buf_printf(out, "Point %" PRIu32, p->point->index);
    if (has_words || !is_limited) {
        buf_puts(out, is_limited ? " (" : ": ");
        layout_describe_point(l, p->point->index, out);
        buf_puts(out, p->point->is_baseline ? ", baseline" : "");
        buf_puts(out, is_limited ? ")" : "");
    }
    if (is_limited) {
        buf_puts(out, " is limited by ");
        describe_limit(&limit, &p->kept->limit, out);
    }
}

void sheet_phases(struct sheet *s, const struct result *r)
{
    struct layout l;
    sheet_put_run(s, r, NULL);
    put_rows(s, r);
    if (!sheet_fits(s, s->table)) {
        table_set_gap(s->table, 1);
    }
    if (!row_end_table(s, 2)) { /* each part with point and role */
        sheet_line(s, &sheet_paragraph,
                   "No replica of a succeeded trial reports how it spent its time.");
        return;
    }
    sheet_block(s, NULL);
    sheet_line(s, NULL, "%s", method);
    layout_init(&l, r);
    result_each_point (p, r) {
        struct buf text = BUF_INIT;
        if (p->kept->n_phases > 0) {
            describe_point(&l, p, &text);
        }
        sheet_put_line(s, NULL, &text);
    }
    layout_done(&l);
}
