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

double goal_worse(const struct goal *goal, double a, double b)
{
    return isnan(a) || isnan(b) ? NAN : goal->kind == GOAL_LOSS ? fmax(a, b) : fmin(a, b);
}

struct time_to_accuracy accuracy_time_to(const struct evaluations *e, struct goal goal)
{
    struct time_to_accuracy t = {TARGET_UNKNOWN, NAN, NAN};
    for (uint32_t i = 0; e != NULL && i < e->n; i++) {
        const double value = evaluation_value(&e->list[i], goal.kind);
        if (isnan(value)) {
            continue;
        }
        if (t.state != TARGET_REACHED) {
            const bool is_good = goal_worse(&goal, value, goal.value) == goal.value;
            t.state = is_good ? TARGET_REACHED : TARGET_NOT_REACHED;
            t.s = is_good ? (double)e->list[i].t_ms / MS_PER_S : NAN;
        }
        t.best = isnan(t.best) || goal_worse(&goal, t.best, value) == t.best ? value : t.best;
    }
    return t;
}

static bool has_accuracy(const struct evaluations *e)
{
    bool has = false;
    for (uint32_t i = 0; e != NULL && i < e->n; i++) {
        has = has || e->list[i].accuracy_ppm != EVALUATION_UNKNOWN;
    }
    return has;
}

struct accuracy_after accuracy_after(const struct evaluations *e, double after_s)
{
    if (!has_accuracy(e)) {
        return (struct accuracy_after){AFTER_NO_EVALUATION, NAN};
    }
    if ((double)e->end_ms / MS_PER_S < after_s) {
        return (struct accuracy_after){AFTER_THE_END, NAN};
    }
    struct accuracy_after a = {AFTER_TOO_EARLY, NAN};
    for (uint32_t i = 0; i < e->n && (double)e->list[i].t_ms / MS_PER_S <= after_s; i++) {
        const double accuracy = evaluation_value(&e->list[i], GOAL_ACCURACY);
        a = isnan(accuracy) ? a : (struct accuracy_after){AFTER_KNOWN, accuracy};
    }
    return a;
}
