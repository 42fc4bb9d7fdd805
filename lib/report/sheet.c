/* See sheet.h. */
#include "report/sheet.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>

#include "base/str.h"
#include "core/json_field.h"
#include "result/number.h"

#define DEFAULT_COLUMNS 80

const struct sheet_mark sheet_paragraph = {.is_paragraph = true};
const struct sheet_mark sheet_soft = {.is_paragraph = true, .look = SHEET_SOFT};
const struct sheet_mark sheet_warning = {
    .word = "!", .color = TERMINAL_YELLOW, .indent = 2, .markdown = "**Warning:** "};

void sheet_init(struct sheet *s, enum sheet_form form, const struct terminal *term)
{
    *s = (struct sheet){.form = form};
    if (term != NULL) {
        s->term = *term;
        s->term.columns = term->columns == 0 ? DEFAULT_COLUMNS : term->columns;
    }
}

static void finish(struct sheet *s)
{
    vec_each (struct sheet_part, part, &s->parts) {
        free(part->head.before);
        free(part->head.name);
        free(part->head.other);
        free(part->head.status);
        free(part->head.description);
        table_free(part->table);
        free(part->text);
        free(part->name);
        free(part->details);
        vec_each (struct sheet_piece, span, &part->spans) {
            free(span->text);
        }
        vec_done(&part->spans);
        chart_done(&part->chart);
    }
    vec_each (struct sheet_column, column, &s->rows.columns) {
        free(column->name);
    }
    vec_done(&s->parts);
    vec_done(&s->rows.columns);
    vec_done(&s->rows.cells);
    buf_done(&s->rows.words);
}

static void write_json(const struct sheet *s, struct buf *out)
{
    json_text_put(s->document, out); /* takes it */
}

static void write_svg(const struct sheet *s, struct buf *out)
{
    if (s->parts.len > 0) {
        chart_svg(&s->parts.items[0].chart, true, out);
    }
}

void sheet_write(struct sheet *s_take, struct buf *out)
{
    static void (*const writers[])(const struct sheet *, struct buf *) = {
        [SHEET_TEXT] = sheet_write_text,   [SHEET_MARKDOWN] = sheet_write_markdown,
        [SHEET_HTML] = sheet_write_html,   [SHEET_SVG] = write_svg,
        [SHEET_CSV] = sheet_write_csv,     [SHEET_JSON] = write_json,
        [SHEET_JUNIT] = sheet_write_junit,
    };
    writers[s_take->form](s_take, out);
    finish(s_take);
}

/* ---- for people ---- */

static struct sheet_part *add_part(struct sheet *s, enum sheet_part_kind kind)
{
    struct sheet_part *part = vec_push(&s->parts);
    *part = (struct sheet_part){.kind = kind, .is_block = s->is_block, .section = s->section};
    s->is_block = false;
    s->section = NULL;
    return part;
}

static struct sheet_part *last_part(struct sheet *s)
{
    return &s->parts.items[s->parts.len - 1];
}

void sheet_put_head(struct sheet *s, const struct sheet_head *head_take)
{
    add_part(s, SHEET_HEAD)->head = *head_take;
}

void sheet_put_run(struct sheet *s, const struct result *r, char *description_take)
{
    sheet_put_head(s, &(struct sheet_head){.name = xstrdup(r->def->name),
                                           .status = xstrdup(run_phase_to_string(r->phase)),
                                           .marked = r,
                                           .description = description_take});
}

void sheet_title(struct sheet *s, const char *name, const char *text)
{
    struct sheet_part *part = add_part(s, SHEET_TITLE);
    part->name = xstrdup(name);
    part->text = xstrdup(text);
}

void sheet_block(struct sheet *s, const char *section)
{
    s->is_block = true;
    s->section = section;
}

static void add_line(struct sheet *s, const struct sheet_mark *mark, char *text_take)
{
    static const struct sheet_mark none = {0};
    struct sheet_part *part = add_part(s, SHEET_LINE);
    (void)text_replace_control(text_take, s->form == SHEET_HTML ? "\t\n" : "",
                               '?'); /* replicas write some of them */
    part->mark = mark == NULL ? &none : mark;
    part->is_item = !part->mark->is_paragraph;
    part->look = part->mark->look;
    part->text = text_take;
}

void sheet_line(struct sheet *s, const struct sheet_mark *mark, const char *fmt, ...)
{
    add_line(s, mark, xasprintf_rest(fmt));
}

void sheet_put_line(struct sheet *s, const struct sheet_mark *mark, struct buf *text_take)
{
    if (text_take->len > 0) {
        add_line(s, mark, buf_take(text_take));
    }
    buf_done(text_take);
}

void sheet_details(struct sheet *s, const char *details)
{
    if (details != NULL) {
        last_part(s)->details = xstrdup(details);
    }
}

void sheet_table(struct sheet *s, struct buf *caption_take, struct table *table_take,
                 size_t n_heads)
{
    struct buf none = BUF_INIT, *caption = caption_take == NULL ? &none : caption_take;
    if (table_is_empty(table_take)) {
        table_free(table_take);
        buf_done(caption);
        return;
    }
    struct sheet_part *part = add_part(s, SHEET_TABLE);
    part->text = caption->len == 0 ? NULL : buf_take(caption);
    part->table = table_take;
    part->n_heads = n_heads;
}

bool sheet_fits(const struct sheet *s, struct table *t)
{
    return s->form != SHEET_TEXT || s->term.wide || table_fit(t, s->term.columns);
}

/* ---- for pages ---- */

void sheet_open(struct sheet *s, enum sheet_look look, const char *heading)
{
    struct sheet_part *part = add_part(s, SHEET_OPEN);
    part->look = look;
    part->name = xstrdup_or_null(heading);
}

void sheet_close(struct sheet *s)
{
    (void)add_part(s, SHEET_CLOSE); /* it is complete */
}

void sheet_heading(struct sheet *s, const char *text)
{
    sheet_put_head(s, &(struct sheet_head){.name = xstrdup(text)});
}

void sheet_name_table(struct sheet *s, const char *name)
{
    last_part(s)->name = xstrdup(name);
}

void sheet_span(struct sheet *s, enum sheet_look look, const char *fmt, ...)
{
    *vec_push(&last_part(s)->spans) = (struct sheet_piece){look, xasprintf_rest(fmt)};
}

void sheet_term(struct sheet *s, enum sheet_look look, const char *name, const char *fmt, ...)
{
    struct sheet_part *part = add_part(s, SHEET_TERM);
    part->look = look;
    part->name = xstrdup(name);
    part->text = xasprintf_rest(fmt);
}

void sheet_figure(struct sheet *s, const struct chart *chart_take)
{
    add_part(s, SHEET_FIGURE)->chart = *chart_take;
}

/* ---- for programs ---- */

/* The words, which get its text next, after the NUL of the cell before. */
static struct buf *add_cell(struct sheet *s, const char *column)
{
    struct sheet_rows *rows = &s->rows;
    if (!rows->is_named) {
        *vec_push(&rows->columns) = (struct sheet_column){.name = xstrdup(column)};
    }
    buf_putc(&rows->words, '\0');
    *vec_push(&rows->cells) = rows->words.len;
    return &rows->words;
}

void sheet_word(struct sheet *s, const char *column, const char *text)
{
    buf_puts(add_cell(s, column), text == NULL ? "" : text);
}

void sheet_count(struct sheet *s, const char *column, uint64_t count)
{
    buf_printf(add_cell(s, column), "%" PRIu64, count);
}

void sheet_bool(struct sheet *s, const char *column, bool is_true)
{
    sheet_word(s, column, is_true ? "true" : "false");
}

void sheet_number(struct sheet *s, const char *column, double number)
{
    number_format_exact(number, add_cell(s, column));
}

void sheet_value(struct sheet *s, const char *column, const struct estimate *e)
{
    sheet_number(s, column, e->known ? e->value : NAN);
}

void sheet_interval(struct sheet *s, const char *low, const char *high, const struct estimate *e)
{
    const bool has = e->known && e->has_interval;
    sheet_number(s, low, has ? e->low : NAN);
    sheet_number(s, high, has ? e->high : NAN);
}

void sheet_estimate(struct sheet *s, const char *name, const struct estimate *e)
{
    _cleanup_(freep) char *low = xasprintf("%s_low", name), *high = xasprintf("%s_high", name);
    sheet_value(s, name, e);
    sheet_interval(s, low, high, e);
}

void sheet_method(struct sheet *s, const char *column, const struct estimate *e)
{
    const bool has = e->known && e->has_interval;
    sheet_word(s, column, has ? interval_method_names[e->method] : NULL);
}

void sheet_names_add(struct words_names *names, const struct result *r)
{
    result_each_point (p, r) {
        vec_each (struct param, param, &p->point->params.list) {
            words_add_name(names, param->name);
        }
    }
}

void sheet_params(struct sheet *s, const char *const *names, size_t n_names,
                  const struct params *params)
{
    for (size_t i = 0; i < n_names; i++) {
        const struct value *v = params_get(params, names[i]);
        struct buf *cell = add_cell(s, names[i]);
        if (v != NULL) {
            value_format(v, cell);
        }
        if (!s->rows.is_named) {
            s->rows.columns.items[s->rows.columns.len - 1].is_param = true;
        }
    }
}

void sheet_end_row(struct sheet *s)
{
    s->rows.is_named = true;
    assert(s->rows.cells.len % s->rows.columns.len == 0);
}

void sheet_drop_rows(struct sheet *s)
{
    s->rows.cells.len = 0;
    buf_clear(&s->rows.words);
}

/* ---- for both ---- */

struct table *row_people(struct sheet *s)
{
    if (s->form == SHEET_CSV || s->form == SHEET_JUNIT) {
        return NULL;
    }
    s->table = s->table == NULL ? table_new() : s->table;
    return s->table;
}

struct table *row_take(struct sheet *s)
{
    struct table *t = row_people(s);
    s->table = NULL;
    return t;
}

void row_text(struct sheet *s, const char *title, const char *name, const char *text)
{
    struct table *t = row_people(s);
    if (t != NULL && title != NULL) {
        table_text(t, title, "%s", text == NULL ? "-" : text);
    } else if (t == NULL && name != NULL) {
        sheet_word(s, name, text);
    }
}

void row_count(struct sheet *s, const char *title, const char *name, uint64_t count)
{
    struct table *t = row_people(s);
    if (t != NULL && title != NULL) {
        table_number(t, title, "%" PRIu64, count);
    } else if (t == NULL && name != NULL) {
        sheet_count(s, name, count);
    }
}

void row_bool(struct sheet *s, const char *name, bool is_true)
{
    row_text(s, NULL, name, is_true ? "true" : "false");
}

void row_number(struct sheet *s, const char *title, const char *name, double number, double factor)
{
    struct table *t = row_people(s);
    if (t != NULL && title != NULL) {
        table_value(t, title, factor * number);
    } else if (t == NULL && name != NULL) {
        sheet_number(s, name, number);
    }
}

void row_percent(struct sheet *s, const char *title, const char *name, double ratio, bool with_sign)
{
    struct table *t = row_people(s);
    if (t != NULL && title != NULL) {
        table_percent(t, title, ratio, with_sign);
    } else if (t == NULL && name != NULL) {
        sheet_number(s, name, ratio);
    }
}

void row_part_of(struct sheet *s, const char *title, const char *name, const char *of_name,
                 size_t n, size_t of)
{
    struct table *t = row_people(s);
    if (t != NULL) {
        table_part_of(t, title, n, of);
    } else {
        sheet_count(s, name, n);
        sheet_count(s, of_name, of);
    }
}

void row_end(struct sheet *s)
{
    struct table *t = row_people(s);
    if (t != NULL) {
        table_end_row(t);
    } else {
        sheet_end_row(s);
    }
}
