/* A fake daemon: inspect.h over a store and what a test puts in. */
#pragma once

#include "base/vec.h"
#include "daemon/web/inspect.h"

struct daemon {
    struct store *store;         /* borrowed */
    VEC(struct daemon_run) runs; /* what they point to is the test's */
    struct daemon_counters counters;
    struct kube_client_stats kube;
    const char *not_ready, *not_healthy; /* NULL: it is */
};
void fake_daemon_done(struct daemon *d);
