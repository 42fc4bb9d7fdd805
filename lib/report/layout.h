/* Which tables a result gets, and their cells. Pure. */
#pragma once

#include "base/vec_walk.h"
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
/* Whether a condition holds for some swept point; it is an expression of `p`, see vec_walk.h. */
#define swept_any(r, p, condition) array_any((r)->points, (r)->def->matrix.n_swept, p, condition)
void layout_init(struct layout *l, const struct result *r);
void layout_done(struct layout *l);

/* Does the system say what this name's value is? Then no two points of a system differ by it. */
bool layout_follows_system(const struct layout *l, const char *name);

/* Throughput (efficiency) as a grid. NULL where units are mixed, where what varies follows from the
 * system, where it would have one row or column, and unless one or two parameters vary and at least
 * half of the cells have a point. Shaded
 * by efficiency; by throughput where there are several systems, because theirs divide by different
 * baselines, and where each point is its own baseline. One parameter: one row per system. Two: one
 * row per value of the first, one column per value of the second. */
struct table *layout_grid(const struct layout *l);
bool layout_shades_efficiency(const struct layout *l);
/* The line above the grid, without its newline; call it only if there is a grid. */
void layout_grid_caption(const struct layout *l, struct buf *out);

enum layout_part {
    LAYOUT_SPEEDUP = 1,   /* which efficiency times the number of trainers is */
    LAYOUT_RANGE = 2,     /* the lowest and the highest trial, where there are intervals */
    LAYOUT_RESOURCES = 4, /* efficiency per pod and per CPU, for wide tables */
    LAYOUT_WORD = 8,      /* "rehearsal" and the like in each row, where the run is one */
    LAYOUT_BY_INDEX = 16, /* the point's index instead of what varies, for narrow terminals */
};
#define LAYOUT_ALL (LAYOUT_SPEEDUP | LAYOUT_RANGE | LAYOUT_RESOURCES | LAYOUT_WORD)
/* One row per swept point: throughput and efficiency, and these parts. Interval columns are omitted
 * if no point has one, scaling columns if every point is its own baseline, in a brief layout the
 * trials if no point lacks one. Of LAYOUT_RESOURCES, a column that no point knows, or that repeats
 * the efficiency at every point, is omitted. */
struct table *layout_points(const struct layout *l, unsigned parts);
/* Has a swept point an interval of the figure at this offset of struct point_result? */
bool layout_any_interval(const struct layout *l, size_t offset);
/* The cell of an interval in percent; "-" where none exists. */
void layout_put_percents(struct table *t, const struct estimate *e, int decimals);

/* The cells that say which point a row is: its index, or the system and what varies. */
void layout_put_words(struct table *t, const struct point_words *words, const struct point *p);
void layout_put_identity(struct table *t, const struct layout *l, const struct point *p,
                         bool by_index);

/* Does a page say what the lines of the point's logs were taken for? Then the figures of the point
 * are links to this anchor, which has its index. */
#define LAYOUT_LINES "lines-%u"
bool layout_shows_lines(const struct layout *l, const struct point *p);
/* Both in accuracy_sheet.c. One row per swept point: time to accuracy, and accuracy after a time.
 * NULL: the definition asks for neither. And the line above it, without its newline. */
struct table *layout_accuracy(const struct layout *l);
void layout_accuracy_caption(const struct layout *l, struct buf *out);

/* All in metrics_sheet.c. One row per swept point, with the median of each metric; NULL: no trial
 * has one. The names of all points' metrics, borrowed; and one of a point, unknown where it has
 * none. */
struct table *layout_metrics(const struct layout *l);
#define LAYOUT_METRICS_CAPTION "Other figures, as medians over the trials"
void metric_names_add(struct words_names *names, const struct result *r);
const struct figure *metric_of_point(const struct point_result *p, const char *name);

/* By node, all in nodes_sheet.c: one row a node, NULL if none is known; how times are compared; and
 * "point 2: trainer/1 on node 'b' needs 12.0% more time ...". `l`: to say which point that is;
 * NULL: its index alone. */
struct table *layout_nodes(const struct result *r);
extern const char layout_nodes_method[], layout_pairs_method[]; /* pairs: nodes_have_pairs */
void layout_describe_slow(const struct layout *l, const struct slow_replica *s, struct buf *out);

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
/* "batch_size 16; threads 1; 4 points and 1 for the baseline; 3 trials each, ..."; in a page also
 * what varies if the system alone does, which system the batch belongs to, "4 points to compare and
 * 1 baseline", and how long the trials took. */
void layout_describe_run(const struct layout *l, struct buf *out);
