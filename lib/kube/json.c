/* JSON from the API server, see json.h. */
#include "kube/json.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"

/* Reals up to this size represent each integer exactly. */
#define EXACT_MAX 9007199254740992.0
/* Of what the API server sends; jansson reads 2048, and of a list the items one by one. */
#define DEPTH_MAX 2000

/* What should replace `value`; NULL: nothing, keep it. */
static json_t *as_integer(const json_t *value)
{
    if (!json_is_real(value)) {
        return NULL;
    }
    const double real = json_real_value(value);
    return fabs(real) <= EXACT_MAX && floor(real) == real ? json_integer((json_int_t)real) : NULL;
}

/* Undoes JSON_DECODE_INT_AS_REAL where it can be undone. jansson has limited the depth. */
static void restore_integers(json_t *value)
{
    const char *key;
    json_t *child;
    size_t i;
    void *next;
    json_object_foreach_safe(value, next, key, child)
    {
        json_t *integer = as_integer(child);
        restore_integers(child);
        if (integer != NULL) {
            (void)json_object_set_new(value, key, integer); /* fails only without memory */
        }
    }
    json_array_foreach (value, i, child) {
        json_t *integer = as_integer(child);
        restore_integers(child);
        if (integer != NULL) {
            (void)json_array_set_new(value, i, integer); /* the same */
        }
    }
}

/* The length of the array or object that begins at data[0]; 0: it does not end within the data. */
static size_t array_length(const char *data, size_t len)
{
    size_t depth = 0;
    bool is_text = false;
    for (size_t i = 0; i < len; i++) {
        const char c = data[i];
        if (is_text) {
            i += c == '\\';
            is_text = c != '"';
        } else if (c == '"') {
            is_text = true;
        } else if (c == '[' || c == '{') {
            depth++;
        } else if ((c == ']' || c == '}') && --depth == 0) {
            return i + 1;
        }
    }
    return 0;
}

/* The same text without what jansson cannot read, in a form that a definition may not have either:
 * of a NUL, which it does not take in keys, another control character, and null in place of what
 * is too deep for it. */
static void make_readable(const char *data, size_t len, struct buf *ret)
{
    static const char nul[] = "\\u0000";
    const size_t nul_len = sizeof(nul) - 1;
    const char *from = data, *end = data + len;
    size_t depth = 0;
    bool is_text = false;
    for (const char *at = data; at < end; at++) {
        const char *to = at, *with = NULL;
        if (*at == '"') {
            is_text = !is_text;
        } else if (*at == '\\') {
            const bool is_nul = (size_t)(end - at) >= nul_len && memcmp(at, nul, nul_len) == 0;
            with = is_nul ? "\\u0001" : NULL;
            to += is_nul ? nul_len : 2;
        } else if (!is_text && (*at == '[' || *at == '{') && ++depth > DEPTH_MAX) {
            with = "null";
            to += array_length(at, (size_t)(end - at));
            depth--;
            if (to == at) {
                break; /* cut off: it is not valid JSON anyway */
            }
        } else if (!is_text && (*at == ']' || *at == '}')) {
            depth--;
        }
        if (with != NULL) {
            buf_append(ret, from, (size_t)(at - from));
            buf_puts(ret, with);
            from = to;
        }
        at = to > at ? to - 1 : at;
    }
    buf_append(ret, from, (size_t)(end - from));
}

int kube_json_load(const char *data, size_t len, json_t **ret, struct err *err)
{
    size_t flags = JSON_ALLOW_NUL;
    json_error_t error;
    json_t *json = json_loadb(data, len, flags, &error);
    _cleanup_(buf_done) struct buf readable = BUF_INIT;
    for (int i = 0; json == NULL && i < 2; i++) { /* whichever of the two comes first */
        const enum json_error_code why = json_error_code(&error);
        if (why == json_error_numeric_overflow) {
            flags |= JSON_DECODE_INT_AS_REAL;
        } else if ((why == json_error_null_byte_in_key || why == json_error_stack_overflow) &&
                   readable.len == 0) {
            make_readable(data, len, &readable);
            data = readable.data;
            len = readable.len;
        } else {
            break;
        }
        json = json_loadb(data, len, flags, &error);
    }
    if (json == NULL) {
        return err_set(err, EPROTO, "not JSON: byte %d: %s", error.position, error.text);
    }
    if (flags & JSON_DECODE_INT_AS_REAL) {
        restore_integers(json);
    }
    *ret = json;
    return 0;
}

/* *ret: the text with each "managedFields" emptied; false: it has none. Works on the
 * compact JSON that the API server writes. Inside a string the key's quotes would be escaped; after
 * a backslash the match is the end of another key. */
static bool empty_managed_fields(const char *data, size_t len, struct buf *ret)
{
    static const char key[] = "\"managedFields\":[";
    const size_t key_len = sizeof(key) - 1;
    const char *end = data + len, *from = data;
    for (const char *at = data; (at = memmem(at, (size_t)(end - at), key, key_len)) != NULL;) {
        const char *array = at + key_len - 1;
        const bool is_key = at > data && at[-1] != '\\';
        const size_t n = is_key ? array_length(array, (size_t)(end - array)) : 1;
        if (n == 0) {
            break; /* cut off: it is not valid JSON anyway */
        }
        if (is_key) {
            buf_append(ret, from, (size_t)(array + 1 - from));
            from = array + n - 1; /* its bracket */
        }
        at = array + n - 1;
    }
    if (from == data) {
        return false;
    }
    buf_append(ret, from, (size_t)(end - from));
    return true;
}

int kube_json_load_lean(const char *data, size_t len, json_t **ret, struct err *err)
{
    _cleanup_(buf_done) struct buf lean = BUF_INIT;
    return empty_managed_fields(data, len, &lean) ? kube_json_load(lean.data, lean.len, ret, err)
                                                  : kube_json_load(data, len, ret, err);
}

/* ---- lists ---- */

/* The text between the brackets of the object's own "items"; false: it is not found. Only a key is
 * followed by a colon, and only the object's own are at depth 1. */
static bool find_items(const char *data, size_t len, size_t *ret_from, size_t *ret_to)
{
    static const char key[] = "\"items\":[";
    const size_t key_len = sizeof(key) - 1;
    size_t depth = 0;
    for (size_t i = 0; i < len; i++) {
        const char c = data[i];
        if (depth == 1 && len - i > key_len && memcmp(data + i, key, key_len) == 0) {
            const size_t n = array_length(data + i + key_len - 1, len - i - key_len + 1);
            *ret_from = i + key_len;
            *ret_to = i + key_len + n - 2;
            return n != 0;
        }
        if (c == '"') {
            for (i++; i < len && data[i] != '"'; i++) {
                i += data[i] == '\\';
            }
        } else if (c == '[' || c == '{') {
            depth++;
        } else if (c == ']' || c == '}') {
            depth--;
        }
    }
    return false;
}

static size_t skip_space(const char *data, size_t len, size_t i)
{
    while (i < len && strchr(" \t\r\n", data[i]) != NULL && data[i] != '\0') {
        i++;
    }
    return i;
}

/* Loads one object after the other: `data` is what is between the brackets. */
static int load_items(const char *data, size_t len, kube_item_fn each, void *ctx, struct err *err)
{
    for (size_t i = skip_space(data, len, 0); i < len;) {
        const size_t n = data[i] == '{' ? array_length(data + i, len - i) : 0;
        json_t *item;
        if (n == 0) {
            return err_set(err, EPROTO, "an item is not an object");
        }
        const int r = kube_json_load_lean(data + i, n, &item, err);
        if (r < 0) {
            return err_wrap(err, r, "an item");
        }
        each(ctx, item);
        json_decref(item);
        i = skip_space(data, len, i + n);
        if (i < len && data[i] != ',') {
            return err_set(err, EPROTO, "no comma after an item");
        }
        i = i < len ? skip_space(data, len, i + 1) : i;
    }
    return 0;
}

/* Text of a kind that find_items does not know: with spaces, or without items. */
static int load_whole_list(const char *data, size_t len, kube_item_fn each, void *ctx, json_t **ret,
                           struct err *err)
{
    json_t *item;
    size_t i;
    const int r = kube_json_load_lean(data, len, ret, err);
    json_array_foreach (r < 0 ? NULL : json_object_get(*ret, "items"), i, item) {
        each(ctx, item);
    }
    return r;
}

int kube_json_load_list(const char *data, size_t len, kube_item_fn each, void *ctx, json_t **ret,
                        struct err *err)
{
    size_t from, to;
    if (!find_items(data, len, &from, &to)) {
        return load_whole_list(data, len, each, ctx, ret, err);
    }
    _cleanup_(buf_done) struct buf rest = BUF_INIT;
    json_auto_t *list = NULL;
    buf_append(&rest, data, from);
    buf_append(&rest, data + to, len - to);
    int r = kube_json_load(rest.data, rest.len, &list, err);
    r = r < 0 ? r : load_items(data + from, to - from, each, ctx, err);
    if (r == 0) {
        *ret = take_ptr(list);
    }
    return r;
}

const char *kube_json_metadata(const json_t *object, const char *key)
{
    const char *value =
        json_string_value(json_object_get(json_object_get(object, "metadata"), key));
    return value == NULL ? "" : value;
}

void *kube_json_keep(json_t *object)
{
    (void)json_object_del(json_object_get(object, "metadata"), "managedFields"); /* may be absent */
    return json_dumps(object, JSON_COMPACT);
}

json_t *kube_json_kept(const void *facts)
{
    return json_loads(facts, JSON_ALLOW_NUL, NULL);
}
