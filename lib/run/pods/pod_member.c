/* Facts about one pod and their consequences, see pod_member.h. */
#include "run/pods/pod_member.h"

#include <assert.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "kube/client.h"
#include "pod/body.h"
#include "run/pods/pods_internal.h"

/* ---- the automaton ---- */

/* Sets of states and of events. */
#define LIFE(name) (1U << MEMBER_##name)
#define ON(name) (1U << MEMBER_##name)

enum {
    DYING_WITH_UID =
        LIFE(DYING_SHOWN) | LIFE(DYING_DUE) | LIFE(DYING_DELETING) | LIFE(DYING_DELETED),
    DYING = LIFE(DYING_POSTING) | LIFE(DYING_UNKNOWN) | LIFE(DYING_LOOKING) | DYING_WITH_UID,
    WITH_UID = LIFE(SHOWN) | LIFE(THERE) | DYING_WITH_UID,
    WITH_CALL = LIFE(POSTING) | LIFE(CHECKING) | LIFE(SHOWN) | LIFE(LOOKING) | LIFE(DYING_POSTING) |
                LIFE(DYING_LOOKING) | LIFE(DYING_SHOWN) | LIFE(DYING_DELETING),
    REFUSED = LIFE(REFUSED) | LIFE(DOUBTED),
    ANY_ANSWER = ON(CREATED) | ON(NAME_TAKEN) | ON(FOUND) | ON(NOT_FOUND) | ON(TRY_AGAIN) |
                 ON(FAILED) | ON(FAILED_UNSURE), /* of a POST or a GET */
};

/* The arrows of pod_member.h, in its order. */
static const struct arrow {
    unsigned from, on;
    enum member_life to;
} arrows[] = {
    {LIFE(WANTED) | LIFE(UNSURE), ON(SENT_POST), MEMBER_POSTING},
    {LIFE(POSTING), ON(CREATED), MEMBER_MADE},
    {LIFE(MADE), ON(SENT_GET), MEMBER_LOOKING},
    {LIFE(POSTING), ON(NAME_TAKEN), MEMBER_TAKEN},
    {LIFE(TAKEN), ON(SENT_GET), MEMBER_CHECKING},
    {LIFE(POSTING) | LIFE(CHECKING), ON(TRY_AGAIN), MEMBER_UNSURE},
    {LIFE(CHECKING), ON(NOT_FOUND), MEMBER_WANTED}, /* after a 409: it has gone since */
    {LIFE(POSTING) | LIFE(CHECKING) | LIFE(LOOKING), ON(SEEN), MEMBER_SHOWN},
    {LIFE(SHOWN), ANY_ANSWER, MEMBER_THERE},
    {LIFE(WANTED) | LIFE(UNSURE) | LIFE(TAKEN) | LIFE(MADE), ON(SEEN), MEMBER_THERE},
    {LIFE(CHECKING) | LIFE(LOOKING), ON(FOUND), MEMBER_THERE},
    {LIFE(LOOKING), ON(TRY_AGAIN), MEMBER_MADE},
    {LIFE(LOOKING), ON(NOT_FOUND), MEMBER_LOST},
    {LIFE(SHOWN) | LIFE(THERE), ON(VANISHED), MEMBER_LOST},
    /* Of WANTED: there is no POST to send. */
    {LIFE(WANTED) | LIFE(POSTING) | LIFE(CHECKING) | LIFE(LOOKING), ON(FAILED), MEMBER_REFUSED},
    {LIFE(UNSURE) | LIFE(POSTING) | LIFE(CHECKING) | LIFE(LOOKING), ON(FAILED_UNSURE),
     MEMBER_DOUBTED},

    {LIFE(WANTED), ON(REMOVE), MEMBER_GONE},
    {LIFE(REFUSED) | LIFE(LOST), ON(REMOVE) | ON(FORGET), MEMBER_GONE},
    {LIFE(SHOWN) | LIFE(THERE), ON(FORGET), MEMBER_GONE},
    {LIFE(POSTING), ON(REMOVE), MEMBER_DYING_POSTING},
    {LIFE(UNSURE) | LIFE(TAKEN) | LIFE(MADE), ON(REMOVE), MEMBER_DYING_UNKNOWN},
    {LIFE(DOUBTED), ON(REMOVE) | ON(FORGET), MEMBER_DYING_UNKNOWN},
    /* A POST on its way could make a second pod once this one is deleted. */
    {LIFE(SHOWN), ON(REMOVE), MEMBER_DYING_SHOWN},
    {LIFE(CHECKING) | LIFE(LOOKING), ON(REMOVE), MEMBER_DYING_LOOKING},
    {LIFE(THERE), ON(REMOVE), MEMBER_DYING_DUE},

    {LIFE(DYING_POSTING), ON(CREATED) | ON(NAME_TAKEN) | ON(TRY_AGAIN) | ON(FAILED_UNSURE),
     MEMBER_DYING_UNKNOWN},
    {LIFE(DYING_UNKNOWN), ON(SENT_GET), MEMBER_DYING_LOOKING},
    {LIFE(DYING_LOOKING), ON(TRY_AGAIN) | ON(FAILED_UNSURE), MEMBER_DYING_UNKNOWN},
    {LIFE(DYING_POSTING) | LIFE(DYING_LOOKING), ON(SEEN), MEMBER_DYING_SHOWN},
    {LIFE(DYING_SHOWN), ANY_ANSWER, MEMBER_DYING_DUE},
    {LIFE(DYING_UNKNOWN), ON(SEEN), MEMBER_DYING_DUE},
    {LIFE(DYING_LOOKING), ON(FOUND), MEMBER_DYING_DUE},
    {LIFE(DYING_DUE), ON(SENT_DELETE), MEMBER_DYING_DELETING},
    {LIFE(DYING_DELETING), ON(DELETED), MEMBER_DYING_DELETED},
    {LIFE(DYING_DELETING), ON(TRY_AGAIN), MEMBER_DYING_DUE},
    {LIFE(DYING_LOOKING), ON(NOT_FOUND), MEMBER_GONE},
    /* Of DYING_DELETING: gone already, or not ours to delete. */
    {LIFE(DYING_POSTING) | LIFE(DYING_LOOKING) | LIFE(DYING_DELETING), ON(FAILED), MEMBER_GONE},
    {LIFE(DYING_DELETED), ON(TIMED_OUT), MEMBER_DYING_UNKNOWN},
    {DYING, ON(VANISHED), MEMBER_GONE},
};

static bool has(unsigned set, unsigned item)
{
    return (set >> item & 1U) != 0;
}

int member_life_next(enum member_life life, enum member_event event)
{
    for (size_t i = 0; i < COUNT_OF(arrows); i++) {
        if (has(arrows[i].from, life) && has(arrows[i].on, event)) {
            return (int)arrows[i].to;
        }
    }
    /* What the watch says may be about another pod of that name. */
    return event == MEMBER_SEEN || event == MEMBER_VANISHED ? (int)life : -1;
}

bool member_life_is_dying(enum member_life life)
{
    return has(DYING, life);
}

bool member_life_is_refused(enum member_life life)
{
    return has(REFUSED, life);
}

bool member_life_has_call(enum member_life life)
{
    return has(WITH_CALL, life);
}

bool member_life_has_uid(enum member_life life)
{
    return has(WITH_UID, life);
}

/* ---- one member ---- */

/* How long after the event the new state makes something due. */
static int64_t wait_of(const struct pod_member *m, enum member_event event)
{
    switch (event) {
    case MEMBER_TRY_AGAIN:
        return POD_RETRY_NS;
    case MEMBER_NOT_FOUND:
        return m->life == MEMBER_WANTED ? POD_RETRY_NS : 0;
    case MEMBER_CREATED:
        return m->life == MEMBER_MADE ? POD_UNSEEN_NS : 0;
    case MEMBER_DELETED:
        return m->is_shown ? POD_GONE_WAIT_NS : POD_UNSEEN_NS;
    case MEMBER_REMOVE:
        return m->life == MEMBER_DYING_DUE && m->remains == POD_STOPPED ? POD_OVER_WAIT_NS : 0;
    default:
        return 0;
    }
}

/* The driver may decide something when this state begins. */
static bool is_news(enum member_life life)
{
    return member_life_is_refused(life) || life == MEMBER_LOST || life == MEMBER_DYING_DELETED ||
           life == MEMBER_GONE || life == MEMBER_DYING_UNKNOWN;
}

static void note_existence(struct pod_member *m, enum member_event event)
{
    const bool was_posting = m->life == MEMBER_POSTING || m->life == MEMBER_DYING_POSTING;
    if (event == MEMBER_NOT_FOUND) {
        m->may_exist = false;
    } else if (event == MEMBER_CREATED || event == MEMBER_NAME_TAKEN ||
               (event == MEMBER_TRY_AGAIN && was_posting)) {
        m->may_exist = true;
    }
}

static void apply(struct pod_member *m, enum member_event event, int64_t now_ns)
{
    const int next = member_life_next(m->life, event);
    assert(next >= 0);
    if (next < 0 || next == (int)m->life) {
        return;
    }
    note_existence(m, event);
    m->life = (enum member_life)next;
    m->due_ns = now_ns + wait_of(m, event);
    m->has_news = m->has_news || is_news(m->life);
    if (m->call != NULL && !member_life_has_call(m->life)) {
        kube_call_cancel(m->call); /* its answer no longer matters */
        m->call = NULL;
    }
    /* A name that is still taken is the same trouble. */
    if (event != MEMBER_TRY_AGAIN && event != MEMBER_NAME_TAKEN && event > MEMBER_SENT_DELETE) {
        pod_trouble_clear(&m->trouble);
    }
    if (m->life == MEMBER_DYING_UNKNOWN && m->uid != NULL) {
        free(m->sought_uid); /* the next look may find another pod of that name */
        m->sought_uid = m->uid;
        m->uid = NULL;
    }
}

static struct pod_member *new_named(struct pods *owner, char *name_take,
                                    const struct replica_id *id)
{
    struct pod_member *m = xnew(struct pod_member);
    m->owner = owner;
    m->id = *id;
    m->name = name_take;
    m->made_unix_ms = clock_steady_unix_ms();
    m->state = (struct pod_state){.state = REPLICA_PENDING, .exit_code = -1};
    return m;
}

struct pod_member *pod_member_new(struct pods *owner, const char *run, const struct replica_id *id)
{
    return new_named(owner, replica_name(run, id), id);
}

struct pod_member *pod_member_for_leftover(struct pods *owner, const char *name, const char *uid,
                                           const struct pod_facts *pod, int64_t now_ns)
{
    struct replica_id id = {{POD_NO_POINT, 0, 0}, ROLE_PSERVER, 0};
    (void)pod_identify(owner->params.def, pod, &id); /* else it is of no attempt of the run */
    struct pod_member *m = new_named(owner, xstrdup(name), &id);
    pod_member_seen(m, uid, pod, now_ns);
    pod_member_remove(m, false, now_ns);
    m->has_news = true;
    return m;
}

struct pod_member *pod_member_for_doubt(const struct pod_member *of, const char *uid,
                                        int64_t now_ns)
{
    struct pod_member *m = new_named(of->owner, xstrdup(of->name), &of->id);
    m->sought_uid = xstrdup_or_null(uid);
    m->life = MEMBER_DYING_UNKNOWN;
    m->due_ns = now_ns + POD_RETRY_NS;
    m->has_news = true;
    return m;
}

static int64_t between(int64_t date_ms, int64_t first_ms, int64_t last_ms)
{
    return date_ms < first_ms ? first_ms : date_ms > last_ms ? last_ms : date_ms;
}

struct pod_member *pod_member_adopt(struct pods *owner, const char *name,
                                    const struct replica_id *id, const char *uid,
                                    const struct pod_facts *pod, int64_t now_ns)
{
    struct pod_member *m = new_named(owner, xstrdup(name), id);
    if (pod->created_unix_ms != 0) {
        m->made_unix_ms = between(pod->created_unix_ms, 0, m->made_unix_ms);
    }
    pod_member_seen(m, uid, pod, now_ns);
    m->was_running = m->state.has_started;
    m->has_news = true;
    return m;
}

void pod_member_free(struct pod_member *m)
{
    if (m->call != NULL) {
        kube_call_cancel(m->call);
    }
    pod_state_done(&m->state);
    free(m->name);
    free(m->uid);
    free(m->sought_uid);
    json_decref(m->environment);
    environment_done(&m->collected);
    summary_free(m->collected_summary);
    pod_trouble_clear(&m->trouble);
    free(m);
}

bool pod_member_is_wanted(const struct pod_member *m)
{
    return m->life == MEMBER_WANTED || m->life == MEMBER_UNSURE;
}

bool pod_member_is_removing(const struct pod_member *m)
{
    return member_life_is_dying(m->life) && (m->life != MEMBER_DYING_DELETED || !m->is_shown);
}

bool pod_member_has_ended(const struct pod_member *m)
{
    return replica_state_is_final(m->state.state);
}

int64_t pod_member_started_unix_ms(const struct pod_member *m)
{
    const int64_t said_ms = m->state.started_unix_ms;
    return said_ms == 0 ? m->running_unix_ms
                        : between(said_ms, m->made_unix_ms, m->running_unix_ms);
}

int64_t pod_member_finished_unix_ms(const struct pod_member *m)
{
    const int64_t said_ms = m->state.finished_unix_ms;
    return said_ms == 0 ? 0 : between(said_ms, pod_member_started_unix_ms(m), m->ended_unix_ms);
}

int64_t pod_member_asked_unix_ms(const struct pod_member *m)
{
    return between(m->created_unix_ms, m->made_unix_ms, clock_steady_unix_ms());
}

enum member_action pod_member_due(const struct pod_member *m, int64_t now_ns)
{
    if (now_ns < m->due_ns) {
        return MEMBER_DO_NOTHING;
    }
    switch (m->life) {
    case MEMBER_WANTED:
    case MEMBER_UNSURE:
        return MEMBER_DO_POST;
    case MEMBER_TAKEN:
    case MEMBER_MADE:
    case MEMBER_DYING_UNKNOWN:
        return MEMBER_DO_GET;
    case MEMBER_DYING_DUE:
        return MEMBER_DO_DELETE;
    default:
        return MEMBER_DO_NOTHING;
    }
}

void pod_member_sent(struct pod_member *m, enum member_action action, struct kube_call *call)
{
    static const enum member_event events[] = {
        [MEMBER_DO_POST] = MEMBER_SENT_POST,
        [MEMBER_DO_GET] = MEMBER_SENT_GET,
        [MEMBER_DO_DELETE] = MEMBER_SENT_DELETE,
    };
    assert(action != MEMBER_DO_NOTHING);
    apply(m, events[action], 0);
    m->call = call;
}

/* ---- ends ---- */

static void end(struct pod_member *m, enum replica_state state, enum failure_class failure,
                const char *message)
{
    m->state.state = state;
    m->state.failure = failure;
    m->state.wait = POD_WAIT_NONE;
    pod_state_say(&m->state, "%s", message);
    m->ended_unix_ms = clock_steady_unix_ms();
    m->has_news = true;
}

void pod_member_complete(struct pod_member *m)
{
    end(m, REPLICA_SUCCEEDED, FAILURE_NONE, "");
    m->is_completed = true;
}

static void end_if_lost(struct pod_member *m)
{
    if (m->life == MEMBER_LOST) {
        const char *node = m->state.node;
        _cleanup_(freep) char *message =
            node == NULL
                ? xstrdup("the pod was deleted, but not by benchd")
                : xasprintf("the pod was deleted, but not by benchd; it was on node '%s'%s", node,
                            m->state.is_node_lost ? ", which is not ready" : "");
        end(m, REPLICA_LOST, FAILURE_INFRASTRUCTURE, message);
        m->state.is_deleted = true;
    }
}

/* ---- what the pod says ---- */

static void note_remains(struct pod_member *m, const struct pod_facts *pod, int64_t now_ns)
{
    const enum pod_remains before = m->remains;
    m->remains = pod_is_over(pod) ? POD_OVER : pod_has_stopped(pod) ? POD_STOPPED : POD_MAY_RUN;
    if (m->life == MEMBER_DYING_DUE && m->remains == POD_OVER && before != POD_OVER) {
        m->due_ns = now_ns; /* the wait was for this phase */
    }
}

static void read_pod(struct pod_member *m, const struct pod_facts *pod, int64_t now_ns)
{
    note_remains(m, pod, now_ns);
    m->created_unix_ms = pod->created_unix_ms;
    if (pod_member_has_ended(m) || member_life_is_dying(m->life)) {
        return; /* an end is final, whatever becomes of the pod */
    }
    struct pod_state next;
    pod_state_read(pod, &m->id, &next);
    m->has_news = m->has_news || next.state != m->state.state || next.wait != m->state.wait ||
                  !str_eq(next.ip, m->state.ip) || next.is_simulated != m->state.is_simulated ||
                  next.is_node_lost != m->state.is_node_lost;
    if (next.wait != m->state.wait || next.state != m->state.state) {
        m->waiting_since_ns = now_ns; /* only then: a repeated read must not restart the wait */
    }
    pod_state_done(&m->state);
    m->state = next;
    const int64_t now_ms = clock_steady_unix_ms(); /* both, of one that was not seen to run */
    if (m->running_unix_ms == 0 && m->state.has_started) {
        m->running_unix_ms = now_ms;
    }
    if (pod_member_has_ended(m)) {
        m->ended_unix_ms = now_ms;
    }
}

static void note_uid(struct pod_member *m, const char *uid)
{
    if (m->uid == NULL && member_life_has_uid(m->life)) {
        m->uid = xstrdup(uid);
        free(m->sought_uid);
        m->sought_uid = NULL;
    }
}

void pod_member_made(struct pod_member *m, const char *uid)
{
    free(m->sought_uid);
    m->sought_uid = xstrdup(uid);
}

/* ---- what callbacks record ---- */

void pod_member_answered(struct pod_member *m, enum member_event answer, int64_t now_ns)
{
    m->call = NULL;
    apply(m, answer, now_ns);
    end_if_lost(m);
}

void pod_member_try_again(struct pod_member *m, int r, const struct kube_response *res,
                          const char *words, int64_t now_ns)
{
    pod_member_answered(m, MEMBER_TRY_AGAIN, now_ns);
    const int64_t wait_ns = pod_trouble_note(&m->trouble, r, res, words);
    if (pod_member_is_wanted(m) || member_life_is_dying(m->life)) {
        m->due_ns = now_ns + wait_ns;
    }
}

void pod_member_found(struct pod_member *m, const char *uid, const struct pod_facts *pod,
                      int64_t now_ns)
{
    const bool is_news = m->uid == NULL; /* else the watch has reported more */
    m->call = NULL;
    apply(m, MEMBER_FOUND, now_ns);
    note_uid(m, uid);
    if (is_news) {
        read_pod(m, pod, now_ns);
    }
}

void pod_member_refused(struct pod_member *m, enum failure_class failure, const char *message,
                        int64_t now_ns)
{
    m->call = NULL;
    apply(m, m->may_exist ? MEMBER_FAILED_UNSURE : MEMBER_FAILED, now_ns);
    if (member_life_is_refused(m->life)) {
        end(m, REPLICA_FAILED, failure, message);
    }
}

void pod_member_fail(struct pod_member *m, enum failure_class failure, const char *message,
                     int64_t now_ns)
{
    if (pod_member_is_wanted(m)) {
        pod_member_refused(m, failure, message, now_ns);
    } else {
        end(m, REPLICA_FAILED, failure, message);
    }
}

void pod_member_rename(struct pod_member *m, const char *name)
{
    free(m->name);
    m->name = xstrdup(name);
}

void pod_member_seen(struct pod_member *m, const char *uid, const struct pod_facts *pod,
                     int64_t now_ns)
{
    apply(m, MEMBER_SEEN, now_ns);
    note_uid(m, uid);
    m->has_news = m->has_news || (!m->is_shown && member_life_is_dying(m->life));
    m->is_shown = true;
    if (member_life_has_uid(m->life)) {
        read_pod(m, pod, now_ns);
    }
}

void pod_member_vanished(struct pod_member *m, int64_t now_ns)
{
    const bool is_known = pod_member_has_ended(m) && !member_life_is_dying(m->life);
    if (!is_known) { /* else its end is final */
        apply(m, MEMBER_VANISHED, now_ns);
        end_if_lost(m);
    }
}

void pod_member_remove(struct pod_member *m, bool leave_pod, int64_t now_ns)
{
    /* One that waited too long for a node may still get one. */
    const bool is_left =
        leave_pod && pod_member_has_ended(m) && m->state.failure != FAILURE_WAIT_OVER;
    apply(m, is_left ? MEMBER_FORGET : MEMBER_REMOVE, now_ns);
}

/* ---- time ---- */

/* Since its pod is there: before that its attempt may have waited for the pods of others. */
static int64_t waited_ms(const struct pod_member *m)
{
    return clock_steady_unix_ms() - pod_member_asked_unix_ms(m);
}

static bool is_there(const struct pod_member *m)
{
    return m->life == MEMBER_SHOWN || m->life == MEMBER_THERE;
}

static bool is_in_queue(const struct pod_member *m)
{
    return is_there(m) && (m->state.wait == POD_WAIT_NODE || m->state.wait == POD_WAIT_GATE);
}

void pod_member_wait_over(struct pod_member *m, int64_t wait_ms)
{
    _cleanup_(freep) char *message =
        xasprintf("waited %lld s (scheduling.waitSeconds): %s", (long long)(wait_ms / 1000),
                  pod_state_message(&m->state));
    end(m, REPLICA_FAILED, FAILURE_WAIT_OVER, message);
}

static bool is_wait_over(const struct pod_member *m, const struct member_limits *limits,
                         int64_t now_ns)
{
    if (!is_there(m)) {
        return false;
    }
    switch (m->state.wait) {
    case POD_WAIT_NODE:
    case POD_WAIT_GATE:
        return limits->ran_ms > POD_HALF_GANG_MS;
    case POD_WAIT_IMAGE:
    case POD_WAIT_CONTAINER:
        return now_ns - m->waiting_since_ns > limits->image_wait_ms * 1000000;
    case POD_WAIT_SETUP:
        return now_ns - m->waiting_since_ns > limits->setup_wait_ms * 1000000;
    case POD_WAIT_NONE:
        break;
    }
    return false;
}

void pod_member_time_out(struct pod_member *m, const struct member_limits *limits, int64_t now_ns)
{
    if (m->life == MEMBER_DYING_DELETED && now_ns > m->due_ns) {
        apply(m, MEMBER_TIMED_OUT, now_ns);
    } else if (is_in_queue(m) && waited_ms(m) > limits->wait_ms) {
        pod_member_wait_over(m, limits->wait_ms);
    } else if (is_wait_over(m, limits, now_ns)) {
        const bool is_setup = m->state.wait == POD_WAIT_SETUP;
        _cleanup_(freep) char *message =
            is_setup ? xasprintf("node '%s' could not set up the pod: %s",
                                 m->state.node == NULL ? "" : m->state.node,
                                 limits->event == NULL ? POD_SETUP_WORDS : limits->event)
                     : xstrdup(pod_state_message(&m->state));
        end(m, REPLICA_FAILED,
            is_setup         ? FAILURE_INFRASTRUCTURE
            : is_in_queue(m) ? FAILURE_NO_ROOM
                             : FAILURE_PERMANENT,
            message);
    }
}
