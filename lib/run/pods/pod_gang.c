/* See pod_gang.h. */
#include "run/pods/pod_gang.h"

#include <errno.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "core/record.h"
#include "decide/policy_overlap.h"
#include "pod/body.h"
#include "run/pods/pods_internal.h"

struct pod_member *pod_gang_find(const struct pods *l, const struct replica_id *id)
{
    return vec_find_item(&l->members, m,
                         m->life < MEMBER_DYING_POSTING && replica_id_eq(&m->id, id));
}

struct pod_member *pod_gang_find_dying(const struct pods *l, const char *name, const char *uid)
{
    return vec_find_item(&l->members, m,
                         member_life_is_dying(m->life) &&
                             (m->uid != NULL ? str_eq(m->uid, uid) : str_eq(m->name, name)));
}

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

static bool has_members(const struct pods *l, const struct pod_gang *g)
{
    return vec_any(&l->members, it, pod_gang_has(g, *it));
}

static struct pod_gang *new_gang(struct pods *l)
{
    struct pod_gang *g = xnew(struct pod_gang);
    g->owner = l;
    g->number = (unsigned)l->gangs.len;
    g->wait = (struct pod_wait_told){.now = l->told, .told = l->told}; /* after a restart */
    g->slices.gang = g;
    g->quiet_since_ns = l->params.now_ns();
    *vec_push(&l->gangs) = g;
    return g;
}

/* Of a run without lanes all attempts share one: its driver ends the last before the next. */
struct pod_gang *pod_gang_of(struct pods *l, const struct attempt_id *attempt)
{
    struct pod_gang *g =
        vec_find_item(&l->gangs, it, l->n_lanes == 1 || attempt_id_eq(&it->spec.attempt, attempt));
    if (g == NULL) {
        g = vec_find_item(&l->gangs, it,
                          it->spec.attempt.point == attempt->point && !has_members(l, it));
    }
    if (g == NULL) {
        g = vec_find_item(&l->gangs, it, !has_members(l, it));
    }
    g = g == NULL ? new_gang(l) : g;
    if (!has_members(l, g) && !attempt_id_eq(&g->spec.attempt, attempt)) {
        g->has_spec = false; /* the next is prepared as another one */
        g->spec.attempt = *attempt;
    }
    return g;
}

void pod_gang_free(struct pod_gang *g)
{
    pod_place_reset(&g->place);
    addresses_free(g);
    free(g);
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

/* ---- room ---- */

/* A member of the attempt found no room; noted once an attempt. `reason`: CamelCase. */
static void lacks_room(struct pod_gang *g, const struct attempt_id *attempt, const char *reason,
                       const char *words, int64_t now_ns)
{
    struct no_room_backoff *room = &g->room;
    if (room->n_times > 0 && attempt_id_eq(&room->attempt, attempt)) {
        return;
    }
    int64_t wait_ns = NO_ROOM_BACKOFF_MIN_NS;
    for (unsigned i = 0; i < room->n_times && wait_ns < NO_ROOM_BACKOFF_MAX_NS; i++) {
        wait_ns *= 2;
    }
    room->since_ns = room->n_times++ == 0 ? now_ns : room->since_ns;
    room->attempt = *attempt;
    room->until_ns = now_ns + (wait_ns < NO_ROOM_BACKOFF_MAX_NS ? wait_ns : NO_ROOM_BACKOFF_MAX_NS);
    pod_wait_say(&room->wait, reason, "%s", words);
}

/* The attempts of its trial have found no room for longer than its run wants to wait. */
static void limit_wait(struct pod_member *m, int64_t now_ns)
{
    const int64_t wait_ms = m->owner->wait_ms;
    if (now_ns - m->gang->room.since_ns > wait_ms * 1000000) {
        pod_member_wait_over(m, wait_ms);
    }
}

/* Some of a gang that was never whole may have succeeded. */
static void look_at_overlap(struct pod_gang *g, const struct observed_replica *list, size_t n,
                            int64_t now_ns)
{
    const struct matrix *matrix = &g->owner->params.def->matrix;
    const struct attempt_id *id = &g->spec.attempt;
    struct overlap overlap = {0};
    if (id->point < matrix->n_points) {
        overlap_find(list, n, id, matrix->points[id->point].replicas, &overlap);
    }
    if (overlap.is_whole) {
        g->room = (struct no_room_backoff){0};
    } else if (overlap.is_for_room) {
        struct pod_member *late = pod_gang_find(g->owner, &overlap.late->id);
        lacks_room(g, id, "NoRoom", overlap.words, now_ns);
        pod_state_say(&late->state, "%s", overlap.words);
        limit_wait(late, now_ns);
    }
}

void pod_gang_look_for_room(struct pods *l, const struct observed_replica *list, size_t n,
                            int64_t now_ns)
{
    vec_each (struct pod_member *, it, &l->members) {
        struct pod_member *m = *it;
        const bool is_refused = member_life_is_refused(m->life);
        const bool is_wanted = m->life < MEMBER_DYING_POSTING;
        const bool is_preempted = m->state.failure == FAILURE_PREEMPTED &&
                                  !pod_queue_lacks(l, &m->id.attempt); /* it paces the next one */
        if (is_wanted && (is_preempted || m->state.failure == FAILURE_NO_ROOM)) {
            lacks_room(m->gang, &m->id.attempt,
                       is_preempted ? "Preempted"
                       : is_refused ? pod_answer_reason(-EDQUOT)
                                    : "NoRoom",
                       pod_state_message(&m->state), now_ns);
            if (!is_preempted && !is_refused) {
                limit_wait(m, now_ns);
            }
        }
    }
    vec_each (struct pod_gang *, it, &l->gangs) {
        look_at_overlap(*it, list, n, now_ns);
    }
}

/* ---- starts ---- */

static void set_span(struct metrics *m, const char *name, int64_t from_ms, int64_t to_ms)
{
    if (from_ms != 0 && to_ms != 0) {
        metrics_set(m, name, to_ms > from_ms ? (double)(to_ms - from_ms) / 1000 : 0);
    }
}

void pod_gang_add_starts(const struct pods *l, const struct pod_member *m, struct summary *summary)
{
    const struct workload_facts *w = pod_queue_facts(l, &m->id.attempt);
    int64_t last_ms = 0;
    if (w == NULL || summary == NULL) {
        return;
    }
    vec_each (struct pod_member *, it, &l->members) {
        const int64_t ms = pod_member_started_unix_ms(*it);
        if (ms != 0 && attempt_id_eq(&(*it)->id.attempt, &m->id.attempt)) {
            last_ms = ms > last_ms ? ms : last_ms;
        }
    }
    _cleanup_(metrics_done) struct metrics metrics = {0};
    set_span(&metrics, "queue_s", w->created_unix_ms, w->admitted_unix_ms);
    set_span(&metrics, "admission_s", w->admitted_unix_ms, last_ms);
    metrics_merge(&summary->metrics, &metrics);
}

int64_t pod_gang_ran_ms(const struct pod_gang *g)
{
    const int64_t now_ms = clock_steady_unix_ms();
    int64_t first_ms = now_ms;
    vec_each (struct pod_member *, it, &g->owner->members) {
        const int64_t ms = pod_member_started_unix_ms(*it);
        if (pod_gang_has(g, *it) && ms != 0 && ms < first_ms) {
            first_ms = ms;
        }
    }
    return now_ms - first_ms;
}
