/* The launcher of a cluster, see pods.h and pods_parts.h. Edge file: timer, clocks. */
#include "run/pods.h"

#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/text.h"
#include "kube/json.h"
#include "run/pods_parts.h"

#define DEFAULT_DENIED_WAIT_MS (12 * 1000) /* longer than a Lease without renewal */
#define DEFAULT_NODE_WAIT_MS (INT64_C(300) * 1000)
#define DEFAULT_IMAGE_WAIT_MS (INT64_C(120) * 1000)

static void on_tick(uv_timer_t *timer);

void pods_changed(struct pods *l)
{
    if (l->base.on_change != NULL) {
        l->base.on_change(l->base.ctx);
    }
}

/* The timer runs while there is anything that time could change. */
static void keep_ticking(struct pods *l)
{
    const bool is_needed = l->members.len + l->dying.len > 0;
    if (is_needed && !uv_is_active((uv_handle_t *)&l->tick)) {
        /* Cannot fail: the callback is not NULL and the handle is not closing. */
        (void)uv_timer_start(&l->tick, on_tick, POD_TICK_MS, POD_TICK_MS);
    } else if (!is_needed) {
        (void)uv_timer_stop(&l->tick); /* never fails */
    }
}

/* ---- members ---- */

struct pod_member *pods_member_new(struct pods *l, const struct replica_id *id)
{
    struct pod_member *m = xnew(struct pod_member);
    m->owner = l;
    m->id = *id;
    m->name = replica_name(l->params.def->name, id);
    m->state = (struct pod_state){.state = REPLICA_PENDING, .exit_code = -1};
    *vec_push(&l->members) = m;
    keep_ticking(l);
    return m;
}

void pods_member_free(struct pod_member *m)
{
    if (m->call != NULL) {
        kube_call_cancel(m->call);
    }
    pods_logs_done(m);
    pod_state_done(&m->state);
    free(m->name);
    free(m->container);
    free(m->uid);
    free(m->environment_json);
    free(m);
}

static struct pod_member *find(const struct pods *l, const struct replica_id *id)
{
    vec_each (struct pod_member *, it, &l->members) {
        if (replica_id_eq(&(*it)->id, id)) {
            return *it;
        }
    }
    return NULL;
}

static void take_out(struct pods *l, const struct pod_member *m)
{
    for (size_t i = 0; i < l->members.len; i++) {
        if (l->members.items[i] == m) {
            l->members.items[i] = l->members.items[--l->members.len];
            return;
        }
    }
}

static bool has_ended(const struct pod_member *m)
{
    return m->state.state >= REPLICA_SUCCEEDED; /* Succeeded, Failed, Lost */
}

void pods_member_fail(struct pod_member *m, enum failure_class failure, const char *message)
{
    m->state.state = REPLICA_FAILED;
    m->state.failure = failure;
    m->state.wait = POD_WAIT_NONE;
    text_put(m->state.message, sizeof(m->state.message), "%s", message);
    m->ended_unix_ms = clock_unix_ms();
}

static void note_wait(struct pod_member *m)
{
    if (m->state.wait != m->waiting) {
        m->waiting = m->state.wait;
        m->waiting_since_ns = clock_monotonic_ns();
    }
}

bool pods_member_read(struct pod_member *m, const json_t *pod)
{
    struct pod_state next;
    m->has_stopped = pod_has_stopped(pod);
    m->is_over = pod_is_over(pod);
    if (has_ended(m)) {
        return false; /* an end is final, whatever becomes of the pod */
    }
    pod_state_read(pod, &m->id, &next);
    const bool is_new = next.state != m->state.state || next.wait != m->state.wait ||
                        !str_eq(next.ip, m->state.ip) || next.is_simulated != m->state.is_simulated;
    pod_state_done(&m->state);
    m->state = next;
    if (m->container == NULL) {
        const json_t *list = json_object_get(json_object_get(pod, "spec"), "containers");
        const char *name = json_string_value(json_object_get(json_array_get(list, 0), "name"));
        m->container = name == NULL ? NULL : xstrdup(name);
    }
    note_wait(m);
    if (has_ended(m)) {
        m->ended_unix_ms = clock_unix_ms();
    }
    pods_logs_update(m);
    return is_new;
}

/* ---- what the watch says ---- */

/* By uid; one that has none yet, by what it is. */
static struct pod_member *find_dying(const struct pods *l, const char *uid,
                                     const struct replica_id *id)
{
    vec_each (struct pod_member *, it, &l->dying) {
        struct pod_member *m = *it;
        if (m->uid != NULL ? str_eq(m->uid, uid) : replica_id_eq(&m->id, id)) {
            return m;
        }
    }
    return NULL;
}

static void dying_seen(struct pods *l, enum kube_change change, struct pod_member *m,
                       const struct kube_object *object)
{
    if (change == KUBE_CHANGE_REMOVED) {
        pods_drop_dying(m);
        pods_pump(l);
        return;
    }
    const bool was_over = m->is_over;
    m->is_over = pod_is_over(object->json);
    const bool is_new = m->uid == NULL;
    if (is_new) {
        m->uid = xstrdup(object->uid);
    }
    const bool is_due = is_new || (m->is_over && !was_over && !m->is_delete_answered);
    if (is_due && m->call == NULL) { /* else its answer leads on */
        pods_delete(m);
    }
    if (m->is_over && !was_over) {
        pods_pump(l);
    }
}

void pods_member_vanished(struct pod_member *m)
{
    if (has_ended(m)) {
        return; /* what it left is known */
    }
    m->state.state = REPLICA_LOST;
    m->state.failure = FAILURE_INFRASTRUCTURE;
    m->state.wait = POD_WAIT_NONE;
    text_put(m->state.message, sizeof(m->state.message), "vanished: somebody deleted its pod");
    m->ended_unix_ms = clock_unix_ms();
    pods_logs_update(m);
    pods_changed(m->owner);
}

static void adopt(struct pods *l, const struct replica_id *id, const struct kube_object *object)
{
    struct pod_member *m = pods_member_new(l, id);
    m->step = MEMBER_THERE;
    m->uid = xstrdup(object->uid);
    (void)pods_member_read(m, object->json); /* everything is new */
}

static void pod_seen(struct pods *l, enum kube_change change, const struct replica_id *id,
                     const struct kube_object *object)
{
    struct pod_member *m = find(l, id);
    if (m == NULL && change == KUBE_CHANGE_ADDED) {
        adopt(l, id, object); /* a POST of our last life that came late */
        pods_changed(l);
    }
    if (m == NULL || (m->uid != NULL && !str_eq(m->uid, object->uid))) {
        return; /* forgotten, or a namesake */
    }
    if (m->uid == NULL) {
        m->uid = xstrdup(object->uid); /* the watch was faster than the answer */
        m->step = MEMBER_THERE;
    }
    if (pods_member_read(m, object->json)) {
        pods_pump(l); /* trainers may have waited for this address */
        pods_changed(l);
    }
}

void pods_notify(struct launcher *launcher, enum kube_change change,
                 const struct kube_object *object)
{
    struct pods *l = (struct pods *)launcher;
    struct replica_id id;
    if (!pod_identify(l->params.def, object->json, &id)) {
        return;
    }
    struct pod_member *dying = find_dying(l, object->uid, &id);
    if (dying != NULL) {
        dying_seen(l, change, dying, object);
        return;
    }
    if (change != KUBE_CHANGE_REMOVED) {
        pod_seen(l, change, &id, object);
        return;
    }
    struct pod_member *m = find(l, &id);
    if (m != NULL && m->uid != NULL && str_eq(m->uid, object->uid)) {
        pods_member_vanished(m);
    }
}

/* ---- time ---- */

static bool wait_is_over(const struct pod_member *m, int64_t now_ns)
{
    const struct pods_params *p = &m->owner->params;
    const int64_t limit_ms = m->state.wait == POD_WAIT_NODE    ? p->node_wait_ms
                             : m->state.wait == POD_WAIT_IMAGE ? p->image_wait_ms
                                                               : INT64_MAX / 1000000;
    return m->state.wait != POD_WAIT_NONE && now_ns - m->waiting_since_ns > limit_ms * 1000000;
}

static void on_tick(uv_timer_t *timer)
{
    struct pods *l = timer->data;
    const int64_t now_ns = clock_monotonic_ns();
    bool is_changed = false;
    vec_each (struct pod_member *, it, &l->members) {
        if (wait_is_over(*it, now_ns)) {
            _cleanup_(freep) char *message = xstrdup((*it)->state.message);
            pods_member_fail(*it, FAILURE_PERMANENT, message);
            is_changed = true;
        }
    }
    for (size_t i = l->dying.len; i > 0; i--) {
        struct pod_member *m = l->dying.items[i - 1];
        if (m->gone_by_ns != 0 && now_ns > m->gone_by_ns) {
            pods_drop_dying(m); /* its node is slow, or lost: it goes when it goes */
        } else if (m->uid != NULL && m->call == NULL && !m->is_delete_answered &&
                   now_ns > m->retry_ns) {
            pods_delete(m);
        }
    }
    pods_look_at_unseen(l, now_ns);
    pods_pump(l);
    keep_ticking(l);
    if (is_changed) {
        pods_changed(l);
    }
}

/* ---- the vtable ---- */

static void addresses_free(struct pods *l)
{
    for (enum role role = 0; role < ROLE_COUNT; role++) {
        for (uint32_t i = 0; l->addresses[role] != NULL && i < l->gang.replicas[role]; i++) {
            free(l->addresses[role][i]);
        }
        free(l->addresses[role]);
        l->addresses[role] = NULL;
        json_decref(l->bodies[role]);
        l->bodies[role] = NULL;
    }
}

static void make_addresses(struct pods *l)
{
    const struct gang_spec *gang = &l->gang;
    for (enum role role = 0; role < ROLE_COUNT; role++) {
        l->addresses[role] = xnew_array(char *, gang->replicas[role] + 1);
        for (uint32_t i = 0; i < gang->replicas[role]; i++) {
            const struct replica_id id = {gang->attempt, role, i};
            l->addresses[role][i] = pod_dns_address(l->params.def, &id);
        }
    }
}

static int pods_prepare(struct launcher *launcher, const struct gang_spec *gang,
                        struct gang_addresses *ret, struct err *err)
{
    (void)err; /* names are known, and addresses come later */
    struct pods *l = (struct pods *)launcher;
    const bool is_same = l->has_gang && attempt_id_eq(&l->gang.attempt, &gang->attempt);
    if (!is_same) {
        addresses_free(l);
        l->gang = *gang;
        l->has_gang = true;
        l->is_probed = false;
        if (l->params.naming == POD_BY_DNS) {
            make_addresses(l);
        }
    }
    *ret = (struct gang_addresses){.is_pods = true};
    memcpy(ret->of_role, l->addresses, sizeof(ret->of_role));
    return 0;
}

static int pods_create(struct launcher *launcher, const struct replica_spec *spec, struct err *err)
{
    (void)err; /* whatever the server says is observed */
    struct pods *l = (struct pods *)launcher;
    if (find(l, &spec->id) == NULL) {
        (void)pods_member_new(l, &spec->id); /* kept in l->members */
        /* Posted by the next look, when the whole gang is wanted. */
        (void)uv_timer_start(&l->tick, on_tick, 0, POD_TICK_MS); /* as in keep_ticking */
    }
    return 0;
}

static int pods_remove(struct launcher *launcher, const struct replica_id *id, struct err *err)
{
    (void)err; /* deletions are tried until they are done */
    struct pods *l = (struct pods *)launcher;
    struct pod_member *m = find(l, id);
    if (m == NULL) {
        return 0;
    }
    take_out(l, m);
    pods_logs_done(m);
    const bool was_never_there = m->step == MEMBER_WANTED || m->is_refused;
    if (was_never_there || m->state.state == REPLICA_LOST) {
        pods_member_free(m);
        return 0;
    }
    m->is_removed = true;
    *vec_push(&l->dying) = m;
    if (m->step == MEMBER_THERE) {
        if (m->call != NULL) {
            kube_call_cancel(m->call); /* of its creation; it is there */
            m->call = NULL;
        }
        pods_delete_when_over(m);
    } /* else the answer to its POST says what there is to delete */
    keep_ticking(l);
    return 0;
}

static int pods_forget(struct launcher *launcher, const struct replica_id *id, struct err *err)
{
    struct pods *l = (struct pods *)launcher;
    struct pod_member *m = find(l, id);
    if (m != NULL && (m->step != MEMBER_THERE || !has_ended(m))) {
        return pods_remove(launcher, id, err);
    }
    if (m != NULL) {
        take_out(l, m);
        pods_member_free(m);
    }
    return 0;
}

static int pods_observe(struct launcher *launcher, struct observed_replica **ret, size_t *ret_n,
                        struct err *err)
{
    (void)err; /* everything is known here */
    struct pods *l = (struct pods *)launcher;
    VEC(struct observed_replica) list = {0};
    vec_each (struct pod_member *, it, &l->members) {
        const struct pod_state *s = &(*it)->state;
        *vec_push(&list) = (struct observed_replica){
            .id = (*it)->id,
            .state = s->state,
            .failure = s->failure,
            .exit_code = s->exit_code,
            .ended_unix_ms = (*it)->ended_unix_ms,
            .has_summary = s->summary_line != NULL,
            .message = s->message[0] != '\0' && has_ended(*it) ? s->message : NULL,
            .has_blamed = s->has_blamed,
            .blamed_role = s->blamed_role,
            .blamed_index = s->blamed_index,
        };
    }
    *ret = list.items;
    *ret_n = list.len;
    return 0;
}

static int pods_collect(struct launcher *launcher, const struct replica_id *id,
                        struct replica_output *ret, struct err *err)
{
    struct pods *l = (struct pods *)launcher;
    struct pod_member *m = find(l, id);
    if (m == NULL) {
        return err_set(err, ENOENT, "collect %s/%u: it is not there", role_to_string(id->role),
                       id->index);
    }
    int r = pods_logs_collect(m);
    if (r < 0) {
        return r;
    }
    *ret = (struct replica_output){
        .summary_line = m->state.summary_line,
        .environment_json = m->environment_json,
        .exit_code = m->state.exit_code,
        .signal = m->state.signal,
        .failure = m->state.message[0] != '\0' && has_ended(m) ? m->state.message : NULL,
        .is_simulated = m->state.is_simulated,
    };
    if (m->has_capture) {
        ret->log = capture_text(&m->capture, &ret->log_len);
    }
    return 0;
}

bool pods_are_settling(const struct pods *l)
{
    vec_each (struct pod_member *, it, &l->members) {
        if ((*it)->step != MEMBER_THERE && !(*it)->is_refused) {
            return true;
        }
    }
    return false;
}

static bool pods_is_settling(const struct launcher *launcher)
{
    return pods_are_settling((const struct pods *)launcher);
}

static bool pods_is_removing(const struct launcher *launcher)
{
    const struct pods *l = (const struct pods *)launcher;
    vec_each (struct pod_member *, it, &l->dying) {
        if (!(*it)->is_delete_answered) {
            return true;
        }
    }
    return false;
}

static void on_tick_closed(uv_handle_t *handle)
{
    struct pods *l = handle->data;
    vec_done(&l->members);
    vec_done(&l->dying);
    addresses_free(l);
    explicit_bzero((void *)l->params.secret, l->params.secret_len);
    free((void *)l->params.secret);
    free((void *)l->params.ns);
    free(l);
}

static void pods_free(struct launcher *launcher)
{
    struct pods *l = (struct pods *)launcher;
    if (l == NULL) {
        return;
    }
    l->base.on_change = NULL;
    l->base.on_record = NULL;
    vec_each (struct pod_member *, it, &l->members) {
        pods_member_free(*it);
    }
    vec_each (struct pod_member *, it, &l->dying) {
        pods_member_free(*it);
    }
    l->members.len = l->dying.len = 0;
    for (int i = 0; i < GATE_COUNT; i++) {
        if (l->gates[i].call != NULL) {
            kube_call_cancel(l->gates[i].call);
        }
        json_decref(l->gates[i].body);
    }
    uv_close((uv_handle_t *)&l->tick, on_tick_closed);
}

static const struct launcher_ops ops = {
    .prepare = pods_prepare,
    .create = pods_create,
    .remove = pods_remove,
    .observe = pods_observe,
    .collect = pods_collect,
    .free = pods_free,
    .forget = pods_forget,
    .is_settling = pods_is_settling,
    .is_removing = pods_is_removing,
    .takes_ids = true,
};

struct launcher *pods_new(const struct pods_params *params)
{
    struct pods *l = xnew(struct pods);
    l->base.ops = &ops;
    l->params = *params;
    l->params.ns = xstrdup(params->ns);
    unsigned char *secret = xmalloc(params->secret_len);
    memcpy(secret, params->secret, params->secret_len);
    l->params.secret = secret;
    if (l->params.denied_wait_ms == 0) {
        l->params.denied_wait_ms = DEFAULT_DENIED_WAIT_MS;
    }
    if (l->params.node_wait_ms == 0) {
        l->params.node_wait_ms = DEFAULT_NODE_WAIT_MS;
    }
    if (l->params.image_wait_ms == 0) {
        l->params.image_wait_ms = DEFAULT_IMAGE_WAIT_MS;
    }
    l->gates[GATE_SECRET] = (struct pod_gate){
        .owner = l,
        .resource = &kube_secrets,
        .body = pod_secret_body(params->def, secret, params->secret_len),
    };
    l->gates[GATE_SERVICE] = (struct pod_gate){.owner = l, .resource = &kube_services};
    if (params->naming == POD_BY_DNS) {
        l->gates[GATE_SERVICE].body = pod_service_body(params->def);
    }
    (void)uv_timer_init(params->loop, &l->tick); /* never fails */
    l->tick.data = l;
    vec_each (struct kube_object *, it, &params->cache->objects) {
        struct replica_id id;
        if (pod_identify(params->def, (*it)->json, &id) && find(l, &id) == NULL) {
            adopt(l, &id, *it);
        }
    }
    return &l->base;
}
