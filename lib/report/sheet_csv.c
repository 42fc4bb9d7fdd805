/* A sheet's rows as CSV, see sheet_formats.h. */
#include <inttypes.h>

#include "base/str.h"
#include "report/csv.h"
#include "report/sheet_formats.h"
#include "result/number.h"

static void put_cell(const struct sheet_rows *rows, const struct sheet_cell *cell, struct buf *out)
{
    switch (cell->type) {
    case SHEET_UNKNOWN:
        break;
    case SHEET_NUMBER:
        number_format_exact(cell->number, out);
        break;
    case SHEET_COUNT:
        buf_printf(out, "%" PRIu64, cell->count);
        break;
    case SHEET_BOOL:
        buf_puts(out, cell->is_true ? "true" : "false");
        break;
    case SHEET_WORD:
        csv_text(out, rows->words.data + cell->word);
        break;
    }
}

static bool is_taken(const struct sheet_rows *rows, const char *name)
{
    vec_each (const struct sheet_column, c, &rows->columns) {
        if (!c->is_param && str_eq(c->name, name)) {
            return true;
        }
    }
    return false;
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
        put_cell(rows, &rows->cells.items[i], out);
        buf_putc(out, i % n == n - 1 ? '\n' : ',');
    }
}
