/* What one attempt holds on this machine: a free port for each member, reserved until its process
 * is about to start. Edge file: binds sockets. Used by processes.c only. */
#pragma once

#include "base/err.h"
#include "run/launcher.h"

struct process;

struct local_gang {
    struct gang_spec spec;
    struct gang_addresses addresses; /* owned */
    int *reserved[ROLE_COUNT];       /* [role][index]: bound socket, -1 once given up */
    /* Kept by processes.c: [role][index], NULL where not created or removed again; borrowed. */
    struct process **members[ROLE_COUNT];
    uint32_t n_members;
};

/* -EADDRINUSE, -EMFILE, ...: nothing is held then. */
int local_gang_new(const struct gang_spec *spec, struct local_gang **ret, struct err *err);
void local_gang_free(struct local_gang *g);
/* Gives up one member's reservation: right before its process binds the port itself. */
void local_gang_release_port(struct local_gang *g, enum role role, uint32_t index);
