/* How good a model was, and when in its training: what the time to an accuracy is computed from
 * (result/accuracy.h). Bounded, whatever a program prints. Pure. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define EVALUATIONS_MAX 64 /* even: two of a pair become one */
#define EVALUATION_PPM 1000000
#define EVALUATION_UNKNOWN UINT32_MAX /* of an accuracy or a loss */
#define EVALUATION_LOSS_MAX 1000      /* below it, for a summary has no room for more digits */

/* What training is to reach: an accuracy of at least, or a loss of at most, this value. */
enum goal_kind { GOAL_NONE, GOAL_ACCURACY, GOAL_LOSS };
struct goal {
    enum goal_kind kind;
    double value;
};

/* At least one of both is known. */
struct evaluation {
    int64_t t_ms;          /* since training began */
    uint32_t accuracy_ppm; /* 0 to 1,000,000 */
    uint32_t loss_ppm;     /* 2,300,000: a loss of 2.3 */
};
/* NaN: unknown. */
double evaluation_value(const struct evaluation *e, enum goal_kind kind);

/* Of more than EVALUATIONS_MAX every k-th is kept, k a power of two; the latest one always. What it
 * does not know it has from those that are left out. */
struct evaluations {
    uint32_t k; /* each one in the list is the last of k, but the list's last maybe of fewer */
    uint32_t n; /* in the list */
    uint32_t n_of_last; /* that the list's last one stands for, 1 to k; 0 in an empty list */
    int64_t end_ms;     /* training went on until then at least */
    struct evaluation list[EVALUATIONS_MAX];
};

/* 100 days: a time in a log is later by mistake only. */
#define EVALUATION_MAX_MS (INT64_C(100) * 86400 * 1000)

/* Takes one more. False, and nothing is changed: its time is before the one before or out of range,
 * or neither is known, an accuracy (from 0 to 1) or a loss (from 0, below EVALUATION_LOSS_MAX). */
bool evaluations_add(struct evaluations *e, double t_s, double accuracy, double loss);
/* Training still went on at this time. */
void evaluations_extend(struct evaluations *e, double t_s);
