/* How replicas come to life, behind one vtable: processes.c here, pods.c with the second walk.
 *
 * A launcher holds no opinion: it creates, observes, collects and deletes what it is told. All calls
 * return at once; changes are announced through `on_change`, called from the event loop. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "core/podspec.h"
#include "core/reconcile.h"

struct launch;

/* What a replica left behind; borrowed from the launcher until the replica is deleted. */
struct replica_output {
    const char *log; /* stdout and stderr as they came */
    size_t log_len;
    const char *summary_line;     /* NULL: none yet */
    const char *environment_json; /* NULL: no start record yet */
    int exit_code, signal;
    const char *failure; /* NULL, or one line for a person */
};

struct launch_ops {
    /* Makes ready for the members of one attempt: addresses (free ports). Idempotent. The addresses
     * are borrowed until the attempt's last replica is deleted. */
    int (*prepare)(struct launch *l, uint32_t point, uint32_t trial, uint32_t attempt,
                   const uint32_t replicas[ROLE_COUNT], struct gang_addresses *ret,
                   struct err *err);
    /* Starts one replica. 0 also if it is there already. An error is final for the attempt. */
    int (*create)(struct launch *l, const struct replica_spec *spec, struct err *err);
    /* Ends it (TERM, then KILL) and forgets it. 0 also if it is not there. */
    int (*remove)(struct launch *l, const struct replica_id *id, struct err *err);
    /* Everything not yet removed. The array is the caller's, messages are borrowed till removal. */
    int (*observe)(struct launch *l, struct observed_replica **ret, size_t *ret_n,
                   struct err *err);
    /* -ENOENT: not there. */
    int (*collect)(struct launch *l, const struct replica_id *id, struct replica_output *ret,
                   struct err *err);
    /* Ends everything and frees the launcher. */
    void (*free)(struct launch *l);
};

struct launch { /* implementations embed this as their first member */
    const struct launch_ops *ops;
    void (*on_change)(void *ctx); /* some replica changed state; set by the driver */
    void (*on_record)(void *ctx, const struct replica_id *id, const struct record *record);
    void *ctx;
};

struct uv_loop_s;
struct processes_params {
    struct uv_loop_s *loop;
    const char *benchworker; /* path of the worker program, for the profile's default command */
    const char *self;        /* path of this program, for the supervisor of foreign commands */
};
/* Local children: own process groups, own ports, pinned to cores where there are enough; they end
 * with this process whatever ends it. */
int processes_new(const struct processes_params *params, struct launch **ret, struct err *err);
