/* See environment.h. */
#include "core/environment.h"

#include <math.h>

#include "base/mem.h"

json_t *environment_parse(const char *text)
{
    json_t *o = text == NULL ? NULL : json_loads(text, 0, NULL);
    return json_is_object(o) ? o : (json_decref(o), NULL);
}

const char *environment_text(const json_t *environment, const char *key)
{
    return json_string_value(json_object_get(environment, key));
}

char *environment_any_text(const json_t *environment, const char *key)
{
    const json_t *value = json_object_get(environment, key);
    return value == NULL || json_is_null(value) ? NULL
           : json_is_string(value)
               ? xstrdup(json_string_value(value))
               : json_dumps(value, JSON_ENCODE_ANY | JSON_SORT_KEYS | JSON_COMPACT |
                                       JSON_REAL_PRECISION(15)); /* 2445.406 reads so */
}

double environment_number(const json_t *environment, const char *key)
{
    const json_t *number = json_object_get(environment, key);
    return json_is_number(number) ? json_number_value(number) : NAN;
}
