/* The lines under the table of a comparison; compare.c prints them. Pure. */
#pragma once

#include "compare/compare.h"
#include "report/notes.h"

/* The last line is the verdict. notes_done frees them. */
void prose_compare_init(struct notes *lines, const struct comparison *c);
