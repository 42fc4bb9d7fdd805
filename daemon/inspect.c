/* What others may see of the daemon: the functions of daemon/web/inspect.h. */
#include "daemon/web/inspect.h"

#include "base/str.h"
#include "daemon/daemon_internal.h"
#include "daemon/elector.h"
#include "daemon/run.h"

size_t daemon_n_runs(const struct daemon *d)
{
    return d->queue.runs.len;
}

void daemon_get_run(const struct daemon *d, size_t i, struct daemon_run *ret)
{
    run_inspect(d->queue.runs.items[i], ret);
}

bool daemon_find_run(const struct daemon *d, const char *name_or_uid, struct daemon_run *ret)
{
    vec_each (struct run *, it, &d->queue.runs) {
        if (str_eq((*it)->name, name_or_uid) || str_eq((*it)->uid, name_or_uid)) {
            run_inspect(*it, ret);
            return true;
        }
    }
    return false;
}

void daemon_get_counters(const struct daemon *d, struct daemon_counters *ret)
{
    *ret = d->counters;
    ret->pods_created = d->pods.created;
    ret->pods_deleted = d->pods.deleted;
    ret->pods_failed = d->pods.failed;
    ret->events_sent = d->events.n_sent;
    ret->events_dropped = d->events.n_dropped;
}

void daemon_get_kube_stats(const struct daemon *d, struct kube_client_stats *ret)
{
    kube_client_get_stats(d->client, ret);
}

const char *daemon_namespace(const struct daemon *d)
{
    return d->ns;
}

struct store *daemon_store(const struct daemon *d)
{
    return d->store;
}

bool daemon_is_ready(const struct daemon *d, struct err *why)
{
    if (!watches_are_ready(&d->watches, why)) {
        return false;
    }
    if (elector_state(d->elector) != KUBE_LEASE_LEADER) {
        const struct err *error = elector_error(d->elector);
        (void)err_set(why, EAGAIN, "the lease is not held%s%s", error != NULL ? ": " : "",
                      error != NULL ? error->msg : "");
        return false;
    }
    return daemon_is_healthy(d, why);
}

bool daemon_is_healthy(const struct daemon *d, struct err *why)
{
    if (d->is_stopping) {
        (void)err_set(why, ESHUTDOWN, "%s", d->exit_code == 0 ? "shutting down" : d->failure.msg);
        return false;
    }
    return true;
}
