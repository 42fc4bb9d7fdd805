/* The lines under the table of a comparison; compare.c prints them. Pure. */
#pragma once

#include "base/vec.h"
#include "result/compare.h"

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
struct compare_lines {
    VEC(struct compare_line) list; /* in the order of enum compare_line_kind */
};
void compare_lines_init(struct compare_lines *lines, const struct comparison *c);
void compare_lines_done(struct compare_lines *lines);
