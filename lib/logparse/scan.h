/* Walks over the text of a pattern without understanding all of it: just enough to fill groups
 * that have no body. Pure. */
#pragma once

#include <stddef.h>

#include "base/buf.h"

/* The place after the character, escape or class at `at`. */
size_t scan_item(const char *text, size_t at);
/* Appends the pattern with a body in each group of the vocabulary that has none. */
void scan_fill_groups(const char *text, struct buf *out);
/* A place in the filled pattern as one in the text that was written. */
size_t scan_written_offset(const char *text, size_t filled_offset);
