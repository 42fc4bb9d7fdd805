/* A result as CSV, see report.h and docs/contracts/result.md. */
#include <math.h>
#include <string.h>

#include "base/parse.h"
#include "report/csv.h"
#include "report/report.h"
#include "result/number.h"
#include "result/resources.h"

static bool is_in(const char *const *list, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++) {
        if (strcmp(list[i], name) == 0) {
            return true;
        }
    }
    return false;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

void csv_collect(struct csv_names *names, const struct result *r)
{
    for (uint32_t i = 0; i < r->def->matrix.n_points; i++) {
        vec_each (struct param, p, &r->points[i].point->params.list) {
            if (!is_in(names->list.items, names->list.len, p->name)) {
                *vec_push(&names->list) = p->name;
            }
        }
    }
    if (names->list.len > 1) {
        qsort(names->list.items, names->list.len, sizeof(*names->list.items), compare_names);
    }
}

static bool is_formula(const char *text)
{
    double number;
    return text[0] != '\0' && strchr("=+-@\t\r", text[0]) != NULL && parse_f64(text, &number) < 0;
}

void csv_text(struct buf *out, const char *text)
{
    const char *mark = is_formula(text) ? "'" : "";
    if (strpbrk(text, ",\"\r\n") == NULL) {
        buf_printf(out, "%s%s", mark, text);
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

void csv_header(struct buf *out, const struct csv_columns *columns, const struct csv_names *names)
{
    for (size_t i = 0; i < columns->n_before; i++) {
        buf_printf(out, "%s%s", i == 0 ? "" : ",", columns->before[i]);
    }
    vec_each (const char *, name, &names->list) {
        const bool taken = is_in(columns->before, columns->n_before, *name) ||
                           is_in(columns->after, columns->n_after, *name);
        buf_printf(out, ",%s%s", taken ? "param_" : "", *name);
    }
    for (size_t i = 0; i < columns->n_after; i++) {
        buf_printf(out, ",%s", columns->after[i]);
    }
    buf_puts(out, "\n");
}

void csv_params(struct buf *out, const struct csv_names *names, const struct params *params)
{
    vec_each (const char *, name, &names->list) {
        const struct value *v = params_get(params, *name);
        struct buf text = BUF_INIT;
        if (v != NULL) {
            value_format(v, &text);
        }
        buf_putc(out, ',');
        csv_text(out, buf_cstr(&text));
        buf_done(&text);
    }
}

void csv_number(struct buf *out, double value)
{
    buf_putc(out, ',');
    number_format_exact(value, out);
}

void csv_interval(struct buf *out, const struct estimate *e)
{
    const bool has = e->known && e->has_interval;
    csv_number(out, e->known ? e->value : NAN);
    csv_number(out, has ? e->low : NAN);
    csv_number(out, has ? e->high : NAN);
}

void csv_method(struct buf *out, const struct estimate *e)
{
    const bool has = e->known && e->has_interval;
    buf_printf(out, ",%s", has ? interval_method_to_string(e->method) : "");
}
