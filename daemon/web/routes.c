/* Which handler answers which path, see site.h. */
#include <string.h>

#include "base/str.h"
#include "daemon/web/site.h"

static const struct {
    const char *prefix, *suffix; /* a run's name is between them, unless suffix is NULL */
    site_handler *handler;
    enum route_kind kind;
    bool is_open;
} routes[] = {
    {"/metrics", NULL, scrape_metrics, ROUTE_SCRAPE, true},
    {"/healthz", NULL, health_healthz, ROUTE_QUICK, true},
    {"/readyz", NULL, health_readyz, ROUTE_QUICK, true},
    {"/api/v1/runs", NULL, api_runs, ROUTE_READ, false},
    {"/api/v1/runs/", "", api_run, ROUTE_READ, false},
    {"/api/v1/runs/", "/file", api_file, ROUTE_READ, false},
    {"/api/v1/runs/", "/results", api_results, ROUTE_READ, false},
    {"/api/v1/runs/", "/logs", api_logs, ROUTE_READ, false},
    {"/", NULL, html_runs, ROUTE_READ, false},
    {"/runs/", "", html_run, ROUTE_READ, false},
};

/* The name between prefix and suffix, if an object can have it. */
static bool take_name(const char *path, const char *prefix, const char *suffix,
                      char ret[SITE_MAX_NAME + 1])
{
    if (!str_has_prefix(path, prefix)) {
        return false;
    }
    path += strlen(prefix);
    const size_t len = strspn(path, "abcdefghijklmnopqrstuvwxyz0123456789-.");
    if (len == 0 || len > SITE_MAX_NAME || !str_eq(path + len, suffix)) {
        return false;
    }
    memcpy(ret, path, len);
    ret[len] = '\0';
    return true;
}

void routes_find(const char *path, struct route *ret)
{
    *ret = (struct route){.kind = ROUTE_QUICK, .is_open = true}; /* a 404 */
    for (size_t i = 0; i < COUNT_OF(routes); i++) {
        if (routes[i].suffix == NULL
                ? str_eq(path, routes[i].prefix)
                : take_name(path, routes[i].prefix, routes[i].suffix, ret->run)) {
            ret->kind = routes[i].kind;
            ret->is_open = routes[i].is_open;
            ret->handler = routes[i].handler;
            return;
        }
    }
}

void routes_answer(struct site *site, const struct route *route, const struct web_request *req,
                   struct web_response *res)
{
    res->code = 200;
    if (route->handler == NULL) {
        web_fail(res, 404, "nothing found at '%.*s'", SITE_MAX_NAME, req->path);
        return;
    }
    struct web_request named = *req;
    named.run = route->run;
    route->handler(site, &named, res);
}
