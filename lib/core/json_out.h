/* JSON that is written as it is made: the bytes of json_dumps with an indent of 2, without a tree.
 * Pure. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

#include "base/buf.h"

struct json_out {    /* only `out` is set to begin with */
    struct buf *out; /* borrowed */
    unsigned depth;  /* of what is open */
    bool has_items;  /* the innermost of it has some */
};
/* `key` NULL: an item of a list, or the whole. Opening and closing brackets are '{', '[', ... */
void json_out_open(struct json_out *w, const char *key, char bracket);
void json_out_close(struct json_out *w, char bracket);

struct json_out_member;
struct json_value {
    enum { JSON_IS_TEXT, JSON_IS_WHOLE, JSON_IS_NUMBER, JSON_IS_OBJECT, JSON_IS_LEFT_OUT } kind;
    union {
        const char *text; /* borrowed; its bytes are made UTF-8; NULL: null */
        int64_t whole;
        double number;                         /* null if it is not finite */
        const struct json_out_member *members; /* borrowed; the last has no key */
    };
};
static inline struct json_value out_text(const char *text)
{
    return (struct json_value){JSON_IS_TEXT, {.text = text}};
}
static inline struct json_value out_whole(int64_t whole)
{
    return (struct json_value){JSON_IS_WHOLE, {.whole = whole}};
}
static inline struct json_value out_number(double number)
{
    return (struct json_value){JSON_IS_NUMBER, {.number = number}};
}
/* The value, or null, or nothing at all, where it is not known. */
static inline struct json_value out_known(bool is_known, struct json_value value)
{
    return is_known ? value : out_text(NULL);
}
static inline struct json_value out_if(bool is_there, struct json_value value)
{
    return is_there ? value : (struct json_value){.kind = JSON_IS_LEFT_OUT};
}
struct json_out_member {
    const char *key;
    struct json_value value;
};
/* Members of what is open, in their order: JSON_PUT(w, {"a", out_text("b")}, ...). A member may be
 * an object: {"c", OUT_OBJECT({"d", out_whole(1)})}. */
#define OUT_MEMBERS(...) ((const struct json_out_member[]){__VA_ARGS__, {.key = NULL}})
#define JSON_PUT(w, ...) json_out_members(w, OUT_MEMBERS(__VA_ARGS__))
#define OUT_OBJECT(...) out_object(OUT_MEMBERS(__VA_ARGS__))
static inline struct json_value out_object(const struct json_out_member *members)
{
    return (struct json_value){JSON_IS_OBJECT, {.members = members}};
}
void json_out_members(struct json_out *w, const struct json_out_member *members);
/* A value as a tree; owned. */
json_t *json_value_tree(struct json_value v);
/* Takes the value. NULL is left out. */
void json_out_tree(struct json_out *w, const char *key, json_t *value_take);
/* All members of the object, which it takes. */
void json_out_all(struct json_out *w, json_t *object_take);
