/* See figure_json.h. */
#include "result/figure_json.h"

#include <math.h>

#include "core/json_field.h"

json_t *json_number_or_null(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

json_t *json_count(uint64_t n)
{
    return json_integer((json_int_t)n);
}

json_t *figure_to_json(const struct figure *f)
{
    const struct figure shown = figure_shown(f);
    const struct estimate *e = &shown.estimate;
    const bool has_interval = e->known && e->has_interval;
    return JSON_OBJECT_OF(
        {"value", json_number_or_null(e->known ? e->value : NAN)},
        {"low", json_number_or_null(has_interval ? e->low : NAN)},
        {"high", json_number_or_null(has_interval ? e->high : NAN)},
        {"method", json_text_or_null(has_interval ? interval_method_names[e->method] : NULL)},
        {"unit", json_string(shown.unit)}, {"scope", json_string(f->scope)});
}
