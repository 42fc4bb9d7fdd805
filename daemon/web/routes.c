/* See routes.h. */
#include "daemon/web/routes.h"

#include <string.h>

#include "base/str.h"

static const struct {
    const char *prefix, *suffix; /* a run's name stands between them; suffix NULL: nothing does */
    site_handler_fn handler;
} routes[] = {
    {"/metrics", NULL, scrape_metrics},
    {"/healthz", NULL, health_healthz},
    {"/readyz", NULL, health_readyz},
    {"/api/v1/runs", NULL, api_runs},
    {"/api/v1/runs/", "", api_run},
    {"/api/v1/runs/", "/attempts", api_attempts},
    {"/api/v1/runs/", "/results", api_results},
    {"/api/v1/runs/", "/logs", api_logs},
    {"/", NULL, html_runs},
    {"/style.css", NULL, html_style},
    {"/runs/", "", html_run},
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

void routes_answer(struct site *site, const struct web_request *req, struct web_response *res)
{
    char name[SITE_MAX_NAME + 1] = "";
    res->code = 200;
    for (size_t i = 0; i < sizeof(routes) / sizeof(routes[0]); i++) {
        if (routes[i].suffix == NULL
                ? str_eq(req->path, routes[i].prefix)
                : take_name(req->path, routes[i].prefix, routes[i].suffix, name)) {
            routes[i].handler(site, req, name, res);
            return;
        }
    }
    web_fail(res, 404, "nothing found at '%.*s'", SITE_MAX_NAME, req->path);
}
