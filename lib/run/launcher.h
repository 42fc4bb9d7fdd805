/* The interface to what starts and ends replicas: processes.c on this machine, pods.c in a cluster.
 *
 * A launcher creates, observes, collects and removes the replicas it is asked to. It decides
 * nothing about a run; pods.c also removes what an earlier attempt or run has left. Calls do not
 * wait for their effect. When a replica's state has changed, the launcher calls `on_change` from
 * the event loop. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "core/link.h"
#include "decide/observed.h"
#include "pod/replica_spec.h"

struct launcher;
struct record;

/* The output of one replica; borrowed from the launcher until the replica is removed. */
struct replica_output {
    const char *log; /* stdout and stderr in order of arrival */
    size_t log_len;
    const struct summary *summary;         /* NULL: none yet */
    const struct environment *environment; /* NULL: unknown */
    json_t *reading; /* NULL: no log rule has read its log; not to be changed */
    int exit_code, signal;
    const char *failure; /* one line for a person; NULL: none */
    bool is_simulated;   /* no container ran: the node is simulated */
    const char *pod;     /* its name; NULL: a process */
    /* When the last measured step of one that trains ended; 0: not known. */
    int64_t measured_to_unix_ms;
};

/* A part of an output, as it arrived. Borrowed. */
struct replica_text {
    bool is_stderr;
    const char *data;
    size_t len;
    int64_t t_ns;
};

/* The members of one attempt. */
struct gang_spec {
    struct attempt_id attempt;
    uint32_t replicas[ROLE_COUNT];
    uint32_t threads; /* busy threads of a trainer or worker; a pserver has one */
    bool is_emulated; /* the trainers sleep, and those of a machine share an arena */
    /* a launcher of processes looks at the machine around it, because no replica does */
    bool is_probed;
    struct link link; /* of each; processes of one machine only */
};

struct launcher_ops {
    /* Reserves what the members of one attempt need: addresses (free ports) and CPUs. Idempotent.
     * The addresses are borrowed until the attempt's last replica is removed, or until another
     * attempt is prepared while this one has no replica. */
    int (*prepare)(struct launcher *l, const struct gang_spec *gang, struct gang_addresses *ret,
                   struct err *err);
    /* Starts one replica as soon as all removed ones have ended. Returns 0 if it exists already.
     * From now on it is observed: as PENDING until it is known to exist, as FAILED if it cannot be
     * started. An error means that the launcher did not accept the request. */
    int (*create)(struct launcher *l, const struct replica_spec *spec, struct err *err);
    /* Ends a replica (TERM, then KILL). It is no longer observed, although it may take a moment to
     * end. With leaves_pod the pod of one that has ended stays, so that people can inspect it. */
    void (*remove)(struct launcher *l, const struct replica_id *id, bool leaves_pod);
    /* All replicas that were not removed. The caller owns the array; messages are borrowed until
     * the replica is removed. */
    int (*observe)(struct launcher *l, struct observed_replica **ret, size_t *ret_n,
                   struct err *err);
    /* -ENOENT: no such replica. -EAGAIN: the output is being fetched, and on_change follows; ask
     * for all members of the attempt, so that they are fetched side by side. */
    int (*collect)(struct launcher *l, const struct replica_id *id, struct replica_output *ret,
                   struct err *err);
    /* Frees the launcher. Local processes end first, and this call waits for them; pods stay, and
     * the next launcher adopts them. Run the loop once more afterwards: handles are closing. */
    void (*free)(struct launcher *l);

    /* The rest may be NULL. */

    /* Some replica of the attempt (NULL: of any) was asked for and is not yet known to exist. A
     * status that names it as complete must wait (reconcile.h, missing members). */
    bool (*is_settling)(const struct launcher *l, const struct attempt_id *attempt);
    /* What was asked for and does not exist is not created any more. True: nor is it on its way,
     * so that nothing can start later; else on_change follows. */
    bool (*stop_creating)(struct launcher *l);
    /* Some removal is not confirmed: if the launcher were freed now, the replica could stay. */
    bool (*is_removing)(const struct launcher *l);
    /* Why the attempt that was asked for is not started, or why a removal is not confirmed; an
     * empty reason: for nothing that a person should know of. on_change follows when it changes. */
    void (*wait)(const struct launcher *l, struct run_wait *ret);
    /* The log that collect() gave, from now on the caller's; the replica has none. */
    char *(*take_log)(struct launcher *l, const struct replica_id *id);
    /* Ends the programs of each gang that has made the steps after which benchd ends them. Each
     * pass begins with it. */
    void (*end_after_steps)(struct launcher *l);
    /* create() reads only the id of its spec. */
    bool takes_ids;
};

/* Implementations embed this as their first member. */
struct launcher {
    const struct launcher_ops *ops;
    void (*on_change)(void *ctx); /* set by the driver: some replica has changed */
    void (*on_record)(void *ctx, const struct replica_id *id, const struct record *record);
    /* Set by the driver, or NULL: a local process has printed this, at `t_ns` of the monotonic
     * clock. */
    void (*on_output)(void *ctx, const struct replica_id *id, const struct replica_text *text);
    void *ctx;
    /* Set by the driver: the results of what is removed from now on are not wanted, so it gets
     * little time to end. */
    bool is_hurried;
};

/* The failure class of an errno value at a replica's start. Lack of memory, processes or ports is
 * infrastructure; everything else (no such program, no permission) is permanent. */
static inline enum failure_class launcher_classify_errno(int code)
{
    switch (code) {
    case EAGAIN:
    case ENOMEM:
    case EADDRINUSE:
    case EADDRNOTAVAIL:
        return FAILURE_INFRASTRUCTURE;
    default:
        return FAILURE_PERMANENT;
    }
}
