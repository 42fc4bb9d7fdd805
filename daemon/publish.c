/* What others may see of the daemon: see daemon_internal.h. */

#include "base/clock.h"
#include "daemon/daemon_internal.h"
#include "daemon/loop_meter.h"
#include "daemon/cluster/elector.h"
#include "daemon/run/run.h"

static bool is_ready(const struct daemon *d, struct err *why)
{
    if (d->elector == NULL) {
        (void)err_set(why, EAGAIN, "benchd is starting");
        return false;
    }
    if (d->elector->state != KUBE_LEASE_LEADER) {
        const struct err *error = kube_lease_error(d->elector->lease);
        (void)err_set(why, EAGAIN, "the lease is not held%s%s", error != NULL ? ": " : "",
                      error != NULL ? error->msg : "");
        return false;
    }
    if (!watches_are_ready(&d->watches, why)) {
        return false;
    }
    if (d->space.is_full) {
        (void)err_set(why, ENOSPC,
                      "the disk of the store is full: results can be read, runs wait for space");
        return false;
    }
    return true;
}

_Static_assert(WATCH_COUNT == DAEMON_N_WATCHES, "each watch has its figures");

static void collect_facts(const struct daemon *d, struct daemon_facts *f)
{
    f->look_ns = clock_monotonic_ns();
    f->is_ready = is_ready(d, &f->not_ready);
    f->is_healthy = !d->is_stopping;
    if (d->is_stopping) {
        (void)err_set(&f->not_healthy, ESHUTDOWN, "%s",
                      d->exit_code == 0 ? "shutting down" : d->failure.msg);
    }
    d->params.store->ops->get_space(d->params.store, &f->space);
    f->space.is_full = d->space.is_full;
    f->store_used_bytes = d->retention.used_bytes;
    f->counters = d->counters;
    f->counters.pods_created = d->pods.created;
    f->counters.pods_failed = d->pods.failed;
    kube_client_get_stats(d->client, &f->kube);
    if (d->params.store->ops->get_times != NULL) {
        d->params.store->ops->get_times(d->params.store, &f->statements);
    }
    f->is_leader = d->elector != NULL && d->elector->state == KUBE_LEASE_LEADER;
    for (unsigned i = 0; i < WATCH_COUNT; i++) {
        watches_get_stats(&d->watches, i, &f->watches[i].resource, &f->watches[i].stats);
    }
    vec_each (struct run *, run, &d->queue.runs) {
        const enum run_phase phase = (*run)->status.phase;
        f->runs[phase] += !run_phase_is_final(phase);
    }
    f->turns = d->params.meter->turns;
}

/* Returns the runs as shown, which shares unchanged runs with the list before, or NULL if the list
 * would be the same. */
static struct daemon_runs *list_changes(const struct daemon *d)
{
    const int64_t now_unix_ms = clock_steady_unix_ms();
    struct daemon_runs *runs = daemon_runs_new();
    vec_each (struct run *, run, &d->queue.runs) {
        run_refresh_shown(*run, now_unix_ms);
        run_drop_def(*run);
        if ((*run)->shown != NULL) {
            *vec_push(&runs->list) = daemon_run_ref((*run)->shown);
        }
    }
    _cleanup_(daemon_snapshot_done) struct daemon_snapshot before = {0};
    daemon_view_read(d->params.view, &before);
    if (daemon_runs_are_same(before.runs, runs)) {
        daemon_runs_unref(runs);
        runs = NULL;
    }
    return runs;
}

void publish_view(struct daemon *d)
{
    struct daemon_facts facts = {0};
    struct daemon_runs *changes = list_changes(d); /* also counts waits */
    collect_facts(d, &facts);
    daemon_view_publish(d->params.view, &facts, changes);
}
