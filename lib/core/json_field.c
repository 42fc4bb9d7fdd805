/* See json_field.h. */
#include "core/json_field.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "base/rfc3339.h"
#include "base/str.h"

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

json_t *json_number_or_null(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

json_t *json_count(uint64_t n)
{
    return json_integer((json_int_t)n);
}

static int append_chunk(const char *data, size_t len, void *ctx)
{
    buf_append(ctx, data, len);
    return 0;
}

void json_text_put(json_t *document_take, struct buf *out)
{
    int written = json_dump_callback(document_take, append_chunk, out, JSON_INDENT(2));
    assert(written == 0); /* fails only for values that no document has */
    (void)written;
    buf_putc(out, '\n');
    json_decref(document_take);
}

/* ---- facts ---- */

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
