/* What a result speaks for, in sentences. Pure. */
#pragma once

#include "report/layout.h"

struct choice_line {
    char *label;         /* "Verdict"; "" for a sentence without one; owned */
    char *text;          /* owned */
    bool is_caveat;      /* it limits what all figures say: "Too few CPUs" */
    const char *meaning; /* what a word in the text means; static; NULL: none needs it */
};
struct prose_verdict {
    VEC(struct choice_line) list;
};
/* For the box of a page: what makes all figures something else (simulated, imported), the verdict,
 * how far it holds, then figures. */
void prose_verdict_init(struct prose_verdict *lines, const struct layout *l);
/* Does a caveat say this warning? Then the page does not say it again. */
bool prose_verdict_say(const struct warning *w);
void prose_verdict_done(struct prose_verdict *lines);
