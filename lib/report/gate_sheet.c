/* What a gate says of a run, see sheets.h: for people, for a forge's list of tests, and as the
 * document of docs/contracts/gate.md. */
#include "compare/gate.h"

#include <math.h>

#include "core/json_field.h"
#include "report/prose.h"
#include "report/sheets.h"
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
    struct point_words points; /* if there is a comparison */
    struct notes lines;
};

static void words_init(struct gate_words *w, const struct gate *g)
{
    *w = (struct gate_words){.gate = g};
    layout_init(&w->layout, g->candidate);
    notes_init(&w->notes, &w->layout);
    if (g->comparison != NULL) {
        w->points = compare_words_of(g->comparison);
        prose_compare_init(&w->lines, g->comparison);
    }
}

static void words_done(struct gate_words *w)
{
    vec_done(&w->points.names);
    notes_done(&w->lines);
    notes_done(&w->notes);
    layout_done(&w->layout);
}

/* The notes of thresholds have the order of their checks. */
static const char *threshold_text(const struct gate_words *w, const struct gate_check *of)
{
    size_t index =
        vec_sum(&w->gate->checks, check, (size_t)(check < of && check->kind == GATE_OF_THRESHOLD));
    vec_each (const struct note, n, &w->notes.list) {
        if (n->kind >= NOTE_PASSED_THRESHOLD && n->kind <= NOTE_SKIPPED_THRESHOLD && index-- == 0) {
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
        words_put_point(&w->points, check->point->base->point, "all", out);
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
    buf_printf(out, "%s%s", out->len == 0 ? "" : "; ", text);
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

/* The last lines of the programs that failed, which a table has no room for. */
static void put_last_lines(const struct gate_words *w, const struct gate_check *check,
                           struct buf *out)
{
    vec_each (const struct note, n, &w->notes.list) {
        if (check->kind == GATE_OF_RUN && n->kind == NOTE_FAILED && n->details != NULL) {
            buf_printf(out, "\n%s", n->details);
        }
    }
}

/* The limit is the bound that decided. */
static void put_point(const struct comparison *c, const struct compared_point *p, struct buf *out)
{
    if (p->ratio.estimate.known) {
        buf_puts(out, "ratio ");
        words_put_estimate(&p->ratio.estimate, "", out);
        buf_puts(out, ": ");
    }
    if (p->shown.known && p->margin != MARGIN_SLOWER) {
        buf_printf(out, "not below %.4g (one-sided 95%%), must not be below %.4g: ",
                   exp(paired_low_95(&p->shown)), 1 - c->margin.ratio);
    }
    buf_puts(out, p->shown.known && p->margin != MARGIN_NOT_ASKED ? margin_verdict_names[p->margin]
                                                                  : change_names[p->change]);
}

static void put_comparison(const struct gate_words *w, struct buf *out)
{
    if (w->gate->comparison == NULL) {
        buf_puts(out, w->gate->refusal);
        return;
    }
    vec_each (const struct note, line, &w->lines.list) {
        if (line->kind == NOTE_VERDICT || line->kind == NOTE_WARNING || line->kind == NOTE_ONLY) {
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
            buf_puts(out, gate_outcome_names[check->outcome]);
        }
        return;
    case GATE_OF_POINT:
        put_point(w->gate->comparison, check->point, out);
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
        [GATE_INCONCLUSIVE] = "it is unknown whether it is slower",
        [GATE_PASSED] = "every check passed",
    };
    const size_t n_skipped = gate_count(g, GATE_CHECK_SKIPPED);
    buf_printf(out, "%s %s: %s", g->candidate->def->name,
               g->verdict == GATE_PASSED ? "passes" : "is refused",
               g->verdict == GATE_THRESHOLD && !gate_judges(g)
                   ? "nothing was checked except whether it finished"
               : g->verdict == GATE_PASSED && n_skipped > 0 ? "every applicable check passed"
                                                            : sentences[g->verdict]);
    if (n_skipped > 0) {
        buf_printf(out, "; %zu of %zu thresholds skipped, because the run has no such point",
                   n_skipped, g->candidate->def->spec->thresholds.len);
    }
}

/* ---- forms ---- */

/* People read no reason where the check's name says it. */
static void put_checks(struct sheet *s, const struct gate_words *w)
{
    vec_each (const struct gate_check, check, &w->gate->checks) {
        _cleanup_(buf_done) struct buf name = BUF_INIT, text = BUF_INIT;
        const bool is_said = check->outcome == GATE_CHECK_PASSED ||
                             (check->kind == GATE_OF_THRESHOLD && check->skipped == NULL);
        put_name(w, check, &name);
        put_message(w, check, &text);
        row_text(s, NULL, "kind", kind_names[check->kind]);
        row_text(s, "OUTCOME", "outcome", gate_outcome_names[check->outcome]);
        row_text(s, "CHECK", "name", buf_cstr(&name));
        row_text(s, "WHY", NULL, is_said || text.len == 0 ? NULL : buf_cstr(&text));
        put_last_lines(w, check, &text);
        row_text(s, NULL, "message", buf_cstr(&text));
        row_end(s);
    }
}

/* The verdict is the last line on a terminal, and the heading elsewhere. */
static void put_people(struct sheet *s, const struct gate_words *w, struct buf *sentence_take)
{
    static const struct sheet_mark passed = {.word = "PASSED", .color = TERMINAL_GREEN};
    static const struct sheet_mark refused = {.word = "REFUSED", .color = TERMINAL_RED};
    const bool is_passed = w->gate->verdict == GATE_PASSED;
    if (s->form != SHEET_TEXT) {
        sheet_put_head(s,
                       &(struct sheet_head){.before = xstrdup(is_passed ? "Passed: " : "Refused: "),
                                            .name = buf_take(sentence_take)});
    }
    if (w->gate->comparison != NULL) {
        sheet_comparison(s, w->gate->comparison);
    }
    put_checks(s, w);
    sheet_table(s, NULL, row_take(s), SHEET_PROSE);
    sheet_block(s, NULL);
    sheet_put_line(s, is_passed ? &passed : &refused, sentence_take);
}

static json_t *check_to_json(const struct gate_words *w, const struct gate_check *check)
{
    _cleanup_(buf_done) struct buf name = BUF_INIT, text = BUF_INIT;
    put_name(w, check, &name);
    put_message(w, check, &text);
    put_last_lines(w, check, &text);
    return json_pack("{s:s, s:s, s:s, s:s}", "kind", kind_names[check->kind], "name",
                     buf_cstr(&name), "outcome", gate_outcome_names[check->outcome], "message",
                     buf_cstr(&text));
}

static void put_junit(struct sheet *s, const struct gate_words *w, struct buf *sentence_take)
{
    const struct gate *g = w->gate;
    sheet_heading(s, g->candidate->def->spec->name);
    sheet_term(s, "run", "%s", g->candidate->def->name);
    if (g->comparison != NULL) {
        sheet_term(s, "base", "%s", g->comparison->base->def->name);
    }
    sheet_term(s, "verdict", "%s", gate_verdict_names[g->verdict]);
    sheet_put_line(s, NULL, sentence_take);
    put_checks(s, w);
}

static json_t *gate_to_json(const struct gate_words *w)
{
    const struct gate *g = w->gate;
    const struct comparison *c = g->comparison;
    return json_pack("{s:s, s:s, s:s, s:s, s:o, s:s, s:o, s:o}", "apiVersion", "benchd.io/v1alpha1",
                     "kind", "Gate", "run", g->candidate->def->name, "benchmark",
                     g->candidate->def->spec->name, "base",
                     c == NULL ? json_null() : json_string(c->base->def->name), "verdict",
                     gate_verdict_names[g->verdict], "checks",
                     JSON_ARRAY_OF(vec_each (const struct gate_check, check, &g->checks),
                                   check_to_json(w, check)),
                     "comparison", c == NULL ? json_null() : comparison_to_json(c));
}

void sheet_gate(struct sheet *s, const struct gate *g)
{
    _cleanup_(words_done) struct gate_words w;
    _cleanup_(buf_done) struct buf sentence = BUF_INIT;
    words_init(&w, g);
    put_sentence(g, &sentence);
    if (s->form == SHEET_JSON) {
        s->document = gate_to_json(&w);
    } else if (s->form == SHEET_JUNIT) {
        put_junit(s, &w, &sentence);
    } else {
        put_people(s, &w, &sentence);
    }
}
