/* What one matched line says, as numbers. Pure. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "logparse/number.h"
#include "logparse/pattern.h"

struct log_values {
    bool has[LOG_GROUP_COUNT];
    double number[LOG_GROUP_COUNT]; /* NaN if the line lacks the group; LOG_STAMP has no number */
    struct log_stamp stamp;         /* of any of the three groups of it */
    bool has_stamp;
};

/* -EINVAL: a group has text that is not its kind of number; err says which and what. A loss or an
 * accuracy may be nan; a throughput or a time must be above zero. */
int log_values_read(const struct log_match *match, struct log_values *ret, struct err *err);
/* The time that the line covers, in seconds; NaN: it has none. */
double log_values_time_s(const struct log_values *v);
/* The time of one step, in seconds; NaN: it has none. */
double log_values_step_s(const struct log_values *v);
