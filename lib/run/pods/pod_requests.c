/* Creating, asking for and deleting pods, see pod_requests.h. */
#include "run/pods/pod_requests.h"

#include <errno.h>

#include "base/mem.h"
#include "base/str.h"
#include "kube/json.h"
#include "run/pods/pods_internal.h"

static int64_t now(const struct pod_member *m)
{
    return m->owner->params.now_ns();
}

/* Last in each callback. */
static void heard(struct pod_member *m)
{
    if (m->life == MEMBER_MADE || m->life == MEMBER_THERE) {
        m->gang->is_probed = true; /* a dying one is of an earlier gang */
    }
    pods_tick_soon(m->owner);
}

void pod_requests_refuse(struct pod_member *m, const char *message, int64_t now_ns)
{
    pod_member_refused(m, FAILURE_PERMANENT, message, now_ns);
    if (member_life_is_refused(m->life)) {
        m->gang->is_probed = false;
        m->owner->params.counters->failed++;
    }
}

static void try_again(struct pod_member *m, int r, const struct kube_response *res,
                      const char *words)
{
    if (pod_member_is_wanted(m) || m->life == MEMBER_POSTING) {
        m->gang->is_probed = false; /* one pod is retried, and not 160 */
    }
    pod_member_try_again(m, r, res, words, now(m));
}

/* ---- GET ---- */

/* Of one that is removed the name says what it is, or its uid: its labels and its owner may have
 * been taken. */
static bool is_ours(const struct pod_member *m, const char *pod_uid, const struct pod_facts *pod)
{
    const struct run_def *def = m->owner->params.def;
    const char *uid = m->uid != NULL ? m->uid : m->sought_uid;
    struct replica_id id;
    return member_life_is_dying(m->life)
               ? str_eq(pod->owner_uid, def->uid) || (uid != NULL && str_eq(uid, pod_uid))
               : pod_identify(def, pod, &id) && replica_id_eq(&id, &m->id);
}

static void found(struct pod_member *m, const char *uid, const struct pod_facts *pod)
{
    const bool is_own = is_ours(m, uid, pod), is_dying = member_life_is_dying(m->life);
    const bool is_of_another =
        pod->is_of_a_run && !str_eq(pod->owner_uid, m->owner->params.def->uid);
    if (!is_dying && ((is_own && pod->is_going) || is_of_another)) {
        _cleanup_(freep) char *holder = pod_wait_holder(pod->held_by);
        _cleanup_(freep) char *words = xasprintf(
            "a pod '%s'%s%s", m->name,
            is_own ? " is terminating" : ", of a deleted run, is not removed yet", holder);
        pod_member_try_again(m, -EEXIST, NULL, words, now(m)); /* look again later */
    } else if (is_own) {
        pod_member_found(m, uid, pod, now(m));
    } else {
        _cleanup_(freep) char *message =
            xasprintf("a pod '%s' exists already and does not belong to this run; delete it or "
                      "give the run another name",
                      m->name);
        m->may_exist = false; /* another's does */
        pod_requests_refuse(m, message, now(m));
    }
}

static void on_got(void *ctx, int r, const struct kube_response *res, const struct err *err)
{
    struct pod_member *m = ctx;
    json_auto_t *pod = NULL;
    struct err parsed = *err;
    r = r < 0 ? r : kube_json_load_lean(res->body, res->body_len, &pod, &parsed);
    if (r == -ENOENT) {
        pod_member_answered(m, MEMBER_NOT_FOUND, now(m));
    } else if (r < 0) {
        /* A removed member is looked for until it is known what became of it. */
        if (pods_is_transient(m->owner, r, res) || member_life_is_dying(m->life)) {
            pod_member_try_again(m, r, res, parsed.msg, now(m));
        } else {
            pod_requests_refuse(m, parsed.msg, now(m));
        }
    } else {
        _cleanup_(freep) struct pod_facts *facts = pod_facts_decode(pod);
        found(m, kube_json_metadata(pod, "uid"), facts);
    }
    heard(m);
}

static struct kube_call *get(struct pod_member *m)
{
    const struct pods_params *params = &m->owner->params;
    struct kube_request req;
    kube_request_get(&kube_pods, params->ns, m->name, &req);
    return kube_call(params->client, &req, KUBE_ONCE, on_got, m);
}

/* ---- DELETE ---- */

/* A pod that the server does not delete, whatever it says, is not left alone: it would run next to
 * the next attempt. The status says why it still exists. */
static void on_deleted(void *ctx, int r, const struct kube_response *res, const struct err *err)
{
    struct pod_member *m = ctx;
    struct pods *l = m->owner;
    if (r == 0) {
        pod_denial_clear(&l->denial);
        pod_member_answered(m, MEMBER_DELETED, now(m));
    } else if (r == -ENOENT || r == -ESTALE) { /* another uid: it has gone */
        /* What the watch has shown is waited for like any other: else it would be found again. */
        pod_member_answered(m, m->is_shown ? MEMBER_DELETED : MEMBER_FAILED, now(m));
    } else {
        (void)pods_is_transient(m->owner, r, res); /* notes a denial */
        pod_member_try_again(m, r, res, err->msg, now(m));
    }
    heard(m);
}

static struct kube_call *delete (struct pod_member *m)
{
    const struct pods_params *params = &m->owner->params;
    struct kube_request req;
    kube_request_delete(&kube_pods, params->ns, m->name, m->uid,
                        m->owner->base.is_hurried ? POD_HURRIED_GRACE_S : -1, &req);
    return kube_call(params->client, &req, KUBE_ONCE, on_deleted, m);
}

static void send_one(struct pod_member *m, int64_t now_ns)
{
    const enum member_action action = pod_member_due(m, now_ns);
    if (action == MEMBER_DO_GET) {
        pod_member_sent(m, action, get(m));
    } else if (action == MEMBER_DO_DELETE && !pod_jobs_hold_pod(&m->owner->jobs, m)) {
        pod_member_sent(m, action, delete (m));
    }
}

void pod_requests_send_due(struct pods *l, int64_t now_ns)
{
    const bool is_creating = l->base.ops->is_settling(&l->base, NULL);
    const size_t most = is_creating ? DELETIONS_BESIDE_POSTS : DELETIONS_AHEAD;
    size_t n = vec_sum(&l->members, it,
                       (*it)->life == MEMBER_DYING_DELETING && (*it)->remains == POD_OVER);
    vec_each (struct pod_member *, it, &l->members) {
        struct pod_member *m = *it;
        const bool is_patient =
            m->remains == POD_OVER && pod_member_due(m, now_ns) == MEMBER_DO_DELETE;
        if (!is_patient || n < most) {
            n += is_patient;
            send_one(m, now_ns);
        }
    }
}

/* ---- POST ---- */

/* Some other member of its attempt may exist. */
static bool has_part_of_gang(const struct pod_member *m)
{
    return vec_any(&m->owner->members, other,
                   *other != m && (*other)->life < MEMBER_DYING_POSTING &&
                       !pod_member_is_wanted(*other) &&
                       attempt_id_eq(&(*other)->id.attempt, &m->id.attempt));
}

/* By the uid of the pod that was made it is known even if its owner is taken away before the watch
 * has shown it. If the watch has shown another pod of that name, there are two: an earlier POST
 * without an answer made the first, somebody deleted it. Nothing else knows of the second. */
static void note_made(struct pod_member *m, const struct kube_response *res)
{
    struct pods *l = m->owner;
    json_auto_t *pod = NULL;
    if (kube_json_load_lean(res->body, res->body_len, &pod, NULL) < 0) {
        return;
    }
    const char *uid = kube_json_metadata(pod, "uid");
    if (m->uid == NULL) {
        pod_member_made(m, uid);
    } else if (*uid != '\0' && !str_eq(uid, m->uid)) {
        _cleanup_(freep) struct pod_facts *facts = pod_facts_decode(pod);
        struct pod_member *second = pod_member_for_leftover(l, m->name, uid, facts, now(m));
        second->is_shown = false;
        *vec_push(&l->members) = second;
    }
}

static void on_posted(void *ctx, int r, const struct kube_response *res, const struct err *err)
{
    struct pod_member *m = ctx;
    struct pods *l = m->owner;
    if (r == -EEXIST) {
        pod_member_answered(m, MEMBER_NAME_TAKEN, now(m));
    } else if (r == -EDQUOT && m->trouble.n_times >= NO_ROOM_BACKOFF_TRIES && has_part_of_gang(m)) {
        /* Half a gang must not keep room from others, and the attempt is not to blame. */
        pod_member_refused(m, FAILURE_NO_ROOM, err->msg, now(m));
    } else if (r < 0 && pods_is_transient(m->owner, r, res)) {
        try_again(m, r, res, err->msg);
    } else if (r < 0) {
        pod_requests_refuse(m, err->msg, now(m));
    } else {
        pod_denial_clear(&l->denial);
        l->params.counters->created++;
        note_made(m, res);
        pod_member_answered(m, MEMBER_CREATED, now(m));
    }
    heard(m);
}

/* Borrowed; NULL: *err says why. */
static json_t *make_body(const struct pod_member *m, char **servers, struct err *err)
{
    struct pods *l = m->owner;
    const struct run_def *def = l->params.def;
    json_t **body = &m->gang->bodies[m->id.role];
    if (*body != NULL && !pod_body_is_alike(def, m->id.attempt.point)) {
        json_decref(*body);
        *body = NULL;
    }
    if (*body != NULL) {
        pod_body_renumber(def, &m->id, l->params.naming, *body);
        return *body;
    }
    struct gang_addresses addresses = {.is_pods = true};
    for (enum role role = 0; role < ROLE_COUNT; role++) {
        addresses.of_role[role] = m->gang->addresses[role];
    }
    if (servers != NULL) {
        addresses.of_role[ROLE_PSERVER] = servers;
    }
    if (pod_body(def, &m->id, &addresses, l->params.naming, body, err) < 0) {
        return NULL;
    }
    pod_body_set_account(*body, l->params.account);
    pod_set_registry(*body, l->params.registry);
    pod_queue_dress(m->gang, m->id.role, *body);
    return *body;
}

void pod_requests_post(struct pod_member *m, char **servers, int64_t now_ns)
{
    const struct pods_params *params = &m->owner->params;
    struct err err;
    const json_t *body = make_body(m, servers, &err);
    if (body == NULL) {
        pod_requests_refuse(m, err.msg, now_ns);
        return;
    }
    struct kube_request req;
    kube_request_create(&kube_pods, params->ns, body, KUBE_WRITE, &req);
    pod_member_sent(m, MEMBER_DO_POST, kube_call(params->client, &req, KUBE_ONCE, on_posted, m));
}
