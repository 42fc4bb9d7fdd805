/* Collects what /metrics shows. A run's figures are read from the store only when it
 * has another trial, and reading takes at most 1/FIGURES_SHARE of the time; in between,
 * the last figures stay. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/str.h"
#include "base/vec_walk.h"
#include "config.h"
#include "daemon/web/site.h"

#define FIGURES_SHARE 20 /* after a read of t, none within 20 t */

static int64_t now_ms(void)
{
    return clock_monotonic_ns() / 1000000;
}

static struct site_figures *find(struct site *site, const char *uid)
{
    struct site_figures *f = vec_find(&site->cache, it, str_eq(it->uid, uid));
    if (f == NULL) {
        f = vec_push(&site->cache);
        *f = (struct site_figures){.uid = xstrdup(uid)};
    }
    return f;
}

static bool is_current(const struct site_figures *f, const struct run_status *status)
{
    return f->figures != NULL && f->trials_done == status->trials_done &&
           f->trials_failed == status->trials_failed && f->phase == status->phase;
}

/* A run that cannot be read keeps its last figures: its results page says why. */
static void refresh(struct site *site, struct site_figures *f)
{
    const int64_t started_ms = now_ms();
    struct site_run run;
    struct err err = {0};
    int r = site_run_load(site, f->uid, SITE_TABLES, NULL, &run, &err);
    if (r < 0) {
        log_event(LOG_LEVEL_WARN, "run cannot be read, its figures in /metrics stay", "run", f->uid,
                  "err", err.msg, NULL);
    } else {
        if (run.result != NULL) {
            run_gauges_free(f->figures);
            f->figures = run_gauges_new(run.result);
            f->is_simulated = run.result->simulated;
        }
        f->trials_done = run.item.row.status.trials_done;
        f->trials_failed = run.item.row.status.trials_failed;
        f->phase = run.item.row.status.phase;
        site_run_done(&run);
    }
    const int64_t took_ms = now_ms() - started_ms;
    f->next_ms = started_ms + took_ms * FIGURES_SHARE + (r < 0 ? 1000 : 0);
}

static void drop_unused(struct site *site)
{
    size_t kept = 0;
    for (size_t i = 0; i < site->cache.len; i++) {
        struct site_figures *f = &site->cache.items[i];
        if (f->is_used) {
            f->is_used = false;
            site->cache.items[kept++] = *f;
        } else {
            free(f->uid);
            run_gauges_free(f->figures);
        }
    }
    site->cache.len = kept;
}

/* Active runs first, then the newest, so that runs that ended long ago are hidden first. */
static int compare_wanted(const void *a, const void *b)
{
    const struct daemon_run *x = *(const struct daemon_run *const *)a;
    const struct daemon_run *y = *(const struct daemon_run *const *)b;
    if (x->is_active != y->is_active) {
        return x->is_active ? -1 : 1;
    }
    const int64_t at_x = x->status.started_unix_ms, at_y = y->status.started_unix_ms;
    return at_x != at_y ? (at_x > at_y ? -1 : 1) : strcmp(x->name, y->name);
}

/* A run may be deleted and created again with its name: two equal series would
 * make the page invalid. */
static size_t drop_namesakes(const struct daemon_run **runs, size_t n)
{
    size_t kept = 0;
    for (size_t i = 0; i < n; i++) {
        if (!array_any(runs, kept, it, str_eq((*it)->name, runs[i]->name))) {
            runs[kept++] = runs[i];
        }
    }
    return kept;
}

/* The array is owned, the runs are the snapshot's. */
static const struct daemon_run **wanted_runs(const struct site *site, size_t *ret_n)
{
    const struct daemon_runs *all = site->now.runs;
    const struct daemon_run **runs = xnew_array(const struct daemon_run *, all->list.len + 1);
    const int64_t now_unix_ms = clock_steady_unix_ms();
    *ret_n = 0;
    vec_each (struct daemon_run *, run, &all->list) {
        if (metrics_wants_run(&(*run)->status, (*run)->is_active, now_unix_ms)) {
            runs[(*ret_n)++] = *run;
        }
    }
    qsort(runs, *ret_n, sizeof(*runs), compare_wanted);
    *ret_n = drop_namesakes(runs, *ret_n);
    return runs;
}

static struct metrics_run metrics_run_of(struct site *site, const struct daemon_run *run)
{
    struct metrics_run m = {
        .name = run->name,
        .benchmark = run->benchmark,
        .frozen = &run->frozen,
        .status = &run->status,
        .progress = run->progress.is_known ? &run->progress : NULL,
        .wait = &run->wait,
        .advanced_unix_ms = run->advanced_unix_ms,
    };
    if (!run->frozen.is_known || !run->is_stored ||
        run->frozen.n_points > METRICS_MAX_POINTS) { /* not shown, so not read */
        return m;
    }
    struct site_figures *f = find(site, run->uid);
    f->is_used = true;
    if (!is_current(f, &run->status) && now_ms() >= f->next_ms) {
        refresh(site, f);
    }
    m.figures = f->figures;
    m.is_simulated = f->is_simulated;
    return m;
}

void scrape_metrics(struct site *site, const struct web_request *req, struct web_response *res)
{
    (void)req;
    size_t n_runs = 0;
    _cleanup_(freep) const struct daemon_run **live = wanted_runs(site, &n_runs);
    _cleanup_(freep) struct metrics_run *runs = xnew_array(struct metrics_run, n_runs + 1);
    for (size_t i = 0; i < n_runs && i < METRICS_MAX_RUNS; i++) {
        runs[i] = metrics_run_of(site, live[i]);
    }
    const struct daemon_facts *facts = &site->now.facts;
    const int64_t now_ns = clock_monotonic_ns();
    const struct metrics_input in = {
        .version = BENCHD_VERSION,
        .is_ready = daemon_facts_are_ready(facts, now_ns, NULL),
        .is_healthy = daemon_facts_are_healthy(facts, now_ns, NULL),
        .facts = facts,
        .look_age_s = facts->look_ns == 0 ? NAN : (double)(now_ns - facts->look_ns) / 1e9,
        .process = process_use_read(),
        .runs = runs,
        .n_runs = n_runs,
    };
    metrics_write(&in, &res->body);
    res->content_type = EXPO_CONTENT_TYPE;
    drop_unused(site);
}
