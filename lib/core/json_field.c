/* See json_field.h. */
#include "core/json_field.h"

#include <assert.h>
#include <errno.h>
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

/* ---- documents with long lists ---- */

void json_lists_begin(struct json_lists *w, json_t *document_take, unsigned indent, struct buf *out)
{
    *w = (struct json_lists){.out = out, .indent = indent, .depth = 2 * indent};
    if (document_take == NULL) {
        w->rest = "";
        w->depth = indent;
        w->is_open = true;
        buf_putc(out, '[');
        return;
    }
    w->rest = w->text = json_dumps(document_take, JSON_INDENT(indent));
    assert(w->text != NULL);
    json_decref(document_take);
}

static void close_list(struct json_lists *w)
{
    if (w->is_open) {
        buf_printf(w->out, w->n > 0 ? "\n%*s]" : "]", (int)(w->depth - w->indent), "");
        w->is_open = false;
        w->n = 0;
    }
}

void json_lists_open(struct json_lists *w, const char *name)
{
    _cleanup_(freep) char *empty = xasprintf("\n%*s\"%s\": []", (int)w->indent, "", name);
    close_list(w);
    const char *at = strstr(w->rest, empty); /* what is deeper has more blanks, texts no newline */
    assert(at != NULL);
    const char *end = at + strlen(empty);
    buf_append(w->out, w->rest, (size_t)(end - w->rest) - 1);
    w->rest = end;
    w->is_open = true;
}

/* Lists around the item indent it as the document does; only what is between them is copied. */
void json_lists_add(struct json_lists *w, json_t *item_take)
{
    size_t before = 0, after = 0;
    for (unsigned depth = 0; depth < w->depth; depth += w->indent) {
        item_take = json_pack("[o]", item_take);
        before += strlen("[\n") + depth + w->indent;
        after += strlen("\n]") + depth;
    }
    _cleanup_(freep) char *text = json_dumps(item_take, JSON_INDENT(w->indent));
    json_decref(item_take);
    assert(text != NULL);
    before -= strlen("\n") + w->depth; /* those are the item's */
    buf_puts(w->out, w->n++ == 0 ? "" : ",");
    buf_append(w->out, text + before, strlen(text) - before - after);
    buf_spill(w->out);
}

void json_lists_end(struct json_lists *w)
{
    close_list(w);
    buf_printf(w->out, "%s\n", w->rest);
    free(w->text);
}

/* A value, owned, and the number of its bytes. */
static int load(const char *text, size_t len, size_t max_bytes, size_t flags, json_t **ret,
                size_t *ret_len, struct err *err)
{
    json_error_t where;
    const size_t most = len < max_bytes ? len : max_bytes;
    *ret = json_loadb(text, most, JSON_REJECT_DUPLICATES | flags, &where);
    *ret_len = (size_t)where.position;
    return *ret != NULL ? 0
           : most < len && *ret_len >= most
               ? err_set(err, E2BIG, "more than %zu bytes are in one piece", max_bytes)
               : err_set(err, EPROTO, "line %d: %s", where.line, where.text);
}

int json_lists_read(const struct buf *text, const char *name, size_t max_bytes, json_lists_fn *each,
                    void *ctx, json_t **ret_rest, struct err *err)
{
    _cleanup_(freep) char *head = xasprintf("\n \"%s\": [", name);
    _cleanup_(buf_done) struct buf rest = BUF_INIT;
    const char *begin = buf_cstr(text), *end = begin + text->len, *list = strstr(begin, head);
    const char *at = list == NULL ? begin : list + strlen(head);
    size_t len;
    int r = 0;
    buf_append(&rest, begin, (size_t)(at - begin));
    bool has_next = list != NULL && *at != ']';
    for (size_t i = 0; has_next && r >= 0; i++) {
        json_auto_t *item = NULL;
        r = load(at, (size_t)(end - at), max_bytes, JSON_DISABLE_EOF_CHECK, &item, &len, err);
        r = r < 0 ? r : each(ctx, item, err);
        r = r < 0 ? err_wrap(err, r, "%s[%zu]", name, i) : 0;
        at += len;
        has_next = *at == ',';
        at += has_next;
    }
    buf_append(&rest, at, (size_t)(end - at));
    r = r < 0 ? r : load(buf_cstr(&rest), rest.len, max_bytes, 0, ret_rest, &len, err);
    if (r >= 0 && list != NULL && json_array_size(json_object_get(*ret_rest, name)) > 0) {
        r = err_set(err, EPROTO, "%s: a comma is missing", name);
    }
    return r;
}
