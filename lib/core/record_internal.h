/* What record.c (writing), record_scan.c and record_read.c (reading) share; the functions are in
 * record.c unless it is said. */
#pragma once

#include "core/record.h"

#define RECORD_VERSION 1
#define RECORD_LINE_MAX_BYTES (64 * 1024)
#define RECORD_DIGEST_CHARS 64
#define RECORD_TYPE_COUNT 4
#define RECORD_SERIES_MIN_LIMIT (1 << 20) /* the codes of all int64 nanoseconds are far below it */

const char *record_type_to_string(enum record_type type); /* "start", ... */
bool record_is_digest(const char *s);                     /* 64 lower-case hex digits */

/* The two ways to read a line, for record_read, which has checked its length. */
/* record_scan.c: false: it is not a step or a summary as we write them; ask the other. */
bool record_scan(const char *line, size_t len, struct record *ret);
/* record_read.c: as record_read. */
int record_read_tree(const char *line, size_t len, struct record *ret, struct err *err);
