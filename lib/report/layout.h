/* Which tables a result gets, and their cells. Pure. */
#pragma once

#include "base/vec.h"
#include "compare/comparison.h"
#include "report/table.h"
#include "report/words.h"
#include "result/result.h"

/* What varies over the swept points, and so needs columns. */
struct layout {
    const struct result *result; /* borrowed */
    struct point_words words;    /* sweep names with more than one value, and the systems */
    const char *unit;            /* of throughputs, as result_unit says; static */
    bool mixed_units;            /* of throughputs: each row says its own */
    bool own_baselines; /* every swept point divides by itself: scaling is 1, and says nothing */
    bool is_page;  /* for readers who do not know the definition; layout_init leaves it false */
    bool is_brief; /* of a terminal that did not ask for --explain; likewise */
};
/* Whether a condition holds for some swept point; it is an expression of `p`, see vec.h. */
#define swept_any(r, p, condition) array_any((r)->points, (r)->def->matrix.n_swept, p, condition)
void layout_init(struct layout *l, const struct result *r);
void layout_done(struct layout *l);

/* Does the system say what this name's value is? Then no two points of a system differ by it. */
bool layout_follows_system(const struct layout *l, const char *name);

enum layout_part {
    LAYOUT_SPEEDUP = 1,   /* which efficiency times the number of trainers is */
    LAYOUT_RANGE = 2,     /* the lowest and the highest trial, where there are intervals */
    LAYOUT_MORE = 4,      /* the figures of PLACE_MORE, alone */
    LAYOUT_BY_INDEX = 16, /* the point's index instead of what varies, for narrow terminals */
    LAYOUT_ACCURACY = 32, /* times to an accuracy, and what follows from them, alone */
};
#define LAYOUT_ALL (LAYOUT_SPEEDUP | LAYOUT_RANGE)
/* One row per swept point: throughput and efficiency, and these parts. Interval columns are omitted
 * if no point has one, scaling columns if every point is its own baseline, in a brief layout the
 * trials if no point lacks one. */
struct table *layout_points(const struct layout *l, unsigned parts);
/* Has a swept point an interval of the figure? */
bool layout_any_interval(const struct layout *l, enum figure_id id);
/* The figures of the catalogue that a table with these parts has. */
struct layout_columns {
    VEC(struct layout_column {
        const struct figure_kind *kind;
        bool with_interval; /* some point has one */
    })
    list;
};
struct layout_columns layout_columns_of(const struct layout *l, unsigned parts);
/* The cells of a figure, and of its interval. `decimals`: of a percentage. */
#define LAYOUT_NUMBER (-1)
void layout_put_figure(struct table *t, const char *heading, const struct figure *f, int decimals,
                       bool with_interval);

/* The cells that say which point a row is: its index, or the system and what varies. */
void layout_put_words(struct table *t, const struct point_words *words, const struct point *p);
void layout_put_identity(struct table *t, const struct layout *l, const struct point *p,
                         bool by_index);

/* The names of all points' metrics, borrowed; and one of a point, unknown where it has none. */
void metric_names_add(struct words_names *names, const struct result *r);
const struct figure *metric_of_point(const struct point_result *p, const char *name);

/* Do the points differ only in their systems? */
bool layout_has_systems_alone(const struct layout *l);
/* Do the points differ in anything? */
bool layout_has_words(const struct layout *l);
/* As a layout's reader wants it: counted in a page. */
enum words_form layout_form(const struct layout *l);
/* "pservers 1, trainers 2", of all the point's parameters that vary; "all" if none does. */
void layout_describe_point(const struct layout *l, uint32_t point, struct buf *out);
/* "point 3 (trainers 2)"; without the words where points have no distinct words. */
void layout_describe_place(const struct layout *l, uint32_t point, struct buf *out);
/* "batch_size 16; threads 1; 4 points and 1 for the baseline; 3 trials each, ..." */
void layout_describe_run(const struct layout *l, struct buf *out);

/* ---- the table of a comparison: compare_layout.c ---- */

/* A row a common point, and one for the geometric mean. `by_index`: with the base's number of a
 * point instead of what varies, for narrow terminals. */
struct table *compare_layout_table(const struct comparison *c, bool by_index);
/* Have all points these numbers of trials? Then the table has no column of them. */
bool compare_layout_trials(const struct comparison *c, size_t *ret_base, size_t *ret_candidate);
/* Has the ratio of a point an interval? */
bool compare_layout_any_interval(const struct comparison *c);

/* What varies over the common points, and so needs columns; its names are for vec_done. */
struct point_words compare_words_of(const struct comparison *c);
