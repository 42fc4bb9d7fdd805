/* See fake_daemon.h. */
#include "fake_daemon.h"

#include "base/str.h"

void fake_daemon_done(struct daemon *d)
{
    vec_done(&d->runs);
}

size_t daemon_n_runs(const struct daemon *d)
{
    return d->runs.len;
}

void daemon_get_run(const struct daemon *d, size_t i, struct daemon_run *ret)
{
    *ret = d->runs.items[i];
}

bool daemon_find_run(const struct daemon *d, const char *name_or_uid, struct daemon_run *ret)
{
    vec_each (struct daemon_run, run, &d->runs) {
        if (str_eq(run->name, name_or_uid) || str_eq(run->uid, name_or_uid)) {
            *ret = *run;
            return true;
        }
    }
    return false;
}

void daemon_get_counters(const struct daemon *d, struct daemon_counters *ret)
{
    *ret = d->counters;
}

void daemon_get_kube_stats(const struct daemon *d, struct kube_client_stats *ret)
{
    *ret = d->kube;
}

const char *daemon_namespace(const struct daemon *d)
{
    (void)d;
    return "benchd";
}

struct store *daemon_store(const struct daemon *d)
{
    return d->store;
}

static bool answer(const char *problem, struct err *why)
{
    if (problem != NULL) {
        (void)err_set(why, EAGAIN, "%s", problem);
    }
    return problem == NULL;
}

bool daemon_is_ready(const struct daemon *d, struct err *why)
{
    return answer(d->not_ready, why);
}

bool daemon_is_healthy(const struct daemon *d, struct err *why)
{
    return answer(d->not_healthy, why);
}
