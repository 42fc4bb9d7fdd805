/* A result as a page, see report.h. */
#include "base/str.h"
#include "report/chart_svg.h"
#include "report/charts.h"
#include "report/prose_verdict.h"
#include "report/compare_layout.h"
#include "report/prose_compare.h"
#include "report/html_origin.h"
#include "report/html_parts.h"
#include "report/notes.h"
#include "report/report.h"
#include "report/sheets.h"
#include "report/prose_cpus.h"
#include "report/style.h"
#include "report/prose_systems.h"
#include "report/table.h"
#include "result/number.h"

#define MAX_CHARTED 100 /* swept points; more are not readable as charts */

/* ---- pieces ---- */

static void open_figure(struct buf *out, const char *title, const char *unit)
{
    buf_puts(out, "<figure><figcaption><h3>");
    html_escape(title, out);
    buf_puts(out, "</h3>");
    if (unit != NULL) {
        buf_puts(out, "<span class=\"soft\">");
        html_escape(unit, out);
        buf_puts(out, "</span>");
    }
    buf_puts(out, "</figcaption>\n");
}

static void put_head(struct buf *out, const struct report_page *page)
{
    buf_puts(out, "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n");
    buf_printf(out,
               "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
               "style-src '%s'; script-src '%s'; base-uri 'none'; form-action 'none'\">\n",
               page_style_hash, page_script_hash);
    buf_puts(out, "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
                  "<meta name=\"color-scheme\" content=\"light dark\">\n<title>");
    html_escape(page->result->def->name, out);
    buf_puts(out, " - benchd report</title>\n<style>");
    buf_puts(out, page_style);
    buf_puts(out, "</style>\n</head>\n<body>\n");
}

static void put_tag(struct buf *out, const char *class, const char *text)
{
    buf_printf(out, "<span class=\"tag %s\">%s</span>", class, text);
}

/* What was run, in a line. */
static void put_summary(struct buf *out, const struct layout *l)
{
    const char *description = l->result->def->spec->description;
    if (description[0] != '\0') {
        html_put_element(out, "p", description);
    }
    struct buf text = BUF_INIT;
    const struct workload *workload = &l->result->def->spec->workload;
    buf_printf(&text, "Model %s, data %s; ", workload->model == NULL ? "unknown" : workload->model,
               workload_dataset_name(workload));
    layout_describe_run(l, &text);
    buf_puts(out, "<p class=\"soft\">");
    html_escape(buf_cstr(&text), out);
    buf_puts(out, ".</p>\n");
    buf_done(&text);
}

/* "a system", "a value of trainers", "a combination of system, pservers and trainers": what
 * distinguishes the points. */
static void put_names(struct buf *out, const struct layout *l)
{
    if (layout_has_systems_alone(l)) {
        buf_puts(out, "a system");
        return;
    }
    if (!l->systems && l->names.len == 1) {
        buf_puts(out, "a value of ");
        html_escape(l->names.items[0], out);
        return;
    }
    buf_printf(out, "a combination of %s", l->systems ? "system" : "");
    for (size_t i = 0; i < l->names.len; i++) {
        buf_puts(out, !l->systems && i == 0 ? "" : i + 1 == l->names.len ? " and " : ", ");
        html_escape(l->names.items[i], out);
    }
}

static bool has_role(const struct result *r, enum role role)
{
    for (uint32_t i = 0; i < r->def->matrix.n_points; i++) {
        if (r->points[i].point->replicas[role] > 0) {
            return true;
        }
    }
    return false;
}

/* The roles that this run has. */
static void put_roles(struct buf *out, const struct result *r)
{
    static const struct {
        enum role role;
        const char *text;
    } roles[] = {
        {ROLE_TRAINER,
         " A <dfn>trainer</dfn> computes gradients from its own part of the samples."},
        {ROLE_PSERVER, " A <dfn>pserver</dfn> is a parameter server: it keeps the model's "
                       "parameters, and trainers send it their gradients."},
        {ROLE_WORKER, " A <dfn>worker</dfn> is a trainer without parameter servers: workers "
                      "exchange gradients with each other."},
        {ROLE_LAUNCHER, " A <dfn>launcher</dfn> starts the workers and computes nothing."},
    };
    buf_puts(out, " A <dfn>replica</dfn> is one process of a trial, in a cluster one pod.");
    for (size_t i = 0; i < sizeof(roles) / sizeof(roles[0]); i++) {
        if (has_role(r, roles[i].role)) {
            buf_puts(out, roles[i].text);
        }
    }
}

static bool has_method(const struct result *r, enum interval_method method)
{
    for (uint32_t i = 0; i < r->def->matrix.n_points; i++) {
        const struct estimate *e = &r->points[i].throughput.estimate;
        if (e->has_interval && e->method == method) {
            return true;
        }
    }
    return false;
}

static const struct point_result *baseline_of(const struct result *r, uint32_t point)
{
    return &r->points[r->points[point].point->baseline_index];
}

/* Where all points share it, the head says which points it belongs to. */
static void put_batch(struct buf *out, const struct layout *l)
{
    vec_each (const char *, name, &l->names) {
        if (str_eq(*name, "batch_size")) {
            buf_printf(
                out,
                " A <dfn>batch_size</dfn> is the number of samples that one %s takes in a step.",
                matrix_training_words(&l->result->def->matrix).one);
        }
    }
}

/* How far the baselines of systems lie apart: what an efficiency divides by
 * says how much it means. */
static void put_baselines_differ(struct buf *out, const struct layout *l)
{
    const struct result *r = l->result;
    const struct point_result *low = NULL, *high = NULL;
    for (uint32_t i = 0; i < r->def->matrix.n_swept && !l->mixed_units; i++) {
        const struct point_result *base = baseline_of(r, i);
        const struct estimate *e = &base->throughput.estimate;
        if (e->known) {
            low = low == NULL || e->value < low->throughput.estimate.value ? base : low;
            high = high == NULL || e->value > high->throughput.estimate.value ? base : high;
        }
    }
    buf_puts(out, " Each system has its own baseline");
    if (low != high && low->point->system != high->point->system) {
        struct buf text = BUF_INIT;
        const struct system *systems = r->def->spec->systems.items;
        buf_puts(&text, ", here from ");
        number_format(low->throughput.estimate.value, &text);
        buf_printf(&text, " (%s) to ", systems[low->point->system].name);
        number_format(high->throughput.estimate.value, &text);
        buf_printf(&text, " %s (%s)", l->unit, systems[high->point->system].name);
        html_escape(buf_cstr(&text), out);
        buf_done(&text);
    }
    buf_puts(out, ", so efficiencies do not rank systems: a slow one may have the highest.");
}

/* What the words mean that the rest of the page needs. */
static void put_words(struct buf *out, const struct layout *l)
{
    buf_puts(out, "<p class=\"soft\">A <dfn>point</dfn> is one configuration that was measured");
    if (layout_has_words(l)) {
        buf_puts(out, ", here ");
        put_names(out, l);
    }
    buf_puts(out, "; a <dfn>trial</dfn> measures it once.");
    put_roles(out, l->result);
    put_batch(out, l);
    if (!l->own_baselines) {
        buf_puts(out, " <dfn>Efficiency</dfn> is the share of the throughput that ideal scaling "
                      "from the baseline would give.");
        if (l->systems) {
            put_baselines_differ(out, l);
        }
    }
    buf_puts(out, " A range after \"95%:\" contains the true figure of this machine or cluster in "
                  "95 of 100 such runs, if trials differ only by chance.");
    if (has_method(l->result, INTERVAL_T_LOG)) {
        buf_puts(out, " A throughput is the median of its trials, and its range lies around their "
                      "geometric mean, so the median may not be its center.");
    }
    buf_puts(out, "</p>\n");
}

static void put_title(struct buf *out, const struct report_page *page, const struct layout *l)
{
    const struct result *r = page->result;
    buf_puts(out, "<header>\n");
    html_put_element(out, "h1", r->def->name);
    buf_puts(out, "<p>");
    put_tag(out,
            r->phase == RUN_SUCCEEDED                                    ? "good"
            : r->phase == RUN_FAILED || r->phase == RUN_PARTIALLY_FAILED ? "bad"
                                                                         : "",
            run_phase_to_string(r->phase));
    buf_puts(out, "<span class=\"soft\">");
    html_escape(r->def->spec->name, out);
    buf_printf(out, ", created %s</span></p>\n", page->created);
    put_summary(out, l);
    buf_puts(out, "</header>\n<main>\n");
}

/* They must be in the box for readers of the box alone. */
static void put_warnings(struct buf *out, const struct result *r)
{
    size_t n = 0;
    vec_each (const struct warning, w, &r->warnings) {
        if (!prose_verdict_say(w) && n++ < NOTES_IN_BOX) {
            buf_puts(out, "<dt>Warning</dt>\n<dd class=\"bad\">");
            html_escape(w->message, out);
            buf_puts(out, "</dd>\n");
        }
    }
    if (n > NOTES_IN_BOX) {
        buf_printf(out,
                   "<dt>Warnings</dt>\n<dd class=\"bad\"><a href=\"#notes\">%zu more</a> to read "
                   "before you use these figures</dd>\n",
                   n - NOTES_IN_BOX);
    }
}

static void put_line(struct buf *out, const struct choice_line *line)
{
    buf_printf(out, "<dt%s>", line->is_caveat ? " class=\"bad\"" : "");
    html_escape(line->label[0] == '\0' ? "Result" : line->label, out);
    buf_puts(out, "</dt>\n<dd>");
    html_escape(line->text, out);
    if (line->meaning != NULL) {
        buf_puts(out, "<br><span class=\"soft\">");
        html_escape(line->meaning, out);
        buf_puts(out, "</span>");
    }
    buf_puts(out, "</dd>\n");
}

static void put_systems(struct buf *out, const struct layout *l)
{
    struct prose_verdict lines;
    prose_systems_init(&lines, l);
    buf_printf(out, "<section>\n<h2>System%s</h2>\n<dl class=\"what\">\n",
               lines.list.len == 1 ? "" : "s");
    vec_each (struct choice_line, line, &lines.list) {
        put_line(out, line);
    }
    buf_puts(out, "</dl>\n</section>\n");
    prose_verdict_done(&lines);
}

static void put_choice(struct buf *out, const struct layout *l)
{
    struct prose_verdict lines;
    prose_verdict_init(&lines, l);
    buf_puts(out, "<section class=\"verdict\" aria-label=\"What this run says\">\n<dl>\n");
    vec_each (struct choice_line, line, &lines.list) {
        put_line(out, line);
    }
    put_warnings(out, l->result);
    buf_puts(out, "</dl>\n</section>\n");
    prose_verdict_done(&lines);
}

/* ---- a comparison ---- */

static void put_comparison(const struct comparison *c, struct buf *out)
{
    buf_puts(out, "<section>\n<h2>Comparison</h2>\n<p>Base: ");
    struct buf text = BUF_INIT;
    comparison_describe_side(c, true, &text);
    html_escape(buf_cstr(&text), out);
    buf_puts(out, ". Candidate: ");
    buf_clear(&text);
    comparison_describe_side(c, false, &text);
    html_escape(buf_cstr(&text), out);
    buf_puts(out, ".</p>\n");
    buf_done(&text);
    struct prose_compare lines;
    prose_compare_init(&lines, c);
    if (lines.list.len > 0) { /* the verdict, the last one, first */
        buf_puts(out, "<p><strong>");
        html_escape(lines.list.items[lines.list.len - 1].text, out);
        buf_puts(out, "</strong></p>\n");
    }
    struct dot_chart chart;
    if (c->points.len <= MAX_CHARTED && charts_comparison(c, &chart)) {
        buf_puts(out, "<div class=\"charts\">\n");
        open_figure(out, chart.title, NULL);
        chart_svg_dots(&chart, false, out);
        buf_puts(out, "</figure>\n</div>\n");
        dot_chart_done(&chart);
    }
    html_put_table(out, "Comparison by point", compare_layout_table(c, 0));
    buf_puts(out, "<ul>\n");
    for (size_t i = 0; i + 1 < lines.list.len; i++) {
        const struct compare_line *line = &lines.list.items[i];
        buf_puts(out, "<li>");
        buf_puts(out, line->kind == COMPARE_LINE_DIFFERS ? "Differs: " : "");
        html_escape(line->text, out);
        buf_puts(out, "</li>\n");
    }
    buf_puts(out, "</ul>\n</section>\n");
    prose_compare_done(&lines);
}

/* ---- charts ---- */

static void put_line_figure(struct buf *out, struct line_chart *c)
{
    open_figure(out, c->title, c->y_title);
    chart_svg_lines(c, false, out);
    if (c->n_left_out > 0) {
        buf_printf(out, "<p class=\"soft\">%zu more lines are in the table only.</p>\n",
                   c->n_left_out);
    }
    buf_puts(out, "</figure>\n");
    line_chart_done(c);
}

static void put_dot_figure(struct buf *out, struct dot_chart *c)
{
    open_figure(out, c->title, NULL);
    chart_svg_dots(c, false, out);
    buf_puts(out, "</figure>\n");
    dot_chart_done(c);
}

#define PHASES                                                                                     \
    "means of all steps of all trials (a throughput is a median of trials); phases may overlap, "  \
    "so their sum may exceed the step"
static const char phases_caption[] = PHASES;
static const char shared_phases[] =
    PHASES "; where processes share CPUs, a phase includes waiting for one";

static void put_figures(struct buf *out, const struct layout *l)
{
    static bool (*const line_charts[])(const struct layout *, struct line_chart *) = {
        charts_throughput, charts_efficiency, charts_throughput_by_servers,
        charts_efficiency_by_servers};
    struct line_chart lines;
    struct dot_chart dots;
    struct bar_chart bars;
    for (size_t i = 0; i < sizeof(line_charts) / sizeof(line_charts[0]); i++) {
        if (line_charts[i](l, &lines)) {
            put_line_figure(out, &lines);
        }
    }
    if (charts_points(l, &dots)) {
        put_dot_figure(out, &dots);
    }
    if (charts_resources(l, &dots)) {
        put_dot_figure(out, &dots);
    }
    if (charts_trials(l, &dots)) {
        put_dot_figure(out, &dots);
    }
    if (charts_phases(l, &bars)) {
        open_figure(out, bars.title,
                    prose_cpus_any(l->result->def) ? shared_phases : phases_caption);
        chart_svg_bars(&bars, false, out);
        if (bars.missing != NULL) {
            buf_puts(out, "<p class=\"soft\">");
            html_escape(bars.missing, out);
            buf_puts(out, "</p>\n");
        }
        buf_puts(out, "</figure>\n");
        bar_chart_done(&bars);
    }
}

static void put_charts(struct buf *out, const struct layout *l)
{
    if (l->result->def->matrix.n_swept > MAX_CHARTED) {
        buf_printf(out,
                   "<section>\n<h2>Scaling</h2>\n<p>Charts show up to %d points; this run has "
                   "more.</p>\n</section>\n",
                   MAX_CHARTED);
        return;
    }
    struct buf figures = BUF_INIT;
    put_figures(&figures, l);
    if (figures.len > 0) {
        buf_puts(out, "<section>\n<h2>Scaling</h2>\n<p class=\"soft\">Marks of throughput and "
                      "efficiency come from medians of a point's trials, whiskers are their 95% "
                      "intervals.<span class=\"screen\"> Point at a mark to see its "
                      "figures.</span></p>\n<div class=\"charts\">\n");
        buf_append(out, figures.data, figures.len);
        buf_puts(out, "</div>\n</section>\n");
    }
    buf_done(&figures);
}

static void put_steps(struct buf *out, const struct layout *l)
{
    struct sparks sparks;
    if (l->result->def->matrix.n_swept > MAX_CHARTED || !charts_steps(l, &sparks)) {
        return;
    }
    buf_puts(out,
             "<section>\n<h2>Step times</h2>\n<p class=\"soft\">The measured steps of one "
             "replica (trainer/0 is the first trainer) in the trial that is nearest to the median "
             "of its point. Heights begin at zero. Other replicas and trials differ, so these "
             "times need not fit the figures above.</p>\n"
             "<div class=\"sparks\">\n");
    vec_each (struct spark, s, &sparks.list) {
        buf_puts(out, "<figure>");
        chart_svg_spark(s, out);
        buf_puts(out, "<figcaption>");
        html_escape(s->name, out);
        buf_puts(out, "<br><span class=\"soft\">");
        html_escape(s->text, out);
        buf_puts(out, "</span></figcaption></figure>\n");
    }
    buf_puts(out, "</div>\n</section>\n");
    sparks_done(&sparks);
}

/* ---- tables and notes ---- */

static void put_tables(struct buf *out, const struct layout *l)
{
    struct table *grid = layout_grid(l);
    buf_puts(out, "<section>\n");
    if (grid != NULL) {
        struct buf caption = BUF_INIT;
        layout_grid_caption(l, &caption);
        html_put_element(out, "h2", buf_cstr(&caption));
        buf_printf(
            out,
            "<p class=\"soft\">The stronger the colour, the higher the %s among these cells.</p>\n",
            layout_shades_efficiency(l) ? "efficiency" : "throughput");
        html_put_table(out, buf_cstr(&caption), grid);
        buf_done(&caption);
    }
    buf_printf(out,
               "<h2>Points</h2>\n<p class=\"soft\">THROUGHPUT is the median of a point's succeeded "
               "trials%s%s, MIN and MAX are the slowest and the fastest of them.",
               l->mixed_units ? "" : " in ", l->mixed_units ? "" : l->unit);
    if (!l->own_baselines) {
        buf_puts(out, " SPEEDUP and EFFICIENCY divide by the point's baseline.");
    }
    if (layout_says_per_pod(l)) {
        buf_puts(out, " EFF/POD is the efficiency per replica that computes, servers too.");
    }
    if (layout_says_per_cpu(l)) {
        buf_puts(out, " EFF/CPU is the efficiency per CPU.");
    }
    buf_puts(out, "<span class=\"screen\"> A shade at the edge of a table says that it scrolls "
                  "sideways.</span></p>\n");
    html_put_table(out, "Points",
                   layout_points(l, LAYOUT_THROUGHPUT | LAYOUT_SCALING | LAYOUT_RESOURCES));
    struct table *baselines = layout_baselines(l);
    if (baselines != NULL) {
        buf_puts(out, "<h2>Baselines</h2>\n");
        html_put_table(out, "Baselines", baselines);
    }
    struct table *accuracy = layout_accuracy(l);
    if (accuracy != NULL) {
        struct buf caption = BUF_INIT;
        layout_accuracy_caption(l, &caption);
        html_put_element(out, "h2", buf_cstr(&caption));
        html_put_table(out, buf_cstr(&caption), accuracy);
        buf_done(&caption);
    }
    buf_puts(out, "</section>\n");
}

static const char *note_word(enum note_kind kind)
{
    switch (kind) {
    case NOTE_INFO:
        return "";
    case NOTE_FAILED:
        return "Without a result: ";
    case NOTE_PENDING:
        return "";
    case NOTE_PASSED_THRESHOLD:
        return "Threshold passed: ";
    case NOTE_FAILED_THRESHOLD:
        return "Threshold missed: ";
    case NOTE_UNKNOWN_THRESHOLD:
        return "Threshold not judged: ";
    case NOTE_SKIPPED_THRESHOLD:
        return "Threshold skipped: ";
    case NOTE_WARNING:
        return "Warning: ";
    }
    return "";
}

static void put_notes(struct buf *out, const struct layout *l)
{
    struct notes notes;
    notes_init(&notes, l);
    buf_puts(out, "<section id=\"notes\">\n<h2>Notes</h2>\n<ul>\n");
    vec_each (struct note, n, &notes.list) {
        const bool is_good = n->kind == NOTE_PASSED_THRESHOLD;
        const bool is_plain =
            n->kind == NOTE_INFO || n->kind == NOTE_PENDING || n->kind == NOTE_SKIPPED_THRESHOLD;
        buf_printf(out, "<li%s>%s",
                   is_good    ? " class=\"good\""
                   : is_plain ? ""
                              : " class=\"bad\"",
                   note_word(n->kind));
        html_escape(n->text, out);
        if (n->details != NULL) {
            buf_puts(out, "\n<pre>");
            html_escape(n->details, out);
            buf_puts(out, "</pre>");
        }
        buf_puts(out, "</li>\n");
    }
    buf_puts(out, "</ul>\n</section>\n");
    notes_done(&notes);
}

/* Also where the nodes are unknown. */
static void put_slow(struct buf *out, const struct layout *l)
{
    if (l->result->slow.len == 0) {
        return;
    }
    buf_puts(out, "<section>\n<h2>Slow replicas</h2>\n<p class=\"soft\">Slower than the others of "
                  "their role in the same trials: a point is as slow as its slowest replica.</p>\n"
                  "<ul>\n");
    vec_each (const struct slow_replica, s, &l->result->slow) {
        struct buf text = BUF_INIT;
        layout_describe_slow(l, s, &text);
        html_put_element(out, "li", buf_cstr(&text));
        buf_done(&text);
    }
    buf_puts(out, "</ul>\n</section>\n");
}

static void put_sections(struct buf *out, const struct layout *l)
{
    put_systems(out, l);
    put_charts(out, l);
    put_tables(out, l);
    put_steps(out, l);
    put_notes(out, l);
    put_slow(out, l);
    html_put_nodes(out, l->result);
    html_put_environment(out, l);
}

void report_html_sections(const struct result *r, struct buf *out)
{
    struct layout layout;
    layout_init(&layout, r);
    layout.is_page = true;
    put_summary(out, &layout);
    put_choice(out, &layout);
    put_words(out, &layout);
    put_sections(out, &layout);
    layout_done(&layout);
}

void report_html(const struct report_page *page, struct buf *out)
{
    struct layout layout;
    layout_init(&layout, page->result);
    layout.is_page = true;
    put_head(out, page);
    put_title(out, page, &layout);
    put_choice(out, &layout);
    put_words(out, &layout);
    if (page->comparison != NULL) {
        put_comparison(page->comparison, out);
    }
    put_sections(out, &layout);
    if (page->beside != NULL) {
        struct sheet sheet;
        buf_puts(out, "<section>\n");
        sheet_init(&sheet, SHEET_HTML, NULL);
        sheet_beside(&sheet, page->beside);
        sheet_write(&sheet, out);
        buf_puts(out, "</section>\n");
    }
    html_put_definition(out, page);
    buf_puts(out, "</main>\n<script>");
    buf_puts(out, page_script);
    buf_puts(out, "</script>\n</body>\n</html>\n");
    layout_done(&layout);
}
