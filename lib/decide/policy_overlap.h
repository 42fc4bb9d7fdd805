/* Whether all replicas that lead a gang (core/replica.h) measured at the same time. If they did not
 * the sum of their figures is of no gang. Pure.
 *
 * A replica measures while its measured steps run, or where these are not known, at most from its
 * start to its end. The dates of a container are whole seconds, so it may have ended a second
 * later. Two replicas were apart if the one began after the other had ended. Each machine has a
 * clock of its own: if both were seen to run at the same time on two machines, more than
 * OVERLAP_CLOCKS_MS must lie between. So a gang whose members wait for each other, as those of
 * benchworker do, is never taken for one that was apart while the clocks agree within that. */
#pragma once

#include "decide/observed.h"

#define OVERLAP_CLOCKS_MS 5000

struct overlap {
    /* `late` began when `early` had ended; NULL: none of those that have begun was apart. */
    const struct observed_replica *late, *early;
    bool is_for_room;      /* the cluster kept `late` waiting: for a place, its image, its node */
    bool is_whole;         /* all that lead have succeeded, together */
    double start_spread_s; /* from the first start of a member to the last; NaN: one has none */
    double shared_ratio;   /* of those that have ended, the part of the measured time that is the
                              time of all; NaN: not known, or one leads by itself */
    char words[256];       /* when `late` and `early` measured; "" if they are NULL */
};

/* `replicas` may have members of other attempts. */
void overlap_find(const struct observed_replica *replicas, size_t n,
                  const struct attempt_id *attempt, const uint32_t sizes[static ROLE_COUNT],
                  struct overlap *ret);
