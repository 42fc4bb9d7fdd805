/* Reads JSON that is written plainly, as our own programs write it, without a tree: some ten
 * times as fast as jansson. Plain is: no white space, strings of printable ASCII without an
 * escape, whole numbers of at most 18 digits. Whatever else is JSON, too, is not read here: every
 * function then answers "not plain", and the caller asks jansson, which also says what is wrong
 * with the rest. What is read here is JSON, and jansson reads the same from it. Pure. Used by
 * record_scan.c and environment.c. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct json_scan {
    const char *at, *end; /* borrowed */
};
struct json_span { /* borrowed */
    const char *text;
    size_t len;
};

/* Is the next thing an object? Then its members follow. */
bool json_scan_open(struct json_scan *s);
/* 1: a member; its value must be read next; 0: the object has ended; -1: not plain. */
int json_scan_next(struct json_scan *s, struct json_span *ret_key);
/* Nothing follows. */
bool json_scan_is_over(const struct json_scan *s);

/* False: not plain, or another kind of value. */
bool json_scan_text(struct json_scan *s, struct json_span *ret);
bool json_scan_int(struct json_scan *s, int64_t *ret);
bool json_scan_number(struct json_scan *s, double *ret); /* finite; null is NaN */
bool json_scan_bool(struct json_scan *s, bool *ret);
bool json_scan_null(struct json_scan *s);

bool json_span_is(const struct json_span *span, const char *text);
