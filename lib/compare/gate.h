/* May this run go in? One verdict out of all that is known of a candidate: did it finish, does
 * it keep its thresholds, is it slower than its base? What is not known is not passed, and
 * neither is a gate that judged nothing. The rules are in docs/contracts/gate.md. Pure; called by
 * `benchctl gate`. */
#pragma once

#include <stddef.h>

#include "base/vec.h"
#include "compare/comparison.h"
#include "result/result.h"

/* The first that holds is the verdict. Of a threshold: one is missed, or could not be judged; or
 * nothing was judged but the run. */
#define GATE_VERDICTS(X)                                                                           \
    X(GATE_RUN_FAILED, "RunFailed")                                                                \
    X(GATE_THRESHOLD, "Threshold")                                                                 \
    X(GATE_SLOWER, "Slower")                                                                       \
    X(GATE_INCONCLUSIVE, "Inconclusive")                                                           \
    X(GATE_PASSED, "Passed")
enum gate_verdict { GATE_VERDICTS(ENUM_ID) };
extern const char *const gate_verdict_names[];

#define GATE_OUTCOMES(X)                                                                           \
    X(GATE_CHECK_PASSED, "Passed")                                                                 \
    X(GATE_CHECK_FAILED, "Failed")                                                                 \
    X(GATE_CHECK_UNKNOWN, "Unknown")                                                               \
    X(GATE_CHECK_SKIPPED, "Skipped") /* the run has no point of it, so nothing was judged */
enum gate_outcome { GATE_OUTCOMES(ENUM_ID) };
extern const char *const gate_outcome_names[];

enum gate_kind {
    GATE_OF_RUN,        /* every trial of every point gave a number */
    GATE_OF_THRESHOLD,  /* one of the definition */
    GATE_OF_POINT,      /* a common point, against the base */
    GATE_OF_MISSING,    /* a point of the base that the candidate lacks */
    GATE_OF_COMPARISON, /* all points together; or there is no base to compare with */
};
struct gate_check {
    enum gate_kind kind;
    enum gate_outcome outcome;
    const struct threshold_result *threshold; /* borrowed; else NULL */
    const struct threshold *skipped;          /* borrowed; else NULL */
    const struct compared_point *point;       /* borrowed; else NULL */
    const struct point_result *missing;       /* borrowed; else NULL */
};
struct gate {
    const struct result *candidate;      /* borrowed */
    const struct comparison *comparison; /* borrowed; NULL: none was made */
    /* borrowed; why no base was found; NULL: none was asked for */
    const char *refusal;
    VEC(struct gate_check) checks; /* never empty */
    enum gate_verdict verdict;
};

/* The loss that a candidate must be shown not to reach, if no margin is named. */
#define GATE_MARGIN_RATIO 0.05

void gate_judge(const struct result *candidate, const struct comparison *comparison,
                const char *refusal, struct gate *ret);
void gate_done(struct gate *g);
size_t gate_count(const struct gate *g, enum gate_outcome outcome); /* checks with it */
/* Whether a threshold that has a point, or the comparison, was judged. */
bool gate_judges(const struct gate *g);

/* The base out of a history: `runs`, the oldest first, all made before the candidate; those that
 * cannot be compared with it are passed over. It is the newest run with a level of three runs or
 * more that does not leave the level that was the base before, so that what was refused is no base.
 * Fills `ret_level` with that level, n at most, the base last; returns their number, 0: no base. */
size_t gate_find_base(const struct result *candidate, const struct result *const *runs, size_t n,
                      const struct result **ret_level);
