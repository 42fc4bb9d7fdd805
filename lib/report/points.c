/* A result by point, see sheets.h: the tables that the layout gives it and the notes below them. */
#include "base/str.h"
#include "report/prose.h"
#include "report/sheets.h"
#include "result/catalogue.h"

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
                      "Warning: ", SHEET_PLAIN},
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

/* LAYOUT_BY_INDEX where what varies takes too many columns. */
static unsigned index_part(struct sheet *s, const struct layout *l)
{
    if (l->words.names.len + l->words.systems < 2) {
        return 0;
    }
    _cleanup_(table_freep) struct table *t = points_table(s, l, LAYOUT_SHORT | LAYOUT_SHORTEST);
    return sheet_fits(s, t) ? 0 : LAYOUT_BY_INDEX;
}

static void put_points(struct sheet *s, const struct layout *l)
{
    static const unsigned parts[] = {LAYOUT_ALL, LAYOUT_SPEEDUP, 0, LAYOUT_SHORT,
                                     LAYOUT_SHORT | LAYOUT_SHORTEST};
    if (l->is_brief && !swept_any(l->result, p, p->throughput.estimate.known)) {
        return; /* what failed says it */
    }
    /* A table of one axis is cut into parts, and keeps its columns. */
    const size_t n_parts = l->words.names.len + l->words.systems < 2 ? 3 : COUNT_OF(parts);
    for (size_t i = l->is_brief ? 1 : 0; i < n_parts; i++) {
        struct table *t = points_table(s, l, parts[i]);
        if (sheet_fits(s, t)) {
            sheet_table(s, NULL, t, 1);
            return;
        }
        table_free(t);
    }
    const unsigned by_index = index_part(s, l);
    sheet_table(s, NULL, points_table(s, l, by_index), 1);
    if (by_index != 0) {
        sheet_block(s, NULL);
        result_each_swept (p, l->result) {
            sheet_put_point(s, &l->words, p->point);
        }
    }
}

/* ---- figures in tables of their own: times to an accuracy and accuracies after a time, if the
 * definition asks for them; those of PLACE_MORE; metrics (core/metric_set.h), if a trial has others
 * than those that each gang has ---- */

static void put_caption(const struct layout *l, struct buf *out)
{
    const struct spec *spec = l->result->def->spec;
    const char *separator = "";
    if (spec->goal.kind != GOAL_NONE) {
        buf_puts(out, "Time to ");
        goal_format(&spec->goal, out);
        buf_puts(out, ", in seconds");
        if (l->result->price != NULL) {
            buf_printf(out, ", and its cost at %s", l->result->price);
        }
        separator = "; ";
    }
    if (spec->accuracy_after_s > 0) {
        buf_printf(out, "%s%sccuracy after %.6g s", separator, *separator == '\0' ? "A" : "a",
                   spec->accuracy_after_s);
    }
}

static void put_others(struct sheet *s, const struct layout *l, struct buf *caption_take,
                       unsigned part)
{
    const size_t n_words = l->words.names.len + l->words.systems;
    const unsigned by_index = index_part(s, l);
    sheet_table(s, caption_take, points_table(s, l, part | by_index),
                by_index != 0 || n_words == 0 ? 1 : n_words);
}

void sheet_other_figures(struct sheet *s, const struct layout *l)
{
    static const char *const of_any[] = {METRIC_SHARED, METRIC_START_SPREAD, METRIC_UNMET, NULL};
    struct words_names metrics = {0};
    struct buf caption = BUF_INIT;
    metric_names_add(&metrics, l->result);
    if (layout_has_columns(l, LAYOUT_ACCURACY)) {
        put_caption(l, &caption);
        put_others(s, l, &caption, LAYOUT_ACCURACY);
    }
    if (!l->is_brief && layout_has_columns(l, LAYOUT_MORE)) {
        buf_puts(&caption, "More figures");
        put_others(s, l, &caption, LAYOUT_MORE);
    }
    if (vec_any(&metrics, it, !str_is_one_of(*it, of_any))) {
        buf_puts(&caption, "Other figures, as medians over the trials");
        put_others(s, l, &caption, LAYOUT_METRICS);
    }
    vec_done(&metrics);
}

/* ---- notes ---- */

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
    put_notes(s, &notes, NOTE_FAILED, NOTE_WARNING);
    put_notes(s, &notes, NOTE_INFO, NOTE_BASE);
}

static void put_people(struct sheet *s, const struct result *r)
{
    _cleanup_(layout_done) struct layout l;
    _cleanup_(notes_done) struct notes notes;
    struct buf text = BUF_INIT;
    layout_init(&l, r);
    l.is_brief = s->term.brief;
    notes_init(&notes, &l);
    prose_answer_put(&l, &text);
    sheet_put_run(s, r, buf_take(&text));
    if (s->term.brief) {
        put_notes(s, &notes, NOTE_FAILED, NOTE_FAILED);
    }
    layout_describe_run(&l, &text);
    sheet_block(s, NULL);
    sheet_put_line(s, &sheet_paragraph, &text);
    if (!s->term.brief) {
        prose_scaling_put(s, &l);
    }
    put_points(s, &l);
    sheet_other_figures(s, &l);
    if (s->term.brief) {
        put_notes(s, &notes, NOTE_BASE, NOTE_BASE);
        put_notes(s, &notes, NOTE_PENDING, NOTE_WARNING);
    } else {
        put_notes(s, &notes, NOTE_INFO, NOTE_WARNING);
    }
}

void sheet_points(struct sheet *s, const struct result *r)
{
    if (row_people(s) == NULL) {
        points_put_all(s, r);
    } else {
        put_people(s, r);
    }
}
