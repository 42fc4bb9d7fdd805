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

void goal_format(const struct goal *goal, struct buf *out)
{
    if (goal->kind == GOAL_LOSS) {
        buf_printf(out, "a loss of %.6g", goal->value);
    } else {
        buf_printf(out, "an accuracy of %.4g%%", 100 * goal->value);
    }
}

bool goal_is_met(const struct goal *goal, double value, double than)
{
    return goal->kind == GOAL_LOSS ? value <= than : value >= than;
}

struct time_to_accuracy accuracy_time_to(const struct evaluations *e, struct goal goal)
{
    struct time_to_accuracy t = {TARGET_UNKNOWN, NAN, NAN};
    for (uint32_t i = 0; e != NULL && i < e->n; i++) {
        const double value = evaluation_value(&e->list[i], goal.kind);
        if (!isnan(value) && t.state != TARGET_REACHED) {
            const bool is_met = goal_is_met(&goal, value, goal.value);
            t.state = is_met ? TARGET_REACHED : TARGET_NOT_REACHED;
            t.s = is_met ? (double)e->list[i].t_ms / MS_PER_S : NAN;
        }
        t.best = isnan(t.best) || goal_is_met(&goal, value, t.best) ? value : t.best;
    }
    return t;
}

struct accuracy_after accuracy_after(const struct evaluations *e, double after_s)
{
    struct accuracy_after a = {AFTER_NO_EVALUATION, NAN};
    for (uint32_t i = 0; e != NULL && i < e->n; i++) {
        const double accuracy = evaluation_value(&e->list[i], GOAL_ACCURACY);
        if (!isnan(accuracy) && (double)e->list[i].t_ms / MS_PER_S <= after_s) {
            a = (struct accuracy_after){AFTER_KNOWN, accuracy};
        } else if (!isnan(accuracy) && a.state == AFTER_NO_EVALUATION) {
            a.state = AFTER_TOO_EARLY;
        }
    }
    return a.state != AFTER_NO_EVALUATION && (double)e->end_ms / MS_PER_S < after_s
               ? (struct accuracy_after){AFTER_THE_END, NAN}
               : a;
}
