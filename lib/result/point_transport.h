/* How the workers of a point reached each other's numbers, as their summaries say. Pure. */
#pragma once

#include <stdbool.h>

#include "base/buf.h"
#include "result/result.h"

struct transports {
    bool used[EXCHANGE_TRANSPORT_COUNT]; /* all false: no replica reported one */
};
/* Adds that of a replica to MACHINE_TRANSPORT; and fills p->transports from there, for
 * comparisons, which read no replicas. */
void transport_of_replica(const struct replica_result *r, struct machines *m);
void transports_of_machines(struct point_result *p, const struct machines *m);
/* Adds those of its replicas to p->transports; and adds these to others. */
void transports_collect(struct point_result *p);
void transports_add(struct transports *t, const struct point_result *p);
bool transports_are_known(const struct transports *t);
bool transports_are_same(const struct transports *a, const struct transports *b);
/* "Tcp", "Tcp and Nccl" */
void transports_name(const struct transports *t, struct buf *out);
