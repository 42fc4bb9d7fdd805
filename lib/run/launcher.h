/* How replicas come to life, behind one vtable: processes.c on this machine, pods.c in a cluster.
 *
 * A launcher holds no opinion: it creates, observes, collects and deletes what it is told. All
 * calls return at once, what they ask for may take its time; changes are announced through
 * `on_change`, called from the event loop. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "decide/reconcile.h"
#include "pod/replica_spec.h"

struct launcher;
struct record;

/* What a replica left behind; borrowed from the launcher until the replica is deleted. */
struct replica_output {
    const char *log; /* stdout and stderr as they came */
    size_t log_len;
    const char *summary_line;     /* NULL: none yet */
    const char *environment_json; /* NULL: no start record yet */
    int exit_code, signal;
    const char *failure; /* NULL, or one line for a person */
    bool is_simulated;   /* no container ran: a fake node answered */
};

/* The members of one attempt. */
struct gang_spec {
    struct attempt_id attempt;
    uint32_t replicas[ROLE_COUNT];
    uint32_t threads; /* busy threads of a trainer or worker; a pserver has one */
};

struct launcher_ops {
    /* Makes ready for the members of one attempt: addresses (free ports) and cores. Idempotent. The
     * addresses are borrowed until the attempt's last replica is deleted, or another attempt is
     * prepared while this one has no replica. */
    int (*prepare)(struct launcher *l, const struct gang_spec *gang, struct gang_addresses *ret,
                   struct err *err);
    /* Starts one replica, at once or when the last removed one has ended. 0 also if it is there
     * already. It is observed from now on: PENDING until it is known to exist; one that cannot be
     * started as REPLICA_FAILED. An error here says that the launcher could not even note it. */
    int (*create)(struct launcher *l, const struct replica_spec *spec, struct err *err);
    /* Ends it (TERM, then KILL) and forgets it: it is not observed any more, though it may take a
     * moment to end. 0 also if it is not there. */
    int (*remove)(struct launcher *l, const struct replica_id *id, struct err *err);
    /* Everything not yet removed. The array is the caller's, messages are borrowed till removal. */
    int (*observe)(struct launcher *l, struct observed_replica **ret, size_t *ret_n,
                   struct err *err);
    /* -ENOENT: not there. -EAGAIN: being fetched, on_change will tell; ask for all members of the
     * attempt, so that they are fetched side by side. */
    int (*collect)(struct launcher *l, const struct replica_id *id, struct replica_output *ret,
                   struct err *err);
    /* Processes end with their launcher, which waits for it; pods live on, for the next launcher to
     * find. Frees the launcher. Handles are closed: run the loop once more afterwards. */
    void (*free)(struct launcher *l);

    /* The rest may be NULL. */

    /* Like remove, for a replica that has ended: what is left of it stays to be looked at. */
    int (*forget)(struct launcher *l, const struct replica_id *id, struct err *err);
    /* Some creation was asked for and is not known to have happened: a status that names the
     * attempt as complete must wait (reconcile.h, missing members). */
    bool (*is_settling)(const struct launcher *l);
    /* Some removal was asked for and may not have reached whoever does it: freeing the launcher now
     * could leave the replica alive. */
    bool (*is_removing)(const struct launcher *l);
    /* create() looks at the id alone: the rest is not made for it. */
    bool takes_ids;
};

struct launcher { /* implementations embed this as their first member */
    const struct launcher_ops *ops;
    void (*on_change)(void *ctx); /* some replica changed state; set by the driver */
    void (*on_record)(void *ctx, const struct replica_id *id, const struct record *record);
    void *ctx;
};

/* What an errno value at a replica's start means for its attempt: lack of memory, processes or a
 * port is infrastructure, everything else (no such program, no permission) permanent. */
enum failure_class launcher_classify_errno(int code);
