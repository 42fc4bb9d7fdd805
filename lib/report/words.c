/* See words.h. */
#include "report/words.h"

#include "base/str.h"
#include "result/number.h"

static void put_value(const struct point *p, const char *name, struct buf *out)
{
    const struct value *v = params_get(&p->params, name);
    if (v == NULL) {
        buf_putc(out, '-');
    } else {
        value_format(v, out);
    }
}

void words_put_point(const struct point_words *words, const struct point *p, enum words_form form,
                     struct buf *out)
{
    const char *separator = "";
    if (words->systems) {
        buf_puts(out, form == WORDS_NAMES ? "system" : words->spec->systems.items[p->system].name);
        separator = ", ";
    }
    for (size_t i = 0; i < words->n_names; i++) {
        const char *name = words->names[i];
        if (words->without != NULL && str_eq(name, words->without)) {
            continue;
        }
        buf_puts(out, separator);
        separator = ", ";
        buf_puts(out, form == WORDS_VALUES ? "" : name);
        buf_puts(out, form == WORDS_FULL ? " " : "");
        if (form != WORDS_NAMES) {
            put_value(p, name, out);
        }
    }
}

void words_put_estimate(const struct estimate *e, const char *unit, struct buf *out)
{
    number_format(e->value, out);
    buf_printf(out, "%s%s", *unit == '\0' ? "" : " ", unit);
    if (e->has_interval) {
        buf_puts(out, " (95%: ");
        number_format(e->low, out);
        buf_puts(out, "..");
        number_format(e->high, out);
        buf_putc(out, ')');
    }
}

void words_put_percent(const struct estimate *e, struct buf *out)
{
    buf_printf(out, "%.1f%%", 100 * e->value);
    if (e->has_interval) {
        buf_printf(out, " (95%%: %.1f..%.1f%%)", 100 * e->low, 100 * e->high);
    }
}
