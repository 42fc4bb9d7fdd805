/* See terminal.h. */
#include "report/terminal.h"

#include "report/table.h"
#include "report/wrap.h"

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
    wrap_text(out, text, t->columns, used, indent);
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
