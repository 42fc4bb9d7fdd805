/* See event_recorder.h. */
#include "daemon/cluster/event_recorder.h"

#include <inttypes.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/rfc3339.h"
#include "base/str.h"

#define SECONDS_A_TOKEN 2.0

void event_recorder_init(struct event_recorder *r, struct kube_client *client, const char *ns,
                         const char *instance)
{
    *r = (struct event_recorder){.client = client,
                                 .ns = ns,
                                 .instance = instance,
                                 .tokens = EVENT_BURST,
                                 .filled_ns = clock_monotonic_ns()};
}

static bool take_token(struct event_recorder *r)
{
    const int64_t now_ns = clock_monotonic_ns();
    r->tokens += (double)(now_ns - r->filled_ns) / 1e9 / SECONDS_A_TOKEN;
    r->filled_ns = now_ns;
    if (r->tokens > EVENT_BURST) {
        r->tokens = EVENT_BURST;
    }
    if (r->tokens < 1) {
        return false;
    }
    r->tokens -= 1;
    return true;
}

static void on_done(void *ctx, int r, const struct kube_response *res, const struct err *err)
{
    (void)ctx;
    (void)res;
    if (r < 0) {
        log_event(LOG_LEVEL_DEBUG, "an event was not written", "err", err->msg, NULL);
    }
}

void event_recorder_emit(struct event_recorder *r, const char *run, const char *run_uid,
                         enum event_type type, const char *reason, const char *note)
{
    if (!take_token(r)) {
        return;
    }
    char date[RFC3339_MICRO_SIZE], text[EVENT_NOTE_SIZE];
    text_put(text, sizeof(text), "%s", note);
    const int64_t now_ms = clock_steady_unix_ms();
    rfc3339_format_micro(now_ms, date);
    _cleanup_(freep) char *name =
        xasprintf("%s.%" PRIx64 "%04" PRIx64, run, (uint64_t)now_ms, r->serial++ & 0xffff);
    json_auto_t *event = json_pack(
        "{s:s, s:s, s:{s:s, s:s}, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:{s:s, s:s, s:s, s:s, s:s}}",
        "apiVersion", "events.k8s.io/v1", "kind", "Event", "metadata", "name", name, "namespace",
        r->ns, "eventTime", date, "reportingController", "benchd.io/benchd", "reportingInstance",
        r->instance, "action", reason, "reason", reason, "type",
        type == EVENT_WARNING ? "Warning" : "Normal", "note", text, "regarding", "apiVersion",
        "benchd.io/v1alpha1", "kind", "BenchmarkRun", "namespace", r->ns, "name", run, "uid",
        run_uid);
    if (event == NULL) {
        return; /* the note is not UTF-8 */
    }
    struct kube_request req;
    kube_request_create(&kube_events, r->ns, event, KUBE_WRITE, &req);
    (void)kube_call(r->client, &req, KUBE_ONCE, on_done, NULL); /* nothing waits for it */
}
