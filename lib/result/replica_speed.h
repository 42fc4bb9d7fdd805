/* How much time a replica needs for a step, compared with the others of its gang. Pure; called by
 * replicas.c and nodes.c.
 *
 * A gang makes its steps together: a slow trainer makes the steps of all as long as its own, and
 * shows in what the others wait. So what is compared is a replica's own work in a step, which is
 * data, forward and backward of a trainer or worker, and update of a pserver. A replica that does
 * not say it is compared by its median step time, with others that do not. */
#pragma once

#include "result/result.h"

/* From here on a difference is worth a word: 5%, as a logarithm. */
#define SPEED_MIN 0.05

struct replica_speed replica_speed_of(enum role role, const struct summary *s,
                                      const struct step_times *steps);

/* The replicas of one role in a trial whose paces can be compared, the slowest last. */
struct speed_gang {
    struct speed_member {
        const struct replica_result *replica; /* borrowed */
        double log_ns;                        /* ln of its pace */
    } * members;                              /* owned */
    size_t n;
};
void speed_gang_init(struct speed_gang *gang, const struct trial_result *t, enum role role);
void speed_gang_done(struct speed_gang *gang);
/* ln of the k-th member's time over the median of the others; there are two members at least. */
double speed_gang_excess(const struct speed_gang *gang, size_t k);

/* What those of a role that leads lose in a step to the slowest of them: its own work less their
 * mean, over the step time. NaN unless two or more say their own work. */
double straggler_share(const struct trial_result *t, enum role leading);
