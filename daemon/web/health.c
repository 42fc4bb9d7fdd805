/* /healthz and /readyz: 200 "ok", or 503 and the reason in one line. */
#include "base/clock.h"
#include "daemon/web/site.h"

static void answer(struct web_response *res, bool is_ok, const struct err *why)
{
    res->code = is_ok ? 200 : 503;
    res->content_type = WEB_TEXT;
    buf_printf(&res->body, "%s\n", is_ok ? "ok" : why->msg);
}

void health_healthz(struct site *site, const struct web_request *req, struct web_response *res)
{
    (void)req;
    struct err why = {0};
    const bool is_ok = daemon_facts_are_healthy(&site->now.facts, clock_monotonic_ns(), &why);
    answer(res, is_ok, &why);
}

void health_readyz(struct site *site, const struct web_request *req, struct web_response *res)
{
    (void)req;
    struct err why = {0};
    const bool is_ok = daemon_facts_are_ready(&site->now.facts, clock_monotonic_ns(), &why);
    answer(res, is_ok, &why);
}
