/* Which handler answers which path. */
#pragma once

#include "daemon/web/site.h"

/* Where a handler runs, and when. */
enum route_kind {
    ROUTE_QUICK,  /* at once, on the HTTP thread: it needs what the daemon shows, not the store */
    ROUTE_SCRAPE, /* on a render thread of its own: Prometheus gives up after seconds */
    ROUTE_READ,   /* on the readers' render thread */
};

struct route {
    enum route_kind kind;
    bool is_open;          /* to those without a read key: probes, metrics, nothing */
    site_handler *handler; /* NULL: there is no such path */
    char run[SITE_MAX_NAME + 1];
};
void routes_find(const char *path, struct route *ret);
/* Calls the handler; 404 if none exists. */
void routes_answer(struct site *site, const struct route *route, const struct web_request *req,
                   struct web_response *res);
