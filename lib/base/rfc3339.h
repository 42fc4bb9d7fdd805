/* Dates of RFC 3339, as APIs have them, as numbers. Pure. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Days from 1970-01-01 to a date of the Gregorian calendar, of that year or later. */
int64_t days_since_1970(int64_t year, int64_t month, int64_t day);
/* "2026-11-20T08:52:51.123456789+01:00": any number of fraction digits, Z or an offset, 1970 to
 * 2200. Nanoseconds since 1970. -EINVAL: no date; -ERANGE: of another year, with INT64_MIN or
 * INT64_MAX. */
int rfc3339_parse(const char *s, size_t len, int64_t *ret_unix_ns);

#define RFC3339_MICRO_SIZE 40
/* MicroTime: "2026-11-20T08:52:51.123000Z". */
void rfc3339_format_micro(int64_t unix_ms, char buf[static RFC3339_MICRO_SIZE]);
