/* See result_parts.h. */
#include "base/mem.h"
#include "base/str.h"
#include "core/environment.h"
#include "result/nodes.h"
#include "result/result_parts.h"

static const char *const keys[HARDWARE_TEXTS] = {
    [HARDWARE_CPU_MODEL] = "cpu_model", [HARDWARE_BLAS_CORE] = "blas_core",
    [HARDWARE_KERNEL] = "kernel",       [HARDWARE_BUILD] = "build",
    [HARDWARE_SOURCE] = "source",
};

static bool same_machine(const struct hardware *a, const struct hardware *b)
{
    bool same = true;
    for (size_t i = 0; i < HARDWARE_TEXTS; i++) {
        same = same && str_eq_or_null(a->texts[i], b->texts[i]);
    }
    return same;
}

/* Most replicas of a kind share their facts. NULL: they say nothing. */
static struct hardware *find_kind(struct result *r, json_t *facts)
{
    struct hardware *known = vec_find(&r->hardware, it, it->facts == facts);
    if (known != NULL) {
        return known;
    }
    struct hardware h = {.facts = facts};
    for (size_t i = 0; i < HARDWARE_TEXTS; i++) {
        h.texts[i] = environment_text(facts, keys[i]);
    }
    if (same_machine(&h, &(struct hardware){0})) {
        return NULL;
    }
    known = vec_find(&r->hardware, it, same_machine(it, &h));
    if (known == NULL) {
        known = vec_push(&r->hardware);
        *known = h;
        json_incref(facts);
    }
    return known;
}

static void count(struct result *r, struct replica_result *replica)
{
    struct hardware *kind = find_kind(r, replica->row->environment.facts);
    const uint32_t system = r->points[replica->row->id.attempt.point].point->system;
    replica->hardware = kind == NULL ? NO_HARDWARE : (size_t)(kind - r->hardware.items);
    while (kind != NULL && kind->of_system.len <= system) {
        *vec_push(&kind->of_system) = 0;
    }
    if (kind != NULL) {
        kind->of_system.items[system]++;
        kind->n_replicas++;
    }
}

/* `added`: the facts of the replica before. Most have the same. */
static void add_replica(struct machines *m, const struct replica_result *r, const json_t **added)
{
    const json_t *facts = r->row->environment.facts;
    if (facts != *added) {
        machines_add(m, facts);
        *added = facts;
    }
    if (r->has_summary && r->summary->transport != EXCHANGE_TRANSPORT_AUTO) {
        machines_add_value(m, MACHINE_TRANSPORT, exchange_transport_names[r->summary->transport]);
    }
}

void machines_add_trial(struct machines *m, const struct trial_result *t)
{
    const json_t *added = NULL;
    trial_each_replica (r, t) {
        add_replica(m, r, &added);
    }
}

void hardware_collect(struct result *r, struct point_result *p, struct machines *machines)
{
    const json_t *added = NULL;
    point_each_trial (t, p) {
        for (size_t k = 0; k < t->n_replicas && t->phase == TRIAL_SUCCEEDED; k++) {
            struct replica_result *replica = &t->replicas[k];
            replica->node = nodes_add(r, replica->row->environment.node);
            count(r, replica);
            add_replica(machines, replica, &added);
        }
    }
}

void hardware_done(struct hardware *h)
{
    json_decref(h->facts);
    vec_done(&h->of_system);
}
