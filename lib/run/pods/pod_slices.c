/* Writing the addresses of a gang, see pod_gang.h. */
#include "run/pods/pod_gang.h"

#include <string.h>

#include "base/mem.h"
#include "core/replica.h"
#include "pod/body.h"
#include "pod/job_body.h"
#include "run/pods/pods_internal.h"

#define FAMILIES 2

/* The attempt whose pods are being looked after: those of others are dying. NULL if none exists. */
static const struct attempt_id *find_attempt(const struct pod_gang *g)
{
    const struct attempt_id *newest = NULL;
    vec_each (struct pod_member *, it, &g->owner->members) {
        newest = pod_gang_has(g, *it) ? &(*it)->id.attempt : newest;
    }
    return newest;
}

static const uint32_t *replicas_of(const struct pod_gang *g, const struct attempt_id *attempt)
{
    return g->owner->params.def->matrix.points[attempt->point].replicas;
}

/* Its slice, by its place in the gang and its address. */
static size_t slice_of(const uint32_t *replicas, const struct pod_member *m)
{
    const uint32_t place = member_number(replicas, m->id.role, m->id.index);
    return place / POD_SLICE_MAX * FAMILIES + (strchr(m->state.ip, ':') != NULL);
}

static bool has_address(const struct pod_gang *g, const struct pod_member *m,
                        const struct attempt_id *attempt)
{
    return pod_gang_has(g, m) && m->state.ip[0] != '\0' && attempt_id_eq(&m->id.attempt, attempt);
}

/* How many addresses each slice could have. Owned by the caller. */
static uint32_t *count_known(const struct pod_gang *g, const struct attempt_id *attempt,
                             size_t n_slices)
{
    uint32_t *known = xcalloc(n_slices, sizeof(*known));
    vec_each (struct pod_member *, it, &g->owner->members) {
        if (has_address(g, *it, attempt)) {
            known[slice_of(replicas_of(g, attempt), *it)]++;
        }
    }
    return known;
}

static json_t *make_body(const struct pod_gang *g, const struct attempt_id *attempt, size_t slice)
{
    const unsigned first = g->number * SLICES_A_GANG;
    json_t *body = pod_slice_body(g->owner->params.def, first + (unsigned)(slice / FAMILIES),
                                  slice % FAMILIES != 0);
    vec_each (struct pod_member *, it, &g->owner->members) {
        if (has_address(g, *it, attempt) && slice_of(replicas_of(g, attempt), *it) == slice) {
            pod_slice_add(body, &(*it)->id, (*it)->state.ip);
        }
    }
    return body;
}

static void on_applied(void *ctx, int r, const struct kube_response *res, const struct err *err)
{
    struct pod_slices *s = ctx;
    s->call = NULL;
    if (r == 0) {
        pod_trouble_clear(&s->trouble);
        s->list.items[s->asked] = s->asking;
    } else { /* whatever it is: the pods are there, and a right can be given */
        s->due_ns =
            s->gang->owner->params.now_ns() + pod_trouble_note(&s->trouble, r, res, err->msg);
    }
    pods_tick_soon(s->gang->owner);
}

static void apply(struct pod_slices *s, size_t slice, const struct attempt_id *attempt, uint32_t n,
                  int64_t now_ns)
{
    const struct pod_gang *g = s->gang;
    const struct pods *l = g->owner;
    const uint32_t n_gang = member_count(replicas_of(g, attempt));
    const uint32_t n_most = n_gang < POD_SLICE_MAX ? n_gang : POD_SLICE_MAX;
    json_auto_t *body = make_body(g, attempt, slice);
    struct kube_request req;
    kube_request_apply(&kube_endpoint_slices, l->params.ns, NULL, "benchd", body, &req);
    s->asked = slice;
    s->asking = (struct pod_slice){*attempt, n, now_ns + n_most * POD_SLICE_GATHER_NS};
    s->call = kube_call(l->params.client, &req, KUBE_ONCE, on_applied, s);
}

/* Both families of these replicas together are all of them. */
static bool is_complete(const uint32_t *known, size_t slice, uint32_t n_gang)
{
    const size_t chunk = slice / FAMILIES;
    const uint32_t n_before = (uint32_t)chunk * POD_SLICE_MAX;
    const uint32_t n_left = n_gang - n_before;
    const uint32_t n_chunk = n_left < POD_SLICE_MAX ? n_left : POD_SLICE_MAX;
    return known[chunk * FAMILIES] + known[chunk * FAMILIES + 1] >= n_chunk;
}

void pod_slices_done(struct pod_slices *s)
{
    kube_call_cancel(s->call);
    pod_trouble_clear(&s->trouble);
    vec_done(&s->list);
    *s = (struct pod_slices){0};
}

void pod_slices_tick(struct pod_slices *s, int64_t now_ns)
{
    const struct pod_gang *g = s->gang;
    const struct attempt_id *attempt = find_attempt(g);
    if (g->owner->params.naming != POD_BY_DNS || attempt == NULL ||
        job_of_point(g->owner->params.def, attempt->point) != NULL || s->call != NULL ||
        now_ns < s->due_ns) {
        return;
    }
    const uint32_t n_gang = member_count(replicas_of(g, attempt));
    const size_t n_slices = (n_gang + POD_SLICE_MAX - 1) / POD_SLICE_MAX * FAMILIES;
    while (s->list.len < n_slices) {
        *vec_push(&s->list) = (struct pod_slice){0};
    }
    _cleanup_(freep) uint32_t *known = count_known(g, attempt, n_slices);
    for (size_t i = 0; i < n_slices; i++) {
        const struct pod_slice *slice = &s->list.items[i];
        const bool is_new = slice->n > 0 && !attempt_id_eq(&slice->attempt, attempt);
        const bool has_grown = known[i] > (is_new ? 0 : slice->n);
        const bool is_gathering =
            !is_new && now_ns < slice->gather_until_ns && !is_complete(known, i, n_gang);
        if (has_grown && !is_gathering) {
            apply(s, i, attempt, known[i], now_ns);
            return;
        }
    }
}

void pod_slices_wait(const struct pod_gang *g, struct run_wait *ret)
{
    const struct pod_trouble *t = &g->slices.trouble;
    if (t->words != NULL) {
        pod_wait_say(ret, pod_answer_reason(t->code), "the run's pods cannot find each other: %s",
                     t->words);
    }
}
