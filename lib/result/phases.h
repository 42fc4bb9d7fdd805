/* What a trainer's step consists of, from the summaries of a point. Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "core/record.h"

struct point_result;
struct replica_result;

/* Is it of the role, and says its phases? */
bool phases_are_counted(const struct replica_result *r, enum role role);

/* The mean over the trainers (or workers) of all succeeded trials whose programs count phases. */
struct step_means {
    double phase_ns[PHASE_COUNT]; /* of a step */
    double step_ns;               /* the whole of it */
    size_t n_replicas;            /* 0: none counts phases, and the rest is 0 */
};
struct step_means phases_of(const struct point_result *p);
/* The trainer's time with the exchange: everything but data, forward, backward and update. */
double phases_exchange_ns(const struct step_means *m);
/* Is the phase the trainer's own, and not of the exchange? */
bool phase_is_own(enum phase phase);
