/* A result on a terminal, see report.h. */
#include <string.h>

#include "report/layout.h"
#include "report/marks.h"
#include "report/notes.h"
#include "report/report.h"
#include "report/scaling_lines.h"
#include "report/table.h"
#include "report/terminal.h"

static void put_head(struct buf *out, const struct layout *l, const struct terminal *term)
{
    const struct result *r = l->result;
    terminal_colored(out, term, TERMINAL_BOLD, r->def->name);
    buf_printf(out, "   %s", run_phase_to_string(r->phase));
    marks_put_text(r, term, out);
    buf_putc(out, '\n');
    struct buf text = BUF_INIT;
    layout_describe_run(l, &text);
    terminal_wrapped(out, term, buf_cstr(&text), 0, 2);
    buf_done(&text);
}

/* "4 trainers: 2.87x (72.0%; 95%: 68.1..75.2%); ..." */
static void put_scaling(struct buf *out, const struct layout *l, const struct terminal *term)
{
    struct choice_lines lines;
    scaling_lines_init(&lines, l,
                       SCALING_VERDICT | SCALING_MODEL | SCALING_LOSS | SCALING_SHARE_REASONS,
                       SCALING_LINES_MAX);
    buf_puts(out, lines.list.len > 0 ? "\n" : "");
    vec_each (struct choice_line, line, &lines.list) {
        struct buf text = BUF_INIT;
        buf_printf(&text, "%s%s%s.", line->label, line->label[0] == '\0' ? "" : ", ", line->text);
        terminal_wrapped(out, term, buf_cstr(&text), 0, 2);
        buf_done(&text);
    }
    choice_lines_done(&lines);
}

static void put_grid(struct buf *out, const struct layout *l, const struct terminal *term)
{
    struct table *t = layout_grid(l);
    if (t == NULL) {
        return;
    }
    struct buf grid = BUF_INIT;
    if (terminal_table(&grid, term, t)) { /* else the rows below have the same */
        struct buf caption = BUF_INIT;
        layout_grid_caption(l, &caption);
        buf_putc(out, '\n');
        terminal_wrapped(out, term, buf_cstr(&caption), 0, 2);
        buf_puts(out, buf_cstr(&grid) + 1); /* the caption has the empty line */
        buf_done(&caption);
    }
    buf_done(&grid);
    table_free(t);
}

/* Writes one part or both; false if that does not fit. */
static bool put_part(struct buf *out, const struct layout *l, unsigned parts,
                     const struct terminal *term)
{
    struct table *t = layout_points(l, parts);
    const bool fits = terminal_table(out, term, t);
    table_free(t);
    return fits;
}

static void put_points(struct buf *out, const struct layout *l, const struct terminal *term)
{
    const unsigned both = LAYOUT_THROUGHPUT | LAYOUT_SCALING;
    if (put_part(out, l, both | LAYOUT_BATCHES | LAYOUT_RESOURCES, term) ||
        put_part(out, l, both | LAYOUT_BATCHES, term) || put_part(out, l, both, term)) {
        return;
    }
    struct buf halves = BUF_INIT;
    if ((put_part(&halves, l, LAYOUT_THROUGHPUT | LAYOUT_BATCHES, term) ||
         put_part(&halves, l, LAYOUT_THROUGHPUT, term)) &&
        put_part(&halves, l, LAYOUT_SCALING, term)) {
        buf_append(out, halves.data, halves.len);
        buf_done(&halves);
        return;
    }
    buf_done(&halves);
    /* Too many parameters vary to have a column each: rows have the index, and a list says what
     * each point is. */
    const unsigned parts[] = {LAYOUT_THROUGHPUT, LAYOUT_SCALING};
    for (size_t i = 0; i < (l->own_baselines ? 1 : 2); i++) {
        struct table *t = layout_points(l, parts[i] | LAYOUT_BY_INDEX);
        table_set_gap(t, TERMINAL_TIGHT_GAP);
        buf_putc(out, '\n');
        table_format_parts(t, 1, term->columns, out); /* each with the index */
        table_free(t);
    }
    buf_putc(out, '\n');
    for (uint32_t i = 0; i < l->result->def->matrix.n_swept; i++) {
        struct buf text = BUF_INIT;
        buf_printf(&text, "Point %u: ", i);
        layout_describe_point(l, i, &text);
        terminal_wrapped(out, term, buf_cstr(&text), 0, 2);
        buf_done(&text);
    }
}

static void put_accuracy(struct buf *out, const struct layout *l, const struct terminal *term)
{
    struct table *t = layout_accuracy(l);
    if (t == NULL) {
        return;
    }
    struct buf rows = BUF_INIT, caption = BUF_INIT;
    const size_t n_heads = l->names.len + (l->systems ? 1 : 0);
    terminal_parts(&rows, term, t, n_heads == 0 ? 1 : n_heads, TERMINAL_TIGHT_GAP);
    layout_accuracy_caption(l, &caption);
    buf_putc(out, '\n');
    terminal_wrapped(out, term, buf_cstr(&caption), 0, 2);
    buf_puts(out, buf_cstr(&rows) + 1); /* the caption has the empty line */
    buf_done(&caption);
    buf_done(&rows);
    table_free(t);
}

static const char *glyph(enum note_kind kind, bool ascii)
{
    switch (kind) {
    case NOTE_INFO:
        return "";
    case NOTE_FAILED:
        return ascii ? "FAILED" : "✗";
    case NOTE_PENDING:
        return "-";
    case NOTE_PASSED_THRESHOLD:
        return ascii ? "ok" : "✓";
    case NOTE_FAILED_THRESHOLD:
        return ascii ? "MISSED" : "✗";
    case NOTE_UNKNOWN_THRESHOLD:
    case NOTE_SKIPPED_THRESHOLD:
        return "?";
    case NOTE_WARNING:
        return "!";
    }
    return "";
}

static const char *color_of(enum note_kind kind)
{
    return kind == NOTE_PASSED_THRESHOLD                          ? TERMINAL_GREEN
           : kind == NOTE_FAILED || kind == NOTE_FAILED_THRESHOLD ? TERMINAL_RED
                                                                  : TERMINAL_YELLOW;
}

static const char *section(enum note_kind kind)
{
    switch (kind) {
    case NOTE_INFO:
        return "";
    case NOTE_FAILED:
    case NOTE_PENDING:
        return "Trials without a result";
    case NOTE_PASSED_THRESHOLD:
    case NOTE_FAILED_THRESHOLD:
    case NOTE_UNKNOWN_THRESHOLD:
    case NOTE_SKIPPED_THRESHOLD:
        return "Thresholds";
    case NOTE_WARNING:
        return "Warnings";
    }
    return "";
}

/* Not wrapped: lines of logs, and of YAML that will be copied. */
static void put_details(struct buf *out, const char *details)
{
    const char *line;
    for (size_t len; note_next_line(&details, &line, &len);) {
        buf_printf(out, len == 0 ? "\n" : "      %.*s\n", (int)len, line);
    }
}

static void put_notes(struct buf *out, const struct notes *notes, const struct terminal *term)
{
    const char *last = NULL;
    vec_each (struct note, n, &notes->list) {
        const char *title = section(n->kind);
        if (last == NULL || strcmp(last, title) != 0) {
            buf_printf(out, *title == '\0' ? "\n%s" : "\n%s\n", title);
            last = title;
        }
        const char *mark = glyph(n->kind, term->ascii);
        size_t used = 0;
        if (*mark != '\0') {
            buf_puts(out, "  ");
            terminal_colored(out, term, color_of(n->kind), mark);
            buf_putc(out, ' ');
            used = 3 + ((unsigned char)*mark < 0x80 ? strlen(mark) : 1);
        }
        terminal_wrapped(out, term, n->text, used, used == 0 ? 2 : 4);
        put_details(out, n->details);
    }
}

void report_text(const struct result *r, const struct report_opts *opts, struct buf *out)
{
    const struct terminal term = terminal_of(opts);
    struct layout layout;
    struct notes notes;
    layout_init(&layout, r);
    notes_init(&notes, &layout);
    put_head(out, &layout, &term);
    put_scaling(out, &layout, &term);
    put_grid(out, &layout, &term);
    put_points(out, &layout, &term);
    put_accuracy(out, &layout, &term);
    put_notes(out, &notes, &term);
    notes_done(&notes);
    layout_done(&layout);
}
