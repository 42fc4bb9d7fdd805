/* Numbers and dates as programs print them. Pure; no locale. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What a letter right after a number multiplies it with: k and K 1e3, M 1e6, G and B 1e9, T 1e12;
 * 0 for another character. */
double log_suffix_factor(char c);
/* "1,234.5", "12", ".5", "1.2e+03", "43.2K", "nan", "inf". False if it is not a number. "12,34" is
 * not, because a comma separates thousands. */
bool log_number(const char *text, size_t len, double *ret);
/* "1:02:03.5" and "02:03" in seconds. */
bool log_clock(const char *text, size_t len, double *ret_s);

/* A time stamp that is only good for differences: its zone and, where the text has no date,
 * its day are unknown. */
struct log_stamp {
    int64_t ns;
    bool has_date; /* false: since midnight */
};
/* "2023-07-28T06:42:45.123Z", "2023/07/28 06:42:45", "2021-02-20 14:54:52,490", "0315
 * 05:18:15.651073" (month and day), "06:42:45". */
bool log_stamp_read(const char *text, size_t len, struct log_stamp *ret);
