/* A daemon that is not there: what a test puts in becomes what daemon/web sees. */
#pragma once

#include "base/vec.h"
#include "daemon/web/daemon_view.h"
#include "spec/run_def.h"

/* As the daemon knows a run; everything is the test's. */
struct fake_run {
    const char *name, *uid, *benchmark;
    const struct run_def *def; /* NULL: not accepted (yet) */
    int64_t created_unix_ms;
    const struct run_status *status;
    bool is_active, is_stored;
    struct daemon_progress progress;
    struct daemon_wait wait;
    int64_t advanced_unix_ms;
};

struct fake_daemon {
    VEC(struct fake_run) runs;
    struct daemon_facts facts;           /* but for what stands below */
    const char *not_ready, *not_healthy; /* NULL: it is */
    int64_t look_ns;                     /* 0: it does not look */
};
void fake_daemon_done(struct fake_daemon *d);
void fake_daemon_publish(const struct fake_daemon *d, struct daemon_view *view);
