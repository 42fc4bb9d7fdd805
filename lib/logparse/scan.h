/* Walks over the text of a pattern without understanding all of it: just enough to fill groups
 * that have no body, and to find texts that every match contains. Pure. */
#pragma once

#include <stddef.h>

#include "base/buf.h"
#include "base/texts.h"

/* The place after the character, escape or class at `at`. */
size_t scan_item(const char *text, size_t at);
/* Appends the pattern with a body in each group of the vocabulary that has none. */
void scan_fill_groups(const char *text, struct buf *out);
/* A place in the filled pattern as one in the text that was written. */
size_t scan_written_offset(const char *text, size_t filled_offset);

/* Each match contains them in this order, one after the other. Careful: what is not surely required
 * is left out, so the list may be empty. `text` is a pattern, filled or not. */
void scan_literals(const char *text, struct texts *ret);
