/* Fields of JSON documents that our programs exchange: read with an error that names the key,
 * written as UTF-8. Pure. */
#pragma once

#include <stddef.h>
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
json_t *json_number_or_null(double value); /* null: not finite */
json_t *json_count(uint64_t n);            /* summaries hold no count beyond INT64_MAX */

/* Indented, with a final newline. The document holds nothing that cannot be dumped. */
void json_text_put(json_t *document_take, struct buf *out);
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

/* ---- facts ----
 *
 * A struct in one block with the texts that it points to, decoded from the JSON of an object. The
 * texts are put twice: first without a place, which counts them, then into the block. */

struct fact_texts {
    char *at;   /* of the next one; NULL: they are only counted */
    size_t len; /* of all, with their ends */
};

/* The text in its place; while it is counted, the text itself. "" and NULL need no place. */
const char *fact_put(struct fact_texts *t, const char *text);

/* The text of that key, borrowed; "": absent, or not a string. */
const char *fact_text(const json_t *object, const char *key);
/* The first item of a list whose text of that key is `text`, borrowed; NULL: none. */
const json_t *fact_find(const json_t *list, const char *key, const char *text);
/* The text of that key, put. */
const char *fact_put_text(struct fact_texts *t, const json_t *object, const char *key);
/* The RFC 3339 date of that key, in milliseconds since 1970; 0: absent, or not a date. */
int64_t fact_date(const json_t *object, const char *key);
