/* What distinguishes the points of a result, in words and in tables. Pure. */
#pragma once

#include "base/vec.h"
#include "report/sheet.h"
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

/* ---- tables of points: points_table.c ---- */

enum layout_part {
    LAYOUT_SPEEDUP = 1,  /* which efficiency times the number of trainers is */
    LAYOUT_RANGE = 2,    /* the lowest and the highest trial, where there are intervals */
    LAYOUT_BY_INDEX = 4, /* the point's index instead of what varies, for narrow terminals */
    /* In place of the throughput and its scaling: */
    LAYOUT_MORE = 8,      /* the figures of PLACE_MORE */
    LAYOUT_ACCURACY = 16, /* times to an accuracy, and what follows from them */
    LAYOUT_METRICS = 32,
    /* For narrow terminals: without intervals of the scaling, and with the width of the
     * throughput's in place of its ends. */
    LAYOUT_SHORT = 64,
    LAYOUT_SHORTEST = 128,
};
#define LAYOUT_ALL (LAYOUT_SPEEDUP | LAYOUT_RANGE)
#define LAYOUT_OTHERS (LAYOUT_MORE | LAYOUT_ACCURACY | LAYOUT_METRICS)
/* The figures of the catalogue that a table with these parts has. */
struct layout_columns {
    VEC(struct layout_column {
        const struct figure_kind *kind;
        bool with_interval; /* some point has one */
    })
    list;
};
struct layout_columns layout_columns_of(const struct layout *l, unsigned parts);
bool layout_has_columns(const struct layout *l, unsigned parts);
/* For people: a row a swept point, with throughput and efficiency, and these parts. Interval
 * columns are omitted if no point has one, scaling columns if every point is its own baseline, in a
 * brief layout the trials if no point lacks one. Owned. */
struct table *points_table(struct sheet *s, const struct layout *l, unsigned parts);
/* For programs: a row a point, baselines too, with all that is known of it. */
void points_put_all(struct sheet *s, const struct result *r);

/* ---- words ---- */

/* The names of all points' metrics, borrowed; and one of a point, unknown where it has none. */
void metric_names_add(struct words_names *names, const struct result *r);
const struct figure *metric_of_point(const struct point_result *p, const char *name);

/* Do the points differ in anything? */
bool layout_has_words(const struct layout *l);
/* "pservers 1, trainers 2", of all the point's parameters that vary; "all" if none does. */
void layout_describe_point(const struct layout *l, uint32_t point, struct buf *out);
/* "point 3 (trainers 2)"; without the words where points have no distinct words. */
void layout_describe_place(const struct layout *l, uint32_t point, struct buf *out);
/* "batch_size 16; threads 1; 4 points and 1 for the baseline; 3 trials each, ..." */
void layout_describe_run(const struct layout *l, struct buf *out);
