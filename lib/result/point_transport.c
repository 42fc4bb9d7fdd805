/* See point_transport.h. */
#include "result/point_transport.h"

#include "base/vec_walk.h"

#include <string.h>

void transports_collect(struct point_result *p)
{
    point_each_replica (r, p) {
        if (r->has_summary && r->summary.transport != EXCHANGE_TRANSPORT_AUTO) {
            p->kept.transports[r->summary.transport] = true;
        }
    }
}

void transports_add(struct transports *t, const struct point_result *p)
{
    for (int i = 0; i < EXCHANGE_TRANSPORT_COUNT; i++) {
        t->used[i] = t->used[i] || p->kept.transports[i];
    }
}

bool transports_are_known(const struct transports *t)
{
    return array_any(t->used, EXCHANGE_TRANSPORT_COUNT, it, *it);
}

bool transports_are_same(const struct transports *a, const struct transports *b)
{
    return memcmp(a->used, b->used, sizeof(a->used)) == 0;
}

void transports_name(const struct transports *t, struct buf *out)
{
    const char *before = "";
    for (int i = 0; i < EXCHANGE_TRANSPORT_COUNT; i++) {
        if (t->used[i]) {
            buf_printf(out, "%s%s", before, exchange_transport_names[i]);
            before = " and ";
        }
    }
}
