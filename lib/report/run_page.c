/* What a page says of a run, see sheets.h. */
#include <string.h>

#include "base/str.h"
#include "report/charts.h"
#include "report/prose.h"
#include "report/sheets.h"
#include "result/catalogue.h"

#define MAX_DEFINITION (64 << 10)

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

/* ---- the answer ---- */

/* The first note of a kind, with how many others there are. */
static void put_first(struct sheet *s, const struct notes *notes, enum note_kind kind,
                      const char *title)
{
    static const struct sheet_mark bad = {.is_paragraph = true, .look = SHEET_BAD};
    const struct note *first = vec_find(&notes->list, n, n->kind == kind);
    if (first != NULL) {
        const size_t n = vec_sum(&notes->list, it, (size_t)(it->kind == kind));
        sheet_line(s, &bad, "%s%s", title, first->text);
        sheet_details(s, first->details);
        if (n > 1) {
            sheet_span(s, SHEET_PLAIN, " (");
            sheet_span(s, SHEET_TO_NOTES, "%zu more", n - 1);
            sheet_span(s, SHEET_PLAIN, ")");
        }
    }
}

static void put_answer(struct sheet *s, const struct layout *l)
{
    static const struct sheet_mark answer = {.is_paragraph = true, .look = SHEET_ANSWER};
    const size_t n = l->result->warnings.len;
    struct buf text = BUF_INIT;
    _cleanup_(notes_done) struct notes notes;
    notes_init(&notes, l);
    buf_puts(&text, run_phase_is_final(l->result->phase) ? "" : "The run has not ended. ");
    prose_answer_put(l, &text);
    sheet_put_line(s, &answer, &text);
    put_first(s, &notes, NOTE_FAILED, "Failed: ");
    put_first(s, &notes, NOTE_FAILED_THRESHOLD, "Threshold missed: ");
    if (n > 0) {
        sheet_line(s, &sheet_soft, "%s", "");
        sheet_span(s, SHEET_TO_NOTES, "%zu warning%s", n, plural(n));
        sheet_span(s, SHEET_PLAIN, "%s %s.",
                   n == 1 ? ":" : ", first of all:", l->result->warnings.items[0].message);
    }
}

/* ---- charts ---- */

static void put_charts(struct sheet *s, const struct layout *l)
{
    struct chart chart;
    bool has_time = false, has_failed = false;
    size_t n = 0;
    if (l->result->def->matrix.n_swept > RESULT_CHART_POINTS) {
        sheet_line(s, &sheet_paragraph, "Charts show up to %d points; this run has more.",
                   RESULT_CHART_POINTS);
        return;
    }
    for (size_t i = 0; charts_name(i) != NULL; i++) {
        if (!str_eq(charts_name(i), CHART_PHASES) && charts_make(l, charts_name(i), &chart)) {
            has_time |= chart.x_is_time;
            has_failed |= chart.has_failed;
            sheet_figure(s, &chart);
            n++;
        }
    }
    if (n > 0) {
        sheet_line(s, &sheet_soft, "%s", "");
        sheet_span(s, SHEET_PLAIN, "A mark is the median of a point's trials%s%s%s.",
                   swept_any(l->result, p, p->throughput.estimate.has_interval)
                       ? ", a whisker its 95% interval"
                       : "",
                   has_failed ? ", a cross a point that failed" : "",
                   has_time ? "; a line over time is that of the trial nearest to its point's "
                              "median throughput"
                            : "");
        sheet_span(s, SHEET_ON_SCREEN, " Point at a mark to see its figures.");
    }
}

/* ---- where it ran ---- */

/* What a start record says of where its replica ran. */
static const char *const fact_titles[HARDWARE_TEXTS] = {
    [HARDWARE_CPU_MODEL] = "CPU", [HARDWARE_KERNEL] = "KERNEL", [HARDWARE_BLAS_CORE] = "BLAS CORE",
    [HARDWARE_BUILD] = "BUILD",   [HARDWARE_SOURCE] = "SOURCE",
};

/* A row for each kind of machine and build; with the systems whose replicas ran on it. */
static void put_kinds(struct sheet *s, const struct layout *l)
{
    const struct result *r = l->result;
    struct table *t = table_new();
    vec_each (const struct hardware, h, &r->hardware) {
        _cleanup_(buf_done) struct buf users = BUF_INIT;
        for (size_t i = 0; i < h->of_system.len; i++) {
            if (h->of_system.items[i] > 0) {
                buf_printf(&users, "%s%s", users.len == 0 ? "" : ", ",
                           r->def->spec->systems.items[i].name);
            }
        }
        table_text(l->words.systems ? t : NULL, "SYSTEM", "%s", buf_cstr(&users));
        table_number(t, "REPLICAS", "%zu", h->n_replicas);
        for (size_t k = 0; k < HARDWARE_TEXTS; k++) {
            if (vec_any(&r->hardware, it, it->texts[k] != NULL)) {
                table_text(t, fact_titles[k], "%s", h->texts[k] == NULL ? "-" : h->texts[k]);
            }
        }
        table_end_row(t);
    }
    sheet_table(s, NULL, t, 1);
}

static void put_environment(struct sheet *s, const struct layout *l)
{
    const struct result *r = l->result;
    sheet_open(s, SHEET_FOLDED, "Environment");
    if (r->def->cpus > 0) {
        sheet_line(s, &sheet_paragraph,
                   "All replicas ran on one machine, with %lld CPU%s for them.",
                   (long long)r->def->cpus, plural(r->def->cpus));
    }
    if (r->hardware.len == 0) {
        sheet_line(s, &sheet_paragraph, "No replica reported its CPU and kernel.");
    }
    put_kinds(s, l);
    sheet_close(s);
}

/* ---- how to run it again ---- */

/* A definition that is too long for a page is left out. */
static void put_definition(struct sheet *s, const struct run_page *page)
{
    static const struct sheet_mark command = {.is_paragraph = true, .look = SHEET_COMMAND};
    static const struct sheet_mark folded = {.is_paragraph = true, .look = SHEET_FOLDED};
    const struct run_def *def = page->result->def;
    _cleanup_(freep) char *text = json_dumps(def->spec->definition, JSON_INDENT(2));
    if (text != NULL && strlen(text) <= MAX_DEFINITION) {
        sheet_open(s, SHEET_FOLDED, "Run it again");
        sheet_line(s, &sheet_paragraph, "With the definition that this page has, as a file:");
        sheet_line(s, &command, "benchctl run -f %s.json%s", def->spec->name,
                   def->cpus > 0 ? " --local" : "");
        sheet_line(s, &folded, "Definition");
        sheet_details(s, text);
        sheet_close(s);
    }
    sheet_line(s, &sheet_soft, "Run %s. Page made by %s.", def->uid, page->program);
}

/* ---- the whole ---- */

enum sheet_chart_answer sheet_chart(struct sheet *s, const struct result *r, const char *name)
{
    _cleanup_(layout_done) struct layout l;
    struct chart chart;
    layout_init(&l, r);
    if (charts_make(&l, name, &chart)) {
        sheet_figure(s, &chart);
        return SHEET_CHART_MADE;
    }
    bool is_known = figure_find(name) != NULL;
    for (size_t i = 0; charts_name(i) != NULL; i++) {
        is_known |= str_eq(name, charts_name(i));
    }
    return is_known ? SHEET_CHART_EMPTY : SHEET_CHART_UNKNOWN;
}

static void put_sections(struct sheet *s, const struct layout *l, const struct run_page *page)
{
    const bool has_goal = layout_has_columns(l, LAYOUT_ACCURACY);
    struct chart phases;
    put_charts(s, l);
    sheet_open(s, SHEET_PLAIN, NULL);
    sheet_heading(s, "Points");
    sheet_table(s, NULL, points_table(s, l, LAYOUT_ALL), 1);
    if (has_goal) { /* it has the answer, too */
        sheet_other_figures(s, l);
    }
    if (page->beside != NULL) {
        sheet_beside(s, page->beside);
    }
    sheet_close(s);
    sheet_open(s, SHEET_NOTES, "Notes");
    prose_scaling_put(s, l);
    sheet_notes(s, l);
    sheet_line(s, &sheet_soft,
               "A range after \"95%%:\" contains the true figure of this machine or cluster in 95 "
               "of 100 such runs, if trials differ only by chance.%s",
               l->own_baselines || !l->words.systems
                   ? ""
                   : " Each system has its own baseline, so efficiencies do not rank systems: a "
                     "slow one may have the highest.");
    if (!has_goal) {
        sheet_other_figures(s, l);
    }
    sheet_close(s);
    if (charts_make(l, CHART_PHASES, &phases)) {
        sheet_open(s, SHEET_FOLDED, "Parts of a step");
        sheet_figure(s, &phases);
        sheet_close(s);
    }
    if (l->result->nodes.len > 0) {
        sheet_open(s, SHEET_FOLDED, "Nodes");
        (void)sheet_put_nodes(s, l->result); /* it has some */
        sheet_close(s);
    }
    put_environment(s, l);
}

void sheet_run(struct sheet *s, const struct result *r)
{
    sheet_page(s, &(struct run_page){.result = r});
}

void sheet_page(struct sheet *s, const struct run_page *page)
{
    _cleanup_(layout_done) struct layout l;
    layout_init(&l, page->result);
    l.is_page = true;
    if (page->program != NULL) {
        put_title(s, page, &l);
    } else {
        put_summary(s, &l);
    }
    put_answer(s, &l);
    if (page->comparison != NULL) {
        sheet_comparison(s, page->comparison);
    }
    put_sections(s, &l, page);
    if (page->program != NULL) {
        put_definition(s, page);
    }
}
