/* What two runs, or two values of one run's axis, say about each other: did the candidate become
 * slower than the base, or faster? The rules are in docs/contracts/compare.md. What no file is
 * named for is in compare.c. Pure; called by `benchctl compare`. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"
#include "base/vec.h"
#include "result/result.h"
#include "stats/paired.h"
#include "stats/significance.h"

#define COMPARE_ALPHA 0.05 /* from here on a change is suspected */
/* From here on it is named, two-sided and adjusted for all points: of 100 comparisons of a thing
 * with itself at most one names a loss anywhere, and one a gain. */
#define COMPARE_NAMED_ALPHA 0.02
#define COMPARE_REPEATS 5 /* recommended to a reader with fewer */

/* What is said of a point, or of the whole. */
#define CHANGES(X)                                                                                 \
    X(CHANGE_SLOWER, "Slower")                                                                     \
    X(CHANGE_FASTER, "Faster")                                                                     \
    /* P is at most COMPARE_ALPHA, but above COMPARE_NAMED_ALPHA */                                \
    X(CHANGE_INCONCLUSIVE, "Inconclusive")                                                         \
    /* the trials show a change; how far two runs of the same thing differ is not known */         \
    X(CHANGE_SPREAD_UNKNOWN, "SpreadUnknown")                                                      \
    /* the trials show a change, but runs of the base differ as much */                            \
    X(CHANGE_USUAL, "UsualSpread")                                                                 \
    /* none was shown; the interval says how large one may be */                                   \
    X(CHANGE_NONE, "NoneShown")                                                                    \
    /* trials: none could have been shown, or nothing bounds it */                                 \
    X(CHANGE_TOO_FEW, "TooFewTrials")                                                              \
    X(CHANGE_NOT_MEASURED, "NotMeasured") /* a side has no throughput */                           \
    /* the history shows a change, and what other programs took may explain it */                  \
    X(CHANGE_MACHINE_BUSY, "MachineBusy")
enum change { CHANGES(ENUM_ID) };
#define CHANGE_COUNT (CHANGE_MACHINE_BUSY + 1)
extern const char *const change_names[CHANGE_COUNT];

/* Is the candidate shown not to be slower than a margin? */
#define MARGIN_VERDICTS(X)                                                                         \
    X(MARGIN_NOT_ASKED, "NotAsked")                                                                \
    X(MARGIN_NOT_SLOWER, "NotSlower") /* its one-sided 95% limit is above the margin */            \
    X(MARGIN_SLOWER, "Slower")        /* shown to be slower: struct compare_margin */              \
    X(MARGIN_INCONCLUSIVE, "Inconclusive")
enum margin_verdict { MARGIN_VERDICTS(ENUM_ID) };
extern const char *const margin_verdict_names[];

struct compare_margin {
    double ratio; /* the loss that may not be exceeded; 0: not asked */
    /* It was not asked for: any loss that is shown and reaches the threshold is Slower. Of a named
     * margin a loss is Slower where it is shown to exceed the margin. */
    bool is_default;
};

/* Of two runs: what remains of a difference once the speed that other programs took is given back
 * (compare_parts.h). */
struct compared_busy {
    /* As `shown`, of throughputs without others; known where all shares are. */
    struct paired alone;
    double p_adjusted;                  /* NaN: not tested */
    double explained;                   /* ln; what is measured less what remains */
    double base_share, candidate_share; /* of their speed, that others took */
};

struct compared_point {
    const struct point_result *base, *candidate; /* borrowed */
    /* Candidate over base, of what `shown` is of; of two runs without it that of their medians. */
    struct figure ratio;
    struct welch welch;      /* of two runs: of the logs of throughput */
    double welch_p_adjusted; /* Benjamini-Hochberg over all points; NaN: not tested */
    /* What decides. By an axis, the differences of the blocks; of two runs, the candidate against
     * the runs of the base's level. */
    struct paired shown;
    double p_adjusted; /* of it; NaN: not tested */
    enum change change;
    struct compared_busy busy;
    enum margin_verdict margin;
};

/* Something but the measured points that is not the same on both sides. */
struct difference {
    const char *what;       /* "kernel"; static */
    char *base, *candidate; /* owned */
};
void difference_done(struct difference *d);

struct comparison {
    const struct result *base, *candidate; /* borrowed */
    double threshold_ratio;
    struct compare_margin margin;
    VEC(struct compared_point) points;                          /* as the base lists them */
    VEC(const struct point_result *) only_base, only_candidate; /* without a counterpart */
    VEC(struct difference) differences;
    struct figure geomean_base, geomean_candidate, geomean_ratio; /* over measured points */
    size_t n_measured;        /* points with a throughput on both sides */
    size_t n_base_runs;       /* of two runs: of the base's level, the base among them */
    struct paired whole;      /* as `shown`, of the mean over points */
    double whole_p_adjusted;  /* NaN: not tested, or the one point says it all */
    enum change whole_change; /* None also where it was not tested */
    struct compared_busy busy;
    enum margin_verdict whole_margin; /* of all points */
    /* Repeats that would give every common point that was measured an answer. 0: they have one, or
     * no number would. */
    size_t repeats_to_decide;
    size_t counts[CHANGE_COUNT];

    /* The values of the axis in the sweep of one run (compare_axis.c); axis NULL: two runs. */
    const char *axis;                 /* as axis_find has it; borrowed */
    char *axis_base, *axis_candidate; /* owned */
    size_t n_blocks;

    enum change change; /* of the whole: Slower, Inconclusive, Faster or NoneShown, in this order */
};

void comparison_free(struct comparison *c); /* NULL is fine; compare_runs.c */
/* "run-a", or "build=new" of one run. */
void comparison_describe_side(const struct comparison *c, bool is_base, struct buf *out);
/* The document of docs/contracts/compare.md (compare_json.c). Owned by the caller. */
json_t *comparison_to_json(const struct comparison *c);

/* ---- two runs ---- */

#define COMPARE_THRESHOLD_RATIO 0.02

struct compare_params {
    double threshold_ratio; /* a change below it is no change, in either direction */
    struct compare_margin margin;
    bool is_strict; /* refuse runs that differ */
    /* Other runs, in any order: those of the base's level say how far two runs of the same thing
     * differ; the base and the candidate may be among them. Borrowed for the call. */
    const struct result *const *history;
    size_t n_history;
};

/* The results are borrowed for the comparison's life. -EINVAL when these two do not compare: err
 * says what and why, *ret_fix (static) what to do; *ret is untouched. */
int comparison_new(const struct result *base, const struct result *candidate,
                   const struct compare_params *params, struct comparison **ret,
                   const char **ret_fix, struct err *err);

/* ---- one run: compare_axis.c ----
 *
 * Its sweep has two values of something (an image, a build, a system): which is slower? Its trials
 * are interleaved, so the two trials of a block, one round of repeats, ran under the same
 * conditions, and what the whole run has in common cancels. The rules are in
 * docs/contracts/compare.md, "One run". */

struct compare_axis_params {
    const char *axis;       /* a name of the sweep, or "system" */
    double threshold_ratio; /* a change below it is no change, in either direction */
    struct compare_margin margin;
};

/* As comparison_new. -EINVAL also when the sweep has no such axis, or not two values of it, or did
 * not interleave its trials. -ENODATA: no point has a throughput on both sides. */
int comparison_new_axis(const struct result *run, const struct compare_axis_params *params,
                        struct comparison **ret, const char **ret_fix, struct err *err);
