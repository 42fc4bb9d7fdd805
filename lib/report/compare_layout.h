/* The table of a comparison; compare_sheet.c prints it. Pure. */
#pragma once

#include "report/table.h"
#include "report/words.h"
#include "compare/comparison.h"

enum compare_part {
    COMPARE_BY_INDEX =
        1, /* the base's number of a point instead of what varies, for narrow terminals */
    COMPARE_MARKS = 2, /* every row of rehearsals carries the word */
};
/* A row a common point, and one for the geometric mean. `parts`: of enum compare_part. */
struct table *compare_layout_table(const struct comparison *c, unsigned parts);
/* Have all points these numbers of trials? Then the table has no column of them. */
bool compare_layout_trials(const struct comparison *c, size_t *ret_base, size_t *ret_candidate);
/* Has the ratio of a point an interval? */
bool compare_layout_any_interval(const struct comparison *c);

/* What varies over the common points, and so needs columns; its names are for vec_done. */
struct point_words compare_words_of(const struct comparison *c);
