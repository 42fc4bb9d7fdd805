/* See result_parts.h. */
#include "base/mem.h"
#include "base/str.h"
#include "core/environment.h"
#include "result/nodes.h"
#include "result/result_parts.h"

static bool same_machine(const struct hardware *a, const struct hardware *b)
{
    bool same = true;
    for (size_t i = 0; i < HARDWARE_TEXTS; i++) {
        same = same && str_eq_or_null(a->texts[i], b->texts[i]);
    }
    return same;
}

static char *text_of(const json_t *environment, const char *key)
{
    return xstrdup_or_null(environment_text(environment, key));
}

static struct hardware *find_kind(struct result *r, const struct hardware *h)
{
    vec_each (struct hardware, seen, &r->hardware) {
        if (same_machine(seen, h)) {
            return seen;
        }
    }
    struct hardware *added = vec_push(&r->hardware);
    *added = (struct hardware){0};
    for (size_t i = 0; i < HARDWARE_TEXTS; i++) {
        added->texts[i] = xstrdup_or_null(h->texts[i]);
    }
    return added;
}

void hardware_count(struct result *r, struct replica_result *replica, const struct hardware *h)
{
    if (same_machine(h, &(struct hardware){0})) { /* it has no start record */
        replica->hardware = NO_HARDWARE;
        return;
    }
    struct hardware *kind = find_kind(r, h);
    const uint32_t system = r->points[replica->row->id.attempt.point].point->system;
    replica->hardware = (size_t)(kind - r->hardware.items);
    while (kind->of_system.len <= system) {
        *vec_push(&kind->of_system) = 0;
    }
    kind->of_system.items[system]++;
    kind->n_replicas++;
}

char *hardware_read(const json_t *environment, struct hardware *ret)
{
    *ret = (struct hardware){
        .blas_core = text_of(environment, "blas_core"),
        .build = text_of(environment, "build"),
        .cpu_model = text_of(environment, "cpu_model"),
        .kernel = text_of(environment, "kernel"),
        .source = text_of(environment, "source"),
    };
    return text_of(environment, "node");
}

void machines_add_replica(struct machines *m, const struct replica_result *r)
{
    machines_add(m, r->environment);
    if (r->has_summary && r->summary.transport != EXCHANGE_TRANSPORT_AUTO) {
        machines_add_value(m, MACHINE_TRANSPORT, exchange_transport_names[r->summary.transport]);
    }
}

void hardware_collect(struct result *r, struct point_result *p, struct machines *machines)
{
    point_each_trial (t, p) {
        for (size_t k = 0; t->phase == TRIAL_SUCCEEDED && k < t->n_replicas; k++) {
            struct replica_result *replica = &t->replicas[k];
            struct hardware h;
            _cleanup_(freep) char *node = hardware_read(replica->environment, &h);
            replica->node = nodes_add(r, node);
            hardware_count(r, replica, &h);
            hardware_done(&h);
            machines_add_replica(machines, replica);
        }
    }
}

void hardware_done(struct hardware *h)
{
    for (size_t i = 0; i < HARDWARE_TEXTS; i++) {
        free(h->texts[i]);
    }
    vec_done(&h->of_system);
}
