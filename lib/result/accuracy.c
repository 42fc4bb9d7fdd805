/* See accuracy.h. */
#include "result/accuracy.h"

#include <math.h>
#include <stddef.h>

#define MS_PER_S 1e3

const char *const target_state_names[] = {"Unknown", "NotReached", "Reached"};
const char *const after_state_whys[] = {
    [AFTER_NO_EVALUATION] = "no evaluation has a time",
    [AFTER_THE_END] = "training ended before",
    [AFTER_TOO_EARLY] = "the first evaluation came later",
    [AFTER_KNOWN] = NULL,
};

static double accuracy_of(const struct evaluation *e)
{
    return (double)e->accuracy_ppm / ACCURACY_PPM;
}

struct time_to_accuracy accuracy_time_to(const struct evaluations *e, double target)
{
    struct time_to_accuracy t = {TARGET_UNKNOWN, NAN, NAN};
    for (uint32_t i = 0; e != NULL && i < e->n; i++) {
        const double accuracy = accuracy_of(&e->list[i]);
        t.best = fmax(t.best, accuracy); /* fmax passes NaN over */
        if (t.state != TARGET_REACHED) {
            t.state = accuracy >= target ? TARGET_REACHED : TARGET_NOT_REACHED;
            t.s = accuracy >= target ? (double)e->list[i].t_ms / MS_PER_S : NAN;
        }
    }
    return t;
}

struct accuracy_after accuracy_after(const struct evaluations *e, double after_s)
{
    if (e == NULL || e->n == 0) {
        return (struct accuracy_after){AFTER_NO_EVALUATION, NAN};
    }
    if ((double)e->end_ms / MS_PER_S < after_s) {
        return (struct accuracy_after){AFTER_THE_END, NAN};
    }
    struct accuracy_after a = {AFTER_TOO_EARLY, NAN};
    for (uint32_t i = 0; i < e->n && (double)e->list[i].t_ms / MS_PER_S <= after_s; i++) {
        a = (struct accuracy_after){AFTER_KNOWN, accuracy_of(&e->list[i])};
    }
    return a;
}
