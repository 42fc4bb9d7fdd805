/* What a result speaks for, in sentences. Pure. */
#pragma once

#include "report/layout.h"

struct choice_line {
    char *label; /* "Verdict"; "" for a sentence without one; owned */
    char *text;  /* owned */
};
struct choice_lines {
    VEC(struct choice_line) list;
};
void choice_lines_init(struct choice_lines *lines, const struct layout *l);
void choice_lines_done(struct choice_lines *lines);
