/* What the handlers answer from: what the daemon shows, and the runs of its store with what is
 * computed from them. A site belongs to one thread. What /metrics needs at each scrape is cached
 * here. */
#pragma once

#include "daemon/web/daemon_view.h"
#include "daemon/web/message.h"
#include "daemon/web/metrics.h"
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
    struct store *store; /* a reader of this thread, borrowed; NULL where no handler needs it */
    struct daemon_snapshot now; /* of the request that is answered */
    VEC(struct site_figures) cache;
};
void site_done(struct site *site);

/* A run for a list: of the daemon, of the store, or of both. */
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
    const struct daemon_run *live; /* the snapshot's; NULL: the daemon does not show it */
    struct run_def *def;           /* owned; NULL: not accepted (yet) */
    struct attempt_row *rows;      /* owned; by point, trial, attempt; those that were asked for */
    size_t n_rows;
    struct result *result; /* owned; NULL: no def, or not asked for */
};
/* SITE_DEFINITION: no rows. SITE_TABLES: the result, and the rows, with replicas of an open
 * point alone (point_open): of a large run only that fits into memory. SITE_FIGURES: the
 * result without what is known of single replicas, and no rows. */
enum site_depth { SITE_ITEM, SITE_DEFINITION, SITE_ROWS, SITE_TABLES, SITE_FIGURES };
/* By name or uid. -ENOENT: no such run. wanted: the attempts of SITE_ROWS, because of a run of
 * 10,000 points the others are not read. */
int site_run_load(const struct site *site, const char *name, enum site_depth depth,
                  const struct attempt_wanted *wanted, struct site_run *ret, struct err *err);
/* The same for a handler. False: the error was answered. */
bool site_run_open(const struct site *site, const char *name, enum site_depth depth,
                   struct site_run *ret, struct web_response *res);
void site_run_done(struct site_run *run);
/* The log of one replica as the arguments ask for it: point, trial, attempt, role, index, with the
 * defaults of `benchctl logs` (site_log.c). */
struct site_log {
    struct site_run run; /* with the attempts that match */
    const struct attempt_row *row;
    const struct replica_row *replica;
    char *text; /* owned */
    size_t len;
};
/* False: it was answered. */
bool site_log_load(const struct site *site, const struct web_request *req, struct site_log *ret,
                   struct web_response *res);
void site_log_done(struct site_log *log);
/* Which attempts a request asks for; also in site_log.c. False: it was answered. */
bool site_take_attempts(const struct web_request *req, struct attempt_wanted *ret,
                        struct web_response *res);
#define SITE_MAX_NAME 253 /* bytes of a Kubernetes object's name */

/* Handlers: each fills an empty response, which has code 200 and no type. They are in scrape.c,
 * health.c, api.c, live_state.c, assets.c, page_runs.c, page_run.c, page_log.c and
 * page_history.c. */
typedef void site_handler(struct site *site, const struct web_request *req,
                          struct web_response *res);
site_handler scrape_metrics, health_healthz, health_readyz, api_runs, api_run, api_attempts,
    api_results, api_logs, html_runs, html_run, html_point, html_log, html_history, assets_style,
    assets_script, assets_chart_script, live_state;

/* Answers with the error of a load; 503 if the time for it was over. */
void site_fail(struct web_response *res, int r, const struct err *err);
