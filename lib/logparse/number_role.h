/* What a number in a line of any log probably is, by the words next to it. Used in this folder
 * alone. Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "core/record.h"
#include "logparse/groups.h"

struct number_role {
    size_t number, number_len;   /* where it is */
    size_t begin, end;           /* with the words that say what it is */
    size_t unit_begin, unit_end; /* of a JSON line: `"unit": "samples/s"` elsewhere in it; else 0 */
    unsigned score;              /* how sure that is; 0: a rule cannot read it */
    enum log_group group;
    enum summary_unit unit;
    bool needs_step;   /* it is a step's time only if the line has the number of a step */
    bool is_mean;      /* since the start: each line repeats those before it */
    bool is_of_gpu;    /* a rate, but of one GPU or rank; its score is 0 */
    const char *doubt; /* why no rule may read it, though it seems to be a rate; else NULL */
};

/* The first number from *at on; *at is then after it. False if none exists. Parts of dates, times
 * of day, addresses, versions and names are no numbers. Sets number and number_len only. */
bool number_role_next_number(const char *line, size_t len, size_t *at, struct number_role *ret);
/* Sets the rest. */
void number_role_read(const char *line, size_t len, struct number_role *piece);
/* The number of the step in a line: "Iteration: 12", "[40/60]". False: it has none. */
bool number_role_find_step(const char *line, size_t len, struct number_role *ret);
/* "1 234.5" may be one number or two. True if this may be the second half of such a number, and
 * nothing says that the digits before it, from *ret_begin on, are something else. */
bool number_role_may_be_cut(const char *line, size_t number, size_t number_len, size_t *ret_begin);
