/* How the workers of a point reached each other's numbers, as their summaries say. Pure. */
#pragma once

#include <stdbool.h>

#include "base/buf.h"
#include "result/result.h"

struct transports {
    bool used[EXCHANGE_TRANSPORT_COUNT]; /* all false: no replica reported one */
};
/* Fills p->kept.transports, of the trials that succeeded; and adds them to others. */
void transports_collect(struct point_result *p);
void transports_add(struct transports *t, const struct point_result *p);
bool transports_are_known(const struct transports *t);
bool transports_are_same(const struct transports *a, const struct transports *b);
/* "Tcp", "Tcp and SharedMemory" */
void transports_name(const struct transports *t, struct buf *out);
