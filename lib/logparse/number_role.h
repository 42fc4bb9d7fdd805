/* What a number in a line of any log probably is, by the words next to it. Used by
 * suggest.c only. Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "core/record.h"
#include "logparse/groups.h"

struct number_role {
    size_t number, number_len; /* where it is */
    size_t begin, end;         /* with the words that say what it is */
    unsigned score;            /* how sure that is; 0: it is nothing that a rule reads */
    enum log_group group;
    enum summary_unit unit;
    bool needs_step;   /* it is a step's time only if the line has the number of a step */
    const char *doubt; /* why no rule may read it, though it seems to be a rate; NULL: none */
};

/* The first number from *at on; *at is then after it. False if none exists. Parts of dates, times
 * of day, addresses, versions and names are no numbers. Sets number and number_len only. */
bool number_role_next_number(const char *line, size_t len, size_t *at, struct number_role *ret);
/* Sets the rest. */
void number_role_read(const char *line, size_t len, struct number_role *piece);
