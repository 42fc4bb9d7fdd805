/* Aligned columns of text, see table.h. Cells are kept as text, row by row, in one buffer until
 * they are formatted: a table may have hundreds of thousands. */
#include "report/table.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "base/parse.h"
#include "base/str.h"
#include "report/terminal.h"
#include "result/number.h"

#define DEFAULT_GAP 3
/* Less room than this breaks prose into single words. */
#define PROSE_MIN 20
#define PROSE_INDENT 4 /* of prose below its row */

struct column {
    char *title;
    enum table_align align;
};

struct cell {
    uint32_t text, link; /* where in `words` they begin; link 0: none */
};

struct table {
    VEC(struct column) columns;
    VEC(struct cell) cells;
    struct buf words; /* each after a NUL */
    unsigned gap;
    bool is_titled; /* a row has ended, so the columns are known */
};

struct table *table_new(void)
{
    struct table *t = xnew(struct table);
    t->gap = DEFAULT_GAP;
    return t;
}

void table_free(struct table *t)
{
    if (t == NULL) {
        return;
    }
    vec_each (struct column, c, &t->columns) {
        free(c->title);
    }
    vec_done(&t->columns);
    vec_done(&t->cells);
    buf_done(&t->words);
    free(t);
}

void table_column(struct table *t, const char *title, enum table_align align)
{
    assert(t->cells.len == 0);
    *vec_push(&t->columns) = (struct column){xstrdup(title), align};
}

/* Where the next of its words begins. */
static uint32_t begin_words(struct table *t)
{
    buf_putc(&t->words, '\0');
    return (uint32_t)t->words.len;
}

static const char *text_of(const struct table *t, const struct cell *c)
{
    return t->words.data + c->text;
}

struct buf *table_add(struct table *t, const char *title, enum table_align align)
{
    if (title != NULL && !t->is_titled) {
        *vec_push(&t->columns) = (struct column){xstrdup(title), align};
    }
    *vec_push(&t->cells) = (struct cell){begin_words(t), 0};
    return &t->words;
}

void table_put(struct table *t, const char *title, enum table_align align, const char *fmt, ...)
{
    if (t != NULL) {
        _cleanup_(freep) char *text = xasprintf_rest(fmt);
        (void)text_replace_control(text, "", ' '); /* they must not break the table */
        buf_puts(table_add(t, title, align), text);
    }
}

void table_named_column(struct table *t, const char *name, enum table_align align)
{
    _cleanup_(freep) char *title = text_capitals(name);
    table_column(t, title, align);
}

void table_value(struct table *t, const char *title, double value)
{
    number_format(value, table_add(t, title, TABLE_RIGHT));
}

void table_figure(struct table *t, const char *title, const struct figure *f)
{
    table_value(t, title, f->estimate.known ? figure_shown(f).estimate.value : NAN);
}

void table_interval(struct table *t, const char *title, const struct figure *f)
{
    const struct figure shown = figure_shown(f);
    const struct estimate *e = &shown.estimate;
    struct buf *cell = table_add(t, title, TABLE_RIGHT);
    if (e->known && e->has_interval) {
        number_format_range(e->low, e->high, cell);
    } else {
        buf_putc(cell, '-');
    }
}

void table_percent(struct table *t, const char *title, double ratio, bool with_sign)
{
    table_known(t, title, !isnan(ratio), with_sign ? "%+.1f%%" : "%.1f%%", 100 * ratio);
}

void table_end_row(struct table *t)
{
    t->is_titled = true;
    assert(t->cells.len % t->columns.len == 0);
}

void table_drop_rows(struct table *t)
{
    t->cells.len = 0;
    buf_clear(&t->words);
}

size_t table_n_rows(const struct table *t)
{
    return t->columns.len == 0 ? 0 : t->cells.len / t->columns.len;
}

const char *table_text_at(const struct table *t, size_t row, size_t column)
{
    return text_of(t, &t->cells.items[row * t->columns.len + column]);
}

void table_link(struct table *t, const char *before, const char *name)
{
    assert(t->cells.len > 0);
    t->cells.items[t->cells.len - 1].link = begin_words(t);
    buf_printf(&t->words, "%s%s", before, name);
}

void table_set_gap(struct table *t, unsigned gap)
{
    t->gap = gap;
}

/* Owned: the width of each column. */
static size_t *column_widths(const struct table *t, bool with_header)
{
    const size_t n = t->columns.len;
    size_t *widths = xnew_array(size_t, n);
    for (size_t i = 0; i < n; i++) {
        widths[i] = with_header ? text_width(t->columns.items[i].title) : 0;
    }
    for (size_t i = 0; i < t->cells.len; i++) {
        size_t w = text_width(text_of(t, &t->cells.items[i]));
        widths[i % n] = w > widths[i % n] ? w : widths[i % n];
    }
    return widths;
}

/* Of the first n columns, with the gaps between them. */
static size_t width_of(const struct table *t, const size_t *widths, size_t n)
{
    return array_sum(widths, n, w, *w + (w == widths ? 0 : t->gap));
}

size_t table_width(const struct table *t)
{
    _cleanup_(freep) size_t *widths = column_widths(t, true);
    return width_of(t, widths, t->columns.len);
}

bool table_fit(struct table *t, size_t columns)
{
    if (t->gap > TABLE_TIGHT_GAP && table_width(t) > columns) {
        t->gap = TABLE_TIGHT_GAP;
    }
    return table_width(t) <= columns;
}

static void put_blanks(struct buf *out, size_t n)
{
    while (n-- > 0) {
        buf_putc(out, ' ');
    }
}

/* Blanks are written only when more text follows, so that no line ends in one. */
static void put_aligned(struct buf *out, const char *text, size_t width, enum table_align align,
                        size_t *owed)
{
    const size_t pad = width - text_width(text);
    if (*text == '\0') {
        *owed += pad;
        return;
    }
    put_blanks(out, *owed + (align == TABLE_RIGHT ? pad : 0));
    buf_puts(out, text);
    *owed = align == TABLE_RIGHT ? 0 : pad;
}

/* A line without its end: the first n_heads columns, then those from `from` to before `to`. Row 0
 * is the header. Returns the blanks that are due before more text. */
static size_t put_row(const struct table *t, const size_t *widths, size_t row, size_t n_heads,
                      size_t from, size_t to, struct buf *out)
{
    const size_t n = t->columns.len;
    size_t owed = 0, n_put = 0;
    for (size_t i = 0; i < to; i++) {
        const struct column *c = &t->columns.items[i];
        if (i >= n_heads && i < from) {
            continue;
        }
        owed += n_put++ == 0 ? 0 : t->gap;
        put_aligned(out, row == 0 ? c->title : text_of(t, &t->cells.items[(row - 1) * n + i]),
                    widths[i], c->align, &owed);
    }
    return owed;
}

static void format_columns(const struct table *t, const size_t *widths, bool with_header,
                           size_t n_heads, size_t from, size_t to, struct buf *out)
{
    const size_t n_rows = t->cells.len / t->columns.len;
    for (size_t row = with_header ? 0 : 1; row <= n_rows; row++) {
        const size_t before = out->len;
        (void)put_row(t, widths, row, n_heads, from, to, out); /* no line ends in blanks */
        if (n_heads == 0 || out->len > before) { /* else it has heads of columns of another part */
            buf_putc(out, '\n');
        }
        buf_spill(out);
    }
}

void table_format(const struct table *t, bool with_header, struct buf *out)
{
    _cleanup_(freep) size_t *widths = column_widths(t, with_header);
    format_columns(t, widths, with_header, 0, 0, t->columns.len, out);
}

void table_format_parts(const struct table *t, size_t n_heads, size_t width, struct buf *out)
{
    const size_t n = t->columns.len;
    assert(n > n_heads && t->cells.len % n == 0);
    _cleanup_(freep) size_t *widths = column_widths(t, true);
    for (size_t from = n_heads, to; from < n; from = to) {
        size_t used = width_of(t, widths, n_heads);
        for (to = from; to < n; to++) {
            used += widths[to] + (used == 0 ? 0 : t->gap);
            if (used > width && to > from) {
                break;
            }
        }
        buf_puts(out, from == n_heads ? "" : "\n");
        format_columns(t, widths, true, n_heads, from, to, out);
    }
}

void table_format_list(struct table *t, size_t n_heads, bool with_header, size_t columns,
                       struct buf *out)
{
    if (columns == 0 || table_fit(t, columns) || !with_header) {
        table_format(t, with_header, out);
    } else {
        table_format_parts(t, n_heads, columns, out);
    }
}

void table_format_prose(struct table *t, size_t columns, struct buf *out)
{
    if (columns == 0 || table_fit(t, columns)) {
        table_format(t, true, out);
        return;
    }
    const size_t n = t->columns.len, n_rows = t->cells.len / n;
    _cleanup_(freep) size_t *widths = column_widths(t, true);
    const size_t at = n == 1 ? 0 : width_of(t, widths, n - 1) + t->gap;
    const bool is_below = at + PROSE_MIN > columns;
    for (size_t row = 0; row <= n_rows; row++) {
        const char *prose =
            row == 0 ? t->columns.items[n - 1].title : text_of(t, &t->cells.items[row * n - 1]);
        const size_t owed = put_row(t, widths, row, n - 1, n - 1, n - 1, out);
        if (is_below || *prose == '\0') {
            buf_putc(out, '\n');
        } else {
            put_blanks(out, owed + t->gap);
            wrap_text(out, prose, columns, at, at);
        }
        if (is_below && row > 0 && *prose != '\0' && !str_eq(prose, "-")) {
            put_blanks(out, PROSE_INDENT);
            wrap_text(out, prose, columns, PROSE_INDENT, PROSE_INDENT);
        }
    }
}

/* Quoted where it must be, quotes doubled. What a spreadsheet would take for a formula gets an
 * apostrophe in front, which makes it text there. */
static void put_csv_cell(struct buf *out, const char *text)
{
    double number;
    const bool is_formula =
        text[0] != '\0' && strchr("=+-@\t\r", text[0]) != NULL && parse_f64(text, &number) < 0;
    const char *mark = is_formula ? "'" : "";
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

/* A parameter's column is put as param_NAME, and called that only where NAME is another's. */
static const char *csv_title(const struct table *t, const char *title)
{
    static const char prefix[] = "param_";
    const char *name = title + strlen(prefix);
    return str_has_prefix(title, prefix) && !vec_any(&t->columns, c, str_eq(c->title, name))
               ? name
               : title;
}

void table_format_csv(const struct table *t, struct buf *out)
{
    const size_t n = t->columns.len;
    vec_each (struct column, c, &t->columns) {
        buf_printf(out, "%s%s", c == t->columns.items ? "" : ",", csv_title(t, c->title));
    }
    buf_putc(out, '\n');
    for (size_t i = 0; i < t->cells.len; i++) {
        put_csv_cell(out, text_of(t, &t->cells.items[i]));
        buf_putc(out, i % n == n - 1 ? '\n' : ',');
        buf_spill(out);
    }
}

static void put_markdown_cell(struct buf *out, const char *text)
{
    buf_putc(out, ' ');
    markdown_escape(text, out);
    buf_puts(out, " |");
}

void table_format_markdown(const struct table *t, struct buf *out)
{
    const size_t n = t->columns.len;
    assert(n > 0 && t->cells.len % n == 0);
    buf_puts(out, "|");
    vec_each (struct column, c, &t->columns) {
        put_markdown_cell(out, c->title);
    }
    buf_puts(out, "\n|");
    vec_each (struct column, c, &t->columns) {
        buf_puts(out, c->align == TABLE_RIGHT ? "---:|" : "---|");
    }
    buf_puts(out, "\n");
    for (size_t i = 0; i < t->cells.len; i++) {
        buf_puts(out, i % n == 0 ? "|" : "");
        put_markdown_cell(out, text_of(t, &t->cells.items[i]));
        buf_puts(out, i % n == n - 1 ? "\n" : "");
        buf_spill(out);
    }
}

static bool is_markup(char before, char c, char after)
{
    if (c == '_') { /* within a word it is not */
        return !ascii_is_alnum(before) || !ascii_is_alnum(after);
    }
    if (c == '<') { /* a tag, a comment, or an address */
        return ascii_is_letter(after) || after == '/' || after == '!' || after == '?';
    }
    return strchr("\\`*[]>|", c) != NULL;
}

void markdown_escape(const char *text, struct buf *out)
{
    char before = ' ';
    for (; *text != '\0'; before = *text++) {
        if (is_markup(before, *text, text[1])) {
            buf_putc(out, '\\');
        }
        buf_putc(out, *text == '\n' || *text == '\r' ? ' ' : *text);
    }
}

void html_escape(const char *text, struct buf *out)
{
    static const char special[] = "&<>\"'";
    static const char *const entities[] = {"&amp;", "&lt;", "&gt;", "&quot;", "&#39;"};
    _cleanup_(buf_done) struct buf clean = BUF_INIT;
    buf_put_utf8(&clean, text, strlen(text));
    for (const char *c = buf_cstr(&clean); *c != '\0'; c++) {
        const char *at = strchr(special, *c);
        if (at != NULL) {
            buf_puts(out, entities[at - special]);
        } else {
            buf_putc(out, *c);
        }
    }
}

void html_put(struct buf *out, const char *before, const char *text, const char *after)
{
    buf_puts(out, before);
    html_escape(text, out);
    buf_puts(out, after);
}

static void put_html_cell(struct buf *out, const char *element, const struct column *c,
                          const char *text, const char *link)
{
    buf_printf(out, "<%s%s>", element, c->align == TABLE_RIGHT ? " class=\"r\"" : "");
    if (link != NULL) {
        html_put(out, "<a href=\"", link, "\">");
    }
    html_escape(text, out);
    buf_printf(out, "%s</%s>", link == NULL ? "" : "</a>", element);
}

void table_format_html(const struct table *t, struct buf *out)
{
    const size_t n = t->columns.len;
    assert(n > 0 && t->cells.len % n == 0);
    buf_puts(out, "<table>\n<thead><tr>");
    vec_each (struct column, c, &t->columns) {
        put_html_cell(out, "th", c, c->title, NULL);
    }
    buf_puts(out, "</tr></thead>\n<tbody>\n");
    for (size_t i = 0; i < t->cells.len; i++) {
        buf_puts(out, i % n == 0 ? "<tr>" : "");
        const struct cell *c = &t->cells.items[i];
        put_html_cell(out, "td", &t->columns.items[i % n], text_of(t, c),
                      c->link == 0 ? NULL : t->words.data + c->link);
        buf_puts(out, i % n == n - 1 ? "</tr>\n" : "");
        buf_spill(out);
    }
    buf_puts(out, "</tbody>\n</table>\n");
}

void figure_format(const struct figure *f, struct buf *out)
{
    number_format(f->estimate.known ? figure_shown_value(f, f->estimate.value) : NAN, out);
}
