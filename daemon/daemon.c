/* The loop of benchd: watches, the queue of runs, the Lease. See daemon.h.
 *
 * Level-triggered: a change only wakes tick(), which goes over all runs and does what is due. It is
 * called at most once per turn of the loop, and once a second for what only time changes. */
#include "daemon/daemon.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/exit_code.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "config.h"
#include "daemon/daemon_internal.h"
#include "daemon/loop_meter.h"
#include "daemon/cluster/elector.h"
#include "daemon/memory.h"
#include "decide/policy_wait.h"

#define LEASE "benchd" /* where benchctl looks for it */
#define LOOK_EVERY_MS 1000
/* For other processes that write to the store: the limit of all calls from one look to the next,
 * including those that the driver makes between them. A tenth of the Lease's time. */
#define STORE_WAIT_MS 1000
#define TRIM_SOON_NS (2 * INT64_C(1000000000))  /* after a run: its pods must go first */
#define TRIM_EVERY_NS (5 * INT64_C(1000000000)) /* costs a fifth of a millisecond */
#define PURGE_EVERY_NS (60 * INT64_C(1000000000))
#define DNS_NAME "kubernetes.default.svc"
#define DNS_PATIENCE_NS (30 * INT64_C(1000000000)) /* cluster DNS may start after benchd */
#define DNS_SOON_NS INT64_C(1000000000)
#define DNS_LATER_NS (60 * INT64_C(1000000000))

static void on_timer(uv_timer_t *timer);
static void look_up_name(struct daemon *d);

static void wake(void *ctx)
{
    struct daemon *d = ctx;
    if (!d->is_stopping) {
        /* With 0 ms from a timer's callback it would be the same turn of the loop: libuv 1.44 runs
         * timers until none is due. Cannot fail: the callback is not NULL and the handle is not
         * closing. */
        (void)uv_timer_start(&d->timer, on_timer, 1, LOOK_EVERY_MS);
    }
}

/* Cannot go on: ends the program with `exit_code`. */
static void give_up(struct daemon *d, int exit_code, const struct err *err)
{
    if (d->is_stopping) {
        return;
    }
    d->is_stopping = true;
    d->exit_code = exit_code;
    d->failure = *err;
    (void)uv_timer_stop(&d->timer); /* never fails */
    publish_view(d);
    d->params.on_stop(d->params.ctx);
}

/* ---- watches ---- */

static void on_workload(void *ctx, enum kube_change change, const struct kube_object *object)
{
    (void)change; /* a launcher reads them all, and so does the sweep */
    (void)object;
    struct daemon *d = ctx;
    struct run *active = run_queue_active(&d->queue);
    if (active != NULL) {
        pod_queue_notice(active->at.driven.launcher);
    }
    wake(d);
}

static void watch_workloads(struct daemon *d)
{
    workload_watch_start(&d->workloads, d->client, d->params.ns, on_workload, wake, d);
}

static void on_run(void *ctx, enum kube_change change, const struct kube_object *object)
{
    struct daemon *d = ctx;
    const struct bmr_facts *facts = object->facts;
    struct run *run = run_queue_find(&d->queue, facts->uid);
    if (run != NULL) {
        run_update(run, facts);
    } else if (change == KUBE_CHANGE_ADDED && !d->run_env.are_objects_known && facts->is_settled &&
               facts->ended_unix_ms < clock_steady_unix_ms() - DAEMON_ENDED_MS) {
        run_queue_add_ended(&d->queue, facts); /* sync_objects asks the store about it */
        return;
    } else if (change == KUBE_CHANGE_REMOVED || !run_queue_is_resting(&d->queue, facts->uid) ||
               !facts->is_settled) {
        run = run_new(&d->run_env, facts);
        run_queue_add(&d->queue, run);
    }
    if (change == KUBE_CHANGE_REMOVED) {
        run->asked.is_gone = true;
    }
    if (facts->has_queue) {
        watch_workloads(d);
    }
    wake(d);
}

static void on_benchmark(void *ctx, enum kube_change change, const struct kube_object *object)
{
    (void)change; /* a run may wait for it */
    (void)object;
    wake(ctx);
}

static void on_pod(void *ctx, enum kube_change change, const struct kube_object *object)
{
    struct daemon *d = ctx;
    struct run *active = run_queue_active(&d->queue);
    if (active != NULL) {
        pods_notify(active->at.driven.launcher, change, object);
    }
}

/* ---- a look ---- */

/* Logs what is new about the API server. False: benchd gave up, or is about to end anyway. */
static bool check_health(struct daemon *d)
{
    const char *holder = kube_lease_holder(d->elector->lease);
    const enum kube_lease_state lease = d->elector->state;
    const struct api_facts facts = {
        .now_ns = clock_monotonic_ns(),
        .watch_error = watches_error(&d->watches),
        .lease_error = kube_lease_error(d->elector->lease),
        .is_synced = watches_are_synced(&d->watches),
        .n_pages = watches_count_pages(&d->watches),
        .is_leader = lease == KUBE_LEASE_LEADER,
        .is_held_by_another = lease == KUBE_LEASE_FOLLOWER && holder[0] != '\0' &&
                              !str_eq(holder, d->params.identity),
    };
    const struct api_advice advice = api_health_look(&d->health, &facts);
    if (advice.report == API_REPORT_FAILURE) {
        log_event(LOG_LEVEL_WARN, "the API server fails, retrying", "err", advice.failure->msg,
                  NULL);
    } else if (advice.report == API_REPORT_RECOVERY) {
        log_event(LOG_LEVEL_INFO, "the API server answers again", NULL);
    }
    if (advice.must_report_waiting) {
        log_event(LOG_LEVEL_INFO, "another benchd holds the lease, waiting for it", "lease", LEASE,
                  "holder", holder, NULL);
    }
    if (advice.must_give_up) {
        struct err err;
        (void)err_set(&err, ETIMEDOUT, "namespace '%s': the API server does not answer",
                      d->params.ns);
        give_up(d, EXIT_UNREACHABLE, advice.failure != NULL ? advice.failure : &err);
    }
    return !d->is_stopping;
}

/* Objects say of many runs that they are over. Of those that the store knows otherwise, or that
 * ended a moment ago, somebody has to look after. */
static int wake_open_runs(struct daemon *d, struct err *err)
{
    _cleanup_(texts_done) struct texts uids = {0};
    const int64_t from_unix_ms = clock_steady_unix_ms() - DAEMON_ENDED_MS;
    int r =
        d->params.store->ops->list_open(d->params.store, d->params.ns, from_unix_ms, &uids, err);
    if (r >= 0) {
        run_queue_wake(&d->queue, &d->run_env, uids.list.items, uids.list.len);
    }
    return r;
}

/* Runs whose objects were deleted while no benchd ran get their tombstones. */
static int sync_objects(struct daemon *d, struct err *err)
{
    if (d->run_env.are_objects_known) {
        return 0;
    }
    const struct kube_cache *cache = watches_cache(&d->watches, WATCH_RUNS);
    _cleanup_(freep) const char **uids = xnew_array(const char *, cache->objects.len + 1);
    for (size_t i = 0; i < cache->objects.len; i++) {
        uids[i] = cache->objects.items[i]->uid;
    }
    size_t n_deleted;
    int r =
        d->params.store->ops->sync_objects(d->params.store, d->params.ns, uids, cache->objects.len,
                                           clock_steady_unix_ms(), &n_deleted, err);
    r = r < 0 ? r : wake_open_runs(d, err);
    if (r < 0) {
        return r;
    }
    d->run_env.are_objects_known = true;
    if (n_deleted > 0) {
        char number[24];
        (void)snprintf(number, sizeof(number), "%zu", n_deleted); /* fits */
        log_event(LOG_LEVEL_WARN,
                  "run objects were deleted while benchd was down; their results are erased later, "
                  "benchctl export copies them",
                  "runs", number, NULL);
    }
    return 0;
}

/* 1: enough is known to decide who is driven. 0: not yet. */
static int load_open_runs(struct daemon *d, struct err *err)
{
    if (watches_are_synced(&d->watches)) {
        int r = sync_objects(d, err);
        return r < 0 ? r : 1;
    }
    const int r =
        d->has_open_runs ? 1 : run_queue_has_open(&d->queue, d->params.store, d->params.ns, err);
    d->has_open_runs = r > 0;
    return r;
}

/* Erases one run a turn of the loop, then looks again for the next. What cannot be erased now is
 * tried again later, whatever the reason, since nothing waits for it. */
static void purge(struct daemon *d)
{
    const int64_t now_ns = clock_monotonic_ns();
    if (now_ns < d->purge_ns) {
        return;
    }
    struct err err = {0};
    const int64_t now_unix_ms = elector_careful_unix_ms(d->elector);
    int r = run_purge(&d->run_env, now_unix_ms, &err);
    r = r != 0 ? r : retention_erase_next(&d->retention, &d->run_env, &d->queue, now_unix_ms, &err);
    if (r > 0) {
        wake(d);
        return;
    }
    d->purge_ns = now_ns + PURGE_EVERY_NS;
    if (r < 0) {
        log_event(LOG_LEVEL_WARN, "the results of a run could not be erased, retrying", "err",
                  err.msg, NULL);
    }
}

/* Reports that the disk is full, or has space again. The driver finds out by itself. */
static void look_at_space(struct daemon *d)
{
    const struct run *active = run_queue_active(&d->queue);
    const enum space_news news = space_look(&d->space, d->params.store, clock_monotonic_ns());
    d->run_env.is_store_full = d->space.is_full;
    if (active != NULL && news == SPACE_IS_FULL) {
        run_emit(active, EVENT_WARNING, "StoreFull",
                 "the disk of benchd's store is full; the run continues when there is space");
    } else if (active != NULL && news == SPACE_IS_BACK) {
        run_emit(active, EVENT_NORMAL, "StoreHasSpace", "the run continues");
    }
}

static bool is_run_over(const void *ctx, const char *uid)
{
    const struct daemon *d = ctx;
    const struct run *run = run_queue_find(&d->queue, uid);
    return run == NULL ||
           (!run_is_driven(run) && (run_is_final(run) || (run->life == LIFE_ACCEPTED &&
                                                          !wait_is_under_way(&run->status))));
}

/* Before the runs are looked at: what they know of Workloads is of now. */
static void look_at_workloads(struct daemon *d)
{
    const struct run *active = run_queue_active(&d->queue);
    if (active != NULL && active->def->options.queue != NULL) {
        watch_workloads(d); /* the queue may be that of an earlier benchd */
    }
    if (workload_watch_look(&d->workloads) && active != NULL) {
        pod_queue_notice(active->at.driven.launcher);
    }
}

static void tick(struct daemon *d)
{
    struct err err = {0};
    if (!check_health(d) || !elector_may_write(d->elector) || !d->is_dns_known ||
        !watches_know_open_runs(&d->watches)) {
        return;
    }
    d->params.store->ops->wait_at_most(d->params.store, STORE_WAIT_MS);
    d->queue.turn_cpu_ns = d->params.meter->cpu_ns;
    look_at_workloads(d);
    int r = load_open_runs(d, &err);
    if (r == 0 || r == -EBUSY) { /* another process writes: the next look */
        return;
    }
    r = r < 0 ? r : run_queue_drop_deleted(&d->queue, &err);
    r = r < 0 ? r : run_queue_accept(&d->queue, &err);
    const bool is_first_look = r > 0; /* one that was not seen yet may have to run first */
    r = r < 0 || is_first_look ? r : run_queue_advance(&d->queue, &err);
    if (r < 0 && r != -ENOSPC) {
        give_up(d, EXIT_LOCAL_RESOURCE, &err);
        return;
    }
    if (r >= 0 && !is_first_look && d->run_env.are_objects_known) {
        workload_watch_sweep(&d->workloads, clock_monotonic_ns(), is_run_over, d);
        purge(d);
    }
    look_at_space(d);
    if (is_first_look || run_queue_publish(&d->queue)) { /* both in one turn would take long */
        wake(d);
    }
    run_queue_rest(&d->queue, &d->run_env);
}

/* Returns memory to the system while no run is driven: hundreds of pods leave a fragmented heap,
 * which the allocator would keep. */
static void trim_memory(struct daemon *d)
{
    const int64_t now_ns = clock_monotonic_ns();
    if (run_queue_active(&d->queue) != NULL) {
        d->trim_ns = now_ns + TRIM_SOON_NS;
    } else if (now_ns >= d->trim_ns) {
        if (d->params.store->ops->rest != NULL) {
            d->params.store->ops->rest(d->params.store);
        }
        memory_rest();
        d->trim_ns = now_ns + TRIM_EVERY_NS;
    }
}

static void on_timer(uv_timer_t *timer)
{
    struct daemon *d = timer->data;
    look_up_name(d);
    tick(d);
    archiver_look(d->archiver);
    trim_memory(d);
    publish_view(d);
}

/* ---- the Lease and names ---- */

/* Only with the Lease: whoever waits for it would not notice that etcd was restored from a backup
 * and that its watches say nothing any more (kube/lease.h). */
static void start_watches(struct daemon *d)
{
    const struct watches_params watches = {
        .client = d->client,
        .ns = d->params.ns,
        .on_change =
            {[WATCH_BENCHMARKS] = on_benchmark, [WATCH_RUNS] = on_run, [WATCH_PODS] = on_pod},
        .on_synced = wake,
        .ctx = d,
        .seed = (uint64_t)clock_monotonic_ns()};
    watches_start(&d->watches, &watches);
    d->run_env.benchmarks = watches_cache(&d->watches, WATCH_BENCHMARKS);
    d->run_env.runs = watches_cache(&d->watches, WATCH_RUNS);
    d->run_env.pods = watches_cache(&d->watches, WATCH_PODS);
    if (d->run_env.options.queue != NULL) {
        watch_workloads(d);
    }
}

static void on_lease(void *ctx)
{
    struct daemon *d = ctx;
    if (d->elector->state == KUBE_LEASE_LOST) {
        struct err err;
        const struct err *why = kube_lease_error(d->elector->lease);
        (void)err_set(&err, ETIMEDOUT, "lease '%s' in namespace '%s' was lost%s%s", LEASE,
                      d->params.ns, why != NULL ? ": " : "", why != NULL ? why->msg : "");
        give_up(d, EXIT_LEASE_LOST, &err);
        return;
    }
    log_event(LOG_LEVEL_INFO, "holding the lease", "lease", LEASE, "as", d->params.identity,
              "address", d->address, NULL);
    start_watches(d);
    wake(d);
}

static void release(struct daemon *d)
{
    if (--d->n_handles > 0) {
        return;
    }
    free(d->address);
    free(d);
}

static bool may_write(void *ctx)
{
    const struct daemon *d = ctx;
    return d->elector != NULL && elector_may_write(d->elector);
}

/* May come after daemon_free: a lookup in progress cannot be cancelled. EAI_AGAIN means that no
 * DNS server has answered, which counts as "no" after DNS_PATIENCE_NS only. */
static void on_name(uv_getaddrinfo_t *request, int status, struct addrinfo *found)
{
    struct daemon *d = request->data;
    const int64_t now_ns = clock_monotonic_ns();
    uv_freeaddrinfo(found); /* NULL is fine */
    d->is_asking_dns = false;
    d->is_dns_known =
        d->is_dns_known || status != UV_EAI_AGAIN || now_ns - d->started_ns >= DNS_PATIENCE_NS;
    d->run_env.has_dns = status == 0;
    d->dns_due_ns = now_ns + (d->is_dns_known ? DNS_LATER_NS : DNS_SOON_NS);
    wake(d);
    release(d);
}

/* Whether names of the cluster resolve here; asked again as long as they do not. */
static void look_up_name(struct daemon *d)
{
    if (d->is_asking_dns || d->run_env.has_dns || clock_monotonic_ns() < d->dns_due_ns) {
        return;
    }
    d->dns_request.data = d;
    d->is_asking_dns =
        uv_getaddrinfo(d->params.loop, &d->dns_request, on_name, DNS_NAME, NULL, NULL) >= 0;
    d->is_dns_known = d->is_dns_known || !d->is_asking_dns;
    d->n_handles += d->is_asking_dns;
}

/* ---- life ---- */

static void on_notice(enum kube_notice notice, const char *text)
{
    static const char *const messages[] = {
        [KUBE_NOTICE_INSECURE] = "the connection to the API server is not secure",
        [KUBE_NOTICE_WARNING] = "the API server warns",
        [KUBE_NOTICE_PLUGIN] = "the credential plugin failed",
    };
    log_event(LOG_LEVEL_WARN, messages[notice], "text", text, NULL);
}

int daemon_new(const struct daemon_params *params, struct daemon **ret, struct err *err)
{
    struct daemon *d = xnew(struct daemon);
    d->n_handles = 1; /* the timer */
    d->params = *params;
    d->retention.policy = params->options->keep;
    api_health_init(&d->health, clock_monotonic_ns());
    d->counters.started_unix_ms = clock_unix_ms();
    const struct kube_client_params client = {.loop = d->params.loop,
                                              .config = params->config,
                                              .user_agent = "benchd/" BENCHD_VERSION,
                                              .seed = (uint64_t)clock_monotonic_ns(),
                                              .environment = params->environment,
                                              .on_notice = on_notice};
    int r = kube_client_new(&client, &d->client, err);
    if (r < 0) {
        bucket_free(params->archive);
        release(d);
        return r;
    }
    event_recorder_init(&d->events, d->client, d->params.ns, d->params.identity);
    d->run_env = (struct run_env){.loop = params->loop,
                                  .client = d->client,
                                  .store = params->store,
                                  .ns = d->params.ns,
                                  .options = *params->options,
                                  .key = params->key,
                                  .workloads = &d->workloads.known,
                                  .node_labels = &d->run_env.options.node_labels,
                                  .events = &d->events,
                                  .pod_counters = &d->pods,
                                  .counters = &d->counters,
                                  .wake = wake,
                                  .ctx = d};
    if (params->archive != NULL) {
        d->archiver = archiver_new(params->archive, params->new_mark, &d->run_env, &d->queue);
    }
    (void)uv_timer_init(d->params.loop, &d->timer); /* never fails */
    d->timer.data = d;
    *ret = d;
    return 0;
}

void daemon_start(struct daemon *d, const char *address)
{
    d->address = xstrdup(address);
    const struct kube_lease_params lease = {.ns = d->params.ns,
                                            .name = LEASE,
                                            .identity = d->params.identity,
                                            .address = d->address,
                                            .read_key = d->params.read_key,
                                            .duration_ns = d->run_env.options.lease_ms * 1000000,
                                            .seed = (uint64_t)clock_monotonic_ns()};
    d->elector = elector_new(d->client, &lease, on_lease, d);
    kube_client_set_guard(d->client, may_write, d);
    d->started_ns = clock_monotonic_ns();
    look_up_name(d);
    struct err err;
    if (d->params.store->ops->keep_reserve(d->params.store, SPACE_RESERVE_BYTES, &err) < 0) {
        log_event(LOG_LEVEL_WARN, "no reserve for deletions on a full disk", "err", err.msg, NULL);
    }
    wake(d);
}

int daemon_exit_code(const struct daemon *d, const struct err **ret_failure)
{
    *ret_failure = d->exit_code == EXIT_OK ? NULL : &d->failure;
    return d->exit_code;
}

static void on_lease_released(void *ctx)
{
    struct daemon *d = ctx;
    d->params.on_stop(d->params.ctx);
}

void daemon_stop(struct daemon *d)
{
    if (d->is_stopping) {
        return;
    }
    d->is_stopping = true;
    d->exit_code = EXIT_OK;
    (void)uv_timer_stop(&d->timer); /* never fails */
    struct run *active = run_queue_active(&d->queue);
    if (active != NULL) { /* without the Lease nothing may be written */
        run_detach(active);
    }
    elector_release(d->elector, on_lease_released, d);
    publish_view(d);
}

static void on_timer_closed(uv_handle_t *handle)
{
    release(handle->data);
}

void daemon_free(struct daemon *d)
{
    if (d == NULL) {
        return;
    }
    d->is_stopping = true;
    if (d->is_asking_dns) {
        (void)uv_cancel(
            (uv_req_t *)&d->dns_request); /* fails if it is in progress: then on_name frees */
    }
    archiver_free(d->archiver);
    run_queue_done(&d->queue);
    kube_client_set_guard(d->client, NULL, NULL); /* it asks the elector */
    elector_free(d->elector);
    watches_stop(&d->watches);
    workload_watch_stop(&d->workloads);
    kube_client_free(d->client);
    uv_close((uv_handle_t *)&d->timer, on_timer_closed);
}
