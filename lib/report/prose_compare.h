/* The lines under the table of a comparison; compare.c prints them. Pure. */
#pragma once

#include "base/vec.h"
#include "compare/compare.h"

enum compare_line_kind {
    COMPARE_LINE_INFO,    /* unit, tests, rules */
    COMPARE_LINE_DIFFERS, /* "kernel a -> b" */
    COMPARE_LINE_ONLY,    /* points that one side has alone */
    COMPARE_LINE_WARNING,
    COMPARE_LINE_VERDICT, /* the last one, always there */
};
struct compare_line {
    enum compare_line_kind kind;
    char *text; /* one line; owned */
};
struct prose_compare {
    VEC(struct compare_line) list; /* in the order of enum compare_line_kind */
};
void prose_compare_init(struct prose_compare *lines, const struct comparison *c);
void prose_compare_done(struct prose_compare *lines);
