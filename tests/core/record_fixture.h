/* Lines for tests of records. */
#pragma once

#include "core/record.h"

extern const struct record_who trainer_1;

/* Reads a line that must be a record; ret is freed with record_done. */
void read_ok(const char *line, size_t len, struct record *ret);
/* xorshift64*: the same numbers everywhere. */
uint64_t xorshift_next(uint64_t *s);
