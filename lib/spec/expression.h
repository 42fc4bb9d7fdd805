/* Whole-number expressions over the values of a point, as sweep.require has them:
 * "tp * pp * dp == devices", "batch_size % workers == 0 && pp < 8". As in C: || && == != < <= > >=
 * + - * / % ! and parentheses, 64 bits. Pure. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

/* False: there is no such name, or it has no whole number. */
typedef bool (*expression_value_fn)(const void *ctx, const char *name, int64_t *ret);

/* -EINVAL: it is not an expression, or a name in it has no value; -ERANGE: a divisor is below 1 or
 * a number out of range, and no && or || was decided before it. err says where. */
int expression_eval(const char *text, expression_value_fn value_of, const void *ctx, int64_t *ret,
                    struct err *err);
