/* Fields of JSON documents that our programs exchange: read with an error that names the key,
 * written as UTF-8. Pure. */
#pragma once

#include <stdint.h>

#include <jansson.h>

#include "base/buf.h"
#include "base/err.h"

/* A whole number in lo..hi; -EPROTO names the key. */
int json_field_int(const json_t *object, const char *key, int64_t lo, int64_t hi, int64_t *ret,
                   struct err *err);
/* A text, borrowed; -EPROTO names the key. */
int json_field_text(const json_t *object, const char *key, const char **ret, struct err *err);
/* The text as a JSON string, its bytes made UTF-8; null for NULL. Owned. */
json_t *json_text_or_null(const char *text);

/* A document of benchd.io/v1alpha1 of that kind, "BenchmarkRunList", with these items. Owned. */
json_t *document_list(const char *kind, json_t *items_take);

/* An object of members in their order, owned: JSON_OBJECT_OF({"a", json_true()}, {"b", value}).
 * Takes the values, which are made in no certain order; one that is NULL is left out. */
struct json_member {
    const char *key;
    json_t *value;
};
#define JSON_MEMBERS(...) ((const struct json_member[]){__VA_ARGS__, {NULL, NULL}})
#define JSON_OBJECT_OF(...) json_object_add(json_object(), JSON_MEMBERS(__VA_ARGS__))
/* The same; null where what it says is not known. */
#define JSON_OBJECT_OR_NULL(is_known, ...) ((is_known) ? JSON_OBJECT_OF(__VA_ARGS__) : json_null())
#define JSON_ADD(object, ...) ((void)json_object_add(object, JSON_MEMBERS(__VA_ARGS__)))
json_t *json_object_add(json_t *object, const struct json_member *members_take);

/* An array, owned, of the value that each turn of a loop makes; `each` is the head of the loop:
 * JSON_ARRAY_OF(vec_each (char *, name, &names), json_string(*name)). */
#define JSON_ARRAY_OF(each, ...)                                                                   \
    ({                                                                                             \
        json_t *array_ = json_array();                                                             \
        each                                                                                       \
        {                                                                                          \
            (void)json_array_append_new(array_, __VA_ARGS__); /* grows in memory only */           \
        }                                                                                          \
        array_;                                                                                    \
    })

/* The text of a document with long lists, of which one item at a time is a tree in memory. It is
 * what json_dumps would make of the whole. And back. */
struct json_lists {
    struct buf *out;        /* borrowed */
    char *text;             /* of the document with these lists empty; owned */
    const char *rest;       /* what of it is still to be copied */
    unsigned indent, depth; /* of items */
    bool is_open;
    size_t n; /* items of the open list */
};
/* document_take NULL: it is one list, which is open. */
void json_lists_begin(struct json_lists *w, json_t *document_take, unsigned indent,
                      struct buf *out);
/* The document's next list that gets items; in its order. */
void json_lists_open(struct json_lists *w, const char *name);
/* The item holds nothing that cannot be dumped. Then buf_spill. */
void json_lists_add(struct json_lists *w, json_t *item_take);
/* With a final newline. */
void json_lists_end(struct json_lists *w);

/* Reads a document of indent 1 as it was written: calls `each` for the items of the list, which are
 * trees one at a time, and gives the document with the list empty. Of JSON in another form
 * *ret_rest has the list, and there is no call. It is the caller's, or NULL. -E2BIG: an item, or
 * what is around them, has more than max_bytes. Other errors: -EPROTO, and those of `each`. */
typedef int json_lists_fn(void *ctx, const json_t *item, struct err *err);
int json_lists_read(const struct buf *text, const char *name, size_t max_bytes, json_lists_fn *each,
                    void *ctx, json_t **ret_rest, struct err *err);
