/* People and programs that read over HTTP while benchd works: results, attempts, logs, pages and
 * metrics, in bursts. What http.c does with a connection is done here; from renderer_submit() on it
 * is benchd's own code, on the threads of threads.c: queue, share of the CPU, handlers, and
 * a connection to the store of their own. */
#include "sim.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "core/phase.h"
#include "daemon/web/cpu_budget.h"
#include "daemon/web/render.h"
#include "store/store.h"

#define READ_NS (200 * SIM_S) /* so long they come */
#define BURST 20
#define DOCUMENT_MAX_NS (900 * SIM_MS) /* of CPU time */
#define SUBMIT_NS (SIM_MS / 10)        /* the same, of the HTTP thread */
#define PROBE_NS SIM_S                 /* a kubelet waits so long for /healthz */
#define LATE_NS (2 * SIM_S)            /* beyond the time that benchd gives an answer */

enum { READERS, SCRAPES, RENDERERS };
static const size_t most_waiting[RENDERERS] = {128, 16}; /* as http.c has it */

/* What a render thread used of the CPU while a run is driven. */
struct share {
    const void *thread;
    int64_t since_ns, used_ns;
};

struct asked;

static struct {
    struct renderer *renderers[RENDERERS]; /* NULL: benchd does not run */
    VEC(struct store *) stores;            /* of the renderers */
    VEC(struct asked *) open;              /* requests without an answer */
    VEC(struct asked *) done;              /* those of open that now have one */
    bool is_opening;
    struct share shares[RENDERERS];
    int64_t until_ns, http_free_ns; /* http: when the HTTP thread has time again */
} readers;

/* A request, until it is answered. */
struct asked {
    struct render_job job;
    char *path, *uid; /* owned; uid NULL: not of one run */
    bool is_attempts;
    int64_t at_ns;
    size_t n_known; /* attempts of the run that were acknowledged when it was asked */
};

/* Of the worlds above 40, one in sixteen. */
static bool are_there(void)
{
    return sim.seed > 40 && sim.seed % 16 == 2;
}

/* ---- what is made for them, and where ---- */

static struct share *share_of(const void *thread)
{
    size_t i = 0;
    while (i + 1 < RENDERERS && readers.shares[i].thread != thread &&
           readers.shares[i].thread != NULL) {
        i++;
    }
    if (readers.shares[i].thread != thread) {
        readers.shares[i] = (struct share){thread, sim.now_ns, 0};
    }
    return &readers.shares[i];
}

static void check_share(const struct share *s)
{
    const int64_t may_ns = CPU_BUDGET_BURST_NS + (sim.now_ns - s->since_ns) / CPU_BUDGET_SHARE +
                           DOCUMENT_MAX_NS; /* the last one may have begun just so */
    if (s->used_ns > may_ns) {
        sim_broken("readers used %d ms of the CPU in %d s in which a run is driven",
                   (int)(s->used_ns / SIM_MS), (int)((sim.now_ns - s->since_ns) / SIM_S));
    }
}

void __real_routes_answer(struct site *site, const struct route *route,
                          const struct web_request *req, struct web_response *res);
void __wrap_routes_answer(struct site *site, const struct route *route,
                          const struct web_request *req, struct web_response *res);
void __wrap_routes_answer(struct site *site, const struct route *route,
                          const struct web_request *req, struct web_response *res)
{
    const int64_t cpu_ns = sim_time(DRAW_READER, SIM_MS, DOCUMENT_MAX_NS);
    __real_routes_answer(site, route, req, res);
    if (process_is_inside()) {
        sim_broken("benchd's loop makes %s for a reader", req->path);
    }
    struct share *s = thread_current() == NULL ? NULL : share_of(thread_current());
    if (thread_use(cpu_ns)) { /* time passes */
        s->used_ns += cpu_ns;
        check_share(s);
    } else {
        readers.http_free_ns =
            (readers.http_free_ns > sim.now_ns ? readers.http_free_ns : sim.now_ns) + cpu_ns;
    }
}

/* While nothing is driven readers may have all that they want. */
void __real_daemon_view_read(const struct daemon_view *v, struct daemon_snapshot *ret);
void __wrap_daemon_view_read(const struct daemon_view *v, struct daemon_snapshot *ret);
void __wrap_daemon_view_read(const struct daemon_view *v, struct daemon_snapshot *ret)
{
    __real_daemon_view_read(v, ret);
    if (thread_current() != NULL && ret->facts.runs[RUN_RUNNING] == 0) {
        *share_of(thread_current()) = (struct share){thread_current(), sim.now_ns, 0};
    }
}

int __real_store_open_reader(const char *url, bool (*must_stop)(void *ctx), void *ctx,
                             struct store **ret, struct err *err);
int __wrap_store_open_reader(const char *url, bool (*must_stop)(void *ctx), void *ctx,
                             struct store **ret, struct err *err);
int __wrap_store_open_reader(const char *url, bool (*must_stop)(void *ctx), void *ctx,
                             struct store **ret, struct err *err)
{
    const int r = __real_store_open_reader(url, must_stop, ctx, ret, err);
    if (r >= 0 && readers.is_opening) {
        *vec_push(&readers.stores) = *ret;
    }
    return r;
}

/* ---- answers ---- */

static size_t count_attempts(const char *uid)
{
    size_t n = 0;
    for (size_t i = 0; uid != NULL && i < disk_n_attempts(); i++) {
        n += str_eq(disk_get_attempt(i)->run_uid, uid);
    }
    return n;
}

/* Those that were acknowledged before it was asked, and no others than those that are now. */
static void check_attempts(const struct asked *a)
{
    const struct sim_run *run = user_find(a->uid);
    if (run == NULL || run->gone_ns != 0 || run->is_lost || run->back_ns != 0 ||
        (run->wishes & (WISH_DELETE | WISH_ERASE)) != 0) {
        return;
    }
    json_t *document = json_loadb(a->job.body->data, a->job.body->len, 0, NULL);
    const size_t n = json_array_size(json_object_get(document, "attempts"));
    json_decref(document);
    if (n < a->n_known || n > count_attempts(a->uid)) {
        sim_broken("%s has %zu attempts: %zu were acknowledged when it was asked, %zu are now",
                   a->path, n, a->n_known, count_attempts(a->uid));
    }
}

static void check_time(const struct asked *a)
{
    const int64_t took_ns = sim.now_ns - a->at_ns;
    if (took_ns > RENDER_TIMEOUT_NS + LATE_NS && !fault_was_on(FAULT_FREEZE, INT64_MAX / 2)) {
        sim_broken("%s has waited %d s", a->path, (int)(took_ns / SIM_S));
    }
}

static void check(const struct asked *a)
{
    check_time(a);
    const int code = a->job.code;
    if (code >= 500 && code != 503) { /* others are answers to what was asked */
        sim_broken("%s is answered with %d: %.*s", a->path, code, (int)a->job.body->len,
                   a->job.body->data);
    }
    if (code == 200 && a->is_attempts) {
        check_attempts(a);
    }
}

static void forget(struct asked *a)
{
    vec_each (struct asked *, it, &readers.open) {
        if (*it == a) {
            *it = readers.open.items[--readers.open.len];
            break;
        }
    }
    body_free(a->job.body);
    free(a->path);
    free(a->uid);
    free(a);
}

static void take_answers(void *ctx)
{
    (void)ctx;
    vec_each (struct asked *, it, &readers.done) {
        struct asked *a = *it;
        check(a);
        sim_trace("reader: %s: %d", a->path, a->job.code);
        forget(a);
    }
    readers.done.len = 0;
}

/* On a render thread. */
static void on_done(struct render_job *job)
{
    *vec_push(&readers.done) = job->ctx;
    sim_after(SIM_MS / 10, take_answers, NULL);
}

/* ---- requests ---- */

static struct asked *draw_request(void)
{
    static const char *const of_all[] = {"/metrics", "/metrics", "/", "/api/v1/runs"};
    static const char *const of_a_run[] = {"/api/v1/runs/%s",          "/api/v1/runs/%s/attempts",
                                           "/api/v1/runs/%s/attempts", "/api/v1/runs/%s/results",
                                           "/api/v1/runs/%s/logs",     "/runs/%s"};
    enum { N_ALL = sizeof(of_all) / sizeof(of_all[0]), N_RUN = sizeof(of_a_run) / sizeof(char *) };
    struct asked *a = xnew(struct asked);
    const struct sim_run *run = user_get(sim_below(DRAW_READER, (uint32_t)user_count()));
    const uint32_t way = sim_below(DRAW_READER, N_ALL + N_RUN);
    if (way < N_ALL || run->uid == NULL) {
        a->path = xstrdup(of_all[way % N_ALL]);
    } else {
        const char *form = of_a_run[way - N_ALL];
        const char *hole = strstr(form, "%s");
        a->path = xasprintf("%.*s%s%s", (int)(hole - form), form, run->uid, hole + strlen("%s"));
        a->uid = xstrdup(run->uid);
        a->is_attempts = str_has_suffix(form, "/attempts");
    }
    a->at_ns = sim.now_ns;
    a->n_known = count_attempts(a->uid);
    a->job.req.path = a->path;
    a->job.ctx = a;
    routes_find(a->path, &a->job.route);
    return a;
}

static void ask(void)
{
    struct asked *a = draw_request();
    *vec_push(&readers.open) = a;
    struct renderer *r = readers.renderers[a->job.route.kind == ROUTE_SCRAPE ? SCRAPES : READERS];
    (void)thread_use(SUBMIT_NS);
    if (!renderer_submit(r, &a->job)) {
        forget(a); /* 503: too many wait */
    }
}

/* The HTTP thread has other requests before a probe's. */
static void probe(void)
{
    const int64_t wait_ns = readers.http_free_ns - sim.now_ns;
    if (wait_ns > PROBE_NS) {
        sim_broken("a probe waits %d ms for documents of readers", (int)(wait_ns / SIM_MS));
    }
}

static void come(void *ctx)
{
    const bool is_there = readers.renderers[READERS] != NULL && !process_is_frozen();
    for (int i = 0; i < BURST && is_there; i++) {
        ask();
    }
    if (is_there) {
        probe();
        vec_each (struct asked *, it, &readers.open) {
            check_time(*it);
        }
    }
    if (sim.now_ns < readers.until_ns) {
        sim_after(sim_time(DRAW_READER, SIM_S / 2, 8 * SIM_S), come, ctx);
    }
}

/* ---- with benchd's processes ---- */

void readers_begin(void)
{
    if (are_there()) {
        readers.until_ns = sim.now_ns + READ_NS;
        sim_after(2 * SIM_S, come, NULL);
    }
}

void readers_open(const struct daemon_view *view)
{
    struct err err;
    readers.is_opening = true;
    for (int i = 0; i < RENDERERS && are_there(); i++) {
        const struct render_params params = {.view = view,
                                             .store_url = disk_url(),
                                             .max_waiting = most_waiting[i],
                                             .counts_submitter = i == READERS,
                                             .on_done = on_done};
        readers.shares[i] = (struct share){0};
        if (renderer_new(&params, &readers.renderers[i], &err) < 0) {
            sim_broken("renderer_new: %s", err.msg);
        }
    }
    readers.is_opening = false;
    readers.http_free_ns = 0;
}

void readers_close(void)
{
    for (int i = 0; i < RENDERERS && readers.renderers[i] != NULL; i++) {
        renderer_stop(readers.renderers[i]);
    }
    take_answers(NULL);
    for (int i = 0; i < RENDERERS; i++) {
        renderer_free(readers.renderers[i]);
        readers.renderers[i] = NULL;
    }
    readers.stores.len = 0;
}

void readers_kill(const struct sim_process *p)
{
    threads_forget(p);
    for (int i = 0; i < RENDERERS; i++) {
        readers.renderers[i] = NULL;
    }
    readers.open.len = readers.done.len = 0;
    while (readers.stores.len > 0) { /* what the kernel does */
        store_close(readers.stores.items[--readers.stores.len]);
    }
}
