/* See sheet.h. */
#include "report/sheet.h"

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
    *s = (struct sheet){.form = form, .table = table_new()};
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
    vec_done(&s->parts);
    table_free(s->table);
}

static void write_csv(const struct sheet *s, struct buf *out)
{
    table_format_csv(s->table, out);
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
        [SHEET_CSV] = write_csv,           [SHEET_JSON] = write_json,
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

void sheet_put_point(struct sheet *s, const struct point_words *words, const struct point *p)
{
    _cleanup_(buf_done) struct buf text = BUF_INIT;
    words_put_point(words, p, "all", &text);
    sheet_line(s, NULL, "Point %u: %s", p->index, buf_cstr(&text));
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
    if (table_n_rows(table_take) == 0) {
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

void sheet_term(struct sheet *s, const char *name, const char *fmt, ...)
{
    struct sheet_part *part = add_part(s, SHEET_TERM);
    part->name = xstrdup(name);
    part->text = xasprintf_rest(fmt);
}

void sheet_figure(struct sheet *s, const struct chart *chart_take)
{
    add_part(s, SHEET_FIGURE)->chart = *chart_take;
}

/* ---- for people and programs ---- */

struct table *row_people(struct sheet *s)
{
    return s->form == SHEET_CSV || s->form == SHEET_JUNIT ? NULL : s->table;
}

struct table *row_take(struct sheet *s)
{
    struct table *t = s->table;
    s->table = table_new();
    return t;
}

bool row_end_table(struct sheet *s, size_t n_heads)
{
    const bool has_rows = table_n_rows(s->table) > 0;
    if (row_people(s) != NULL) {
        sheet_table(s, NULL, row_take(s), n_heads);
    }
    return has_rows;
}

void row_text(struct sheet *s, const char *title, const char *name, const char *text)
{
    struct table *t = row_people(s);
    if (t != NULL && title != NULL) {
        table_text(t, title, "%s", text == NULL ? "-" : text);
    } else if (t == NULL && name != NULL) {
        buf_puts(table_add(s->table, name, TABLE_LEFT), text == NULL ? "" : text);
    }
}

void row_count(struct sheet *s, const char *title, const char *name, uint64_t count)
{
    const char *column = row_people(s) == NULL ? name : title;
    if (column != NULL) {
        table_number(s->table, column, "%" PRIu64, count);
    }
}

void row_bool(struct sheet *s, const char *name, bool is_true)
{
    row_text(s, NULL, name, is_true ? "true" : "false");
}

/* Of programs alone; NaN: not known. */
static void add_exact(struct sheet *s, const char *name, double number)
{
    if (name != NULL) {
        number_format_exact(number, table_add(s->table, name, TABLE_RIGHT));
    }
}

void row_number(struct sheet *s, const char *title, const char *name, double number, double factor)
{
    struct table *t = row_people(s);
    if (t == NULL) {
        add_exact(s, name, number);
    } else if (title != NULL) {
        table_value(t, title, factor * number);
    }
}

void row_percent(struct sheet *s, const char *title, const char *name, double ratio, bool with_sign)
{
    struct table *t = row_people(s);
    if (t == NULL) {
        add_exact(s, name, ratio);
    } else if (title != NULL) {
        table_percent(t, title, ratio, with_sign);
    }
}

void row_part_of(struct sheet *s, const char *title, const char *name, const char *of_name,
                 size_t n, size_t of)
{
    struct table *t = row_people(s);
    table_known(t, title, of > 0, "%zu of %zu", n, of);
    row_count(s, NULL, name, n);
    row_count(s, NULL, of_name, of);
}

void row_figure(struct sheet *s, const char *title, const char *name, const struct figure *f,
                int decimals)
{
    struct table *t = row_people(s);
    const bool is_known = f->estimate.known;
    if (t == NULL || decimals == ROW_NUMBER) {
        row_number(s, title, name, is_known ? figure_shown(f).estimate.value : NAN, 1);
    } else if (title != NULL) {
        table_known(t, title, is_known, "%.*f%%", decimals, 100 * f->estimate.value);
    }
}

void row_interval(struct sheet *s, const char *title, const char *name, const struct figure *f,
                  int decimals)
{
    struct table *t = row_people(s);
    const struct estimate e = figure_shown(f).estimate;
    const bool has = e.known && e.has_interval;
    if (t == NULL && name != NULL) {
        _cleanup_(freep) char *low = xasprintf("%s_low", name), *high = xasprintf("%s_high", name);
        add_exact(s, low, has ? e.low : NAN);
        add_exact(s, high, has ? e.high : NAN);
    } else if (t != NULL && title != NULL && decimals == ROW_NUMBER) {
        table_interval(t, title, f);
    } else if (t != NULL && title != NULL) {
        table_known(t, title, has, "%.*f..%.*f%%", decimals, 100 * e.low, decimals, 100 * e.high);
    }
}

void row_method(struct sheet *s, const char *name, const struct figure *f)
{
    const bool has = f->estimate.known && f->estimate.has_interval;
    row_text(s, NULL, name, has ? interval_method_names[f->estimate.method] : NULL);
}

void row_system(struct sheet *s, const struct point_words *words, const struct point *p)
{
    const struct system *system = &words->spec->systems.items[p->system];
    row_text(s, words->systems ? "SYSTEM" : NULL, NULL, system->label);
    row_text(s, NULL, "system", system->name);
}

void row_params(struct sheet *s, const struct words_names *names, const struct point *p)
{
    struct table *t = row_people(s);
    vec_each (const char *const, name, names) {
        const struct value *v = params_get(&p->params, *name);
        _cleanup_(buf_done) struct buf text = BUF_INIT;
        _cleanup_(freep) char *column = xasprintf("param_%s", *name), *title = text_capitals(*name);
        if (v != NULL) {
            value_format(v, &text);
        }
        table_number(t, title, "%s", v == NULL ? "-" : buf_cstr(&text));
        row_text(s, NULL, column, buf_cstr(&text)); /* table_format_csv may shorten it */
    }
}

void row_end(struct sheet *s)
{
    table_end_row(s->table);
}

void row_drop_all(struct sheet *s)
{
    table_drop_rows(s->table);
}
