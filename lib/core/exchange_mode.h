/* When trainers exchange, and for whom they wait. The worker asks these functions at run time, and
 * a definition is checked by them. Pure. All zero means Sync, after each step. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

enum exchange_mode_kind {
    EXCHANGE_SYNC, /* a step's gradients are added up and applied once */
    /* each trainer's gradients are applied on their own when they arrive; no trainer waits */
    EXCHANGE_ASYNC,
};
#define EXCHANGE_MODE_COUNT 2
extern const char *const exchange_mode_names[EXCHANGE_MODE_COUNT]; /* as in a definition */

struct exchange_mode {
    enum exchange_mode_kind kind;
    /* In Sync, a trainer updates its own parameters in this number of steps, then the servers
     * average them (local SGD; Stich 2019). 0 means that the servers update them in each step. */
    uint32_t local_steps;
};
#define EXCHANGE_MODE_SYNC ((struct exchange_mode){0})
#define EXCHANGE_LOCAL_STEPS_MAX 1000
#define EXCHANGE_MODE_TEXT_MAX 32 /* of exchange_mode_text, with the terminator */

/* Steps from one exchange to the next, at least 1. */
uint32_t exchange_mode_period(const struct exchange_mode *mode);
/* Does the exchange follow this step? Steps count from 0, with those of the warm-up. */
bool exchange_mode_follows(const struct exchange_mode *mode, uint64_t step);
bool exchange_mode_eq(const struct exchange_mode *a, const struct exchange_mode *b);

/* Why localSteps cannot be in this mode, or NULL. */
const char *exchange_mode_conflict(const struct exchange_mode *mode);

/* "Sync", "Async", "Sync localSteps=4": the same text is in the environment of a replica, in the
 * handshake, in results and in tables. */
void exchange_mode_text(const struct exchange_mode *mode, char ret[static EXCHANGE_MODE_TEXT_MAX]);
/* The reverse. -EINVAL, with the reason in *err. */
int exchange_mode_parse(const char *text, struct exchange_mode *ret, struct err *err);
