/* When trainers exchange, and for whom they wait. The worker asks these functions at run time, and
 * a definition is checked by them. Pure. All zero: Sync, after each step. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

enum exchange_mode_kind {
    EXCHANGE_SYNC, /* a step's gradients are added up and applied once */
    /* each trainer's gradients are applied on their own when they arrive; no trainer waits */
    EXCHANGE_ASYNC,
    /* the same, and a trainer waits for those that are too many steps late (stale synchronous
     * parallel; Ho et al. 2013) */
    EXCHANGE_BOUNDED,
};
#define EXCHANGE_MODE_COUNT 3
extern const char *const exchange_mode_names[EXCHANGE_MODE_COUNT]; /* as in a definition */

struct exchange_mode {
    enum exchange_mode_kind kind;
    uint32_t staleness; /* of BOUNDED: so many exchanges may a trainer be ahead of the slowest */
    uint32_t backups;   /* of SYNC: no step waits for so many trainers (exchange/backups.h) */
    uint32_t
        accumulate; /* the gradients of so many steps are averaged, then sent; 0: each step's */
    uint32_t local_steps; /* a trainer updates its own parameters so often, then the servers average
                             them (local SGD; Stich 2019); 0: the servers update them */
};
#define EXCHANGE_MODE_SYNC ((struct exchange_mode){0})
#define EXCHANGE_PERIOD_MAX 1000 /* of both */
#define EXCHANGE_STALENESS_MAX 1000
#define EXCHANGE_BACKUPS_MAX 1000
#define EXCHANGE_MODE_TEXT_MAX 96 /* of exchange_mode_text, with the terminator */

/* Steps from one exchange to the next, at least 1. */
uint32_t exchange_mode_period(const struct exchange_mode *mode);
/* Does the exchange follow this step? Steps count from 0, with those of the warm-up. */
bool exchange_mode_follows(const struct exchange_mode *mode, uint64_t step);
bool exchange_mode_eq(const struct exchange_mode *a, const struct exchange_mode *b);

/* Has each slice of the parameters a version of its own, in place of rounds that
 * all trainers are in? */
bool exchange_mode_is_single(const struct exchange_mode *mode);
/* May a trainer have the parameters after its exchange `own` (from 0), when the slowest trainer has
 * sent all of `slowest` exchanges? In Sync a sum is not complete before all have sent theirs. */
bool exchange_mode_may_have(const struct exchange_mode *mode, uint64_t own, uint64_t slowest);

/* What cannot be together: NULL, or why, and *ret_field is the field of a
 * definition that should go. */
const char *exchange_mode_conflict(const struct exchange_mode *mode, const char **ret_field);

/* "Sync", "Async accumulate=4", "BoundedStaleness staleness=3": the same text in the environment of
 * a replica, in the handshake, in results and in tables. */
void exchange_mode_text(const struct exchange_mode *mode, char ret[static EXCHANGE_MODE_TEXT_MAX]);
/* The reverse. -EINVAL, with the reason in *err. */
int exchange_mode_parse(const char *text, struct exchange_mode *ret, struct err *err);
