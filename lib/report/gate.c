/* See gate.h. */
#include "report/gate.h"

#include "report/compare_layout.h"
#include "report/compare_lines.h"
#include "report/json_text.h"
#include "report/notes.h"
#include "report/sheets.h"
#include "report/terminal.h"
#include "result/threshold.h"

static const char *const kind_names[] = {
    [GATE_OF_RUN] = "Run",
    [GATE_OF_THRESHOLD] = "Threshold",
    [GATE_OF_POINT] = "Point",
    [GATE_OF_MISSING] = "MissingPoint",
    [GATE_OF_COMPARISON] = "Comparison",
};

/* ---- checks in words ---- */

struct gate_words {
    const struct gate *gate;
    struct layout layout;
    struct notes notes;
    struct compare_identity identity; /* if there is a comparison */
    struct compare_lines lines;
};

static void words_init(struct gate_words *w, const struct gate *g)
{
    *w = (struct gate_words){.gate = g};
    layout_init(&w->layout, g->candidate);
    notes_init(&w->notes, &w->layout);
    if (g->comparison != NULL) {
        compare_identity_init(&w->identity, g->comparison);
        compare_lines_init(&w->lines, g->comparison);
    }
}

static void words_done(struct gate_words *w)
{
    if (w->gate->comparison != NULL) {
        compare_identity_done(&w->identity);
        compare_lines_done(&w->lines);
    }
    notes_done(&w->notes);
    layout_done(&w->layout);
}

static bool is_of_threshold(enum note_kind kind)
{
    return kind == NOTE_PASSED_THRESHOLD || kind == NOTE_FAILED_THRESHOLD ||
           kind == NOTE_UNKNOWN_THRESHOLD || kind == NOTE_SKIPPED_THRESHOLD;
}

/* The notes of thresholds have the order of their checks. */
static const char *threshold_text(const struct gate_words *w, const struct gate_check *of)
{
    size_t index = 0;
    vec_each (const struct gate_check, check, &w->gate->checks) {
        index += check < of && check->kind == GATE_OF_THRESHOLD;
    }
    vec_each (const struct note, n, &w->notes.list) {
        if (is_of_threshold(n->kind) && index-- == 0) {
            return n->text;
        }
    }
    return "threshold";
}

static void put_name(const struct gate_words *w, const struct gate_check *check, struct buf *out)
{
    switch (check->kind) {
    case GATE_OF_RUN:
        buf_puts(out, "every trial has a result");
        return;
    case GATE_OF_THRESHOLD:
        buf_puts(out, threshold_text(w, check));
        return;
    case GATE_OF_POINT:
        buf_printf(out, "point %u (", check->point->base->point->index);
        compare_identity_describe(&w->identity, w->gate->comparison, check->point, out);
        buf_putc(out, ')');
        return;
    case GATE_OF_MISSING:
        buf_printf(out, "point %u of the base", check->missing->point->index);
        return;
    case GATE_OF_COMPARISON:
        buf_puts(out, "all points together");
    }
}

static void put_line(struct buf *out, const char *text)
{
    buf_printf(out, "%s%s", out->len == 0 ? "" : "\n", text);
}

static void put_run(const struct gate_words *w, struct buf *out)
{
    vec_each (const struct note, n, &w->notes.list) {
        if (n->kind == NOTE_FAILED || n->kind == NOTE_PENDING) {
            put_line(out, n->text);
        }
    }
    if (out->len == 0) {
        buf_puts(out, run_phase_to_string(w->gate->candidate->phase));
    }
}

static void put_point(const struct compared_point *p, bool by_margin, struct buf *out)
{
    if (p->ratio.estimate.known) {
        buf_puts(out, "ratio ");
        words_put_estimate(&p->ratio.estimate, "", out);
        buf_puts(out, ": ");
    }
    buf_puts(out, by_margin ? margin_verdict_to_string(p->margin) : change_to_string(p->change));
}

static void put_comparison(const struct gate_words *w, struct buf *out)
{
    if (w->gate->comparison == NULL) {
        buf_puts(out, w->gate->refusal);
        return;
    }
    vec_each (const struct compare_line, line, &w->lines.list) {
        if (line->kind == COMPARE_LINE_VERDICT || line->kind == COMPARE_LINE_WARNING ||
            line->kind == COMPARE_LINE_ONLY) {
            put_line(out, line->text);
        }
    }
}

static void put_message(const struct gate_words *w, const struct gate_check *check, struct buf *out)
{
    switch (check->kind) {
    case GATE_OF_RUN:
        put_run(w, out);
        return;
    case GATE_OF_THRESHOLD:
        if (check->skipped != NULL) {
            threshold_format_skip(check->skipped, out);
        } else {
            buf_puts(out, gate_outcome_to_string(check->outcome));
        }
        return;
    case GATE_OF_POINT:
        put_point(check->point, w->gate->comparison->margin != MARGIN_NOT_ASKED, out);
        return;
    case GATE_OF_MISSING:
        buf_puts(out, "the candidate did not measure it");
        return;
    case GATE_OF_COMPARISON:
        put_comparison(w, out);
    }
}

static void put_sentence(const struct gate *g, struct buf *out)
{
    static const char *const sentences[] = {
        [GATE_RUN_FAILED] = "a trial has no result",
        [GATE_THRESHOLD] = "a threshold is missed or could not be judged",
        [GATE_SLOWER] = "it is slower than its base",
        [GATE_INCONCLUSIVE] = "whether it is slower is not known",
        [GATE_PASSED] = "every check passed",
    };
    const size_t n_skipped = gate_count(g, GATE_CHECK_SKIPPED);
    buf_printf(out, "%s %s: %s", g->candidate->def->name,
               g->verdict == GATE_PASSED ? "passes" : "is refused",
               g->verdict == GATE_THRESHOLD && !gate_judges(g)
                   ? "nothing was judged but whether it finished"
               : g->verdict == GATE_PASSED && n_skipped > 0
                   ? "every check that it has a point for passed"
                   : sentences[g->verdict]);
    if (n_skipped > 0) {
        buf_printf(out, "; %zu of %zu thresholds skipped, because it has no such point", n_skipped,
                   g->candidate->def->spec->thresholds.len);
    }
}

/* ---- forms ---- */

static struct table *checks_table(const struct gate_words *w)
{
    struct table *t = table_new();
    table_column(t, "OUTCOME", TABLE_LEFT);
    table_column(t, "CHECK", TABLE_LEFT);
    vec_each (const struct gate_check, check, &w->gate->checks) {
        struct buf name = BUF_INIT;
        put_name(w, check, &name);
        table_cell(t, "%s", gate_outcome_to_string(check->outcome));
        table_cell(t, "%s", buf_cstr(&name));
        buf_done(&name);
    }
    return t;
}

/* What refused it, line by line. */
static void put_reasons(const struct gate_words *w, void (*put)(void *ctx, const char *text),
                        void *ctx)
{
    vec_each (const struct gate_check, check, &w->gate->checks) {
        if (check->outcome == GATE_CHECK_PASSED || check->kind == GATE_OF_THRESHOLD ||
            check->kind == GATE_OF_POINT ||
            (check->kind == GATE_OF_COMPARISON && w->gate->comparison != NULL)) {
            continue; /* the table says it, or the comparison's own text */
        }
        struct buf name = BUF_INIT, text = BUF_INIT;
        put_name(w, check, &name);
        put_message(w, check, &text);
        buf_puts(&name, ": ");
        for (const char *c = buf_cstr(&text); *c != '\0'; c++) {
            if (*c == '\n') {
                buf_puts(&name, "; ");
            } else {
                buf_putc(&name, *c);
            }
        }
        put(ctx, buf_cstr(&name));
        buf_done(&name);
        buf_done(&text);
    }
}

struct text_out {
    struct buf *out;
    struct terminal term;
};

static void put_text_reason(void *ctx, const char *text)
{
    struct text_out *o = ctx;
    terminal_colored(o->out, &o->term, TERMINAL_YELLOW, "!");
    buf_putc(o->out, ' ');
    terminal_wrapped(o->out, &o->term, text, 2, 2);
}

/* The table of checks; where it is too wide, the name of a check goes on under itself. */
static void put_text_checks(const struct gate_words *w, const struct text_out *o)
{
    const unsigned at = 10; /* "Unknown", the longest outcome, and the gap */
    struct table *t = checks_table(w);
    if (o->term.wide || table_width(t) <= o->term.columns) {
        table_format(t, true, o->out);
        table_free(t);
        return;
    }
    table_free(t);
    buf_printf(o->out, "%-*s%s\n", (int)at, "OUTCOME", "CHECK");
    vec_each (const struct gate_check, check, &w->gate->checks) {
        struct buf name = BUF_INIT;
        put_name(w, check, &name);
        buf_printf(o->out, "%-*s", (int)at, gate_outcome_to_string(check->outcome));
        terminal_wrapped(o->out, &o->term, buf_cstr(&name), at, at);
        buf_done(&name);
    }
}

void report_gate_text(const struct gate *g, const struct report_opts *opts, struct buf *out)
{
    struct text_out o = {out, terminal_of(opts)};
    struct gate_words w;
    struct buf sentence = BUF_INIT;
    words_init(&w, g);
    if (g->comparison != NULL) {
        struct sheet sheet;
        sheet_init(&sheet, SHEET_TEXT, opts);
        sheet_comparison(&sheet, g->comparison);
        sheet_write(&sheet, out);
        buf_putc(out, '\n');
    }
    put_text_checks(&w, &o);
    buf_putc(out, '\n');
    put_reasons(&w, put_text_reason, &o);
    put_sentence(g, &sentence);
    terminal_colored(out, &o.term, g->verdict == GATE_PASSED ? TERMINAL_GREEN : TERMINAL_RED,
                     g->verdict == GATE_PASSED ? "PASSED" : "REFUSED");
    buf_putc(out, ' ');
    terminal_wrapped(out, &o.term, buf_cstr(&sentence), g->verdict == GATE_PASSED ? 7 : 8, 2);
    buf_done(&sentence);
    words_done(&w);
}

static void put_markdown_reason(void *ctx, const char *text)
{
    buf_puts(ctx, "- ");
    markdown_escape(text, ctx);
    buf_putc(ctx, '\n');
}

void report_gate_markdown(const struct gate *g, struct buf *out)
{
    struct gate_words w;
    struct buf sentence = BUF_INIT;
    words_init(&w, g);
    put_sentence(g, &sentence);
    buf_printf(out, "## %s: ", g->verdict == GATE_PASSED ? "Passed" : "Refused");
    markdown_escape(buf_cstr(&sentence), out);
    buf_puts(out, "\n\n");
    struct table *t = checks_table(&w);
    table_format_markdown(t, out);
    table_free(t);
    buf_putc(out, '\n');
    put_reasons(&w, put_markdown_reason, out);
    if (g->comparison != NULL) {
        buf_putc(out, '\n');
        struct sheet sheet;
        sheet_init(&sheet, SHEET_MARKDOWN, NULL);
        sheet_comparison(&sheet, g->comparison);
        sheet_write(&sheet, out);
    }
    buf_done(&sentence);
    words_done(&w);
}

/* XML 1.0 has no other control characters than line breaks and tabs. */
static void put_xml(struct buf *out, const char *text)
{
    _cleanup_(freep) char *clean = xstrdup(text);
    for (char *c = clean; *c != '\0'; c++) {
        *c = (unsigned char)*c < ' ' && *c != '\n' && *c != '\t' ? '?' : *c;
    }
    html_escape(clean, out);
}

static void put_property(struct buf *out, const char *name, const char *value)
{
    buf_printf(out, "      <property name=\"%s\" value=\"", name);
    put_xml(out, value);
    buf_puts(out, "\"/>\n");
}

static void put_case(const struct gate_words *w, const struct gate_check *check, struct buf *out)
{
    struct buf name = BUF_INIT, text = BUF_INIT;
    put_name(w, check, &name);
    put_message(w, check, &text);
    buf_puts(out, "    <testcase classname=\"");
    put_xml(out, w->gate->candidate->def->spec->name);
    buf_printf(out, ".%s\" name=\"", kind_names[check->kind]);
    put_xml(out, buf_cstr(&name));
    if (check->outcome == GATE_CHECK_PASSED) {
        buf_puts(out, "\"/>\n");
    } else if (check->outcome == GATE_CHECK_SKIPPED) {
        buf_puts(out, "\">\n      <skipped message=\"");
        put_xml(out, buf_cstr(&text));
        buf_puts(out, "\"/>\n    </testcase>\n");
    } else {
        const char *element = check->outcome == GATE_CHECK_FAILED ? "failure" : "error";
        buf_printf(out, "\">\n      <%s type=\"%s\" message=\"", element,
                   gate_outcome_to_string(check->outcome));
        put_xml(out, buf_cstr(&name));
        buf_puts(out, "\">");
        put_xml(out, buf_cstr(&text));
        buf_printf(out, "</%s>\n    </testcase>\n", element);
    }
    buf_done(&name);
    buf_done(&text);
}

void report_gate_junit(const struct gate *g, struct buf *out)
{
    struct gate_words w;
    struct buf sentence = BUF_INIT, counts = BUF_INIT;
    words_init(&w, g);
    put_sentence(g, &sentence);
    buf_printf(&counts, "tests=\"%zu\" failures=\"%zu\" errors=\"%zu\" skipped=\"%zu\"",
               g->checks.len, gate_count(g, GATE_CHECK_FAILED), gate_count(g, GATE_CHECK_UNKNOWN),
               gate_count(g, GATE_CHECK_SKIPPED));
    buf_printf(out,
               "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites %s>\n  <testsuite name=\"",
               buf_cstr(&counts));
    put_xml(out, g->candidate->def->spec->name);
    buf_printf(out, "\" %s>\n    <properties>\n", buf_cstr(&counts));
    put_property(out, "run", g->candidate->def->name);
    if (g->comparison != NULL) {
        put_property(out, "base", g->comparison->base->def->name);
    }
    put_property(out, "verdict", gate_verdict_to_string(g->verdict));
    buf_puts(out, "    </properties>\n");
    vec_each (const struct gate_check, check, &g->checks) {
        put_case(&w, check, out);
    }
    buf_puts(out, "    <system-out>");
    put_xml(out, buf_cstr(&sentence));
    buf_puts(out, "</system-out>\n  </testsuite>\n</testsuites>\n");
    buf_done(&sentence);
    buf_done(&counts);
    words_done(&w);
}

void report_gate_json(const struct gate *g, struct buf *out)
{
    struct gate_words w;
    json_t *checks = json_array();
    words_init(&w, g);
    vec_each (const struct gate_check, check, &g->checks) {
        struct buf name = BUF_INIT, text = BUF_INIT;
        put_name(&w, check, &name);
        put_message(&w, check, &text);
        (void)json_array_append_new(/* grows in memory only */
                                    checks,
                                    json_pack("{s:s, s:s, s:s, s:s}", "kind",
                                              kind_names[check->kind], "name", buf_cstr(&name),
                                              "outcome", gate_outcome_to_string(check->outcome),
                                              "message", buf_cstr(&text)));
        buf_done(&name);
        buf_done(&text);
    }
    const struct comparison *c = g->comparison;
    json_text_put(json_pack("{s:s, s:s, s:s, s:s, s:o, s:s, s:o, s:o}", "apiVersion",
                            "benchd.io/v1alpha1", "kind", "Gate", "run", g->candidate->def->name,
                            "benchmark", g->candidate->def->spec->name, "base",
                            c == NULL ? json_null() : json_string(c->base->def->name), "verdict",
                            gate_verdict_to_string(g->verdict), "checks", checks, "comparison",
                            c == NULL ? json_null() : comparison_to_json(c)),
                  out);
    words_done(&w);
}
