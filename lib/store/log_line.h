/* A line of a log as its form and its numbers. "loss 0.50, 7 of 12" has the form "loss #, # of #"
 * and the numbers 0.50, 7 and 12, where # stands for the byte LOG_LINE_SLOT. A sign is part of the
 * form. Used by log_pack.c and log_unpack.c. Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

#define LOG_LINE_SLOT '\0'
#define LOG_LINE_MAX_NUMBERS 255
#define LOG_NUMBER_MAX_DIGITS 18 /* fit an int64_t */

/* 0.050 is {50, 3, 0}, 007 is {7, 0, 2}. */
struct log_number {
    uint64_t digits;  /* all of them, without the point */
    uint8_t decimals; /* after the point */
    uint8_t zeros;    /* in front of what would be printed otherwise */
};

/* False: the line has no such form: a NUL, too many numbers or digits. */
bool log_line_split(const char *line, size_t len, struct buf *form,
                    struct log_number numbers[LOG_LINE_MAX_NUMBERS], size_t *ret_n);
/* The numbers of a line that has this form; false: it has another one. */
bool log_line_match(const char *form, size_t form_len, const char *line, size_t len,
                    struct log_number numbers[LOG_LINE_MAX_NUMBERS]);
/* False: no number is printed so. */
bool log_number_is_good(const struct log_number *number);
/* At most LOG_NUMBER_MAX_DIGITS + 1 bytes; returns how many. */
size_t log_number_print(const struct log_number *number, char *out);
