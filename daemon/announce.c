/* See announce.h. */
#include "daemon/announce.h"

#include <inttypes.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "kube/rfc3339.h"

#define SECONDS_A_TOKEN 2.0

void announcer_init(struct announcer *a, struct kube_client *client, const char *ns,
                    const char *instance)
{
    *a = (struct announcer){.client = client,
                            .ns = ns,
                            .instance = instance,
                            .tokens = ANNOUNCE_BURST,
                            .filled_ns = clock_monotonic_ns()};
}

static bool take_token(struct announcer *a)
{
    const int64_t now_ns = clock_monotonic_ns();
    a->tokens += (double)(now_ns - a->filled_ns) / 1e9 / SECONDS_A_TOKEN;
    a->filled_ns = now_ns;
    if (a->tokens > ANNOUNCE_BURST) {
        a->tokens = ANNOUNCE_BURST;
    }
    if (a->tokens < 1) {
        return false;
    }
    a->tokens -= 1;
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

void announce(struct announcer *a, const char *run, const char *run_uid, enum event_type type,
              const char *reason, const char *note)
{
    if (!take_token(a)) {
        a->n_dropped++;
        return;
    }
    char date[KUBE_TIME_SIZE];
    const int64_t now_ms = clock_unix_ms();
    kube_time_format_micro(now_ms, date);
    _cleanup_(freep) char *name =
        xasprintf("%s.%" PRIx64 "%04" PRIx64, run, (uint64_t)now_ms, a->serial++ & 0xffff);
    json_t *event = json_pack(
        "{s:s, s:s, s:{s:s, s:s}, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:{s:s, s:s, s:s, s:s, s:s}}",
        "apiVersion", "events.k8s.io/v1", "kind", "Event", "metadata", "name", name, "namespace",
        a->ns, "eventTime", date, "reportingController", "benchd.io/benchd", "reportingInstance",
        a->instance, "action", "Drive", "reason", reason, "type",
        type == EVENT_WARNING ? "Warning" : "Normal", "note", note, "regarding", "apiVersion",
        "benchd.io/v1alpha1", "kind", "BenchmarkRun", "namespace", a->ns, "name", run, "uid",
        run_uid);
    if (event == NULL) {
        a->n_dropped++; /* a note that is no UTF-8 */
        return;
    }
    struct kube_request req;
    kube_request_create(&kube_events, a->ns, event, KUBE_WRITE, &req);
    json_decref(event);
    const struct kube_call_options once = {.max_tries = 1};
    (void)kube_call(a->client, &req, &once, on_done, NULL); /* nobody waits for it */
    a->n_sent++;
}
