/* A result on a terminal, see report.h. */
#include <string.h>

#include "report/layout.h"
#include "report/notes.h"
#include "report/report.h"

#define DEFAULT_COLUMNS 80
#define TIGHT_GAP 2

struct style {
    unsigned columns;
    bool color, ascii;
};

#define RED "\033[31m"
#define GREEN "\033[32m"
#define YELLOW "\033[33m"
#define BOLD "\033[1m"
#define PLAIN "\033[0m"

static void put_colored(struct buf *out, const struct style *style, const char *color,
                        const char *text)
{
    if (style->color) {
        buf_puts(out, color);
    }
    buf_puts(out, text);
    if (style->color) {
        buf_puts(out, PLAIN);
    }
}

/* Breaks text at blanks so that no line is longer than the terminal where words allow; lines after
 * the first are indented by 2 more. `used`: characters already on the first line. */
static void put_wrapped(struct buf *out, const char *text, size_t used, unsigned indent,
                        unsigned columns)
{
    size_t at = used;
    bool first_word = true;
    while (*text != '\0') {
        const size_t bytes = strcspn(text, " ");
        size_t width = 0;
        for (size_t i = 0; i < bytes; i++) {
            width += ((unsigned char)text[i] & 0xc0) != 0x80;
        }
        if (!first_word && at + 1 + width > columns) {
            buf_printf(out, "\n%*s", (int)indent, "");
            at = indent;
        } else if (!first_word) {
            buf_putc(out, ' ');
            at++;
        }
        buf_append(out, text, bytes);
        at += width;
        text += bytes;
        text += strspn(text, " ");
        first_word = false;
    }
    buf_putc(out, '\n');
}

static void put_head(struct buf *out, const struct layout *l, const struct style *style)
{
    const struct result *r = l->result;
    put_colored(out, style, BOLD, r->def->name);
    buf_printf(out, "   %s", run_phase_to_string(r->phase));
    if (r->def->rehearsal) {
        buf_puts(out, "   ");
        put_colored(out, style, YELLOW, "REHEARSAL");
    }
    if (r->simulated) {
        buf_puts(out, "   ");
        put_colored(out, style, YELLOW, "SIMULATED");
    }
    buf_putc(out, '\n');
    struct buf text = BUF_INIT;
    layout_describe_run(l, &text);
    put_wrapped(out, buf_cstr(&text), 0, 2, style->columns);
    buf_done(&text);
}

/* Tries the wide gap, then the tight one. False: it does not fit (and nothing is written). */
static bool put_if_fits(struct buf *out, struct table *t, unsigned columns)
{
    if (table_width(t) > columns) {
        table_set_gap(t, TIGHT_GAP);
    }
    if (table_width(t) > columns) {
        return false;
    }
    buf_putc(out, '\n');
    table_format(t, true, out);
    return true;
}

static void put_grid(struct buf *out, const struct layout *l, const struct style *style)
{
    struct table *t = layout_grid(l);
    if (t == NULL) {
        return;
    }
    struct buf grid = BUF_INIT;
    if (put_if_fits(&grid, t, style->columns)) { /* else the rows below say it all */
        struct buf caption = BUF_INIT;
        layout_grid_caption(l, &caption);
        buf_putc(out, '\n');
        put_wrapped(out, buf_cstr(&caption), 0, 2, style->columns);
        buf_puts(out, buf_cstr(&grid) + 1); /* the caption has the empty line */
        buf_done(&caption);
    }
    buf_done(&grid);
    table_free(t);
}

/* Writes one part or both; false if that does not fit. */
static bool put_part(struct buf *out, const struct layout *l, unsigned parts, unsigned columns)
{
    struct table *t = layout_points(l, parts);
    const bool fits = put_if_fits(out, t, columns);
    table_free(t);
    return fits;
}

static void put_points(struct buf *out, const struct layout *l, unsigned columns)
{
    if (put_part(out, l, LAYOUT_THROUGHPUT | LAYOUT_SCALING, columns)) {
        return;
    }
    struct buf halves = BUF_INIT;
    if (put_part(&halves, l, LAYOUT_THROUGHPUT, columns) &&
        put_part(&halves, l, LAYOUT_SCALING, columns)) {
        buf_append(out, halves.data, halves.len);
        buf_done(&halves);
        return;
    }
    buf_done(&halves);
    /* Too much varies for columns of its own: rows by index, and a list of what they are. */
    const unsigned parts[] = {LAYOUT_THROUGHPUT, LAYOUT_SCALING};
    for (size_t i = 0; i < (l->own_baselines ? 1 : 2); i++) {
        struct table *t = layout_points(l, parts[i] | LAYOUT_BY_INDEX);
        table_set_gap(t, TIGHT_GAP);
        buf_putc(out, '\n');
        table_format(t, true, out);
        table_free(t);
    }
    buf_putc(out, '\n');
    for (uint32_t i = 0; i < l->result->def->matrix.n_swept; i++) {
        struct buf text = BUF_INIT;
        buf_printf(&text, "Point %u: ", i);
        layout_describe_point(l, i, &text);
        put_wrapped(out, buf_cstr(&text), 0, 2, columns);
        buf_done(&text);
    }
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
        return "?";
    case NOTE_WARNING:
        return "!";
    }
    return "";
}

static const char *color_of(enum note_kind kind)
{
    return kind == NOTE_PASSED_THRESHOLD                               ? GREEN
           : kind == NOTE_FAILED || kind == NOTE_FAILED_THRESHOLD ? RED
                                                                  : YELLOW;
}

static const char *section(enum note_kind kind)
{
    switch (kind) {
    case NOTE_INFO:
        return "";
    case NOTE_FAILED:
    case NOTE_PENDING:
        return "Without a number";
    case NOTE_PASSED_THRESHOLD:
    case NOTE_FAILED_THRESHOLD:
    case NOTE_UNKNOWN_THRESHOLD:
        return "Thresholds";
    case NOTE_WARNING:
        return "Warnings";
    }
    return "";
}

static void put_notes(struct buf *out, const struct notes *notes, const struct style *style)
{
    const char *last = NULL;
    vec_each (struct note, n, &notes->list) {
        const char *title = section(n->kind);
        if (last == NULL || strcmp(last, title) != 0) {
            buf_printf(out, *title == '\0' ? "\n%s" : "\n%s\n", title);
            last = title;
        }
        const char *mark = glyph(n->kind, style->ascii);
        size_t used = 0;
        if (*mark != '\0') {
            buf_puts(out, "  ");
            put_colored(out, style, color_of(n->kind), mark);
            buf_putc(out, ' ');
            used = 3 + ((unsigned char)*mark < 0x80 ? strlen(mark) : 1);
        }
        put_wrapped(out, n->text, used, used == 0 ? 2 : 4, style->columns);
    }
}

void report_text(const struct result *r, const struct report_opts *opts, struct buf *out)
{
    const struct style style = {
        .columns = opts->columns == 0 ? DEFAULT_COLUMNS : opts->columns,
        .color = opts->color,
        .ascii = opts->ascii,
    };
    struct layout layout;
    struct notes notes;
    layout_init(&layout, r);
    notes_init(&notes, &layout);
    put_head(out, &layout, &style);
    put_grid(out, &layout, &style);
    put_points(out, &layout, style.columns);
    put_notes(out, &notes, &style);
    notes_done(&notes);
    layout_done(&layout);
}
