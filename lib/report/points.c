/* A result by point, see sheets.h: the tables that the layout gives it and the notes below them. */
#include <math.h>

#include "report/prose.h"
#include "report/sheets.h"
#include "result/catalogue.h"
#include "result/result_json.h"

#define MAX_ROWS 12 /* of a brief table of points; of more a grid is shown if it can be */

/* ---- for people ---- */

/* NOTE_INFO and NOTE_BASE have none. */
static const struct sheet_mark marks[] = {
    [NOTE_FAILED] = {"✗", "FAILED", TERMINAL_RED, 2, "**Without a result:** ", false,
                     "Without a result: ", SHEET_BAD},
    [NOTE_PENDING] = {"-", NULL, TERMINAL_YELLOW, 2, "**Without a result:** ", false, NULL,
                      SHEET_PLAIN},
    [NOTE_PASSED_THRESHOLD] = {"✓", "ok", TERMINAL_GREEN, 2, "✓ threshold met: ", false,
                               "Threshold passed: ", SHEET_GOOD},
    [NOTE_FAILED_THRESHOLD] = {"✗", "MISSED", TERMINAL_RED, 2, "✗ **threshold missed:** ", false,
                               "Threshold missed: ", SHEET_BAD},
    [NOTE_UNKNOWN_THRESHOLD] = {"?", NULL, TERMINAL_YELLOW, 2, "? threshold not evaluated: ", false,
                                "Threshold not judged: ", SHEET_BAD},
    [NOTE_SKIPPED_THRESHOLD] = {"?", NULL, TERMINAL_YELLOW, 2, "? threshold skipped: ", false,
                                "Threshold skipped: ", SHEET_PLAIN},
    [NOTE_WARNING] = {"!", NULL, TERMINAL_YELLOW, 2, "**Warning:** ", false,
                      "Warning: ", SHEET_BAD},
};

static const char no_result[] = "Trials without a result", thresholds[] = "Thresholds";
static const char *const sections[] = {
    [NOTE_FAILED] = no_result,
    [NOTE_PENDING] = no_result,
    [NOTE_PASSED_THRESHOLD] = thresholds,
    [NOTE_FAILED_THRESHOLD] = thresholds,
    [NOTE_UNKNOWN_THRESHOLD] = thresholds,
    [NOTE_SKIPPED_THRESHOLD] = thresholds,
    [NOTE_WARNING] = "Warnings",
};

static void put_head(struct sheet *s, const struct layout *l)
{
    struct buf text = BUF_INIT;
    layout_describe_run(l, &text);
    sheet_put_run(s, l->result, buf_take(&text));
}

/* "4 trainers: 2.87x (72.0%; 95%: 68.1..75.2%); ..." */
static void put_scaling(struct sheet *s, const struct layout *l)
{
    _cleanup_(texts_done) struct texts lines = {0};
    prose_scaling_add(&lines, l, false);
    sheet_block(s, NULL);
    vec_each (char *, line, &lines.list) {
        sheet_line(s, NULL, "%s.", *line);
    }
}

static void put_points(struct sheet *s, const struct layout *l)
{
    static const unsigned parts[] = {LAYOUT_ALL, LAYOUT_SPEEDUP, 0};
    for (size_t i = l->is_brief ? 1 : 0; i < COUNT_OF(parts); i++) {
        struct table *t = layout_points(l, parts[i]);
        if (sheet_fits(s, t)) {
            sheet_table(s, NULL, t, 1);
            return;
        }
        table_free(t);
    }
    if (l->words.names.len + l->words.systems == 1) { /* one column says which point a row is */
        sheet_table(s, NULL, layout_points(l, 0), 1);
        return;
    }
    /* Rows have the index, and a list says what each point is. */
    sheet_table(s, NULL, layout_points(l, LAYOUT_BY_INDEX), 1);
    sheet_block(s, NULL);
    result_each_swept (p, l->result) {
        struct buf text = BUF_INIT;
        buf_printf(&text, "Point %u: ", p->point->index);
        layout_describe_point(l, p->point->index, &text);
        sheet_put_line(s, NULL, &text);
    }
}

static void put_tables(struct sheet *s, const struct layout *l)
{
    const bool has_any = swept_any(l->result, p, p->throughput.estimate.known);
    if (l->is_brief && !has_any) {
        return; /* what failed says it */
    }
    const bool has_grid =
        (!l->is_brief || l->result->def->matrix.n_swept > MAX_ROWS) && sheet_grid(s, l);
    if (!l->is_brief || !has_grid) {
        put_points(s, l);
    }
}

/* Those of some kinds, NOTE_WARNING at most. A brief sheet has no titles of sections. */
static void put_notes(struct sheet *s, const struct notes *notes, enum note_kind from,
                      enum note_kind to)
{
    const char *last = NULL;
    vec_each (const struct note, n, &notes->list) {
        if (n->kind < from || n->kind > to) {
            continue;
        }
        const char *section = sections[n->kind] == NULL || s->term.brief ? "" : sections[n->kind];
        if (section != last) {
            sheet_block(s, section[0] == '\0' ? NULL : section);
            last = section;
        }
        sheet_line(s, &marks[n->kind], "%s", n->text);
        sheet_details(s, n->details);
    }
}

void sheet_notes(struct sheet *s, const struct layout *l)
{
    _cleanup_(notes_done) struct notes notes;
    notes_init(&notes, l);
    put_notes(s, &notes, NOTE_INFO, NOTE_WARNING);
}

static void put_people(struct sheet *s, const struct result *r)
{
    _cleanup_(layout_done) struct layout l;
    _cleanup_(notes_done) struct notes notes;
    layout_init(&l, r);
    l.is_brief = s->term.brief;
    notes_init(&notes, &l);
    put_head(s, &l);
    if (s->term.brief) {
        put_notes(s, &notes, NOTE_FAILED, NOTE_FAILED);
    }
    put_scaling(s, &l);
    put_tables(s, &l);
    sheet_other_figures(s, &l);
    if (s->term.brief) {
        put_notes(s, &notes, NOTE_BASE, NOTE_BASE);
        put_notes(s, &notes, NOTE_PENDING, NOTE_WARNING);
    } else {
        put_notes(s, &notes, NOTE_INFO, NOTE_WARNING);
    }
}

/* ---- for programs ---- */

static void put_throughput(struct sheet *s, const struct point_result *p)
{
    const struct figure shown = figure_shown(&p->throughput);
    const struct estimate *own = &shown.estimate;
    sheet_value(s, "throughput", own);
    sheet_word(s, "throughput_unit", own->known ? shown.unit : NULL);
    sheet_interval(s, "throughput_low", "throughput_high", own);
    sheet_method(s, "throughput_method", own);
    sheet_number(s, "throughput_min", figure_shown_value(&p->throughput, p->throughput_min));
    sheet_number(s, "throughput_max", figure_shown_value(&p->throughput, p->throughput_max));
}

/* Those that the definition asks for. */
static void put_figures(struct sheet *s, const struct spec *spec, const struct point_result *p)
{
    put_throughput(s, p);
    figure_each_kind (k) {
        if (k->column == NULL || k == &figure_kinds[FIGURE_THROUGHPUT] ||
            !figure_is_asked(k, spec)) {
            continue;
        }
        const struct figure f = figure_of(p, k);
        if (k->has_interval) {
            sheet_estimate(s, k->column, &f.estimate);
        } else {
            sheet_value(s, k->column, &f.estimate);
        }
    }
    sheet_method(s, "ratio_method", &point_figure(p, FIGURE_EFFICIENCY)->estimate);
    if (spec->goal.kind != GOAL_NONE) {
        sheet_count(s, "trials_reached", p->n_reached);
    }
}

static void put_row(struct sheet *s, const struct result *r, const struct words_names *names,
                    const struct words_names *metrics, const struct point_result *p)
{
    const struct run_def *def = r->def;
    const struct point_result *base = result_baseline(r, p);
    sheet_word(s, "kind", p->point->is_baseline ? "baseline" : "point");
    sheet_word(s, "run", def->name);
    sheet_word(s, "benchmark", def->spec->name);
    sheet_count(s, "point", p->point->index);
    sheet_word(s, "system", def->spec->systems.items[p->point->system].name);
    sheet_word(s, "phase", trial_phase_to_string(p->phase));
    sheet_params(s, names->items, names->len, &p->point->params);
    put_figures(s, def->spec, p);
    sheet_word(s, "baseline_kind", baseline_kind_names[def->spec->baseline.kind]);
    sheet_number(s, "baseline_point", base == NULL ? NAN : base->point->index);
    const struct figure x = base == NULL ? (struct figure){0} : figure_shown(&base->throughput);
    sheet_value(s, "baseline_throughput", &x.estimate);
    sheet_count(s, "trials_succeeded", p->n_succeeded);
    sheet_count(s, "trials_total", p->n_trials);
    sheet_bool(s, "rehearsal", def->rehearsal);
    sheet_bool(s, "simulated", r->simulated);
    sheet_count(s, "pods", point_pods(p->point));
    sheet_number(s, "cpus", p->cpus);
    sheet_bool(s, "imported", spec_is_imported(def->spec));
    const struct exchange_mode mode = point_mode(def->spec, p->point);
    char mode_text[EXCHANGE_MODE_TEXT_MAX];
    exchange_mode_text(&mode, mode_text);
    sheet_word(s, "mode", mode_text);
    if (p->point->devices > 0) {
        sheet_count(s, "devices", p->point->devices);
    }
    for (size_t i = 0; i < metrics->len; i++) {
        _cleanup_(freep) char *column = xasprintf("metric_%s", metrics->items[i]);
        sheet_estimate(s, column, &metric_of_point(p, metrics->items[i])->estimate);
    }
    sheet_end_row(s);
}

void sheet_points(struct sheet *s, const struct result *r)
{
    if (s->form == SHEET_CSV) {
        struct words_names names = {0}, metrics = {0};
        sheet_names_add(&names, r);
        metric_names_add(&metrics, r);
        result_each_point (p, r) {
            put_row(s, r, &names, &metrics, p);
        }
        vec_done(&names);
        vec_done(&metrics);
    } else {
        put_people(s, r);
    }
}
