/* See pod_setup.h. */
#include "run/pods/pod_setup.h"

#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "base/vec_walk.h"
#include "core/fact_texts.h"
#include "kube/json.h"
#include "run/pods/pods_internal.h"

#define ASK_AGAIN_NS (30 * INT64_C(1000000000))
#define EVENTS_MAX 50

static bool is_not_set_up(const struct pod_member *m, int64_t now_ns)
{
    return m->life < MEMBER_DYING_POSTING && m->state.wait == POD_WAIT_SETUP &&
           now_ns - m->waiting_since_ns >= POD_SETUP_USUAL_NS;
}

/* Of any gang where `g` is NULL. */
static struct pod_member *find_first(const struct pods *l, const struct pod_gang *g, int64_t now_ns)
{
    return vec_find_item(&l->members, m, is_not_set_up(m, now_ns) && (g == NULL || m->gang == g));
}

/* When it was last seen: new recorders write a series, those of a kubelet a deprecated date. */
static const char *date_of(const json_t *event)
{
    const char *series = fact_text(json_object_get(event, "series"), "lastObservedTime");
    const char *last = fact_text(event, "deprecatedLastTimestamp");
    return *series != '\0' ? series : *last != '\0' ? last : fact_text(event, "eventTime");
}

static const json_t *find_newest(const json_t *events)
{
    const json_t *newest = NULL;
    for (size_t i = 0; i < json_array_size(events); i++) {
        const json_t *event = json_array_get(events, i);
        if (newest == NULL || strcmp(date_of(event), date_of(newest)) > 0) {
            newest = event;
        }
    }
    return newest;
}

/* Without an answer, or the right to ask, the message stays as it is. */
static void on_events(void *ctx, int r, const struct kube_response *res, const struct err *err)
{
    (void)err;
    struct pods *l = ctx;
    json_t *list = NULL;
    const json_t *event = r == 0 && kube_json_load(res->body, res->body_len, &list, NULL) == 0
                              ? find_newest(json_object_get(list, "items"))
                              : NULL;
    vec_each (struct pod_member *, it, &l->members) {
        struct pod_member *m = *it;
        if (event != NULL && m->uid != NULL && str_eq(m->uid, l->setup.uid) &&
            m->state.wait == POD_WAIT_SETUP) {
            pod_state_say(&m->state, "%s: %s", fact_text(event, "reason"),
                          fact_text(event, "note"));
        }
    }
    json_decref(list);
    l->setup.call = NULL;
    free(l->setup.uid);
    l->setup.uid = NULL;
    pods_tick_soon(l);
}

void pod_setup_tick(struct pods *l, int64_t now_ns)
{
    const struct pod_member *m = find_first(l, NULL, now_ns);
    if (m == NULL || m->uid == NULL || l->setup.call != NULL || now_ns < l->setup.due_ns) {
        return;
    }
    l->setup.due_ns = now_ns + ASK_AGAIN_NS;
    l->setup.uid = xstrdup(m->uid);
    _cleanup_(freep) char *selector = xasprintf("regarding.uid=%s,type=Warning", m->uid);
    const struct kube_list_options options = {.field_selector = selector, .limit = EVENTS_MAX};
    struct kube_request req;
    kube_request_list(&kube_events, l->params.ns, &options, &req);
    l->setup.call = kube_call(l->params.client, &req, KUBE_ONCE, on_events, l);
}

bool pod_setup_wait(const struct pod_gang *g, struct run_wait *ret)
{
    const struct pod_member *m = find_first(g->owner, g, g->owner->params.now_ns());
    if (m == NULL) {
        return false;
    }
    const char *why = pod_state_message(&m->state);
    pod_wait_say(ret, "PodNotSetUp", "%s/%u on node '%s': %s", role_to_string(m->id.role),
                 m->id.index, m->state.node == NULL ? "" : m->state.node,
                 *why == '\0' ? POD_SETUP_WORDS : why);
    return true;
}

void pod_setup_done(struct pod_setup *s)
{
    kube_call_cancel(s->call);
    free(s->uid);
}
