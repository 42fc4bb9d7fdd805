/* The parts that CSV of results and of comparisons is made of. Pure. */
#pragma once

#include <stddef.h>

#include "result/result.h"

struct csv_names {
    VEC(const char *) list; /* of points' parameters, in byte order; borrowed */
};
/* Adds the names of a result's points. */
void csv_collect(struct csv_names *names, const struct result *r);

struct csv_columns { /* on either side of the parameters' */
    const char *const *before;
    size_t n_before;
    const char *const *after;
    size_t n_after;
};
/* A parameter whose name is a column's becomes param_NAME. */
void csv_header(struct buf *out, const struct csv_columns *columns, const struct csv_names *names);

/* RFC 4180: quoted where it must be, quotes doubled. What a spreadsheet would take for a formula
 * gets an apostrophe in front, which makes it text there. */
void csv_text(struct buf *out, const char *text);
/* Each of these begins with its comma; what is not known is an empty cell. */
void csv_params(struct buf *out, const struct csv_names *names, const struct params *params);
void csv_number(struct buf *out, double value);
void csv_interval(struct buf *out, const struct estimate *e); /* value, low, high */
void csv_method(struct buf *out, const struct estimate *e);
