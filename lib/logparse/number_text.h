/* Numbers and dates as programs print them. Pure; no locale. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Reads "1,234.5", "1'234.5", "1_234.5", "1.234,56", "796,31", ".5", "1.2e+03", "43.2K", "1.25 k",
 * "nan" and "inf". False if the text is not a number. Between groups of three digits may be a
 * comma, a point before a decimal comma, an apostrophe, an underscore, or a no-break, narrow
 * no-break or thin space. "1,234" is 1234; "1,23,456" is not a number. */
bool log_number(const char *text, size_t len, double *ret);
/* Reads "1:02:03.5", "02:03" and, with days, "1:00:00:00" in seconds. */
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
