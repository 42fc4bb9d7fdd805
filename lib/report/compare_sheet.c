/* A comparison, see sheets.h and docs/contracts/compare.md. */
#include <math.h>

#include "report/prose.h"
#include "report/sheets.h"

struct point_words compare_words_of(const struct comparison *c)
{
    struct point_words words = {.spec = c->base->def->spec};
    vec_each (const struct compared_point, p, &c->points) {
        words_add_differences(&words, c->points.items[0].base->point, p->base->point);
    }
    return words;
}

/* ---- the table ---- */

struct compare_columns {
    struct point_words words; /* its names are owned; none: rows have the index in their place */
    bool trials;
    const char *interval; /* its title; NULL: no point has one */
};

/* Programs get samples/s, which compare where batches differ. */
static void put_side(struct sheet *s, const char *title, const char *name,
                     const struct point_result *p)
{
    _cleanup_(freep) char *value = xasprintf("%s_samples_per_s", name);
    _cleanup_(freep) char *method = xasprintf("%s_method", name);
    _cleanup_(freep) char *trials = xasprintf("%s_trials", name);
    struct figure f = p == NULL ? (struct figure){0} : p->throughput;
    f.batch = row_people(s) == NULL ? 0 : f.batch;
    row_figure(s, title, value, &f, ROW_NUMBER);
    row_interval(s, NULL, name, &f, ROW_NUMBER);
    row_method(s, method, &f);
    row_number(s, NULL, trials, p == NULL ? NAN : (double)p->n_succeeded, 1);
}

/* The test that decides; of two runs without other runs of the base, that of their trials. */
static void put_p(struct sheet *s, const struct compared_point *p)
{
    struct table *t = row_people(s);
    const bool is_shown = p->shown.known;
    const double value = is_shown ? p->shown.p : p->welch.known ? p->welch.p : NAN;
    const double adjusted = is_shown ? p->p_adjusted : p->welch.known ? p->welch_p_adjusted : NAN;
    if (t != NULL && adjusted < 0.001) {
        table_number(t, "P", "<0.001");
    } else if (t != NULL) {
        table_known(t, "P", !isnan(adjusted), "%.3f", adjusted);
    }
    row_number(s, NULL, "p", value, 1);
    row_number(s, NULL, "p_adjusted", adjusted, 1);
}

static void put_row(struct sheet *s, const struct comparison *c, const struct compare_columns *with,
                    const char *kind, const struct compared_point *p)
{
    struct table *t = row_people(s);
    const struct point *point = (p->base != NULL ? p->base : p->candidate)->point;
    struct point_words words = with->words;
    words.spec = (p->base != NULL ? c->base : c->candidate)->def->spec;
    row_text(s, NULL, "kind", kind);
    row_text(s, NULL, "base_run", c->base->def->name);
    row_text(s, NULL, "candidate_run", c->candidate->def->name);
    row_number(s, NULL, "base_point", p->base == NULL ? NAN : p->base->point->index, 1);
    row_number(s, NULL, "candidate_point", p->candidate == NULL ? NAN : p->candidate->point->index,
               1);
    if (t != NULL && !words.systems && words.names.len == 0) {
        table_number(t, "POINT", "%u", point->index);
    }
    row_system(s, &words, point);
    row_params(s, &words.names, point);
    put_side(s, "BASE", "base", p->base);
    put_side(s, "CANDIDATE", "candidate", p->candidate);
    row_figure(s, "RATIO", "ratio", &p->ratio, ROW_NUMBER);
    row_interval(s, with->interval, "ratio", &p->ratio, ROW_NUMBER);
    row_method(s, "ratio_method", &p->ratio);
    put_p(s, p);
    if (t != NULL && with->trials) {
        table_number(t, "TRIALS", "%zu+%zu", p->base->n_succeeded, p->candidate->n_succeeded);
    }
    row_text(s, "CHANGE", "verdict",
             p->base != NULL && p->candidate != NULL ? change_names[p->change] : NULL);
    row_bool(s, "rehearsal", c->base->def->rehearsal);
    row_end(s);
}

static void put_geomean(struct table *t, const struct comparison *c,
                        const struct compare_columns *with)
{
    const size_t n_words = with->words.systems + with->words.names.len;
    table_cell(t, "geomean");
    for (size_t i = 1; i < n_words; i++) {
        table_cell(t, "%s", "");
    }
    table_figure(t, NULL, &c->geomean_base);
    table_figure(t, NULL, &c->geomean_candidate);
    table_figure(t, NULL, &c->geomean_ratio);
    if (with->interval != NULL) {
        table_interval(t, NULL, &c->geomean_ratio);
    }
    for (int i = 0; i < 2 + with->trials; i++) { /* no P, no trials, no verdict */
        table_cell(t, "%s", "");
    }
}

/* A row a common point, and one for the geometric mean. `words` NULL: rows have the index in place
 * of what varies. */
static struct table *table_of(struct sheet *s, const struct comparison *c,
                              const struct point_words *words)
{
    size_t n_base, n_candidate;
    const struct compare_columns with = {
        .words = words == NULL ? (struct point_words){0} : *words,
        .trials = !compare_trials(c, &n_base, &n_candidate),
        .interval = compare_any_interval(c) ? "95% INTERVAL" : NULL,
    };
    vec_each (const struct compared_point, p, &c->points) {
        put_row(s, c, &with, NULL, p);
    }
    struct table *t = row_take(s);
    if (c->n_measured > 1) {
        put_geomean(t, c, &with);
    }
    return t;
}

static void put_table(struct sheet *s, const struct comparison *c)
{
    struct point_words words = compare_words_of(c);
    struct table *t = table_of(s, c, &words);
    if (sheet_fits(s, t)) {
        sheet_table(s, NULL, t, 1);
    } else { /* too many parameters vary: an index, and a list of what each point is */
        table_free(t);
        t = table_of(s, c, NULL);
        table_set_gap(t, TABLE_TIGHT_GAP);
        sheet_table(s, NULL, t, 1);
        sheet_block(s, NULL);
        vec_each (const struct compared_point, p, &c->points) {
            sheet_put_point(s, &words, p->base->point);
        }
    }
    vec_done(&words.names);
}

static void put_rows(struct sheet *s, const struct comparison *c)
{
    struct compare_columns with = {0};
    words_add_all(&with.words, c->base);
    words_add_all(&with.words, c->candidate);
    vec_each (const struct compared_point, p, &c->points) {
        put_row(s, c, &with, p->base->point->is_baseline ? "baseline" : "point", p);
    }
    vec_each (const struct point_result *, p, &c->only_base) {
        put_row(s, c, &with, "only_base", &(struct compared_point){.base = *p});
    }
    vec_each (const struct point_result *, p, &c->only_candidate) {
        put_row(s, c, &with, "only_candidate", &(struct compared_point){.candidate = *p});
    }
    vec_done(&with.words.names);
}

/* ---- for people ---- */

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
    if (c->whole_margin != MARGIN_NOT_ASKED) {
        return c->whole_margin == MARGIN_SLOWER         ? &slower
               : c->whole_margin == MARGIN_INCONCLUSIVE ? &inconclusive
                                                        : &none;
    }
    return c->change == CHANGE_SLOWER         ? &slower
           : c->change == CHANGE_FASTER       ? &faster
           : c->change == CHANGE_INCONCLUSIVE ? &inconclusive
                                              : &none;
}

/* All, or all but the verdict, which is the last. */
static void put_lines(struct sheet *s, const struct comparison *c, const struct notes *lines,
                      bool with_verdict)
{
    static const struct sheet_mark differs = {.word = "Differs:",
                                              .color = TERMINAL_YELLOW,
                                              .markdown = "**Differs:** ",
                                              .page = "Differs: "};
    static const struct sheet_mark warning = {
        .word = "!", .color = TERMINAL_YELLOW, .markdown = "**Warning:** "};
    const struct sheet_mark *const marks[] = {
        [NOTE_INFO] = NULL,        [NOTE_DIFFERS] = &differs,           [NOTE_ONLY] = &warning,
        [NOTE_WARNING] = &warning, [NOTE_VERDICT] = mark_of_verdict(c),
    };
    enum note_kind last = NOTE_VERDICT;
    vec_each (const struct note, line, &lines->list) {
        if (line->kind != last) {
            sheet_block(s, NULL);
            last = line->kind;
        }
        if (line->kind != NOTE_VERDICT || with_verdict) {
            sheet_line(s, marks[line->kind], "%s", line->text);
        }
    }
}

static void put_people(struct sheet *s, const struct comparison *c)
{
    struct buf base = BUF_INIT, candidate = BUF_INIT;
    _cleanup_(notes_done) struct notes lines;
    prose_compare_init(&lines, c);
    comparison_describe_side(c, true, &base);
    comparison_describe_side(c, false, &candidate);
    sheet_put_head(s, &(struct sheet_head){
                          .before = c->axis == NULL ? NULL : xasprintf("%s: ", c->base->def->name),
                          .name = buf_take(&base),
                          .link = " (base) and",
                          .other = buf_take(&candidate),
                          .marked = c->base,
                      });
    put_table(s, c);
    put_lines(s, c, &lines, true);
}

/* A section of a page. */
static void put_section(struct sheet *s, const struct comparison *c)
{
    struct buf text = BUF_INIT;
    _cleanup_(notes_done) struct notes lines;
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
    put_table(s, c);
    sheet_name_table(s, "Comparison by point");
    put_lines(s, c, &lines, false);
    sheet_close(s);
}

void sheet_comparison(struct sheet *s, const struct comparison *c)
{
    if (s->form == SHEET_JSON) {
        s->document = comparison_to_json(c);
    } else if (s->form == SHEET_CSV) {
        put_rows(s, c);
    } else if (s->form == SHEET_HTML) {
        put_section(s, c);
    } else {
        put_people(s, c);
    }
}
