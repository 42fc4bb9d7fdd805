/* Regular expressions (PCRE2) that are compiled in. Pure. */
#pragma once

#include <stdbool.h>

#include "base/kept.h"

/* Does the text have a match of the pattern? False for a wrong pattern, too: tests read every one.
 * `kept` keeps the pattern compiled, as long as the process; NULL: it is used once. */
bool text_matches(const char *text, const char *pattern, struct kept *kept);
