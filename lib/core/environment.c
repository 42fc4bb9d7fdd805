/* See environment.h. */
#include "core/environment.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "base/mem.h"

#define MAX_KEYS 32

static int compare_key(const struct json_span *key, const char *wanted)
{
    const size_t len = strlen(wanted);
    const int r = memcmp(key->text, wanted, key->len < len ? key->len : len);
    return r != 0 ? r : (key->len > len) - (key->len < len);
}

static int compare_keys(const struct json_span *a, const struct json_span *b)
{
    const int r = memcmp(a->text, b->text, a->len < b->len ? a->len : b->len);
    return r != 0 ? r : (a->len > b->len) - (a->len < b->len);
}

static bool scan_value(struct json_scan *s, struct environment_value *ret)
{
    const char *from = s->at;
    int64_t whole;
    double number;
    *ret = (struct environment_value){0};
    if (json_scan_null(s)) {
        return true;
    }
    if (json_scan_text(s, &ret->span)) {
        ret->kind = ENVIRONMENT_TEXT;
        return true;
    }
    s->at = from;
    if (json_scan_int(s, &whole)) {
        ret->kind = ENVIRONMENT_WHOLE;
    } else {
        s->at = from;
        if (!json_scan_number(s, &number)) {
            return false;
        }
        ret->kind = ENVIRONMENT_REAL;
    }
    ret->span = (struct json_span){from, (size_t)(s->at - from)};
    return true;
}

bool environment_scan(const char *text, const char *const *keys, size_t n,
                      struct environment_value *ret)
{
    struct json_scan s = {text, text + strlen(text)};
    struct json_span key, before = {"", 0};
    struct environment_value value;
    size_t next = 0;
    int r;
    for (size_t i = 0; i < n; i++) {
        ret[i] = (struct environment_value){0};
    }
    if (!json_scan_open(&s)) {
        return false;
    }
    while ((r = json_scan_next(&s, &key)) > 0) {
        if (compare_keys(&before, &key) >= 0 || !scan_value(&s, &value)) {
            return false; /* not sorted, so a key may be there twice; an empty key, too */
        }
        while (next < n && compare_key(&key, keys[next]) > 0) {
            next++;
        }
        if (next < n && compare_key(&key, keys[next]) == 0) {
            ret[next++] = value;
        }
        before = key;
    }
    return r == 0 && json_scan_is_over(&s);
}

static bool is_plain(const struct environment_value *values, size_t n, bool any)
{
    for (size_t i = 0; any && i < n; i++) {
        if (values[i].kind == ENVIRONMENT_REAL) {
            return false; /* jansson has another spelling */
        }
    }
    return true;
}

static void each_of_tree(const json_t *value, size_t key, bool any, environment_text_fn each,
                         void *ctx)
{
    if (json_is_string(value)) {
        each(ctx, key, json_string_value(value), strlen(json_string_value(value)));
    } else if (any && value != NULL && !json_is_null(value)) {
        char *text = json_dumps(value, JSON_ENCODE_ANY | JSON_SORT_KEYS | JSON_COMPACT);
        if (text != NULL) {
            each(ctx, key, text, strlen(text));
        }
        free(text);
    }
}

void environment_each_text(const char *text, const char *const *keys, size_t n, bool any,
                           environment_text_fn each, void *ctx)
{
    struct environment_value values[MAX_KEYS];
    if (text != NULL && n <= MAX_KEYS && environment_scan(text, keys, n, values) &&
        is_plain(values, n, any)) {
        for (size_t i = 0; i < n; i++) {
            const enum environment_kind kind = values[i].kind;
            if (kind == ENVIRONMENT_TEXT || (any && kind == ENVIRONMENT_WHOLE)) {
                each(ctx, i, values[i].span.text, values[i].span.len);
            }
        }
        return;
    }
    json_t *o = text == NULL ? NULL : json_loads(text, 0, NULL);
    for (size_t i = 0; i < n; i++) {
        each_of_tree(json_object_get(o, keys[i]), i, any, each, ctx);
    }
    json_decref(o);
}

static void copy_text(void *ctx, size_t key, const char *text, size_t len)
{
    char **texts = ctx;
    texts[key] = xstrndup(text, len);
}

void environment_texts(const char *text, const char *const *keys, size_t n, char **ret)
{
    for (size_t i = 0; i < n; i++) {
        ret[i] = NULL;
    }
    environment_each_text(text, keys, n, false, copy_text, ret);
}

double environment_number(const char *text, const char *key)
{
    struct environment_value value;
    if (text != NULL && environment_scan(text, &key, 1, &value)) {
        if (value.kind != ENVIRONMENT_WHOLE && value.kind != ENVIRONMENT_REAL) {
            return NAN;
        }
        struct json_scan s = {value.span.text, value.span.text + value.span.len};
        double number;
        return json_scan_number(&s, &number) ? number : NAN;
    }
    json_t *o = text == NULL ? NULL : json_loads(text, 0, NULL);
    const json_t *number = json_object_get(o, key);
    const double found = json_is_number(number) ? json_number_value(number) : NAN;
    json_decref(o);
    return found;
}
