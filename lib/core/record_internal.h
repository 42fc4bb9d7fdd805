/* What record.c (writing) and record_read.c (reading) share; the functions are in record.c. */
#pragma once

#include "core/record.h"

#define RECORD_VERSION 1
#define RECORD_LINE_MAX_BYTES (64 * 1024)
#define RECORD_DIGEST_CHARS 64
#define RECORD_TYPE_COUNT 4

const char *record_type_to_string(enum record_type type); /* "start", ... */
bool record_is_digest(const char *s);                     /* 64 lower-case hex digits */
