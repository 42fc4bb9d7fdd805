/* What the files of the trainer's side share: exchange_ps.c (calls and mailbox), client_loop.c (the
 * communication thread), client_link.c (one server's connection). */
#pragma once

#include <pthread.h>

#include "worker/comm/conn.h"
#include "worker/comm/exchange_ps.h"
#include "worker/comm/fault.h"
#include "worker/comm/handshake.h"

enum link_state { LINK_DIAL, LINK_HANDSHAKE, LINK_JOINED };

struct link { /* to one parameter server */
    enum link_state state;
    struct frame_id peer;
    struct dial dial;
    struct conn conn;
    struct handshake handshake;
    bool released;
    uint32_t n_received; /* slices of this round */
};

enum client_job { JOB_NONE, JOB_ROUND, JOB_BARRIER, JOB_GOODBYE, JOB_ABANDON };

struct client {
    struct exchange base;
    struct exchange_ps_params params; /* `servers` is not kept */
    struct link *links;               /* (slices.n_servers) the thread's */
    int wake_fd;
    pthread_t thread;

    pthread_mutex_t mutex; /* guards what follows, up to the next blank line */
    pthread_cond_t cond;
    enum client_job job;
    bool job_done, ended;
    const float *grads;
    float *new_params;
    struct exchange_times times;
    struct fault fault;

    /* The communication thread's own. */
    enum client_job doing;
    bool begun; /* `doing` is on its way */
    const float *doing_grads;
    float *doing_params;
    struct exchange_times doing_times;
    int64_t job_ns, sent_ns,
        first_ns; /* of the round: begin, all sent, first byte back; 0: not yet */
    uint64_t job_bytes_tx, job_bytes_rx;
    uint64_t step;
    uint32_t n_received;
    struct heartbeat_self self;
    int64_t now_ns, rendezvous_by_ns;
    struct fault doing_fault;
};

/* client_link.c: dials, shakes hands, reads. Faults go to c->doing_fault. */
void link_init(struct client *c, struct link *l, uint32_t i, const struct net_addr *addr);
void link_done(struct link *l);
int link_dial(struct client *c, struct link *l, struct err *err);
int link_read(struct client *c, struct link *l, struct err *err);
/* Is it we that failed, when a server seems lost? */
bool link_were_away(struct client *c, int r, struct err *err);
int link_check_life(struct client *c, struct link *l, struct err *err);

/* client_loop.c: the thread. */
void *client_main(void *client);
