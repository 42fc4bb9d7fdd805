/* Shared by the files of the trainer's side: exchange_ps.c (its life and the communication thread)
 * and client_link.c (the connection to one server). */
#pragma once

#include "worker/comm/ps/exchange_ps.h"
#include "worker/comm/mailbox.h"
#include "worker/comm/link/meet.h"
#include "worker/comm/link/conn_set.h"

struct link {              /* to one thread of a parameter server */
    struct meet_peer peer; /* first: its connection is the link's; never MEET_GONE */
    uint32_t number;       /* the server of struct slices that it is; WELCOME says it */
    bool released;         /* RELEASE has arrived */
    bool is_over;          /* this trainer fails, and this server cannot hear why */
    /* Slices of the current round, which go from the last one to the first: gradients that the
     * server was offered; those that it gave credit for, which are queued or sent; parameters that
     * have arrived; those of them that were reported to the server. */
    uint32_t n_offered, n_sent, n_received, n_told;
};

struct client {
    struct mailbox box;
    struct exchange_ps_params params; /* `servers` is not kept */

    /* Used by the communication thread only. */
    struct link *links;    /* (slices.n_servers) those to one process are neighbours */
    struct conn_set conns; /* of links */
    bool *is_received;     /* (slices.n) */
    uint32_t n_received;
    uint64_t job_bytes_tx, job_bytes_rx;
    uint64_t step;
    struct meet meet;
};

/* Defined in client_link.c: one connection. Faults go to c->meet.fault. */
int link_dial(struct client *c, struct link *l, struct err *err);
int link_read(struct client *c, struct link *l, struct err *err);
/* The slice that is the i-th to go to or come from this server. */
uint32_t link_slice(const struct client *c, const struct link *l, uint32_t i);
/* Offers the gradients that are final and have not been offered. */
void link_offer(struct client *c, struct link *l);
/* Reports to the server how many parameters have arrived. */
void link_tell_taken(struct client *c, struct link *l);
int link_check_life(struct client *c, struct link *l, struct err *err);
