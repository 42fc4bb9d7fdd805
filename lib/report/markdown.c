/* A result as GitHub Markdown, see report.h: the tables and notes of text.c, without its width. */
#include "report/layout.h"
#include "report/marks.h"
#include "report/notes.h"
#include "report/report.h"
#include "report/scaling_lines.h"
#include "report/table.h"

static void put_table(struct buf *out, struct table *t)
{
    buf_putc(out, '\n');
    table_format_markdown(t, out);
    table_free(t);
}

static const char *word(enum note_kind kind)
{
    switch (kind) {
    case NOTE_INFO:
        return "";
    case NOTE_FAILED:
    case NOTE_PENDING:
        return "**Without a result:** ";
    case NOTE_PASSED_THRESHOLD:
        return "✓ threshold met: ";
    case NOTE_FAILED_THRESHOLD:
        return "✗ **threshold missed:** ";
    case NOTE_UNKNOWN_THRESHOLD:
        return "? threshold not evaluated: ";
    case NOTE_SKIPPED_THRESHOLD:
        return "? threshold skipped: ";
    case NOTE_WARNING:
        return "**Warning:** ";
    }
    return "";
}

static void put_head(struct buf *out, const struct layout *l)
{
    const struct result *r = l->result;
    buf_puts(out, "## ");
    markdown_escape(r->def->name, out);
    buf_printf(out, "\n\n%s", run_phase_to_string(r->phase));
    marks_put_markdown(r, out);
    struct buf text = BUF_INIT;
    layout_describe_run(l, &text);
    buf_puts(out, ". ");
    markdown_escape(buf_cstr(&text), out);
    buf_puts(out, ".\n");
    buf_done(&text);
}

static void put_scaling(struct buf *out, const struct layout *l)
{
    struct choice_lines lines;
    scaling_lines_init(&lines, l,
                       SCALING_VERDICT | SCALING_MODEL | SCALING_LOSS | SCALING_SHARE_REASONS,
                       SCALING_LINES_MAX);
    buf_puts(out, lines.list.len > 0 ? "\n" : "");
    vec_each (struct choice_line, line, &lines.list) {
        buf_puts(out, "- ");
        markdown_escape(line->label, out);
        buf_puts(out, line->label[0] == '\0' ? "" : ", ");
        markdown_escape(line->text, out);
        buf_puts(out, ".\n");
    }
    choice_lines_done(&lines);
}

/* A block of code inside the item of a list. */
static void put_details(struct buf *out, const char *details)
{
    if (details == NULL) {
        return;
    }
    const char *line;
    buf_putc(out, '\n');
    for (size_t len; note_next_line(&details, &line, &len);) {
        buf_printf(out, len == 0 ? "\n" : "      %.*s\n", (int)len, line);
    }
    buf_putc(out, '\n');
}

void report_markdown(const struct result *r, struct buf *out)
{
    struct layout layout;
    struct notes notes;
    layout_init(&layout, r);
    notes_init(&notes, &layout);
    put_head(out, &layout);
    put_scaling(out, &layout);
    struct table *grid = layout_grid(&layout);
    if (grid != NULL) {
        struct buf caption = BUF_INIT;
        layout_grid_caption(&layout, &caption);
        buf_putc(out, '\n');
        markdown_escape(buf_cstr(&caption), out);
        buf_puts(out, ":\n");
        buf_done(&caption);
        put_table(out, grid);
    }
    put_table(out, layout_points(&layout, LAYOUT_THROUGHPUT | LAYOUT_BATCHES | LAYOUT_SCALING |
                                              LAYOUT_RESOURCES));
    struct table *accuracy = layout_accuracy(&layout);
    if (accuracy != NULL) {
        struct buf caption = BUF_INIT;
        layout_accuracy_caption(&layout, &caption);
        buf_putc(out, '\n');
        markdown_escape(buf_cstr(&caption), out);
        buf_puts(out, ":\n");
        buf_done(&caption);
        put_table(out, accuracy);
    }
    buf_putc(out, '\n');
    vec_each (struct note, n, &notes.list) {
        buf_printf(out, "- %s", word(n->kind));
        markdown_escape(n->text, out);
        buf_putc(out, '\n');
        put_details(out, n->details);
    }
    notes_done(&notes);
    layout_done(&layout);
}
