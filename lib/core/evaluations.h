/* How accurate a model was, and when in its training: what the time to an accuracy is computed from
 * (result/accuracy.h). Bounded, whatever a program prints. Pure. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define EVALUATIONS_MAX 64 /* even: two of a pair become one */
#define ACCURACY_PPM 1000000

struct evaluation {
    int64_t t_ms;          /* since training began */
    uint32_t accuracy_ppm; /* 0 to 1,000,000 */
};

/* Of more than EVALUATIONS_MAX every k-th is kept, k a power of two; the latest one always. */
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
 * or it is not an accuracy (not from 0 to 1). */
bool evaluations_add(struct evaluations *e, double t_s, double accuracy);
/* Training still went on at this time. */
void evaluations_extend(struct evaluations *e, double t_s);
