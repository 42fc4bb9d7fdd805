/* What machines ask: /metrics, /healthz and /readyz (200 "ok", or 503 and the reason in one line).
 *
 * A run's figures are read from the store only when it has another trial, and reading takes at most
 * 1/FIGURES_SHARE of the time; in between, the last figures stay. Edge file: /proc/self. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/parse.h"
#include "base/str.h"
#include "base/whole_file.h"
#include "daemon/web/site.h"
#include "result/catalogue.h"
#include "result/nodes.h"

#define FIGURES_SHARE 20 /* after a read of t, none within 20 t */
#define STATM_MAX 256    /* seven numbers */

/* ---- health ---- */

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

/* ---- the process ---- */

static double bytes_of(const char *pages)
{
    double n = NAN;
    return pages == NULL || parse_f64(pages, &n) < 0 ? NAN : n * (double)sysconf(_SC_PAGESIZE);
}

struct process_use process_use_read(void)
{
    _cleanup_(buf_done) struct buf statm = BUF_INIT;
    _cleanup_(texts_done) struct texts fds = {0};
    struct rlimit files;
    (void)file_read("/proc/self/statm", STATM_MAX, &statm, NULL); /* then it is empty */
    char *rest = statm.data;
    (void)strsep(&rest, " "); /* the size of the address space */
    const char *resident = strsep(&rest, " ");
    file_names("/proc/self/fd", &fds); /* with ".", "..", and the folder's own descriptor */
    return (struct process_use){
        .cpu_s = (double)clock_process_cpu_ns() / 1e9,
        .resident_bytes = bytes_of(resident),
        .open_fds = fds.list.len < 3 ? NAN : (double)fds.list.len - 3,
        .max_fds = getrlimit(RLIMIT_NOFILE, &files) < 0 ? NAN : (double)files.rlim_cur,
    };
}

/* ---- the figures of a run ---- */

static struct figure_numbers numbers_of(const struct estimate *e)
{
    const bool has_interval = e->known && e->has_interval;
    return (struct figure_numbers){e->known ? e->value : NAN, has_interval ? e->low : NAN,
                                   has_interval ? e->high : NAN};
}

/* The label of values that have none of their own: "cpu=400m memory=1Gi". Owned. */
static char *other_values(const struct params *params)
{
    static const char *const labels[] = {"pservers",   "trainers", "workers",
                                         "batch_size", "threads",  NULL};
    struct buf text = BUF_INIT;
    vec_each (struct param, p, &params->list) {
        if (!str_is_one_of(p->name, labels)) {
            buf_printf(&text, "%s%s=", text.len == 0 ? "" : " ", p->name);
            value_format(&p->value, &text);
        }
    }
    return buf_take(&text);
}

static void fill(const struct result *r, const struct point_result *p, struct point_figures *f)
{
    const struct point *point = p->point;
    const struct point_result *base = result_baseline(r, p);
    size_t n = 0;
    *f = (struct point_figures){
        .point = point->index,
        .system = xstrdup(r->def->spec->systems.items[point->system].name),
        .other = other_values(&point->params),
        .pservers = point->replicas[ROLE_PSERVER],
        .trainers = point_training_replicas(point),
        .batch_size = point->batch_size,
        .threads = point->threads,
        .figures = xnew_array(struct figure_numbers, figures_n_metrics()),
        .baseline_throughput = base == NULL || !str_eq(base->throughput.unit, p->throughput.unit)
                                   ? NAN
                                   : numbers_of(&base->throughput.estimate).value,
        .unit = p->throughput.unit,
        .n_succeeded = (uint32_t)p->n_succeeded,
    };
    figure_each_kind (k) {
        if (k->metric != NULL) {
            const struct figure figure = figure_of(p, k);
            f->figures[n++] = numbers_of(&figure.estimate);
        }
    }
}

static struct run_gauges *run_gauges_new(const struct result *r)
{
    struct run_gauges *figures = xnew(struct run_gauges);
    figures->n_points = r->def->matrix.n_swept;
    figures->points = xnew_array(struct point_figures, figures->n_points);
    for (size_t i = 0; i < figures->n_points; i++) {
        fill(r, &r->points[i], &figures->points[i]);
    }
    figures->n_nodes = r->nodes.len;
    figures->nodes = xnew_array(struct node_figures, figures->n_nodes + 1);
    for (size_t i = 0; i < figures->n_nodes; i++) {
        const struct node_result *node = &r->nodes.items[i];
        figures->nodes[i] = (struct node_figures){
            .name = xstrdup(node->name),
            .n_replicas = (uint32_t)node->n_replicas,
            .n_points = node->n_points,
            .n_slower = node->n_slower,
            .excess = node->excess,
            .throttled = node_result_throttled_ratio(node),
        };
    }
    return figures;
}

static void run_gauges_free(struct run_gauges *figures)
{
    if (figures == NULL) {
        return;
    }
    for (size_t i = 0; i < figures->n_points; i++) {
        free(figures->points[i].system);
        free(figures->points[i].other);
        free(figures->points[i].figures);
    }
    for (size_t i = 0; i < figures->n_nodes; i++) {
        free(figures->nodes[i].name);
    }
    free(figures->nodes);
    free(figures->points);
    free(figures);
}

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
    int r = site_run_load(site, f->uid, SITE_TABLES, &run, &err);
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

void site_done(struct site *site)
{
    vec_each (struct site_figures, f, &site->cache) {
        free(f->uid);
        run_gauges_free(f->figures);
    }
    vec_done(&site->cache);
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
    struct metrics_run m = {.run = run};
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
    const struct metrics_input in = {
        .facts = &site->now.facts,
        .now_ns = clock_monotonic_ns(),
        .process = process_use_read(),
        .runs = runs,
        .n_runs = n_runs,
    };
    metrics_write(&in, &res->body);
    res->content_type = EXPO_CONTENT_TYPE;
    drop_unused(site);
}
