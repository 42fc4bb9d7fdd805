/* One-line texts for people in fixed-size fields of statuses, events and errors. Pure. */
#pragma once

#include <stddef.h>

/* printf into dst. What does not fit is cut between two UTF-8 characters; control characters of
 * foreign messages become spaces, so that a text stays one line. */
void text_put(char *dst, size_t size, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
