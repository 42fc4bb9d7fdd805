/* What a step consists of, and what limits it, from the summaries of a point. Pure. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"
#include "core/record.h"

struct point_kept;
struct point_result;

/* The means over the steps of all replicas of a role in the point's succeeded trials. A trainer's
 * exchange overlaps with its computation: only what it waited for (send, wait, receive) makes its
 * step longer. That is the exposed exchange. */
struct step_means {
    enum role role;
    uint32_t n_replicas; /* whose summaries say phases; 0: nothing below is known */
    double steps;        /* of a replica and trial, in the mean */
    double step_ns;      /* the whole of a step */
    double phase_ns[PHASE_COUNT];
    double exposed_ns;         /* of a trainer or worker */
    double cpu_ns;             /* NaN: not known */
    double bytes_tx, bytes_rx; /* NaN: not known, a log has none */
};
/* Those of a role of a point; NULL: no replica of it says phases. Borrowed. */
const struct step_means *phases_of(const struct point_kept *kept, enum role role);
/* Those of the trainers (or workers); zero where none says phases. Borrowed. */
const struct step_means *phases_of_leading(const struct point_result *p);
/* Is the phase the trainer's own, and not of the exchange? */
bool phase_is_own(enum phase phase);

#define LIMIT_KINDS(X)                                                                             \
    X(LIMIT_UNKNOWN, "Unknown")      /* replicas report no phases, or nothing is exchanged */      \
    X(LIMIT_COMPUTE, "Compute")      /* under a tenth of a step is exposed exchange */             \
    X(LIMIT_STRAGGLER, "Straggler")  /* the others wait for one trainer */                         \
    X(LIMIT_SERVER_CPU, "ServerCpu") /* the busiest server works for half of a step or more */     \
    /* neither, and a server's link carries more than a trainer's */                               \
    X(LIMIT_SERVER_LINK, "ServerLink")                                                             \
    X(LIMIT_TRAINER_LINK, "TrainerLink") /* neither, and it does not */
enum limit_kind { LIMIT_KINDS(ENUM_ID) };
extern const char *const limit_kind_names[];

/* What the rule needs to know, a step each; all times are means over the trials. */
struct limit_facts {
    uint32_t n_trainers, n_servers;
    double step_s, exposed_s; /* of a trainer; step_s 0: not known */
    double server_busy_s;     /* receive, update and send of the busiest server */
    uint32_t server;          /* its index */
    double late_s;            /* how long the others waited for one trainer */
    uint32_t late_trainer;
};

struct limit {
    enum limit_kind kind;
    double exposed; /* exposed exchange, of a trainer's step: 0 to 1 */
    double share;   /* of a step: what the limiting replica works, or is waited for; NaN: a link */
    /* What would help: so many trainers use up the servers (COMPUTE), so many servers bring the
     * busiest to a quarter of a step (SERVER_CPU), or halve what a link carries (SERVER_LINK), so
     * many times the batch hides the exchange (TRAINER_LINK), or so much less time a step takes
     * without the wait (STRAGGLER, 0 to 1). NaN: nothing to advise. */
    double advice;
};
struct limit limit_find(const struct limit_facts *f);

/* Fills what p->kept says of the steps of its replicas: means, phases and the limit. */
void phases_collect(struct point_result *p);
