/* What a page says of a run, see sheets.h. */
#include "base/str.h"
#include "base/vec_walk.h"
#include "report/charts.h"
#include "report/compare_layout.h"
#include "report/notes.h"
#include "report/prose.h"
#include "report/run_page.h"

#define MAX_CHARTED 100 /* swept points; more are not readable as charts */

/* ---- what was run ---- */

static void put_summary(struct sheet *s, const struct layout *l)
{
    struct buf text = BUF_INIT;
    const struct workload *workload = &l->result->def->spec->workload;
    buf_puts(&text, l->result->def->spec->description);
    sheet_put_line(s, &sheet_paragraph, &text);
    buf_printf(&text, "Model %s", workload->model == NULL ? "unknown" : workload->model);
    if (spec_knows_data(l->result->def->spec)) {
        buf_printf(&text, ", data %s", workload_dataset_name(workload));
    }
    buf_puts(&text, "; ");
    layout_describe_run(l, &text);
    buf_putc(&text, '.');
    sheet_put_line(s, &sheet_soft, &text);
}

static void put_title(struct sheet *s, const struct run_page *page, const struct layout *l)
{
    const struct result *r = page->result;
    sheet_open(s, SHEET_PAGE, r->def->name);
    sheet_line(s, &sheet_paragraph, "%s", "");
    sheet_span(s,
               r->phase == RUN_SUCCEEDED                                    ? SHEET_GOOD_TAG
               : r->phase == RUN_FAILED || r->phase == RUN_PARTIALLY_FAILED ? SHEET_BAD_TAG
                                                                            : SHEET_TAG,
               "%s", run_phase_to_string(r->phase));
    sheet_span(s, SHEET_SOFT, "%s, created %s", r->def->spec->name, page->created);
    put_summary(s, l);
    sheet_close(s);
}

/* ---- what its figures mean ---- */

static void put_meanings(struct sheet *s, const struct layout *l)
{
    sheet_line(
        s, &sheet_soft,
        "%s%sA range after \"95%%:\" contains the true figure of this machine "
        "or cluster in 95 of 100 such runs, if trials differ only by chance.",
        l->own_baselines ? ""
                         : "Efficiency is the share of the throughput that ideal scaling "
                           "from the baseline would give. ",
        l->own_baselines || !l->words.systems
            ? ""
            : "Each system has its own baseline, so efficiencies do not rank systems: a slow "
              "one may have the highest. ");
}

/* ---- the verdict ---- */

/* They must be in the box for readers of the box alone. */
static void put_warnings(struct sheet *s, const struct result *r)
{
    size_t n = 0;
    vec_each (const struct warning, w, &r->warnings) {
        if (n++ < NOTES_IN_BOX) {
            sheet_term(s, SHEET_BAD, "Warning", "%s", w->message);
        }
    }
    if (n > NOTES_IN_BOX) {
        sheet_term(s, SHEET_BAD, "Warnings", "%s", "");
        sheet_span(s, SHEET_TO_NOTES, "%zu more", n - NOTES_IN_BOX);
        sheet_span(s, SHEET_PLAIN, " to read before you use these figures");
    }
}

/* The first trial without a result and its reason lead; the notes have all. */
static void put_failure(struct sheet *s, const struct layout *l)
{
    _cleanup_(notes_done) struct notes notes;
    notes_init(&notes, l);
    const struct note *failed = vec_find(&notes.list, n, n->kind == NOTE_FAILED);
    if (failed != NULL) {
        sheet_term(s, SHEET_BAD, "Failed", "%s", failed->text);
    }
}

static void put_verdict(struct sheet *s, const struct layout *l)
{
    sheet_open(s, SHEET_VERDICT, "What this run says");
    put_failure(s, l);
    if (!run_phase_is_final(l->result->phase)) {
        sheet_term(s, SHEET_CAVEAT, "Preliminary", "%s", "The run has not ended.");
    }
    prose_verdict_put(s, l);
    put_warnings(s, l->result);
    sheet_close(s);
}

static void put_systems(struct sheet *s, const struct layout *l)
{
    const struct spec *spec = l->result->def->spec;
    sheet_open(s, SHEET_PLAIN, spec->systems.len == 1 ? "System" : "Systems");
    for (uint32_t i = 0; i < spec->systems.len; i++) {
        _cleanup_(buf_done) struct buf text = BUF_INIT;
        prose_systems_put(l, i, &text);
        sheet_term(s, SHEET_WHAT, spec->systems.items[i].label, "%s", buf_cstr(&text));
    }
    sheet_close(s);
}

/* ---- a comparison ---- */

static void put_comparison(struct sheet *s, const struct comparison *c)
{
    static const struct sheet_mark differs = {.page = "Differs: "};
    struct buf text = BUF_INIT;
    _cleanup_(notes_done) struct notes lines;
    struct chart chart;
    prose_compare_init(&lines, c);
    sheet_open(s, SHEET_PLAIN, "Comparison");
    buf_puts(&text, "Base: ");
    comparison_describe_side(c, true, &text);
    buf_puts(&text, ". Candidate: ");
    comparison_describe_side(c, false, &text);
    buf_putc(&text, '.');
    sheet_put_line(s, &sheet_paragraph, &text);
    sheet_line(s, &sheet_paragraph, "%s", "");
    sheet_span(s, SHEET_STRONG, "%s", lines.list.items[lines.list.len - 1].text); /* the verdict */
    if (c->points.len <= MAX_CHARTED && charts_comparison(c, &chart)) {
        sheet_figure(s, &chart);
    }
    sheet_table(s, NULL, compare_layout_table(c, 0), 1);
    sheet_name_table(s, "Comparison by point");
    for (size_t i = 0; i + 1 < lines.list.len; i++) {
        const struct note *line = &lines.list.items[i];
        sheet_line(s, line->kind == NOTE_DIFFERS ? &differs : NULL, "%s", line->text);
    }
    sheet_close(s);
}

/* ---- charts ---- */

static void put_charts(struct sheet *s, const struct layout *l)
{
    VEC(struct chart) made = {0};
    struct chart chart;
    for (size_t i = 0; charts_name(i) != NULL; i++) {
        if (charts_make(l, charts_name(i), &chart)) {
            *vec_push(&made) = chart;
        }
    }
    if (made.len > 0) {
        sheet_open(s, SHEET_PLAIN, "Scaling");
        sheet_line(s, &sheet_soft, "%s", "");
        sheet_span(s, SHEET_PLAIN,
                   "Marks over a number of replicas come from medians of a point's trials%s%s.",
                   swept_any(l->result, p, p->throughput.estimate.has_interval)
                       ? ", whiskers are their 95% intervals"
                       : "",
                   vec_any(&made, c, c->kind == CHART_LINES && c->lines.x_is_time)
                       ? "; lines over time are those of the trial that is nearest to its point's "
                         "median throughput"
                       : "");
        sheet_span(s, SHEET_ON_SCREEN, " Point at a mark to see its figures.");
        vec_each (struct chart, c, &made) {
            sheet_figure(s, c);
        }
        sheet_close(s);
    }
    vec_done(&made); /* the sheet has its items */
}

static void put_scaling(struct sheet *s, const struct layout *l)
{
    if (l->result->def->matrix.n_swept <= MAX_CHARTED) {
        put_charts(s, l);
        return;
    }
    sheet_open(s, SHEET_PLAIN, "Scaling");
    sheet_line(s, &sheet_paragraph, "Charts show up to %d points; this run has more.", MAX_CHARTED);
    sheet_close(s);
}

static void put_steps(struct sheet *s, const struct layout *l)
{
    struct sparks sparks;
    if (l->result->def->matrix.n_swept > MAX_CHARTED || !charts_steps(l, &sparks)) {
        return;
    }
    sheet_open(s, SHEET_PLAIN, "Step times");
    sheet_line(s, &sheet_soft,
               "The measured steps of one replica (0 is the first of its role) in the trial that "
               "is nearest to the median of its point. Heights begin at zero. Other replicas and "
               "trials differ, so these times need not fit the figures above.");
    vec_each (const struct chart, chart, &sparks.list) {
        sheet_figure(s, chart);
    }
    sheet_close(s);
    vec_done(&sparks.list); /* the sheet has its items */
}

/* ---- tables and notes ---- */

static void put_grid(struct sheet *s, const struct layout *l)
{
    struct table *grid = layout_grid(l);
    if (grid != NULL) {
        _cleanup_(buf_done) struct buf caption = BUF_INIT;
        layout_grid_caption(l, &caption);
        sheet_heading(s, buf_cstr(&caption));
        sheet_line(s, &sheet_soft, "The colour grows in proportion to the %s.",
                   layout_shades_efficiency(l) ? "efficiency" : "throughput");
        sheet_table(s, NULL, grid, 1);
    }
}

static void put_points(struct sheet *s, const struct layout *l)
{
    sheet_heading(s, "Points");
    if (vec_any(&l->result->def->spec->systems, system, system->log != NULL)) {
        sheet_line(s, &sheet_soft, "A throughput is a link to the lines that it was read from.");
    }
    sheet_table(s, NULL, layout_points(l, LAYOUT_ALL), 1);
}

static void put_tables(struct sheet *s, const struct layout *l)
{
    sheet_open(s, SHEET_PLAIN, NULL);
    put_grid(s, l);
    put_points(s, l);
    sheet_other_figures(s, l);
    sheet_close(s);
}

/* Also where the nodes are unknown. */
static void put_slow(struct sheet *s, const struct layout *l)
{
    if (l->result->slow.len == 0) {
        return;
    }
    sheet_open(s, SHEET_PLAIN, "Slow replicas");
    sheet_line(s, &sheet_soft,
               "Slower than the others of their role in the same trials: a point is as slow as its "
               "slowest replica.");
    vec_each (const struct slow_replica, slow, &l->result->slow) {
        struct buf text = BUF_INIT;
        layout_describe_slow(l, slow, &text);
        sheet_put_line(s, NULL, &text);
    }
    sheet_close(s);
}

/* ---- the whole ---- */

enum sheet_chart_answer sheet_chart(struct sheet *s, const struct result *r, const char *name)
{
    _cleanup_(layout_done) struct layout l;
    struct chart chart;
    layout_init(&l, r);
    const bool is_made = charts_make(&l, name, &chart);
    if (is_made) {
        sheet_figure(s, &chart);
        return SHEET_CHART_MADE;
    }
    for (size_t i = 0; charts_name(i) != NULL; i++) {
        if (str_eq(name, charts_name(i))) {
            return SHEET_CHART_EMPTY;
        }
    }
    return SHEET_CHART_UNKNOWN;
}

static void put_sections(struct sheet *s, const struct layout *l)
{
    put_systems(s, l);
    put_scaling(s, l);
    put_tables(s, l);
    put_steps(s, l);
    sheet_open(s, SHEET_NOTES, "Notes");
    sheet_notes(s, l);
    sheet_close(s);
    sheet_lines_of_points(s, l);
    put_slow(s, l);
    run_page_put_nodes(s, l->result);
    run_page_put_environment(s, l);
}

void sheet_run(struct sheet *s, const struct result *r)
{
    _cleanup_(layout_done) struct layout l;
    layout_init(&l, r);
    l.is_page = true;
    put_summary(s, &l);
    put_verdict(s, &l);
    put_meanings(s, &l);
    put_sections(s, &l);
}

void sheet_page(struct sheet *s, const struct run_page *page)
{
    _cleanup_(layout_done) struct layout l;
    layout_init(&l, page->result);
    l.is_page = true;
    put_title(s, page, &l);
    put_verdict(s, &l);
    put_meanings(s, &l);
    if (page->comparison != NULL) {
        put_comparison(s, page->comparison);
    }
    put_sections(s, &l);
    if (page->beside != NULL) {
        sheet_open(s, SHEET_PLAIN, NULL);
        sheet_beside(s, page->beside);
        sheet_close(s);
    }
    run_page_put_definition(s, page);
}
