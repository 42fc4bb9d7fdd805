/* Values of a sweep, and sets of names with their values: the parameters of a point, or the `where`
 * of a threshold. Pure. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

#include "base/buf.h"
#include "base/vec.h"

/* A sweep value: an integer or a string (a decimal is quoted). */
struct value {
    bool is_int;
    int64_t i;
    char *s; /* owned; NULL for an integer */
};
bool value_eq(const struct value *a, const struct value *b);
void value_format(const struct value *v, struct buf *out);
json_t *value_to_json(const struct value *v); /* a number or a string; owned by the caller */

struct param { /* name = value */
    char *name;
    struct value value;
};
struct params {
    VEC(struct param) list; /* sorted by name, byte order */
};
const struct value *params_get(const struct params *p, const char *name); /* NULL: not there */
void params_set(struct params *p, const char *name, const struct value *value); /* copies */
void params_copy(const struct params *p, struct params *ret);
/* Has p this pair, or every pair of `wanted`? */
bool params_has(const struct params *p, const struct param *wanted);
bool params_contain(const struct params *p, const struct params *wanted);
/* "pservers=2, trainers=100", with ", " between them. */
void params_format(const struct params *p, const char *between, struct buf *out);
json_t *params_to_json(const struct params *p); /* {name: value}; owned by the caller */
void params_done(struct params *p);
