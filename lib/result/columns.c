/* See columns.h. */
#include "result/columns.h"

#include <string.h>

#include "base/mem.h"

#define MAX_WIDTH 8

void columns_put_number(struct buf *out, uint64_t value, size_t n_bytes)
{
    for (size_t i = 0; i < n_bytes; i++) {
        buf_putc(out, (char)(unsigned char)(value >> (8 * i)));
    }
}

void columns_put(struct buf *out, const uint64_t *values, size_t n)
{
    uint64_t all = 0;
    for (size_t i = 0; i < n; i++) {
        all |= values[i];
    }
    size_t width = 0;
    while (width < MAX_WIDTH && all >> (8 * width) != 0) {
        width++;
    }
    columns_put_number(out, width, 1);
    _cleanup_(freep) unsigned char *plane = xmalloc(n + 1);
    for (size_t k = 0; k < width; k++) {
        for (size_t i = 0; i < n; i++) {
            plane[i] = (unsigned char)(values[i] >> (8 * k));
        }
        buf_append(out, plane, n);
    }
}

uint32_t columns_texts_add(struct columns_texts *t, const char *text)
{
    if (text == NULL) {
        return 0;
    }
    if (t->index == NULL) {
        t->index = json_object();
    }
    const json_t *seen = json_object_get(t->index, text);
    if (seen != NULL) {
        return (uint32_t)json_integer_value(seen);
    }
    const size_t len = strlen(text);
    columns_put_number(&t->bytes, len, 4);
    buf_append(&t->bytes, text, len);
    t->n++;
    (void)json_object_set_new_nocheck(t->index, text, json_integer(t->n));
    return t->n;
}

void columns_texts_end(struct columns_texts *t, struct buf *out)
{
    columns_put_number(out, t->n, 4);
    if (t->bytes.len > 0) {
        buf_append(out, t->bytes.data, t->bytes.len);
    }
    buf_done(&t->bytes);
    json_decref(t->index);
    *t = (struct columns_texts){0};
}

bool columns_get_number(struct columns_reader *r, size_t n_bytes, uint64_t *ret)
{
    if ((size_t)(r->end - r->at) < n_bytes) {
        return false;
    }
    uint64_t value = 0;
    for (size_t i = 0; i < n_bytes; i++) {
        value |= (uint64_t)r->at[i] << (8 * i);
    }
    r->at += n_bytes;
    *ret = value;
    return true;
}

bool columns_get_count(struct columns_reader *r, size_t n_bytes, uint64_t max, size_t *ret)
{
    struct columns_reader ahead = *r;
    uint64_t value;
    if (!columns_get_number(&ahead, n_bytes, &value) || value > max) {
        return false;
    }
    *r = ahead;
    *ret = (size_t)value;
    return true;
}

bool columns_get(struct columns_reader *r, uint64_t *values, size_t n)
{
    struct columns_reader ahead = *r;
    size_t width;
    if (!columns_get_count(&ahead, 1, MAX_WIDTH, &width) ||
        (width > 0 && n > (size_t)(ahead.end - ahead.at) / width)) {
        return false;
    }
    for (size_t i = 0; i < n; i++) {
        values[i] = 0;
    }
    for (size_t k = 0; k < width; k++) {
        for (size_t i = 0; i < n; i++) {
            values[i] |= (uint64_t)ahead.at[i] << (8 * k);
        }
        ahead.at += n;
    }
    *r = ahead;
    return true;
}

static bool read_texts(struct columns_reader *r, struct columns_list *list, size_t n)
{
    char *to = list->block;
    for (size_t i = 1; i <= n; i++) {
        size_t len;
        if (!columns_get_count(r, 4, UINT32_MAX, &len) || len > (size_t)(r->end - r->at) ||
            memchr(r->at, '\0', len) != NULL) {
            return false;
        }
        list->items[i] = to;
        memcpy(to, r->at, len);
        to[len] = '\0';
        to += len + 1;
        r->at += len;
    }
    return true;
}

/* A text takes 4 bytes for its length, and one more here. */
bool columns_get_texts(struct columns_reader *r, struct columns_list *ret)
{
    struct columns_reader ahead = *r;
    size_t n;
    if (!columns_get_count(&ahead, 4, UINT32_MAX, &n) || n > (size_t)(ahead.end - ahead.at) / 4) {
        return false;
    }
    struct columns_list list = {.items = xnew_array(char *, n + 1),
                                .block = xmalloc((size_t)(ahead.end - ahead.at) + 1),
                                .n = n + 1};
    if (!read_texts(&ahead, &list, n)) {
        columns_list_done(&list);
        return false;
    }
    *r = ahead;
    *ret = list;
    return true;
}

void columns_list_done(struct columns_list *list)
{
    free(list->items);
    free(list->block);
    *list = (struct columns_list){0};
}
