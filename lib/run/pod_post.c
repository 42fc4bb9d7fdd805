/* Creating and deleting pods: which request is due, and what its answer means. See pods_parts.h.
 *
 * Deterministic names make every request safe to repeat: a second POST answers AlreadyExists, and
 * the owner's uid in the pod that is there tells whether it is ours. Deletions carry the uid. */
#include <errno.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "kube/json.h"
#include "kube/retry.h"
#include "run/pods_parts.h"

/* Pods whose POST is under way or waits for room: more bodies than that are not made ahead. */
#define POSTS_AHEAD 40

/* All rights of benchd may have been taken: then its Lease goes first, and the run is whole. One
 * that stays away while the Lease lives is the run's to tell. */
static bool is_denied_for_now(struct pods *l, const struct kube_response *res)
{
    const int64_t now_ns = clock_monotonic_ns();
    if (!kube_lacks_right(res)) {
        return false;
    }
    l->denied_ns = l->denied_ns == 0 ? now_ns : l->denied_ns;
    return now_ns - l->denied_ns < l->params.denied_wait_ms * INT64_C(1000000);
}

bool pods_is_transient(struct pods *l, int r, const struct kube_response *res)
{
    if (r < 0 && res != NULL && (kube_is_unauthenticated(res) || is_denied_for_now(l, res))) {
        return true; /* says nothing of what was sent: a token, a right may be on its way */
    }
    switch (-r) {
    case EHOSTUNREACH:
    case ECONNRESET:
    case ETIMEDOUT:
    case EIO:
    case EBUSY:
    case EPROTO: /* TLS: a certificate may be on its way */
        return true;
    default:
        return false;
    }
}

static void retry_later(struct pod_member *m)
{
    m->retry_ns = clock_monotonic_ns() + POD_RETRY_NS;
}

static void refuse(struct pod_member *m, const char *message)
{
    m->is_refused = true;
    m->owner->params.counters->failed++;
    pods_member_fail(m, FAILURE_PERMANENT, message);
    pods_changed(m->owner);
}

/* ---- deletion ---- */

void pods_drop_dying(struct pod_member *m)
{
    struct pods *l = m->owner;
    for (size_t i = 0; i < l->dying.len; i++) {
        if (l->dying.items[i] == m) {
            l->dying.items[i] = l->dying.items[--l->dying.len];
            break;
        }
    }
    pods_member_free(m);
    pods_changed(l);
}

static void on_deleted(void *ctx, int r, const struct kube_response *res, const struct err *err)
{
    (void)err; /* what is not transient leaves nothing that we could do better */
    struct pod_member *m = ctx;
    struct pods *l = m->owner;
    m->call = NULL;
    if (pods_is_transient(l, r, res)) {
        retry_later(m);
        return;
    }
    if (r == 0) {
        l->denied_ns = 0;
        l->params.counters->deleted++;
        m->is_delete_answered = true;
        m->gone_by_ns = clock_monotonic_ns() + POD_GONE_WAIT_NS;
        pods_changed(l);
        return; /* the watch tells when it is gone */
    }
    pods_drop_dying(m); /* gone already, or not ours to delete */
    pods_pump(l);
}

static void look(struct pod_member *m);

void pods_delete(struct pod_member *m)
{
    struct pods *l = m->owner;
    struct kube_request req;
    if (m->uid == NULL) {
        look(m); /* the watch has not said yet; then it comes here again */
        return;
    }
    kube_request_delete(&kube_pods, l->params.ns, m->name, m->uid, -1, &req);
    m->call = kube_call(l->params.client, &req, NULL, on_deleted, m);
}

void pods_delete_when_over(struct pod_member *m)
{
    if (m->has_stopped && !m->is_over) {
        m->retry_ns = clock_monotonic_ns() + POD_OVER_WAIT_NS; /* then the timer does it */
    } else {
        pods_delete(m);
    }
}

/* Something of a removed member may still run. */
static bool is_any_alive(const struct pods *l)
{
    vec_each (struct pod_member *, it, &l->dying) {
        if (!(*it)->is_over) {
            return true;
        }
    }
    return false;
}

/* ---- creation ---- */

/* The pod is there and ours. `pod` NULL: just made, and the watch tells what there is to know. */
static void is_there(struct pod_member *m, const json_t *pod)
{
    struct pods *l = m->owner;
    bool is_new = false;
    m->step = MEMBER_THERE;
    m->retry_ns = clock_monotonic_ns() + POD_UNSEEN_NS;
    l->is_probed = l->is_probed || !m->is_removed; /* a removed one is of an earlier gang */
    if (m->uid == NULL && pod != NULL) {
        m->uid = xstrdup(kube_json_metadata(pod, "uid"));
        is_new = pods_member_read(m, pod);
    }
    if (m->is_removed) {
        pods_delete(m);
        return;
    }
    pods_pump(l);
    if (is_new || !pods_are_settling(l)) { /* 159 of 160 decide nothing */
        pods_changed(l);
    }
}

static void creation_failed(struct pod_member *m, bool is_transient, const char *message)
{
    struct pods *l = m->owner;
    if (m->is_removed) {
        if (is_transient) {
            m->step = MEMBER_POSTING; /* it may be there: look again, see pods_pump */
            retry_later(m);
        } else {
            pods_drop_dying(m);
        }
        return;
    }
    m->step = MEMBER_WANTED;
    if (is_transient) {
        retry_later(m);
        return;
    }
    l->is_probed = false;
    refuse(m, message);
}

static void on_found(void *ctx, int r, const struct kube_response *res, const struct err *err)
{
    struct pod_member *m = ctx;
    m->call = NULL;
    struct replica_id id;
    json_t *pod = NULL;
    if (r == -ENOENT && m->is_removed) {
        struct pods *l = m->owner;
        pods_drop_dying(m); /* its POST never took effect */
        pods_pump(l);
        return;
    }
    if (r == -ENOENT && m->is_made) {
        pods_member_vanished(m); /* before the watch could show it */
        return;
    }
    if (r == -ENOENT) {
        r = -EBUSY; /* gone between two questions: ask again */
    } else if (r == 0) {
        r = kube_json_load(res->body, res->body_len, &pod, NULL);
    }
    if (r < 0) {
        creation_failed(m, pods_is_transient(m->owner, r, res), err->msg);
        return;
    }
    const bool is_ours = pod_identify(m->owner->params.def, pod, &id) && replica_id_eq(&id, &m->id);
    if (is_ours && *kube_json_metadata(pod, "deletionTimestamp") != '\0') {
        creation_failed(m, true, ""); /* the remains of an earlier one: wait */
    } else if (is_ours) {
        is_there(m, pod);
    } else {
        _cleanup_(freep) char *message =
            xasprintf("a pod '%s' is there already and is not this run's: delete it, or give the "
                      "run another name",
                      m->name);
        creation_failed(m, false, message);
    }
    json_decref(pod);
}

static void look(struct pod_member *m)
{
    struct kube_request req;
    kube_request_get(&kube_pods, m->owner->params.ns, m->name, &req);
    m->call = kube_call(m->owner->params.client, &req, NULL, on_found, m);
}

static void on_created(void *ctx, int r, const struct kube_response *res, const struct err *err)
{
    struct pod_member *m = ctx;
    m->call = NULL;
    if (r == -EEXIST) {
        look(m);
    } else if (r < 0) {
        creation_failed(m, pods_is_transient(m->owner, r, res), err->msg);
    } else {
        m->owner->params.counters->created++;
        m->owner->denied_ns = 0;
        m->is_made = true;
        is_there(m, NULL);
    }
}

/* The pservers' addresses by number, when all are known; NULL else. Owned by the caller. */
static char **server_addresses(const struct pods *l)
{
    const uint32_t n = l->gang.replicas[ROLE_PSERVER];
    char **list = xnew_array(char *, n + 1);
    uint32_t known = 0;
    vec_each (struct pod_member *, it, &l->members) {
        const struct pod_member *m = *it;
        if (m->id.role == ROLE_PSERVER && attempt_id_eq(&m->id.attempt, &l->gang.attempt) &&
            m->id.index < n && m->state.ip[0] != '\0' && list[m->id.index] == NULL) {
            list[m->id.index] = pod_ip_address(m->state.ip);
            known++;
        }
    }
    if (known == n) {
        return list;
    }
    for (uint32_t i = 0; i < n; i++) {
        free(list[i]);
    }
    free(list);
    return NULL;
}

/* Borrowed; NULL: *err says why. */
static json_t *make_body(const struct pod_member *m, char **servers, struct err *err)
{
    struct pods *l = m->owner;
    const struct run_def *def = l->params.def;
    json_t **body = &l->bodies[m->id.role];
    if (*body != NULL) {
        pod_body_renumber(def, &m->id, l->params.naming, *body);
        return *body;
    }
    struct gang_addresses addresses = {.is_pods = true};
    for (enum role role = 0; role < ROLE_COUNT; role++) {
        addresses.of_role[role] = l->addresses[role];
    }
    if (servers != NULL) {
        addresses.of_role[ROLE_PSERVER] = servers;
    }
    return pod_body(def, &m->id, &addresses, l->params.naming, body, err) < 0 ? NULL : *body;
}

static void post(struct pod_member *m, char **servers)
{
    struct pods *l = m->owner;
    struct err err;
    const json_t *body = make_body(m, servers, &err);
    if (body == NULL) {
        refuse(m, err.msg);
        return;
    }
    struct kube_request req;
    kube_request_create(&kube_pods, l->params.ns, body, KUBE_WRITE, &req);
    m->step = MEMBER_POSTING;
    m->call = kube_call(l->params.client, &req, NULL, on_created, m);
}

/* ---- the Secret and the Service ---- */

static void gate_refused(struct pods *l, const char *message)
{
    vec_each (struct pod_member *, it, &l->members) {
        if ((*it)->step == MEMBER_WANTED && !(*it)->is_refused) {
            refuse(*it, message);
            return; /* one ends the attempt */
        }
    }
}

static void on_gate_found(void *ctx, int r, const struct kube_response *res, const struct err *err)
{
    struct pod_gate *g = ctx;
    struct pods *l = g->owner;
    json_t *object = NULL;
    g->call = NULL;
    if (r == 0) {
        r = kube_json_load(res->body, res->body_len, &object, NULL);
    }
    if (r == 0 && pod_is_owned(l->params.def, object)) {
        g->is_open = true;
        pods_pump(l);
    } else if (r == 0) {
        _cleanup_(freep) char *message =
            xasprintf("a Service '%s' is there already and is not this run's: delete it",
                      kube_json_metadata(object, "name"));
        gate_refused(l, message);
    } else if (r != -ENOENT && !pods_is_transient(l, r, res)) {
        gate_refused(l, err->msg);
    } /* else again: gone between two questions */
    json_decref(object);
}

static void look_at_gate(struct pod_gate *g)
{
    struct kube_request req;
    kube_request_get(g->resource, g->owner->params.ns, kube_json_metadata(g->body, "name"), &req);
    g->call = kube_call(g->owner->params.client, &req, NULL, on_gate_found, g);
}

static void on_gate(void *ctx, int r, const struct kube_response *res, const struct err *err)
{
    struct pod_gate *g = ctx;
    struct pods *l = g->owner;
    g->call = NULL;
    g->retry_ns = clock_monotonic_ns() + POD_RETRY_NS;
    /* A Secret may not be read. Its name holds our uid, and any key will do that all members have. */
    if (r == 0 || (r == -EEXIST && g == &l->gates[GATE_SECRET])) {
        g->is_open = true;
        pods_pump(l);
    } else if (r == -EEXIST) {
        look_at_gate(g);
    } else if (!pods_is_transient(l, r, res)) {
        gate_refused(l, err->msg);
    }
}

/* True when all are there. */
static bool gates_are_open(struct pods *l, int64_t now_ns)
{
    bool are_open = true;
    for (int i = 0; i < GATE_COUNT; i++) {
        struct pod_gate *g = &l->gates[i];
        if (g->body == NULL || g->is_open) {
            continue;
        }
        are_open = false;
        if (g->call == NULL && now_ns >= g->retry_ns) {
            struct kube_request req;
            kube_request_create(g->resource, l->params.ns, g->body, KUBE_WRITE, &req);
            g->call = kube_call(l->params.client, &req, NULL, on_gate, g);
        }
    }
    return are_open;
}

/* ---- what is due ---- */

static bool is_due(const struct pod_member *m, int64_t now_ns)
{
    return m->step == MEMBER_WANTED && !m->is_refused && m->call == NULL && now_ns >= m->retry_ns;
}

/* Is there anything to post, and nobody refused that ends the attempt anyway? */
static bool wants_pods(const struct pods *l, int64_t now_ns)
{
    bool any = false;
    vec_each (struct pod_member *, it, &l->members) {
        if ((*it)->is_refused) {
            return false;
        }
        any = any || is_due(*it, now_ns);
    }
    return any;
}

static size_t count_posting(const struct pods *l)
{
    size_t n = 0;
    vec_each (struct pod_member *, it, &l->members) {
        n += (*it)->step == MEMBER_POSTING;
    }
    return n;
}

/* Removed while their POST was under way, and the answer was lost: what is there? */
static void look_for_lost(struct pods *l, int64_t now_ns)
{
    vec_each (struct pod_member *, it, &l->dying) {
        if ((*it)->uid == NULL && (*it)->call == NULL && now_ns >= (*it)->retry_ns) {
            look(*it);
        }
    }
}

void pods_look_at_unseen(struct pods *l, int64_t now_ns)
{
    vec_each (struct pod_member *, it, &l->members) {
        const struct pod_member *m = *it;
        if (m->step == MEMBER_THERE && m->uid == NULL && m->call == NULL && now_ns > m->retry_ns &&
            m->state.state == REPLICA_PENDING) {
            look(*it);
        }
    }
}

static void free_list(char **list, uint32_t n)
{
    for (uint32_t i = 0; list != NULL && i < n; i++) {
        free(list[i]);
    }
    free(list);
}

void pods_pump(struct pods *l)
{
    const int64_t now_ns = clock_monotonic_ns();
    look_for_lost(l, now_ns);
    if (is_any_alive(l) || !wants_pods(l, now_ns) || !gates_are_open(l, now_ns)) {
        return;
    }
    const bool is_by_ip = l->params.naming == POD_BY_IP;
    char **servers = is_by_ip ? server_addresses(l) : NULL;
    /* The first goes alone: a template that is refused costs one request. */
    const size_t max_posting = l->is_probed ? POSTS_AHEAD : 1;
    size_t n_posting = count_posting(l);
    for (size_t i = 0; i < l->members.len && n_posting < max_posting; i++) {
        struct pod_member *m = l->members.items[i];
        const bool must_wait = is_by_ip && m->id.role != ROLE_PSERVER && servers == NULL;
        if (!is_due(m, now_ns) || must_wait) {
            continue;
        }
        post(m, servers);
        n_posting++;
        if (m->is_refused) {
            break;
        }
    }
    free_list(servers, l->gang.replicas[ROLE_PSERVER]);
}
