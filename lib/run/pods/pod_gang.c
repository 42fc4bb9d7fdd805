/* See pod_gang.h. */
#include "run/pods/pod_gang.h"

#include "base/mem.h"
#include "pod/body.h"
#include "run/pods/pods_internal.h"

static void strings_free(char **list, uint32_t n)
{
    for (uint32_t i = 0; list != NULL && i < n; i++) {
        free(list[i]);
    }
    free(list);
}

char **pod_gang_servers(const struct pod_gang *g)
{
    const uint32_t n = g->spec.replicas[ROLE_PSERVER];
    char **list = xnew_array(char *, n);
    uint32_t known = 0;
    vec_each (struct pod_member *, it, &g->owner->members) {
        const struct pod_member *m = *it;
        if (m->life < MEMBER_DYING_POSTING && m->id.role == ROLE_PSERVER &&
            attempt_id_eq(&m->id.attempt, &g->spec.attempt) && m->id.index < n &&
            m->state.ip[0] != '\0' && list[m->id.index] == NULL) {
            list[m->id.index] = pod_ip_address(m->state.ip);
            known++;
        }
    }
    if (known < n) {
        strings_free(list, n);
        return NULL;
    }
    return list;
}

void pod_gang_servers_free(const struct pod_gang *g, char **servers)
{
    strings_free(servers, g->spec.replicas[ROLE_PSERVER]);
}

static void addresses_free(struct pod_gang *g)
{
    for (enum role role = 0; role < ROLE_COUNT; role++) {
        strings_free(take_ptr(g->addresses[role]), g->spec.replicas[role]);
        json_decref(g->bodies[role]);
        g->bodies[role] = NULL;
    }
}

static void make_addresses(struct pod_gang *g)
{
    const struct gang_spec *spec = &g->spec;
    for (enum role role = 0; role < ROLE_COUNT; role++) {
        g->addresses[role] = xnew_array(char *, spec->replicas[role]);
        for (uint32_t i = 0; i < spec->replicas[role]; i++) {
            const struct replica_id id = {spec->attempt, role, i};
            g->addresses[role][i] = pod_dns_address(g->owner->params.def, &id);
        }
    }
}

void pod_gang_init(struct pod_gang *g, struct pods *owner)
{
    g->owner = owner;
    pod_slices_init(&g->slices, g);
}

void pod_gang_done(struct pod_gang *g)
{
    pod_place_reset(&g->place);
    pod_slices_done(&g->slices);
    addresses_free(g);
}

void pod_gang_prepare(struct pod_gang *g, const struct gang_spec *spec)
{
    addresses_free(g);
    pod_place_reset(&g->place);
    g->spec = *spec;
    g->has_spec = true;
    g->is_probed = false;
    if (g->owner->params.naming == POD_BY_DNS) {
        make_addresses(g);
    }
}
