/* What the handlers answer from: what the daemon shows, and the runs of its store with what is
 * computed from them. A site belongs to one thread. What /metrics needs at each scrape is cached
 * here. */
#pragma once

#include "daemon/web/daemon_view.h"
#include "daemon/web/message.h"
#include "daemon/web/metrics.h"
#include "load/run_walk.h"
#include "store/store.h"

/* The figures of one run as of some state of it. */
struct site_figures {
    char *uid; /* owned */
    uint32_t trials_done, trials_failed;
    enum run_phase phase;
    bool is_simulated;
    struct run_gauges *figures; /* owned */
    int64_t next_ms;            /* not read again before that (clock_monotonic_ns / 1e6) */
    bool is_used;               /* by the current scrape */
};

struct site {
    struct store *store;        /* a borrowed reader of this thread, or NULL for quick routes */
    const char *store_path;     /* borrowed */
    struct daemon_snapshot now; /* The handler answers from this. */
    VEC(struct site_figures) cache;
};
void site_done(struct site *site); /* scrape.c */

/* A run for a list. The daemon knows it, the store has it, or both. */
struct site_item {
    struct run_row row; /* owned; the daemon's data where that is newer */
    bool is_stored;
    bool is_interrupted; /* not finished, and no process drives it */
};
struct site_list {
    VEC(struct site_item) items; /* newest first, those not frozen yet before all others */
};
int site_list_runs(const struct site *site, struct site_list *ret, struct err *err);
void site_list_done(struct site_list *list);

/* One run with everything that is computed from it. */
struct site_run {
    struct site_item item;
    const struct daemon_run *live; /* in the snapshot, or NULL if the daemon does not show it */
    struct run_def *def;           /* owned; NULL until the run is accepted */
    struct attempt_row *rows;      /* owned; ordered by point, trial, attempt */
    size_t n_rows;
    struct result *result; /* owned; NULL without def, or if it was not requested */
};
/* What is loaded. SITE_DEFINITION: the definition. SITE_TABLES: the definition, the result, and the
 * rows, of which site_run_walk reads the replicas. */
enum site_depth { SITE_ITEM, SITE_DEFINITION, SITE_TABLES };
/* Loads a run by its name or uid. Returns -ENOENT if no such run exists. */
int site_run_load(const struct site *site, const char *name, enum site_depth depth,
                  struct site_run *ret, struct err *err);
/* Does the same for a handler. Returns false after answering with the error. */
bool site_run_open(const struct site *site, const char *name, enum site_depth depth,
                   struct site_run *ret, struct web_response *res);
void site_run_done(struct site_run *run);
/* For run_walk_done; both are borrowed. */
struct run_walk site_run_walk(const struct site *site, const struct site_run *run);
#define PAGE_MAX_ROWS 500 /* rows on one page; the API lists all runs and attempts */
#define SITE_MAX_NAME 253 /* bytes of a Kubernetes object's name */

/* Handlers: each fills an empty response, which has code 200 and no type. They are in scrape.c,
 * api.c and pages.c. */
typedef void site_handler(struct site *site, const struct web_request *req,
                          struct web_response *res);
site_handler scrape_metrics, health_healthz, health_readyz, api_runs, api_run, api_file,
    api_results, api_logs, html_runs, html_run;

/* Answers with the error of a load; 503 if the time for it was over. */
void site_fail(struct web_response *res, int r, const struct err *err);

/* ---- routes.c: which handler answers which path ---- */

/* The thread that runs a handler. */
enum route_kind {
    ROUTE_QUICK,  /* at once, on the HTTP thread: it needs what the daemon shows, not the store */
    ROUTE_SCRAPE, /* on a render thread of its own: Prometheus gives up after seconds */
    ROUTE_READ,   /* on the readers' render thread */
};

struct route {
    enum route_kind kind;
    bool is_open;          /* to those without a read key: probes, metrics, nothing */
    site_handler *handler; /* NULL if no such path exists */
    char run[SITE_MAX_NAME + 1];
};
void routes_find(const char *path, struct route *ret);
/* Calls the handler; 404 if none exists. */
void routes_answer(struct site *site, const struct route *route, const struct web_request *req,
                   struct web_response *res);
