/* See environment.h. */
#include "core/environment.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "base/mem.h"

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
    json_t *o = text == NULL ? NULL : json_loads(text, 0, NULL);
    const json_t *number = json_object_get(o, key);
    const double found = json_is_number(number) ? json_number_value(number) : NAN;
    json_decref(o);
    return found;
}
