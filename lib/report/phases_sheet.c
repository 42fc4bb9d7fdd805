/* Where the time of a step goes, by point and role, and what limits each point; see sheets.h. */
#include <inttypes.h>
#include <math.h>

#include "report/layout.h"
#include "base/vec_walk.h"
#include "report/sheets.h"
#include "result/phases.h"

static const char method[] =
    "Milliseconds a step, means over the replicas of succeeded trials. SEND, WAIT and RECV of a "
    "trainer are the time it waited, without what was hidden behind its computation. EXPOSED is "
    "their sum. MB: sent and received in a step.";

static const enum role roles[] = {ROLE_TRAINER, ROLE_WORKER, ROLE_LAUNCHER, ROLE_PSERVER};

static void put_ms(struct table *t, const char *title, double s)
{
    table_known(t, title, !isnan(s), s < 0.1 ? "%.1f" : "%.0f", 1e3 * s);
}

/* Adds the point's rows. */
static void put_point(struct table *t, const struct point_result *p)
{
    static const char *const titles[] = {"DATA", "FWD", "BWD", "SEND", "WAIT", "UPDATE", "RECV"};
    for (size_t i = 0; i < COUNT_OF(roles); i++) {
        const struct phase_times times = phase_times_of(p, roles[i]);
        if (times.n == 0) {
            continue;
        }
        table_text(t, "POINT", "%" PRIu32, p->point->index);
        table_text(t, "ROLE", "%s", role_to_string(roles[i]));
        put_ms(t, "STEP", times.step_s);
        for (int k = 0; k < PHASE_COUNT; k++) {
            put_ms(t, titles[k], times.phase_s[k]);
        }
        put_ms(t, "EXPOSED", roles[i] == ROLE_PSERVER ? NAN : times.exposed_s);
        put_ms(t, "CPU", times.cpu_s);
        table_known(t, "MB", !isnan(times.bytes_tx), "%.1f",
                    (times.bytes_tx + times.bytes_rx) / 1e6);
        table_end_row(t);
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
    const struct limit_facts facts = limit_facts_of(p);
    const struct limit limit = limit_find(&facts);
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
        describe_limit(&limit, &facts, out);
    }
}

static void put_people(struct sheet *s, const struct result *r)
{
    const uint32_t n = r->def->matrix.n_points;
    struct table *t = table_new();
    struct layout l;
    sheet_put_run(s, r, NULL);
    for (uint32_t p = 0; p < n; p++) {
        put_point(t, &r->points[p]);
    }
    if (table_is_empty(t)) {
        sheet_line(s, &sheet_paragraph,
                   "No replica of a succeeded trial reports how it spent its time.");
        table_free(t);
        return;
    }
    if (!sheet_fits(s, t)) {
        table_set_gap(t, 1);
    }
    sheet_table(s, NULL, t, 2); /* each part with point and role */
    sheet_block(s, NULL);
    sheet_line(s, NULL, "%s", method);
    layout_init(&l, r);
    for (uint32_t p = 0; p < n; p++) {
        struct buf text = BUF_INIT;
        if (array_any(roles, COUNT_OF(roles), role, phase_times_of(&r->points[p], *role).n > 0)) {
            describe_point(&l, &r->points[p], &text);
        }
        sheet_put_line(s, NULL, &text);
    }
    layout_done(&l);
}

static void put_row(struct sheet *s, const struct result *r, uint32_t point, enum role role,
                    const struct phase_times *t)
{
    const struct limit_facts facts = limit_facts_of(&r->points[point]);
    const struct limit limit = limit_find(&facts);
    sheet_word(s, "run", r->def->name);
    sheet_count(s, "point", point);
    sheet_word(s, "role", role_to_string(role));
    sheet_count(s, "replicas", t->n);
    sheet_number(s, "step_s", t->step_s);
    for (int i = 0; i < PHASE_COUNT; i++) {
        _cleanup_(freep) char *column = xasprintf("%s_s", phase_to_string((enum phase)i));
        sheet_number(s, column, t->phase_s[i]);
    }
    sheet_number(s, "exposed_s", role == ROLE_PSERVER ? NAN : t->exposed_s);
    sheet_number(s, "cpu_s", t->cpu_s);
    sheet_number(s, "bytes_tx", t->bytes_tx);
    sheet_number(s, "bytes_rx", t->bytes_rx);
    sheet_word(s, "limit", limit_kind_names[limit.kind]);
    sheet_number(s, "limit_share", limit.share);
    sheet_number(s, "advice", limit.advice);
    sheet_end_row(s);
}

void sheet_phases(struct sheet *s, const struct result *r)
{
    if (s->form != SHEET_CSV) {
        put_people(s, r);
        return;
    }
    put_row(s, r, 0, roles[0], &(struct phase_times){0});
    sheet_drop_rows(s);
    for (uint32_t p = 0; p < r->def->matrix.n_points; p++) {
        for (size_t i = 0; i < COUNT_OF(roles); i++) {
            const struct phase_times times = phase_times_of(&r->points[p], roles[i]);
            if (times.n > 0) {
                put_row(s, r, p, roles[i], &times);
            }
        }
    }
}
