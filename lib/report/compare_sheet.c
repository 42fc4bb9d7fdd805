/* A comparison, see sheets.h and docs/contracts/compare.md. */
#include <math.h>

#include "report/prose.h"
#include "report/sheets.h"

/* ---- for people ---- */

static void put_head(struct sheet *s, const struct comparison *c)
{
    struct buf base = BUF_INIT, candidate = BUF_INIT;
    comparison_describe_side(c, true, &base);
    comparison_describe_side(c, false, &candidate);
    sheet_put_head(s, &(struct sheet_head){
                          .before = c->axis == NULL ? NULL : xasprintf("%s: ", c->base->def->name),
                          .name = buf_take(&base),
                          .link = " (base) and",
                          .other = buf_take(&candidate),
                          .marked = c->base,
                      });
}

static void put_table(struct sheet *s, const struct comparison *c)
{
    struct table *t = compare_layout_table(c, false);
    if (sheet_fits(s, t)) {
        sheet_table(s, NULL, t, 1);
        return;
    }
    table_free(t);
    /* Too many parameters vary: an index, and a list of what each point is. */
    sheet_table(s, NULL, compare_layout_table(c, true), 1);
    sheet_block(s, NULL);
    struct point_words words = compare_words_of(c);
    vec_each (const struct compared_point, p, &c->points) {
        struct buf text = BUF_INIT;
        buf_printf(&text, "Point %u: ", p->base->point->index);
        words_describe_point(&words, p->base->point, WORDS_FULL, &text);
        sheet_put_line(s, NULL, &text);
    }
    vec_done(&words.names);
}

/* What was asked decides. */
static const struct sheet_mark *mark_of_verdict(const struct comparison *c)
{
    static const struct sheet_mark none = {.markdown = "**Verdict:** "};
    static const struct sheet_mark slower = {
        .word = "SLOWER", .color = TERMINAL_RED, .markdown = "**Verdict:** "};
    static const struct sheet_mark inconclusive = {
        .word = "INCONCLUSIVE", .color = TERMINAL_YELLOW, .markdown = "**Verdict:** "};
    static const struct sheet_mark faster = {
        .word = "Faster", .color = TERMINAL_GREEN, .markdown = "**Verdict:** "};
    if (c->margin != MARGIN_NOT_ASKED) {
        return c->margin == MARGIN_SLOWER         ? &slower
               : c->margin == MARGIN_INCONCLUSIVE ? &inconclusive
                                                  : &none;
    }
    return c->change == CHANGE_SLOWER         ? &slower
           : c->change == CHANGE_INCONCLUSIVE ? &inconclusive
           : c->change == CHANGE_FASTER       ? &faster
                                              : &none;
}

static void put_lines(struct sheet *s, const struct comparison *c)
{
    static const struct sheet_mark differs = {
        .word = "Differs:", .color = TERMINAL_YELLOW, .markdown = "**Differs:** "};
    static const struct sheet_mark warning = {
        .word = "!", .color = TERMINAL_YELLOW, .markdown = "**Warning:** "};
    const struct sheet_mark *const marks[] = {
        [NOTE_INFO] = NULL,        [NOTE_DIFFERS] = &differs,           [NOTE_ONLY] = &warning,
        [NOTE_WARNING] = &warning, [NOTE_VERDICT] = mark_of_verdict(c),
    };
    _cleanup_(notes_done) struct notes lines;
    prose_compare_init(&lines, c);
    enum note_kind last = NOTE_VERDICT;
    vec_each (const struct note, line, &lines.list) {
        if (line->kind != last) {
            sheet_block(s, NULL);
            last = line->kind;
        }
        sheet_line(s, marks[line->kind], "%s", line->text);
    }
}

/* ---- for programs ---- */

static void put_row(struct sheet *s, const struct comparison *c, const struct words_names *names,
                    const char *kind, const struct compared_point *p)
{
    static const struct estimate none = {0};
    const struct result *r = p->base != NULL ? c->base : c->candidate;
    const struct point *point = (p->base != NULL ? p->base : p->candidate)->point;
    const struct estimate *base = p->base == NULL ? &none : &p->base->throughput.estimate;
    const struct estimate *candidate =
        p->candidate == NULL ? &none : &p->candidate->throughput.estimate;
    const bool is_tested = p->welch.known || p->paired.known;
    const bool is_common = p->base != NULL && p->candidate != NULL;
    sheet_word(s, "kind", kind);
    sheet_word(s, "base_run", c->base->def->name);
    sheet_word(s, "candidate_run", c->candidate->def->name);
    sheet_number(s, "base_point", p->base == NULL ? NAN : p->base->point->index);
    sheet_number(s, "candidate_point", p->candidate == NULL ? NAN : p->candidate->point->index);
    sheet_word(s, "system", r->def->spec->systems.items[point->system].name);
    sheet_params(s, names->items, names->len, &point->params);
    sheet_value(s, "base_samples_per_s", base);
    sheet_interval(s, "base_low", "base_high", base);
    sheet_method(s, "base_method", base);
    sheet_number(s, "base_trials", p->base == NULL ? NAN : (double)p->base->n_succeeded);
    sheet_value(s, "candidate_samples_per_s", candidate);
    sheet_interval(s, "candidate_low", "candidate_high", candidate);
    sheet_method(s, "candidate_method", candidate);
    sheet_number(s, "candidate_trials",
                 p->candidate == NULL ? NAN : (double)p->candidate->n_succeeded);
    sheet_estimate(s, "ratio", &p->ratio.estimate);
    sheet_method(s, "ratio_method", &p->ratio.estimate);
    sheet_number(s, "p", p->welch.known ? p->welch.p : p->paired.known ? p->paired.p : NAN);
    sheet_number(s, "p_adjusted", is_tested ? p->p_adjusted : NAN);
    sheet_number(s, "gate_p", c->gate.known ? c->gate.p : NAN);
    sheet_word(s, "verdict", is_common ? change_names[p->change] : NULL);
    sheet_bool(s, "rehearsal", c->base->def->rehearsal);
    sheet_end_row(s);
}

static void put_rows(struct sheet *s, const struct comparison *c)
{
    struct words_names names = {0};
    sheet_names_add(&names, c->base);
    sheet_names_add(&names, c->candidate);
    vec_each (const struct compared_point, p, &c->points) {
        put_row(s, c, &names, p->base->point->is_baseline ? "baseline" : "point", p);
    }
    vec_each (const struct point_result *, p, &c->only_base) {
        put_row(s, c, &names, "only_base", &(struct compared_point){.base = *p});
    }
    vec_each (const struct point_result *, p, &c->only_candidate) {
        put_row(s, c, &names, "only_candidate", &(struct compared_point){.candidate = *p});
    }
    vec_done(&names);
}

void sheet_comparison(struct sheet *s, const struct comparison *c)
{
    if (s->form == SHEET_JSON) {
        s->document = comparison_to_json(c);
    } else if (s->form == SHEET_CSV) {
        put_rows(s, c);
    } else {
        put_head(s, c);
        put_table(s, c);
        put_lines(s, c);
    }
}
