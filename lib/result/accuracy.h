/* Time to an accuracy or a loss, and accuracy after a time (docs/contracts/result.md,
 * "Accuracy over time"). Pure. */
#pragma once

#include <stdbool.h>

#include "base/buf.h"
#include "core/evaluations.h"

enum target_state {
    TARGET_UNKNOWN,     /* there is no evaluation with a time */
    TARGET_NOT_REACHED, /* no evaluation was that good: no time says when one would be */
    TARGET_REACHED,
};
#define TARGET_STATE_COUNT 3
extern const char *const target_state_names[TARGET_STATE_COUNT]; /* "Unknown", ... */

struct time_to_accuracy {
    enum target_state state;
    double s;    /* when the first evaluation reached it; NaN: none did */
    double best; /* the highest accuracy or the lowest loss; NaN if none exists */
};
/* `e` NULL: there is no evaluation. */
struct time_to_accuracy accuracy_time_to(const struct evaluations *e, struct goal goal);
/* "an accuracy of 80%", "a loss of 0.2828". */
void goal_format(const struct goal *goal, struct buf *out);
/* Is it as good as that, or better? Not where one is NaN. */
bool goal_is_met(const struct goal *goal, double value, double than);

enum after_state {
    AFTER_NO_EVALUATION, /* none has a time */
    AFTER_THE_END,       /* training ended before */
    AFTER_TOO_EARLY,     /* the first evaluation came later */
    AFTER_KNOWN,
};
#define AFTER_STATE_COUNT 4
extern const char *const after_state_whys[AFTER_STATE_COUNT]; /* it is unknown; NULL: it is known */

struct accuracy_after {
    enum after_state state;
    double accuracy; /* of the last evaluation up to then; NaN: unknown */
};
struct accuracy_after accuracy_after(const struct evaluations *e, double after_s);
