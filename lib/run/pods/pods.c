/* The launcher of a cluster, see pods.h and pods_internal.h. Edge file: clocks,
 * the timer. */
#include "run/pods/pods.h"

#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "run/pods/pod_logs.h"
#include "run/pods/pod_requests.h"
#include "run/pods/pods_internal.h"

#define DEFAULT_DENIED_WAIT_MS (12 * 1000) /* longer than a Lease without renewal */
#define DEFAULT_IMAGE_WAIT_MS (INT64_C(120) * 1000)
#define DEFAULT_LOG_FILE_BYTES (UINT64_C(10) << 20)
#define DEFAULT_SETUP_WAIT_MS (INT64_C(300) * 1000)

/* At most that many members are POSTING, TAKEN or CHECKING at a time. */
#define POSTS_AHEAD 40
#define DEFAULT_WAIT_MS (INT64_C(86400) * 1000)

static void member_free(struct pod_member *m)
{
    pod_logs_close(m);
    pod_member_free(m);
}

static void drop_gone(struct pods *l)
{
    size_t n = 0;
    vec_each (struct pod_member *, it, &l->members) {
        if ((*it)->life == MEMBER_GONE) {
            member_free(*it);
        } else {
            l->members.items[n++] = *it;
        }
    }
    l->members.len = n;
}

/* ---- the watch ---- */

/* The member whose pod bears labels of another replica now, or of none (`id` NULL); of one that was
 * lost so the doubt is a member. */
static const struct pod_member *find_relabelled(const struct pods *l, const struct replica_id *id,
                                                const char *uid)
{
    const struct pod_member *found =
        vec_find_item(&l->members, m,
                      m->life < MEMBER_DYING_POSTING && m->life != MEMBER_LOST && m->uid != NULL &&
                          str_eq(m->uid, uid));
    return found != NULL && id != NULL && replica_id_eq(&found->id, id) ? NULL : found;
}

static void adopt(struct pods *l, const struct replica_id *id, const struct kube_object *object)
{
    struct pod_member *m =
        pod_member_adopt(l, object->name, id, object->uid, object->facts, l->params.now_ns());
    m->gang = pod_gang_of(l, &id->attempt);
    *vec_push(&l->members) = m;
    pod_jobs_want(&l->jobs, &id->attempt, true);
}

static void pod_seen(struct pods *l, enum kube_change change, const struct replica_id *id,
                     const struct kube_object *object)
{
    struct pod_member *m = pod_gang_find_dying(l, object->name, object->uid);
    m = m != NULL ? m : pod_gang_find(l, id);
    if (m == NULL && change == KUBE_CHANGE_ADDED) {
        adopt(l, id, object); /* from a late POST of an earlier benchd process */
    } else if (m != NULL && (m->uid == NULL || str_eq(m->uid, object->uid))) {
        pod_member_rename(m, object->name); /* of a job object's pod it was not known */
        pod_member_seen(m, object->uid, object->facts, l->params.now_ns());
    } else if (m != NULL) { /* a second pod of that name, which nothing else would delete */
        *vec_push(&l->members) = pod_member_for_leftover(l, object->name, object->uid,
                                                         object->facts, l->params.now_ns());
        pod_jobs_note_second(&l->jobs, m, object->name);
    } /* else it was forgotten */
}

static void pod_vanished(struct pods *l, const struct replica_id *id,
                         const struct kube_object *object)
{
    struct pod_member *dying = pod_gang_find_dying(l, object->name, object->uid);
    struct pod_member *m = dying != NULL ? dying : pod_gang_find(l, id);
    if (m == NULL || (m != dying && (m->uid == NULL || !str_eq(m->uid, object->uid)))) {
        return;
    }
    /* An earlier POST made it: the one on its way may make another. */
    const bool was_posting =
        m->life == MEMBER_SHOWN || m->life == MEMBER_DYING_SHOWN || m->life == MEMBER_DYING_POSTING;
    /* As far as is known, nothing deletes it: without its labels it is hidden from the watch. */
    const struct pod_facts *pod = object->facts;
    const bool is_hidden = m != dying && m->remains == POD_MAY_RUN && !pod->is_going;
    pod_member_vanished(m, l->params.now_ns());
    if (was_posting || is_hidden) {
        *vec_push(&l->members) = pod_member_for_doubt(m, m->uid, l->params.now_ns());
    }
}

/* A pod of another run: it is a member only where we delete it. */
static void stranger_changed(struct pods *l, enum kube_change change,
                             const struct kube_object *object)
{
    struct pod_member *dying = pod_gang_find_dying(l, object->name, object->uid);
    if (dying != NULL && change == KUBE_CHANGE_REMOVED) {
        pod_member_vanished(dying, l->params.now_ns());
    } else if (dying != NULL) {
        pod_member_seen(dying, object->uid, object->facts, l->params.now_ns());
    }
}

void pods_notify(struct launcher *launcher, enum kube_change change,
                 const struct kube_object *object)
{
    struct pods *l = (struct pods *)launcher;
    struct replica_id id;
    const bool is_ours = pod_jobs_identify(&l->jobs, object, &id);
    const struct pod_member *relabelled = find_relabelled(l, is_ours ? &id : NULL, object->uid);
    if (relabelled != NULL) {
        pod_vanished(l, &relabelled->id, object);
    } else if (!is_ours) {
        stranger_changed(l, change, object);
    } else if (change == KUBE_CHANGE_REMOVED) {
        pod_vanished(l, &id, object);
    } else {
        pod_seen(l, change, &id, object);
    }
    if (l->members.len > 0) {
        pods_tick_soon(l);
    }
}

/* ---- which pods may be created ---- */

static size_t count(const struct pod_gang *g, enum member_life life)
{
    return vec_sum(&g->owner->members, it, (*it)->gang == g && (*it)->life == life);
}

static size_t count_wanted(const struct pod_gang *g)
{
    return count(g, MEMBER_WANTED) + count(g, MEMBER_UNSURE);
}

static bool is_due(const struct pod_gang *g, const struct pod_member *m, int64_t now_ns)
{
    return m->gang == g && pod_member_due(m, now_ns) == MEMBER_DO_POST;
}

static size_t count_posting(const struct pod_gang *g)
{
    return count(g, MEMBER_POSTING) + count(g, MEMBER_TAKEN) + count(g, MEMBER_CHECKING);
}

/* How many pods may be posted now. */
static size_t count_postable(const struct pod_gang *g, int64_t now_ns)
{
    const size_t n_due = vec_sum(&g->owner->members, it, is_due(g, *it, now_ns)),
                 n_posting = count_posting(g);
    if (count(g, MEMBER_REFUSED) + count(g, MEMBER_DOUBTED) > 0) {
        return 0; /* the attempt fails anyway */
    }
    if (!g->is_probed) {
        /* One pod is posted and retried alone, so that a refused template or an unavailable server
         * costs one request. */
        const bool is_probing = n_posting > 0 || count_wanted(g) > n_due;
        return is_probing || n_due == 0 ? 0 : 1;
    }
    const size_t n_all = vec_sum(&g->owner->gangs, it, count_posting(*it));
    const size_t n_free = n_all < POSTS_AHEAD ? POSTS_AHEAD - n_all : 0;
    return n_due < n_free ? n_due : n_free;
}

static void post(const struct pod_gang *g, size_t n, int64_t now_ns)
{
    struct pods *l = g->owner;
    const bool is_by_ip = l->params.naming == POD_BY_IP;
    char **servers = is_by_ip ? pod_gang_servers(g) : NULL;
    for (size_t i = 0; i < l->members.len && n > 0; i++) {
        struct pod_member *m = l->members.items[i];
        const bool must_wait = is_by_ip && m->id.role != ROLE_PSERVER && servers == NULL;
        if (!is_due(g, m, now_ns) || must_wait) {
            continue;
        }
        pod_requests_post(m, servers, now_ns);
        n--;
        if (member_life_is_refused(m->life)) {
            break;
        }
    }
    pod_gang_servers_free(g, servers);
}

static void create_pods(struct pod_gang *g, struct run_wait *ret_wait, int64_t now_ns)
{
    struct pods *l = g->owner;
    if (count_wanted(g) == 0) {
        return;
    }
    const bool is_clear = pod_lane_is_free(g, ret_wait, now_ns);
    /* The pause is what it waits for, also while pods of the last attempt end. */
    if (now_ns < g->room.until_ns) {
        *ret_wait = g->room.wait;
    }
    if (now_ns < g->room.until_ns || !is_clear || pod_jobs_are_removing(&l->jobs)) {
        return;
    }
    const size_t n = pod_queue_admits(g, ret_wait, now_ns) ? count_postable(g, now_ns) : 0;
    if (n == 0) {
        return;
    }
    pod_gates_send(&l->gates, now_ns);
    /* Once it is probed, another lane may have shut them. */
    if ((g->is_probed || pod_gates_are_open(&l->gates)) &&
        !pod_jobs_post(&l->jobs, &g->spec.attempt, now_ns)) {
        post(g, n, now_ns);
    } else if (!pod_gates_wait(&l->gates, ret_wait) && g->room.n_times > 0) {
        *ret_wait = g->room.wait; /* it still lacks room */
    }
}

/* One refused member ends the attempt; one that is probed needs the gates no more. */
static void take_gate_refusals(struct pods *l, int64_t now_ns)
{
    char *refusal;
    while ((refusal = pod_gates_take_refusal(&l->gates)) != NULL) {
        struct pod_member *wanted =
            vec_find_item(&l->members, m, pod_member_is_wanted(m) && !m->gang->is_probed);
        if (wanted != NULL) {
            pod_requests_refuse(wanted, refusal, now_ns);
        }
        free(refusal);
    }
}

/* ---- the tick ---- */

static bool is_settling(const struct pod_gang *g)
{
    return count_wanted(g) + count_posting(g) > 0;
}

static bool pods_is_settling(const struct launcher *launcher, const struct attempt_id *attempt)
{
    const struct pods *l = (const struct pods *)launcher;
    return vec_any(&l->gangs, it,
                   (attempt == NULL || attempt_id_eq(&(*it)->spec.attempt, attempt)) &&
                       is_settling(*it));
}

/* A pod of it may be made, by a request that was sent. */
static bool is_on_its_way(enum member_life life)
{
    return life == MEMBER_POSTING || life == MEMBER_TAKEN || life == MEMBER_CHECKING ||
           life == MEMBER_DYING_POSTING || life == MEMBER_DYING_UNKNOWN ||
           life == MEMBER_DYING_LOOKING;
}

static bool pods_stop_creating(struct launcher *launcher)
{
    struct pods *l = (struct pods *)launcher;
    vec_each (struct pod_member *, it, &l->members) {
        if (pod_member_is_wanted(*it)) {
            pod_member_remove(*it, false, l->params.now_ns());
            pods_tick_soon(l);
        }
    }
    return pod_jobs_stop(&l->jobs) && !vec_any(&l->members, it, is_on_its_way((*it)->life));
}

static bool take_news(struct pods *l)
{
    bool has_news = false;
    vec_each (struct pod_member *, it, &l->members) {
        has_news = has_news || (*it)->has_news;
        if ((*it)->has_news && (*it)->gang != NULL) {
            (*it)->gang->quiet_since_ns = l->params.now_ns();
        }
        (*it)->has_news = false;
    }
    return has_news;
}

/* Once per tick. Creations are reported when the last member of a gang is known to exist, not one
 * by one. */
static void report(struct pods *l, bool has_news)
{
    vec_each (struct pod_gang *, it, &l->gangs) {
        struct pod_gang *g = *it;
        has_news = has_news || (g->was_settling && !is_settling(g));
        g->was_settling = is_settling(g);
    }
    if (has_news && l->base.on_change != NULL) {
        l->base.on_change(l->base.ctx);
    }
}

static void time_out(struct pods *l, int64_t now_ns)
{
    struct member_limits limits = {
        .wait_ms = l->wait_ms,
        .image_wait_ms = l->params.image_wait_ms,
        .setup_wait_ms = l->params.setup_wait_ms,
    };
    vec_each (struct pod_gang *, it, &l->gangs) {
        (*it)->ran_ms = pod_gang_ran_ms(*it);
    }
    vec_each (struct pod_member *, it, &l->members) {
        limits.event = pod_events_words(&l->events, (*it)->uid);
        limits.ran_ms = (*it)->gang == NULL ? 0 : (*it)->gang->ran_ms;
        pod_member_time_out(*it, &limits, now_ns);
        if ((*it)->life < MEMBER_DYING_POSTING) {
            pod_logs_tick(*it);
        }
    }
}

/* Of what several lanes wait for: what does not pass by itself, then what the status says already,
 * else the first. */
static int rank_of(const struct pods *l, const struct run_wait *wait)
{
    const int rank = wait_needs_help(wait) ? 3 : 1;
    return wait->reason[0] == '\0' ? 0 : rank + (strcmp(wait->reason, l->told.reason) == 0);
}

/* The run as a whole waits, and its deadline does too. */
static bool is_pause(const struct run_wait *told)
{
    return !told->is_partial && wait_stops_clock(told->reason);
}

/* Whether some lane goes on, and if none does, for how long: for whatever reasons, of which the
 * status says one, and without what an earlier pause has given back. */
static void measure_wait(struct pods *l, bool goes_on, struct run_wait *told, int64_t now_ns)
{
    if (goes_on || l->goes_on) { /* in between there may have been no tick */
        l->went_on_ns = now_ns;
    }
    l->goes_on = goes_on;
    const bool is_between_trials = now_ns - l->went_on_ns < POD_WAIT_TOLD_NS;
    told->is_partial = l->n_lanes > 1 && is_between_trials && told->reason[0] != '\0';
    told->before_ms = is_pause(&l->told) ? l->told.before_ms : (now_ns - l->went_on_ns) / 1000000;
    if (is_pause(&l->told) && !is_pause(told)) {
        l->went_on_ns = now_ns;
    }
}

/* Creates what is due. True: what the status says has changed. */
static bool create(struct pods *l, int64_t now_ns)
{
    struct run_wait told = {0}, removal = {0};
    bool goes_on = false, is_waiting = false;
    vec_each (struct pod_gang *, gang, &l->gangs) {
        struct pod_gang *g = *gang;
        struct run_wait wait = {0};
        pod_slices_tick(&g->slices, now_ns);
        create_pods(g, &wait, now_ns);
        pod_words_wait(g, &wait);
        if (wait.reason[0] != '\0') {
            g->quiet_since_ns = now_ns;
        } else {
            pod_events_say_still(g, &wait);
        }
        pod_wait_look(&g->wait, &wait, now_ns);
        if (rank_of(l, &g->wait.told) > rank_of(l, &told)) {
            told = g->wait.told;
        }
        if (wait_stops_clock(wait.reason)) {
            is_waiting = true;
        } else {
            goes_on = goes_on || vec_any(&l->members, it, pod_gang_has(g, *it));
        }
    }
    pod_words_removal(l, &removal);
    pod_wait_look(&l->removal, &removal, now_ns);
    told = l->removal.told.reason[0] != '\0' ? l->removal.told : told;
    measure_wait(l, goes_on || !is_waiting, &told, now_ns);
    const bool is_news = !pod_wait_is_same(&told, &l->told);
    l->told = told;
    return is_news;
}

/* NULL: it has not failed, and its node is ready. Borrowed. */
static const char *failure_of(const struct pod_member *m)
{
    const bool has_failed = pod_member_has_ended(m) || m->state.is_node_lost;
    return m->state.message != NULL && has_failed ? m->state.message : m->log.end.why;
}

/* The summary that it wrote, or that its log rule made. */
static const struct summary *summary_of(const struct pod_member *m)
{
    return m->log.reader != NULL ? m->log.end.summary : m->state.summary;
}

/* By the time of a line; 0: not read yet, or its clock is wrong. */
static int64_t step_unix_ms(const struct pod_member *m, int64_t line_ns)
{
    const int64_t ms = line_ns / 1000000;
    const bool is_possible = ms >= pod_member_started_unix_ms(m) && ms <= m->ended_unix_ms;
    return m->log.step == POD_LOG_THERE && is_possible ? ms : 0;
}

static struct observed_replica observe(const struct pods *l, const struct pod_member *m)
{
    const struct pod_state *s = &m->state;
    const bool is_awaited = pod_logs_is_awaited(m) || pod_jobs_hold_end(&l->jobs, m) != NULL;
    return (struct observed_replica){
        .id = m->id,
        .state = is_awaited ? REPLICA_RUNNING : s->state,
        .failure = s->failure,
        .exit_code = s->exit_code,
        .ended_unix_ms = is_awaited ? 0 : m->ended_unix_ms,
        .finished_unix_ms = pod_member_finished_unix_ms(m),
        .started_unix_ms = pod_member_started_unix_ms(m),
        .seen_unix_ms = s->is_simulated ? 0 : m->running_unix_ms,
        .asked_unix_ms = pod_member_asked_unix_ms(m),
        .measured_from_unix_ms = step_unix_ms(m, m->log.measured_from_ns),
        .measured_to_unix_ms = step_unix_ms(m, m->log.measured_to_ns),
        .node = s->node,
        .output_unix_ms = pod_logs_last_output(m),
        .has_exited = is_awaited,
        .summary = summary_of(m),
        .has_log_rule = m->log.reader != NULL,
        .message = failure_of(m),
        .has_blamed = s->has_blamed,
        .blamed_role = s->blamed_role,
        .blamed_index = s->blamed_index,
    };
}

/* Those that are not dying. The caller owns the array. */
static size_t list_members(const struct pods *l, struct observed_replica **ret)
{
    size_t n = 0;
    *ret = l->members.len == 0 ? NULL : xreallocarray(NULL, l->members.len, sizeof(**ret));
    vec_each (struct pod_member *, it, &l->members) {
        if ((*it)->life < MEMBER_DYING_POSTING) {
            (*ret)[n++] = observe(l, *it);
        }
    }
    return n;
}

static void look_for_room(struct pods *l, int64_t now_ns)
{
    _cleanup_(freep) struct observed_replica *list = NULL;
    const size_t n = list_members(l, &list);
    pod_gang_look_for_room(l, list, n, now_ns);
}

static void on_tick(uv_timer_t *timer)
{
    struct pods *l = timer->data;
    const int64_t now_ns = l->params.now_ns();
    take_gate_refusals(l, now_ns);
    time_out(l, now_ns);
    pod_logs_end_after_steps(l);
    bool has_news = pod_queue_tick(l, now_ns);
    look_for_room(l, now_ns);
    has_news = pod_jobs_tick(&l->jobs, now_ns) || has_news;
    pod_requests_send_due(l, now_ns);
    has_news = take_news(l) || has_news;
    drop_gone(l);
    pod_events_tick(l, now_ns);
    pod_nodes_tick(l);
    has_news = create(l, now_ns) || has_news;
    has_news = take_news(l) || has_news; /* a refused body */
    if (l->members.len == 0 && !pod_queue_is_leaving(l) && l->jobs.list.len == 0 &&
        !pod_jobs_are_removing(&l->jobs)) {
        (void)uv_timer_stop(&l->timer); /* nothing depends on time now; never fails */
    }
    report(l, has_news);
}

/* ---- the vtable ---- */

static int pods_prepare(struct launcher *launcher, const struct gang_spec *gang,
                        struct gang_addresses *ret, struct err *err)
{
    (void)err; /* nothing to reserve */
    struct pods *l = (struct pods *)launcher;
    struct pod_gang *g = pod_gang_of(l, &gang->attempt);
    const bool is_same = g->has_spec && attempt_id_eq(&g->spec.attempt, &gang->attempt);
    if (!is_same) {
        pod_gang_prepare(g, gang);
        pod_gates_shut(&l->gates);
    }
    *ret = (struct gang_addresses){.is_pods = true};
    memcpy(ret->of_role, g->addresses, sizeof(ret->of_role));
    return 0;
}

static int pods_create(struct launcher *launcher, const struct replica_spec *spec, struct err *err)
{
    (void)err; /* failures are observed as the member's state */
    struct pods *l = (struct pods *)launcher;
    if (pod_gang_find(l, &spec->id) == NULL) {
        struct pod_member *m = pod_member_new(l, l->params.def->name, &spec->id);
        m->gang = pod_gang_of(l, &spec->id.attempt);
        *vec_push(&l->members) = m;
        pod_jobs_want(&l->jobs, &spec->id.attempt, false);
        pods_tick_soon(l); /* after the driver has asked for the whole gang */
    }
    return 0;
}

static void pods_remove(struct launcher *launcher, const struct replica_id *id, bool leaves_pod)
{
    struct pods *l = (struct pods *)launcher;
    struct pod_member *m = pod_gang_find(l, id);
    if (m != NULL) {
        pod_logs_close(m);
        pod_jobs_remove(&l->jobs, &id->attempt);
        pod_member_remove(m, leaves_pod && !m->is_completed,
                          l->params.now_ns()); /* tried until it succeeds */
        pods_tick_soon(l);
    }
}

static int pods_observe(struct launcher *launcher, struct observed_replica **ret, size_t *ret_n,
                        struct err *err)
{
    (void)err; /* everything is known here */
    struct pods *l = (struct pods *)launcher;
    l->queue.is_driven = true;
    *ret_n = list_members(l, ret);
    return 0;
}

/* What an image holds is known by its digest alone; of benchworker also by its source. */
static void add_identity(const struct pod_member *m, json_t *facts)
{
    const char *image = m->state.image_id;
    if (facts != NULL && !m->state.is_simulated && json_object_get(facts, "source") == NULL &&
        (image == NULL || strstr(image, "sha256:") == NULL)) {
        (void)json_object_set_new(facts, "program",
                                  json_string("unknown (image without a digest)"));
    }
}

static int pods_collect(struct launcher *launcher, const struct replica_id *id,
                        struct replica_output *ret, struct err *err)
{
    struct pods *l = (struct pods *)launcher;
    struct pod_member *m = pod_gang_find(l, id);
    if (m == NULL) {
        return err_set(err, ENOENT, "collect %s/%u: no such replica", role_to_string(id->role),
                       id->index);
    }
    const bool is_asking = pod_nodes_ask(l, m); /* before it is removed */
    int r = pod_logs_collect(m);
    if (r < 0 || is_asking) {
        return r < 0 ? r : -EAGAIN;
    }
    pod_logs_explain(m);
    environment_done(&m->collected);
    m->collected = environment_of(m->environment, m->state.node, m->state.image_id);
    add_identity(m, m->collected.facts);
    (void)json_object_set(m->collected.facts, "versions", m->log.end.versions); /* NULL: none */
    pod_nodes_add(l, m, &m->collected.facts);
    summary_free(m->collected_summary);
    m->collected_summary = summary_copy(summary_of(m));
    pod_gang_add_starts(l, m, m->collected_summary);
    *ret = (struct replica_output){
        .summary = m->collected_summary,
        .environment = &m->collected,
        .reading = m->log.end.reading,
        .exit_code = m->state.exit_code,
        .signal = m->state.signal,
        .failure = failure_of(m),
        .is_simulated = m->state.is_simulated,
        .pod = m->name,
        .measured_to_unix_ms = m->log.measured_to_ns / 1000000,
    };
    ret->log = pod_logs_text(m, &ret->log_len);
    return 0;
}

static char *pods_take_log(struct launcher *launcher, const struct replica_id *id)
{
    return capture_take(pod_gang_find((struct pods *)launcher, id)->log.capture);
}

static bool pods_is_removing(const struct launcher *launcher)
{
    const struct pods *l = (const struct pods *)launcher;
    return pod_jobs_are_removing(&l->jobs) || pod_queue_is_leaving(l) ||
           vec_any(&l->members, it, pod_member_is_removing(*it));
}

static void pods_wait(const struct launcher *launcher, struct run_wait *ret)
{
    *ret = ((const struct pods *)launcher)->told;
}

static void on_timer_closed(uv_handle_t *timer)
{
    struct pods *l = timer->data;
    vec_done(&l->members);
    vec_done(&l->gangs);
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
        member_free(*it);
    }
    l->members.len = 0;
    pod_jobs_done(&l->jobs);
    pod_gates_done(&l->gates);
    vec_each (struct pod_gang *, it, &l->gangs) {
        pod_slices_done(&(*it)->slices);
        pod_gang_free(*it);
    }
    pod_queue_done(&l->queue);
    pod_events_done(&l->events);
    pod_nodes_done(&l->nodes);
    uv_close((uv_handle_t *)&l->timer, on_timer_closed);
}

static const struct launcher_ops ops = {
    .prepare = pods_prepare,
    .create = pods_create,
    .remove = pods_remove,
    .observe = pods_observe,
    .collect = pods_collect,
    .free = pods_free,
    .is_settling = pods_is_settling,
    .stop_creating = pods_stop_creating,
    .is_removing = pods_is_removing,
    .wait = pods_wait,
    .take_log = pods_take_log,
    .takes_ids = true,
};

static struct pods_params params_dup(const struct pods_params *params)
{
    struct pods_params copy = *params;
    unsigned char *secret = xmalloc(params->secret_len);
    memcpy(secret, params->secret, params->secret_len);
    copy.secret = secret;
    copy.ns = xstrdup(params->ns);
    copy.denied_wait_ms = params->denied_wait_ms ?: DEFAULT_DENIED_WAIT_MS;
    copy.image_wait_ms = params->image_wait_ms ?: DEFAULT_IMAGE_WAIT_MS;
    copy.setup_wait_ms = params->setup_wait_ms ?: DEFAULT_SETUP_WAIT_MS;
    copy.log_file_bytes = params->log_file_bytes ?: DEFAULT_LOG_FILE_BYTES;
    copy.now_ns = params->now_ns != NULL ? params->now_ns : clock_monotonic_ns;
    return copy;
}

void pods_limit_wait(struct launcher *launcher, int64_t wait_ms)
{
    ((struct pods *)launcher)->wait_ms = wait_ms ?: DEFAULT_WAIT_MS;
}

struct launcher *pods_new(const struct pods_params *params)
{
    struct pods *l = xnew(struct pods);
    l->base.ops = &ops;
    l->params = params_dup(params);
    l->denial.wait_ms = l->params.denied_wait_ms;
    pods_limit_wait(&l->base, 0);
    l->told = params->wait;
    l->goes_on = !is_pause(&l->told);
    l->went_on_ns = l->params.now_ns() - POD_WAIT_TOLD_NS;
    pod_gates_init(&l->gates, l);
    l->n_lanes = run_options_lanes(&params->def->options);
    l->params.ssh = NULL;
    l->on_tick = on_tick;
    (void)uv_timer_init(params->loop, &l->timer); /* never fails */
    l->timer.data = l;
    pod_jobs_init(&l->jobs, l);
    vec_each (struct kube_object *, it, &params->cache->objects) {
        struct replica_id id;
        if (pod_jobs_identify(&l->jobs, *it, &id) && pod_gang_find(l, &id) == NULL) {
            adopt(l, &id, *it);
        }
    }
    if (l->members.len > 0 || params->def->options.queue != NULL) {
        pods_tick_soon(l);
    }
    return &l->base;
}
