/* See point_transport.h. */
#include "result/point_transport.h"

#include <string.h>

#include "base/str.h"
#include "base/vec_walk.h"

static bool has_transport(const struct replica_result *r)
{
    return r->has_summary && r->summary.transport != EXCHANGE_TRANSPORT_AUTO;
}

void transport_of_replica(const struct replica_result *r, struct machines *m)
{
    if (has_transport(r)) {
        machines_add_value(m, MACHINE_TRANSPORT, exchange_transport_names[r->summary.transport]);
    }
}

void transports_of_machines(struct point_result *p, const struct machines *m)
{
    for (int i = 0; i < EXCHANGE_TRANSPORT_COUNT; i++) {
        p->transports[i] = vec_any(&m->values[MACHINE_TRANSPORT].list, name,
                                   str_eq(*name, exchange_transport_names[i]));
    }
}

void transports_collect(struct point_result *p)
{
    point_each_replica (r, p) {
        p->transports[r->summary.transport] |= has_transport(r);
    }
}

void transports_add(struct transports *t, const struct point_result *p)
{
    for (int i = 0; i < EXCHANGE_TRANSPORT_COUNT; i++) {
        t->used[i] = t->used[i] || p->transports[i];
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
