/* See json_field.h. */
#include "core/json_field.h"

#include <string.h>

#include "base/mem.h"
#include "base/utf8.h"

int json_field_int(const json_t *object, const char *key, int64_t lo, int64_t hi, int64_t *ret,
                   struct err *err)
{
    const json_t *value = json_object_get(object, key);
    if (!json_is_integer(value)) {
        return err_set(err, EPROTO, "'%s' is not a whole number", key);
    }
    const json_int_t number = json_integer_value(value);
    if (number < lo || number > hi) {
        return err_set(err, EPROTO, "'%s' is %lld, which is out of range", key, (long long)number);
    }
    *ret = number;
    return 0;
}

int json_field_text(const json_t *object, const char *key, const char **ret, struct err *err)
{
    const json_t *value = json_object_get(object, key);
    if (!json_is_string(value)) {
        return err_set(err, EPROTO, "'%s' is %s", key,
                       value == NULL || json_is_null(value) ? "missing" : "not a string");
    }
    *ret = json_string_value(value);
    return 0;
}

json_t *json_text_or_null(const char *text)
{
    if (text == NULL) {
        return json_null();
    }
    json_t *value = json_string(text);
    if (value == NULL) { /* the text is not valid UTF-8 */
        _cleanup_(freep) char *clean = xstrdup(text);
        utf8_mend(clean);
        value = json_string(clean);
    }
    return value;
}

json_t *document_list(const char *kind, json_t *items_take)
{
    return json_pack("{s:s, s:s, s:o}", "apiVersion", "benchd.io/v1alpha1", "kind", kind, "items",
                     items_take);
}

json_t *json_object_add(json_t *object, const struct json_member *members)
{
    for (; members->key != NULL; members++) {
        (void)(members->value != NULL && json_object_set_new(object, members->key, members->value));
    }
    return object;
}
