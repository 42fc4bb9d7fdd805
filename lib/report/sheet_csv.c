/* A sheet's rows as CSV, see sheet.h. */
#include <string.h>

#include "base/parse.h"
#include "base/str.h"
#include "report/sheet.h"

static bool is_formula(const char *text)
{
    double number;
    return text[0] != '\0' && strchr("=+-@\t\r", text[0]) != NULL && parse_f64(text, &number) < 0;
}

/* Quoted where it must be, quotes doubled. What a spreadsheet would take for a formula gets an
 * apostrophe in front, which makes it text there. */
static void put_word(struct buf *out, const char *text)
{
    const char *mark = is_formula(text) ? "'" : "";
    if (strpbrk(text, ",\"\r\n") == NULL) {
        buf_puts(out, mark);
        buf_puts(out, text);
        return;
    }
    buf_printf(out, "\"%s", mark);
    for (; *text != '\0'; text++) {
        if (*text == '"') {
            buf_putc(out, '"');
        }
        buf_putc(out, *text);
    }
    buf_putc(out, '"');
}

static bool is_taken(const struct sheet_rows *rows, const char *name)
{
    return vec_any(&rows->columns, c, !c->is_param && str_eq(c->name, name));
}

void sheet_write_csv(const struct sheet *s, struct buf *out)
{
    const struct sheet_rows *rows = &s->rows;
    const size_t n = rows->columns.len;
    for (size_t i = 0; i < n; i++) {
        const struct sheet_column *c = &rows->columns.items[i];
        buf_printf(out, "%s%s%s", i == 0 ? "" : ",",
                   c->is_param && is_taken(rows, c->name) ? "param_" : "", c->name);
    }
    buf_putc(out, '\n');
    for (size_t i = 0; i < rows->cells.len; i++) {
        put_word(out, rows->words.data + rows->cells.items[i]);
        buf_putc(out, i % n == n - 1 ? '\n' : ',');
        buf_spill(out);
    }
}
