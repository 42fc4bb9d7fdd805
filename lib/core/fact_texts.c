/* See fact_texts.h. */
#include "core/fact_texts.h"

#include <string.h>

#include "base/rfc3339.h"

const char *fact_put(struct fact_texts *t, const char *text)
{
    if (text == NULL || *text == '\0') {
        return text == NULL ? NULL : "";
    }
    const size_t size = strlen(text) + 1;
    t->len += size;
    if (t->at == NULL) {
        return text;
    }
    t->at += size;
    return memcpy(t->at - size, text, size);
}

const char *fact_text(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text == NULL ? "" : text;
}

const json_t *fact_find(const json_t *list, const char *key, const char *text)
{
    for (size_t i = 0; i < json_array_size(list); i++) {
        if (strcmp(fact_text(json_array_get(list, i), key), text) == 0) {
            return json_array_get(list, i);
        }
    }
    return NULL;
}

const char *fact_put_text(struct fact_texts *t, const json_t *object, const char *key)
{
    return fact_put(t, fact_text(object, key));
}

int64_t fact_date(const json_t *object, const char *key)
{
    const char *text = fact_text(object, key);
    int64_t unix_ns;
    return rfc3339_parse(text, strlen(text), &unix_ns) < 0 ? 0 : unix_ns / 1000000;
}
