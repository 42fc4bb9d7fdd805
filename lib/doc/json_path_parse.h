/* A template of json_path.h as a tree; json_path_parse.c makes it, json_path.c walks it. */
#pragma once

#include <stdbool.h>

#include <jansson.h>

#include "base/vec.h"

struct path_where;

struct path_step {
    enum {
        STEP_NAMES,   /* members */
        STEP_INDEXES, /* items */
        STEP_SLICE,   /* items from, to before, by */
        STEP_ALL,     /* members or items */
        STEP_DEEP,    /* the value and all below it, the outer first */
        STEP_WHERE,   /* items for which `where` holds */
    } kind;
    VEC(char *) names;
    VEC(json_int_t) indexes;
    json_int_t from, to, by; /* of a slice; has_to false: to the end */
    bool has_to;
    struct path_where *where; /* owned */
};

struct path {
    bool is_absolute; /* begins at the document in place of the current value */
    VEC(struct path_step) steps;
};

enum path_op { OP_EXISTS, OP_EQUAL, OP_DIFFERENT, OP_LESS, OP_LESS_EQUAL, OP_MORE, OP_MORE_EQUAL };

struct path_where {
    struct path left;
    enum path_op op;
    json_t *literal;   /* owned; NULL: `right` */
    struct path right; /* its first value */
};

struct path_part {
    enum { PART_TEXT, PART_PATH, PART_RANGE } kind;
    char *text; /* owned */
    struct path path;
    VEC(struct path_part) body; /* of a range */
};

struct json_path {
    VEC(struct path_part) parts;
};
