/* See api_health.h. */
#include "daemon/api_health.h"

#include <errno.h>
#include <stddef.h>

void api_health_init(struct api_health *h, int64_t now_ns)
{
    *h = (struct api_health){.fine_ns = now_ns};
}

/* A wrong certificate, token or right. */
static bool is_refusal(const struct err *err)
{
    return err->code == EACCES || err->code == EPROTO || err->code == EINVAL;
}

static bool must_give_up(struct api_health *h, const struct api_facts *facts,
                         const struct err *failure)
{
    const bool advances = facts->n_pages != h->n_pages;
    const bool is_fine =
        failure == NULL && (facts->is_synced || facts->is_held_by_another || advances);
    h->n_pages = facts->n_pages;
    if (h->has_begun || is_fine) {
        h->fine_ns = facts->now_ns;
        return false;
    }
    const bool is_refused = failure != NULL && is_refusal(failure);
    return facts->now_ns - h->fine_ns >=
           (is_refused ? API_REFUSED_TIMEOUT_NS : API_START_TIMEOUT_NS);
}

struct api_advice api_health_look(struct api_health *h, const struct api_facts *facts)
{
    struct api_advice advice = {.failure = facts->watch_error != NULL ? facts->watch_error
                                                                      : facts->lease_error};
    const enum api_source source = advice.failure == NULL       ? API_NOTHING
                                   : facts->watch_error != NULL ? API_WATCH
                                                                : API_LEASE;
    const int code = advice.failure == NULL ? 0 : advice.failure->code;
    if (source != h->reported || code != h->reported_code) {
        advice.report = source == API_NOTHING ? API_REPORT_RECOVERY : API_REPORT_FAILURE;
        h->reported = source;
        h->reported_code = code;
    }
    const bool is_waiting = advice.failure == NULL && facts->is_held_by_another;
    advice.must_report_waiting = is_waiting && !h->is_waiting_reported;
    h->is_waiting_reported = is_waiting;
    h->has_begun = h->has_begun || (facts->is_synced && facts->is_leader);
    advice.must_give_up = must_give_up(h, facts, advice.failure);
    return advice;
}
