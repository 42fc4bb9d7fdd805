/* See words.h. */
#include "report/words.h"

#include <string.h>

#include "base/str.h"
#include "base/mem.h"
#include "result/catalogue.h"
#include "result/number.h"

char *words_meaning(const struct figure_kind *k, const struct run_def *def)
{
    static const char counted[] = "number of trainers";
    const char *text = k->meaning, *at = strstr(text, counted);
    const bool is_batches =
        k == &figure_kinds[FIGURE_SPEEDUP] && def->spec->unit == UNIT_OF_BATCHES;
    return is_batches   ? xasprintf("%s Both in samples/s.", text)
           : at == NULL ? xstrdup(text)
                        : xasprintf("%.*snumber of %s%s", (int)(at - text), text,
                                    matrix_size_words(&def->matrix).many, at + strlen(counted));
}

bool words_has_name(const struct words_names *names, const char *name)
{
    return str_index(name, names->items, names->len) >= 0;
}

void words_add_name(struct words_names *names, const char *name)
{
    size_t at;
    if (!vec_search(names, it, strcmp(*it, name), &at)) {
        *vec_insert(names, at) = name;
    }
}

void words_add_differences(struct point_words *words, const struct point *first,
                           const struct point *p)
{
    words->systems = words->systems || p->system != first->system;
    vec_each (const struct param, param, &p->params.list) {
        if (!params_has(&first->params, param)) {
            words_add_name(&words->names, param->name);
        }
    }
}

void words_add_all(struct point_words *words, const struct result *r)
{
    words->systems = true;
    result_each_point (p, r) {
        vec_each (const struct param, param, &p->point->params.list) {
            words_add_name(&words->names, param->name);
        }
    }
}

void words_put_value(const char *name, const struct value *v, struct buf *out)
{
    buf_printf(out, "%s ", name);
    if (v == NULL) {
        buf_putc(out, '-');
    } else {
        value_format(v, out);
    }
}

void words_put_point(const struct point_words *words, const struct point *p, const char *none,
                     struct buf *out)
{
    const size_t begin = out->len;
    if (words->systems) {
        buf_puts(out, words->spec->systems.items[p->system].label);
    }
    vec_each (const char *const, name, &words->names) {
        if (words->without == NULL || !str_eq(*name, words->without)) {
            buf_puts(out, out->len == begin ? "" : ", ");
            words_put_value(*name, params_get(&p->params, *name), out);
        }
    }
    buf_puts(out, out->len == begin ? none : "");
}

void words_put_estimate(const struct estimate *e, const char *unit, struct buf *out)
{
    number_format(e->value, out);
    buf_printf(out, "%s%s", *unit == '\0' ? "" : " ", unit);
    if (e->has_interval) {
        buf_puts(out, " (95%: ");
        number_format_range(e->low, e->high, out);
        buf_putc(out, ')');
    }
}

void words_put_figure(const struct figure *f, struct buf *out)
{
    const struct figure shown = figure_shown(f);
    words_put_estimate(&shown.estimate, shown.unit, out);
}

void words_put_percent(const struct estimate *e, struct buf *out)
{
    buf_printf(out, "%.1f%%", 100 * e->value);
    if (e->has_interval) {
        buf_printf(out, " (95%%: %.1f..%.1f%%)", 100 * e->low, 100 * e->high);
    }
}

const char *mark_of(const struct result *r, int i)
{
    static const char *const words[MARK_COUNT] = {"rehearsal", "simulated", "imported", "parallel"};
    const bool has[MARK_COUNT] = {r->def->rehearsal, r->simulated, spec_is_imported(r->def->spec),
                                  run_options_lanes(&r->def->options) > 1};
    return has[i] ? words[i] : NULL;
}
