/* What one attempt holds on this machine: its processes, a free port for each, reserved until that
 * process is about to start, or a shaped link for each, and the memory that emulated trainers
 * share. Edge file: binds sockets, makes a file in memory, times loops, reads /proc. Used by
 * processes.c only. */
#pragma once

#include "base/err.h"
#include "core/record.h"
#include "host/host.h"
#include "run/launcher.h"

struct links;
struct process;

/* What the launcher sees of its machine around an attempt whose replicas do not look themselves
 * (docs/contracts/summary.md#noise): a probe before the first member starts, and one after the last
 * that trains has ended, when no member of the gang computes. */
struct gang_noise { /* all zero: it has not begun */
    bool has_begun;
    struct noise seen;
};

struct local_gang {
    struct gang_spec spec;
    struct gang_addresses addresses; /* owned */
    /* an empty file in memory, which the first trainer fills; -1: the trainers compute */
    int arena_fd;
    int *reserved;           /* by member number: a bound socket; -1: released, or it has a link */
    struct gang_noise noise; /* of a spec that is_probed; kept by processes.c */
    bool is_sampled, has_ended; /* the same: its sampler has begun; what was seen is in a summary */
    struct links *links; /* owned; NULL: the loopback interface of this machine connects all */
    /* Kept by processes.c: by member number, NULL where not created or removed again; borrowed. */
    struct process **members;
    uint32_t n_members; /* that are there */
};

/* -EADDRINUSE, -EMFILE, ... */
int local_gang_new(const struct gang_spec *spec, struct local_gang **ret, struct err *err);
void local_gang_free(struct local_gang *g);
/* The network namespace of one member (core/replica.h), -1: this process's own. */
int local_gang_network(const struct local_gang *g, uint32_t member);

/* Both probe on this CPU, because cores of one machine may have different clocks; -1: wherever they
 * run. They take 0.2 s at most each, some 0.1 s on an idle machine. */
void gang_noise_begin(struct gang_noise *n, int cpu);
void gang_noise_end(struct gang_noise *n, int cpu);
