/* How much of a trial's speed other programs of the machine took, as they had the CPUs while its
 * threads waited: docs/contracts/result.md, "Other programs", has the formula. Waiting alone does
 * not say what caused it, and a busy CPU alone does not say that anything else wanted it. Pure;
 * called by trial_result.c. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "result/result.h"

#define OTHERS_CPU_THROTTLED 0.01 /* of D */

/* What a replica says. Texts are borrowed. */
struct cpu_user {
    const char *node, *cpus; /* "0-3,8"; NULL: not said, and it may share CPUs with any */
    bool leads;              /* trains; its busy time is that of the measured steps */
    int64_t duration_ns, cpu_ns, throttled_ns;
    struct noise noise; /* without probes */
};

/* 0 to below 1; NaN: not known. */
double others_cpu_share(const struct cpu_user *users, size_t n);
/* The same of a trial; its rows must not be freed yet. `leading` is the role that trains. */
double others_cpu_of_trial(const struct trial_result *t, enum role leading);

/* Do two lists of CPUs have one in common? True also where one is not said or not a list. */
bool cpu_lists_meet(const char *a, const char *b);
