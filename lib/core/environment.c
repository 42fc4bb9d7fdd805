/* See environment.h. */
#include "core/environment.h"

#include <math.h>

#include "base/mem.h"
#include "core/record.h"

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

static void set_known(json_t *o, const char *key, const char *value)
{
    json_t *text = value == NULL ? NULL : json_string(value); /* also NULL if it is not UTF-8 */
    if (text != NULL) {
        (void)json_object_set_new(o, key, text); /* fails without memory only */
    }
}

char *environment_add(const char *environment_json, const char *node, const char *image_id)
{
    if (node == NULL && image_id == NULL) {
        return environment_json == NULL ? NULL : xstrdup(environment_json);
    }
    json_t *o = environment_json == NULL ? json_object() : json_loads(environment_json, 0, NULL);
    set_known(o, "node", node);
    set_known(o, "image_id", image_id);
    char *text = record_environment_canonical(o);
    json_decref(o);
    return text;
}
