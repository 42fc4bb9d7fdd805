/* See api_health.h. */
#include "daemon/api_health.h"

#include <errno.h>

#include "base/clock.h"
#include "base/exit_code.h"
#include "base/log.h"
#include "base/str.h"
#include "daemon/elector.h"
#include "daemon/state.h"

#define S_NS INT64_C(1000000000)
/* How long the first lists and the Lease may take: a server that starts, kinds that are about to be
 * installed. What has refused us by then will not change its mind by waiting. */
#define START_TIMEOUT_NS (60 * S_NS)
#define REFUSED_TIMEOUT_NS (10 * S_NS)

enum source { SOURCE_WATCH, SOURCE_LEASE };

/* The first failure that lasts, of the watches or of the Lease; false: all is well. */
static bool find_trouble(const struct daemon *d, enum source *ret_source, struct err *ret)
{
    for (int i = 0; i <= KIND_COUNT; i++) {
        const struct err *error =
            i == KIND_COUNT ? elector_error(d->elector)
                            : kube_reflector_error(kube_informer_reflector(d->informers[i]));
        if (error != NULL) {
            *ret_source = i == KIND_COUNT ? SOURCE_LEASE : SOURCE_WATCH;
            *ret = *error;
            return true;
        }
    }
    return false;
}

static bool has_lists(const struct daemon *d)
{
    for (int i = 0; i < KIND_COUNT; i++) {
        if (!kube_reflector_is_synced(kube_informer_reflector(d->informers[i]))) {
            return false;
        }
    }
    return true;
}

/* A wrong certificate, token or right. */
static bool is_refusal(const struct err *err)
{
    return err->code == EACCES || err->code == EPROTO || err->code == EINVAL;
}

/* Without its first lists and the Lease the daemon is of no use: says what is wrong and ends. To
 * wait for a Lease that another one holds is no failure. */
static void check_start(struct daemon *d, const struct err *trouble)
{
    if (d->has_begun || (trouble == NULL && has_lists(d))) {
        d->fine_ns = clock_monotonic_ns();
        return;
    }
    const int64_t patience_ns =
        trouble != NULL && is_refusal(trouble) ? REFUSED_TIMEOUT_NS : START_TIMEOUT_NS;
    if (clock_monotonic_ns() - d->fine_ns < patience_ns) {
        return;
    }
    struct err err;
    if (trouble != NULL) {
        err = *trouble;
    } else {
        (void)err_set(&err, ETIMEDOUT, "namespace '%s': the API server does not answer", d->ns);
    }
    daemon_fail(d, EXIT_UNREACHABLE, &err);
}

/* Once: who else holds the Lease, for as long as that one does. */
static void tell_holder(struct daemon *d, bool is_wrong)
{
    const char *holder = elector_holder(d->elector);
    const bool is_waiting = !is_wrong && elector_state(d->elector) == KUBE_LEASE_FOLLOWER &&
                            holder[0] != '\0' && !str_eq(holder, d->identity);
    if (is_waiting && !d->is_waiting_told) {
        log_event(LOG_LEVEL_INFO, "another holds the lease, waiting for it", "lease",
                  d->options->lease_name, "holder", holder, NULL);
    }
    d->is_waiting_told = is_waiting;
}

void api_health_look(struct daemon *d)
{
    struct err err = {0};
    enum source source = SOURCE_WATCH;
    const bool is_wrong = find_trouble(d, &source, &err);
    if (is_wrong && (source != d->told_source || err.code != d->told_code)) {
        log_event(LOG_LEVEL_WARN, "the API server fails, trying again", "err", err.msg, NULL);
        d->told_source = source;
        d->told_code = err.code;
    } else if (!is_wrong && d->told_code != 0) {
        log_event(LOG_LEVEL_INFO, "the API server answers again", NULL);
        d->told_code = 0;
    }
    tell_holder(d, is_wrong);
    d->has_begun = d->has_begun || (has_lists(d) && elector_state(d->elector) == KUBE_LEASE_LEADER);
    check_start(d, is_wrong ? &err : NULL);
}
