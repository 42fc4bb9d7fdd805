/* See pod_queue.h. */
#include "run/pods/pod_queue.h"

#include <errno.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "kube/json.h"
#include "pod/body.h"
#include "pod/job_body.h"
#include "run/pods/pods_internal.h"

#define RIGHTS_HINT "; see manifests/kueue.yaml for the rights that benchd needs"

static bool has_queue(const struct pods *l)
{
    return l->params.def->options.queue != NULL;
}

/* A job object waits by itself, with the name of the queue in a label (pod/job_body.c). */
static bool has_place(const struct pods *l, const struct attempt_id *id)
{
    return has_queue(l) && job_of_point(l->params.def, id->point) == NULL;
}

static bool is_ours(const struct pods *l, const struct workload_facts *w)
{
    return str_eq(w->owner_uid, l->params.def->uid);
}

const struct workload_facts *pod_queue_facts(const struct pods *l, const struct attempt_id *id)
{
    const struct kube_cache *cache = has_queue(l) ? l->params.workloads->cache : NULL;
    for (size_t i = 0; cache != NULL && i < cache->objects.len; i++) {
        const struct workload_facts *w = cache->objects.items[i]->facts;
        if (is_ours(l, w) && w->has_attempt && attempt_id_eq(&w->attempt, id)) {
            return w;
        }
    }
    return NULL;
}

/* ---- what becomes of the pods ---- */

static bool is_live(const struct pod_member *m)
{
    return m->life < MEMBER_DYING_POSTING;
}

static bool has_live(const struct pods *l, const struct attempt_id *id)
{
    return vec_any(&l->members, it, is_live(*it) && attempt_id_eq(&(*it)->id.attempt, id));
}

/* A pod of the member exists, or may. */
static bool may_have_pod(const struct pod_member *m)
{
    return m->life != MEMBER_WANTED && m->life != MEMBER_REFUSED && m->life != MEMBER_LOST &&
           m->life != MEMBER_GONE;
}

static bool is_pod_of(const struct pod_facts *pod, const struct workload_facts *w)
{
    return str_eq(pod->owner_uid, w->owner_uid) && pod->has_id &&
           attempt_id_eq(&pod->id.attempt, &w->attempt);
}

/* Something of its attempt may run: its quota is in use. */
static bool may_run(const struct pods *l, const struct workload_facts *w)
{
    return (is_ours(l, w) && vec_any(&l->members, it,
                                     may_have_pod(*it) && (*it)->remains != POD_OVER &&
                                         attempt_id_eq(&(*it)->id.attempt, &w->attempt))) ||
           vec_any(&l->params.cache->objects, it,
                   !pod_is_over((*it)->facts) && is_pod_of((*it)->facts, w));
}

bool pod_queue_lacks(const struct pods *l, const struct attempt_id *id)
{
    const struct workload_facts *w = pod_queue_facts(l, id);
    return has_place(l, id) && l->params.workloads->is_known &&
           (w == NULL || w->state == WORKLOAD_EVICTED);
}

/* The queue has taken the place back, or somebody has deleted the Workload. */
static void evict(struct pods *l, int64_t now_ns)
{
    vec_each (struct pod_member *, it, &l->members) {
        struct pod_member *m = *it;
        if (!is_live(m) || !may_have_pod(m) || pod_member_has_ended(m) ||
            !pod_queue_lacks(l, &m->id.attempt)) {
            continue;
        }
        const struct workload_facts *w = pod_queue_facts(l, &m->id.attempt);
        pod_member_fail(m, FAILURE_PREEMPTED,
                        w == NULL ? "its Workload was deleted, but not by benchd" : w->words,
                        now_ns);
    }
}

/* ---- what is not needed ---- */

/* One run is driven at a time, so none of another run is. */
static bool is_needed(const struct pods *l, const struct workload_facts *w)
{
    return is_ours(l, w) && w->has_attempt && w->state != WORKLOAD_EVICTED &&
           has_live(l, &w->attempt);
}

/* A Workload of an attempt that needs none any more. */
static bool is_coming(const struct pod_gang *g)
{
    const struct pod_place *q = &g->place;
    return q->is_asked && (q->call != NULL || g->owner->params.now_ns() < q->due_ns) &&
           !has_live(g->owner, &g->spec.attempt);
}

bool pod_queue_is_leaving(const struct pods *l)
{
    const struct pod_workloads *w = l->params.workloads;
    if (!has_queue(l)) {
        return false;
    }
    return !w->is_known || vec_any(&l->gangs, it, is_coming(*it)) ||
           (w->cache != NULL && vec_any(&w->cache->objects, it,
                                        is_ours(l, (*it)->facts) && !is_needed(l, (*it)->facts)));
}

static void on_removed(void *ctx, int r, const struct kube_response *res, const struct err *err)
{
    struct pods *l = ctx;
    struct pod_queue *q = &l->queue;
    q->removing = NULL;
    if (r == 0 || r == -ENOENT || r == -ESTALE) { /* another uid: it has gone */
        pod_trouble_clear(&q->remove_trouble);
        q->remove_due_ns = l->params.now_ns() + POD_RETRY_NS; /* until the watch shows it */
    } else {
        q->remove_due_ns =
            l->params.now_ns() + pod_trouble_note(&q->remove_trouble, r, res, err->msg);
    }
    pods_tick_soon(l);
}

static void remove_one(struct pods *l, int64_t now_ns)
{
    struct pod_queue *q = &l->queue;
    const struct kube_cache *cache = l->params.workloads->cache;
    for (size_t i = 0; cache != NULL && i < cache->objects.len; i++) {
        const struct kube_object *o = cache->objects.items[i];
        const struct workload_facts *w = o->facts;
        if (q->removing == NULL && !is_needed(l, w) && !may_run(l, w) &&
            (now_ns >= q->remove_due_ns || !str_eq(q->removed_uid, o->uid))) {
            struct kube_request req;
            kube_request_delete(&kube_workloads, l->params.ns, o->name, o->uid, -1, &req);
            text_put(q->removed_uid, sizeof(q->removed_uid), "%s", o->uid);
            q->removing = kube_call(l->params.client, &req, KUBE_ONCE, on_removed, l);
        }
    }
}

static void look_for_place(struct pod_gang *g)
{
    struct pod_place *q = &g->place;
    if (q->is_asked && pod_queue_facts(g->owner, &g->spec.attempt) != NULL) {
        q->is_asked = false;
        q->due_ns = 0;
        pod_trouble_clear(&q->trouble);
    }
}

bool pod_queue_tick(struct pods *l, int64_t now_ns)
{
    struct pod_queue *q = &l->queue;
    if (!has_queue(l)) {
        return false;
    }
    vec_each (struct pod_gang *, it, &l->gangs) {
        look_for_place(*it);
    }
    evict(l, now_ns);
    if (q->is_driven) { /* else it may be wanted in a moment */
        remove_one(l, now_ns);
    }
    const bool was_leaving = q->was_leaving;
    q->was_leaving = pod_queue_is_leaving(l);
    return was_leaving && !q->was_leaving;
}

static void say_unknown(const struct pods *l, const char *reason, struct run_wait *ret)
{
    const struct err *error = &l->params.workloads->error;
    pod_wait_say(ret, reason, "the Workloads of Kueue are not known: %s",
                 error->code == 0 ? "their first list is not complete" : error->msg);
}

void pod_queue_wait(const struct pods *l, struct run_wait *ret)
{
    const char *words = l->queue.remove_trouble.words;
    if (words != NULL) {
        pod_wait_say(ret, "DeletionFails", "%s", words);
    } else if (has_queue(l) && !l->params.workloads->is_known && l->members.len == 0) {
        say_unknown(l, "DeletionFails", ret);
    }
}

/* ---- asking ---- */

/* An answer to a question that is asked again, or never for this attempt. */
static void heard(struct pod_gang *g, int r, const struct kube_response *res, const char *words,
                  bool is_transient)
{
    struct pod_place *q = &g->place;
    const int64_t now_ns = g->owner->params.now_ns();
    if (r == 0) {
        pod_trouble_clear(&q->trouble);
    } else if (is_transient || pods_is_transient(g->owner, r, res)) {
        q->due_ns = now_ns + pod_trouble_note(&q->trouble, r, res, words);
    } else {
        free(q->refusal);
        q->refusal =
            xasprintf("%s%s", words, res != NULL && kube_lacks_right(res) ? RIGHTS_HINT : "");
        q->due_ns = now_ns + POD_RETRY_NS;
    }
    pods_tick_soon(g->owner);
}

/* The priority class before the Workload is made, a flavor after its admission. */
static void on_read(void *ctx, int r, const struct kube_response *res, const struct err *err)
{
    struct pod_gang *g = ctx;
    struct pod_place *q = &g->place;
    json_auto_t *object = NULL;
    struct err parsed = *err;
    q->call = NULL;
    r = r < 0 ? r : kube_json_load(res->body, res->body_len, &object, &parsed);
    if (r == 0 && q->flavors == NULL) {
        q->has_priority = true;
        q->priority = json_integer_value(json_object_get(object, "value"));
    } else if (r == 0) {
        json_t *spec = json_object_get(object, "spec");
        (void)json_object_set_new(q->flavors, kube_json_metadata(object, "name"),
                                  spec == NULL ? json_object() : json_incref(spec));
    }
    heard(g, r, res, parsed.msg, false);
}

static void read_object(struct pod_gang *g, const struct kube_resource *resource, const char *name)
{
    struct kube_request req;
    kube_request_get(resource, NULL, name, &req);
    g->place.call = kube_call(g->owner->params.client, &req, KUBE_ONCE, on_read, g);
}

static void on_posted(void *ctx, int r, const struct kube_response *res, const struct err *err)
{
    struct pod_gang *g = ctx;
    struct pod_place *q = &g->place;
    q->call = NULL;
    if (!q->is_asked) {
        return; /* the watch has shown it before */
    }
    if (r == 0) {
        pod_denial_clear(&g->owner->denial);
        q->due_ns = g->owner->params.now_ns() + POD_UNSEEN_NS;
    }
    /* It may exist already: of this run, and the watch is late, or of one of the same name that is
     * being deleted. Without Kueue in the cluster there is no such kind. */
    heard(g, r, res, err->msg, r == -EEXIST || r == -ENOENT);
    q->is_asked = q->refusal == NULL;
}

/* The pod sets are those of the pods that are made later. -EINVAL: a template contradicts. */
static int make_body(const struct pod_gang *g, json_t **ret, struct err *err)
{
    const struct gang_addresses addresses = {.is_pods = true};
    json_t *pods[ROLE_COUNT] = {NULL};
    int r = 0;
    for (enum role role = 0; role < ROLE_COUNT && r == 0; role++) {
        const struct replica_id id = {g->spec.attempt, role, 0};
        if (g->spec.replicas[role] > 0) {
            r = pod_body(g->owner->params.def, &id, &addresses, g->owner->params.naming,
                         &pods[role], err);
        }
    }
    if (r == 0) {
        *ret = workload_body(g->owner->params.def, &g->spec.attempt, pods, g->spec.replicas,
                             g->place.priority);
    }
    for (enum role role = 0; role < ROLE_COUNT; role++) {
        json_decref(pods[role]);
    }
    return r;
}

static void ask(struct pod_gang *g, int64_t now_ns)
{
    struct pod_place *q = &g->place;
    const char *class = g->owner->params.def->options.priority_class;
    struct err err;
    json_auto_t *body = NULL;
    if (q->call != NULL || now_ns < q->due_ns) {
        return;
    }
    if (class != NULL && !q->has_priority) {
        read_object(g, &kube_workload_priorities, class);
    } else if (make_body(g, &body, &err) < 0) {
        free(q->refusal);
        q->refusal = xstrdup(err.msg);
    } else {
        struct kube_request req;
        kube_request_create(&kube_workloads, g->owner->params.ns, body, KUBE_WRITE, &req);
        q->is_asked = true;
        q->call = kube_call(g->owner->params.client, &req, KUBE_ONCE, on_posted, g);
    }
}

/* ---- the place that it gets ---- */

/* True: it is known which nodes the admission speaks of. Without that, pods could land on nodes of
 * another flavor, of which others have the quota, and measure those. */
static bool knows_nodes(struct pod_gang *g, const struct workload_facts *w, int64_t now_ns)
{
    struct pod_place *q = &g->place;
    json_auto_t *admission = json_loads(w->admission, 0, NULL);
    const char *name = "";
    if (q->flavors == NULL) {
        q->flavors = json_object();
    }
    for (size_t n = 0; (name = workload_flavor(admission, n)) != NULL; n++) {
        if (json_object_get(q->flavors, name) == NULL) {
            break;
        }
    }
    if (name != NULL && q->call == NULL && now_ns >= q->due_ns) {
        read_object(g, &kube_resource_flavors, name);
    }
    return name == NULL;
}

void pod_queue_dress(const struct pod_gang *g, enum role role, json_t *pod)
{
    const struct workload_facts *w = pod_queue_facts(g->owner, &g->spec.attempt);
    if (w != NULL) {
        json_auto_t *admission = json_loads(w->admission, 0, NULL);
        workload_dress(admission, g->place.flavors, role, pod);
    }
}

/* ---- waiting ---- */

static void refuse(struct pod_gang *g, enum failure_class failure, const char *message,
                   int64_t now_ns)
{
    struct pod_member *m =
        vec_find_item(&g->owner->members, it, it->gang == g && pod_member_is_wanted(it));
    if (m != NULL) {
        pod_member_fail(m, failure, message, now_ns);
    }
}

/* The queue has its place too late, or never. */
static void give_up(struct pod_gang *g, const struct workload_facts *w, int64_t now_ns)
{
    const int64_t waited_ms = clock_steady_unix_ms() - w->created_unix_ms;
    char words[512];
    workload_say(w, g->owner->params.def->options.queue, words, sizeof(words));
    if (w->state == WORKLOAD_NEVER) {
        refuse(g, FAILURE_WAIT_OVER, words, now_ns);
    } else if (waited_ms > g->owner->wait_ms && w->created_unix_ms != 0) {
        _cleanup_(freep) char *message = xasprintf("waited %lld s (scheduling.waitSeconds): %s",
                                                   (long long)(g->owner->wait_ms / 1000), words);
        refuse(g, FAILURE_WAIT_OVER, message, now_ns);
    }
}

static void say(const struct pod_gang *g, const struct workload_facts *w, struct run_wait *ret)
{
    const struct pod_trouble *t = &g->place.trouble;
    char words[sizeof(ret->text)];
    workload_say(w, g->owner->params.def->options.queue, words, sizeof(words));
    if (!g->owner->params.workloads->is_known) {
        say_unknown(g->owner, pod_answer_reason(t->code), ret);
    } else {
        pod_wait_say(ret, t->words != NULL ? pod_answer_reason(t->code) : "Queued", "%s",
                     t->words != NULL ? t->words : words);
    }
}

bool pod_queue_admits(struct pod_gang *g, struct run_wait *ret, int64_t now_ns)
{
    struct pod_place *q = &g->place;
    if (!has_place(g->owner, &g->spec.attempt)) {
        return true;
    }
    if (vec_any(&g->owner->members, it, (*it)->gang == g && member_life_is_refused((*it)->life))) {
        return false; /* the attempt fails */
    }
    const struct workload_facts *w = pod_queue_facts(g->owner, &g->spec.attempt);
    if (q->refusal != NULL) {
        refuse(g, FAILURE_PERMANENT, q->refusal, now_ns);
        free(take_ptr(q->refusal));
        return false;
    }
    if (w == NULL && g->owner->params.workloads->is_known) {
        ask(g, now_ns);
    } else if (w != NULL && w->state == WORKLOAD_ADMITTED) {
        if (knows_nodes(g, w, now_ns)) {
            return true;
        }
    } else if (w != NULL) {
        give_up(g, w, now_ns);
    }
    say(g, w, ret);
    return false;
}

/* ---- life ---- */

void pod_queue_notice(struct launcher *launcher)
{
    pods_tick_soon((struct pods *)launcher);
}

void pod_place_reset(struct pod_place *q)
{
    kube_call_cancel(take_ptr(q->call));
    pod_trouble_clear(&q->trouble);
    free(take_ptr(q->refusal));
    json_decref(take_ptr(q->flavors)); /* somebody may have changed them */
    q->is_asked = q->has_priority = false;
    q->due_ns = 0;
}

void pod_queue_done(struct pod_queue *q)
{
    kube_call_cancel(q->removing);
    pod_trouble_clear(&q->remove_trouble);
}
