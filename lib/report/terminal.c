/* See terminal.h. */
#include "report/terminal.h"

#include <string.h>

#include "report/table.h"

#define DEFAULT_COLUMNS 80
#define PLAIN "\033[0m"

struct terminal terminal_of(const struct report_opts *opts)
{
    return (struct terminal){
        .columns = opts->columns == 0 ? DEFAULT_COLUMNS : opts->columns,
        .color = opts->color,
        .ascii = opts->ascii,
        .wide = opts->wide,
    };
}

void terminal_colored(struct buf *out, const struct terminal *t, const char *color,
                      const char *text)
{
    if (t->color) {
        buf_puts(out, color);
    }
    buf_puts(out, text);
    if (t->color) {
        buf_puts(out, PLAIN);
    }
}

void terminal_wrapped(struct buf *out, const struct terminal *t, const char *text, size_t used,
                      unsigned indent)
{
    size_t at = used;
    bool first_word = true;
    while (*text != '\0') {
        const size_t bytes = strcspn(text, " ");
        size_t width = 0;
        for (size_t i = 0; i < bytes; i++) {
            width += ((unsigned char)text[i] & 0xc0) != 0x80;
        }
        if (!first_word && at + 1 + width > t->columns) {
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

bool terminal_table(struct buf *out, const struct terminal *t, struct table *table)
{
    if (!t->wide && table_width(table) > t->columns) {
        table_set_gap(table, TERMINAL_TIGHT_GAP);
    }
    if (!t->wide && table_width(table) > t->columns) {
        return false;
    }
    buf_putc(out, '\n');
    table_format(table, true, out);
    return true;
}

void terminal_parts(struct buf *out, const struct terminal *t, struct table *table, size_t n_heads,
                    unsigned gap)
{
    if (!terminal_table(out, t, table)) {
        buf_putc(out, '\n');
        table_set_gap(table, gap);
        table_format_parts(table, n_heads, t->columns, out);
    }
}
