/* See pod_events.h. */
#include "run/pods/pod_events.h"

#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "core/json_field.h"
#include "kube/json.h"
#include "run/pods/pod_logs.h"
#include "run/pods/pods_internal.h"

#define ASK_AGAIN_NS (30 * INT64_C(1000000000))
#define EVENTS_MAX 500

/* ---- which pod ---- */

static bool is_not_set_up(const struct pod_member *m, int64_t now_ns)
{
    return m->life < MEMBER_DYING_POSTING && m->state.wait == POD_WAIT_SETUP &&
           now_ns - m->waiting_since_ns >= POD_STILL_USUAL_NS;
}

/* The first member of a quiet gang that has not started, or whose end is not known; NULL: none. */
static const struct pod_member *find_still(const struct pod_gang *g, int64_t now_ns)
{
    const struct pods *l = g->owner;
    return now_ns - g->quiet_since_ns < POD_STILL_USUAL_NS
               ? NULL
               : vec_find_item(&l->members, m,
                               pod_gang_has(g, m) &&
                                   (m->state.state == REPLICA_PENDING || pod_logs_is_awaited(m) ||
                                    pod_jobs_hold_end(&l->jobs, m) != NULL));
}

static const struct pod_member *find_first(const struct pods *l, int64_t now_ns)
{
    const struct pod_member *first = vec_find_item(&l->members, m, is_not_set_up(m, now_ns));
    for (size_t i = 0; i < l->gangs.len && first == NULL; i++) {
        first = find_still(l->gangs.items[i], now_ns);
    }
    return first;
}

/* ---- asking ---- */

/* When it was last seen: new recorders write a series, those of a kubelet a deprecated date. */
static const char *date_of(const json_t *event)
{
    const char *series = fact_text(json_object_get(event, "series"), "lastObservedTime");
    const char *last = fact_text(event, "deprecatedLastTimestamp");
    return *series != '\0' ? series : *last != '\0' ? last : fact_text(event, "eventTime");
}

/* Of an object with that name, or one that its controller has made and named after it. */
static bool is_about(const json_t *event, const char *name)
{
    const char *about = fact_text(json_object_get(event, "regarding"), "name");
    const char *rest = str_has_prefix(about, name) ? about + strlen(name) : "?";
    return *rest == '\0' || *rest == '-';
}

/* The newest one, of a pod or of the object with that name. A pod that is not set up has others, of
 * what went well before. */
static const json_t *find_newest(const json_t *events, const char *name, bool warnings_only)
{
    const json_t *newest = NULL, *event;
    size_t i;
    json_array_foreach (events, i, event) {
        const bool counts = !warnings_only || str_eq(fact_text(event, "type"), "Warning");
        if (counts && (name == NULL || is_about(event, name)) &&
            (newest == NULL || strcmp(date_of(event), date_of(newest)) > 0)) {
            newest = event;
        }
    }
    return newest;
}

/* Without an answer, or the right to ask, what is known stays as it is. */
static void on_events(void *ctx, int r, const struct kube_response *res, const struct err *err)
{
    (void)err;
    struct pods *l = ctx;
    struct pod_events *e = &l->events;
    json_auto_t *list = NULL;
    const struct pod_member *m = vec_find_item(&l->members, it, str_eq_or_null(it->uid, e->of));
    const bool has_list = r == 0 && kube_json_load(res->body, res->body_len, &list, NULL) == 0;
    const json_t *event = find_newest(json_object_get(list, "items"), m == NULL ? e->of : NULL,
                                      m == NULL || m->state.wait == POD_WAIT_SETUP);
    if (has_list && event != NULL) {
        free(e->words);
        e->words = xasprintf("%s: %s", fact_text(event, "reason"), fact_text(event, "note"));
    }
    e->call = NULL;
    pods_tick_soon(l);
}

void pod_events_tick(struct pods *l, int64_t now_ns)
{
    if (l->events.call != NULL || now_ns < l->events.due_ns) {
        return;
    }
    const char *name = pod_jobs_find_short(&l->jobs, now_ns); /* what it says is shown first */
    const struct pod_member *m = name != NULL ? NULL : find_first(l, now_ns);
    name = m == NULL ? name : pod_jobs_hold_end(&l->jobs, m);
    const char *uid = m == NULL ? NULL : m->uid, *of = name != NULL ? name : uid;
    if (of == NULL) {
        return;
    }
    /* The controller of an object may have made others, which have the events. */
    _cleanup_(freep) char *selector = name == NULL ? xasprintf("regarding.uid=%s", uid)
                                                   : xstrdup("type=Warning,regarding.kind!=Pod");
    const struct kube_list_options options = {.field_selector = selector, .limit = EVENTS_MAX};
    struct kube_request req;
    l->events.due_ns = now_ns + ASK_AGAIN_NS;
    if (!str_eq_or_null(l->events.of, of)) {
        free(l->events.of);
        free(take_ptr(l->events.words));
        l->events.of = xstrdup(of);
    }
    kube_request_list(&kube_events, l->params.ns, &options, &req);
    l->events.call = kube_call(l->params.client, &req, KUBE_ONCE, on_events, l);
}

void pod_events_done(struct pod_events *e)
{
    kube_call_cancel(e->call);
    free(e->of);
    free(e->words);
}

/* ---- words ---- */

static void say(const struct pod_member *m, const char *reason, const char *otherwise,
                struct run_wait *ret)
{
    const char *object = pod_jobs_hold_end(&m->owner->jobs, m), *node = m->state.node;
    const char *words = pod_events_words(&m->owner->events, object == NULL ? m->uid : object);
    pod_wait_say(ret, reason, "%s/%u%s%s%s: %s", role_to_string(m->id.role), m->id.index,
                 node == NULL ? "" : " on node '", node == NULL ? "" : node,
                 node == NULL ? "" : "'", words == NULL ? otherwise : words);
}

void pod_events_say_setup(const struct pod_gang *g, struct run_wait *ret)
{
    const int64_t now_ns = g->owner->params.now_ns();
    const struct pod_member *m =
        vec_find_item(&g->owner->members, it, it->gang == g && is_not_set_up(it, now_ns));
    if (m != NULL) {
        say(m, "PodNotSetUp", POD_SETUP_WORDS, ret);
    }
}

void pod_events_say_still(const struct pod_gang *g, struct run_wait *ret)
{
    const struct pod_member *m = find_still(g, g->owner->params.now_ns());
    if (m != NULL) {
        say(m, "NoProgress",
            pod_member_is_wanted(m)   ? "its pod is not created yet"
            : m->life < MEMBER_SHOWN  ? "the API server does not answer about its pod"
            : m->uid == NULL          ? "its pod was created, and the watch does not show it"
            : pod_member_has_ended(m) ? "it has ended; its log or its job object is awaited"
            : m->state.node == NULL   ? "no scheduler has placed its pod"
                                      : "its container has not started",
            ret);
    }
}
