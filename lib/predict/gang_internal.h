/* Shared by the files of the simulation: from the bottom up gang_base.c (who acts), gang_plan.c
 * (what goes round a ring), gang_wire.c (threads and links), gang_server.c (rounds of a server),
 * gang_ring.c (steps of a ring), gang_trainer.c (steps of a trainer), gang.c (begin, loop, result).
 *
 * The way of a slice to a parameter server and back:
 *   ready -> credit -> sent by the trainer's thread -> link -> received by the server's thread;
 *   the last trainer's slice updates it -> sent by the server's thread -> link
 *   -> received by the trainer's thread -> arrived
 * In a ring:
 *   ready -> sent by the thread -> link -> received and added by the next rank's thread, and so on
 *   as far as its owner; the owner's thread updates it; then its parameters go round.
 * Steps that cost nothing take no time and happen at once. */
#pragma once

#include "base/vec.h"
#include "exchange/flow.h"
#include "exchange/ring_plan.h"
#include "exchange/slices.h"
#include "predict/agenda.h"
#include "predict/cores.h"
#include "predict/gang.h"
#include "predict/share.h"

/* A slice is a number among the server's own, in the order of gradients: the last one first. In a
 * ring it says what goes, see gang_plan.c; TASK_UPDATE there has the slice itself, and as peer the
 * number by which its gradient came. */
enum task_kind { TASK_RECEIVE, TASK_SEND, TASK_UPDATE };
struct task {
    enum task_kind kind;
    uint32_t peer; /* of a server the trainer, of a trainer the server */
    uint32_t slice;
};
/* A communication thread, or a server: one task at a time, in order. */
struct worker {
    VEC(struct task) queue; /* from `head` on */
    size_t head;
    bool is_busy; /* with `doing` */
    struct task doing;
    double began_s, busy_s;
};

/* One connection in one direction: slices cross it one by one. */
struct wire {
    VEC(uint32_t) queue; /* slices as of a task, from `head` on; the first one is moving */
    size_t head;
    double bytes_per_s; /* in a ring */
};
struct landing { /* what has left a connection is at its end at this time */
    double at_s;
    uint32_t wire, slice;
};

enum trainer_state {
    TRAINER_FORWARD,
    TRAINER_BACKWARD,
    TRAINER_UPDATE, /* until its time in the agenda */
    TRAINER_NEED,   /* waits for parameters of the layer */
    TRAINER_PASS,   /* ... of a ring, before backward, until all have gone on, too */
    TRAINER_END,    /* ... for all of them, at the end */
    TRAINER_DONE,
};
struct spent { /* of the measured steps */
    double forward_s, backward_s, update_s, exposed_s, at_s;
};
struct trainer {
    enum trainer_state state;
    uint64_t step;
    uint32_t layer;
    double factor;      /* of this step: that of its slowest worker */
    double mean_ratio;  /* that of its mean worker, as a part of it */
    double waits_at_s;  /* since then */
    bool is_exchanging; /* a step's parameters may not be all there */
    uint32_t n_ready;   /* slices of all servers, from the last one down */
    uint32_t n_arrived;
    uint32_t checked;   /* slices of the layer's range before this one have arrived */
    struct spent spent; /* at_s: its end */
    struct spent mark;  /* after MARK_STEPS */
    double skipped_s;   /* steps that are not simulated last so long */
};

struct server {
    struct flow up, down; /* a link is a trainer */
    size_t n_reserved, n_buffers;
    uint32_t first; /* the slice that is completed next */
    uint32_t n_complete;
    uint64_t round;
    uint32_t *next; /* (each) the trainer whose gradient is added next */
    bool *is_early; /* (each, n_trainers) it waits for those before it */
    bool *is_sent;  /* (n_trainers, each) */
};

/* A worker's part of the step, counted as worker/comm/ring/ring_internal.h does. */
struct rank {
    uint64_t n_begun, n_ended;                     /* steps */
    size_t ready_offset;                           /* its gradients from here on are final */
    uint32_t n_sent, n_received, n_added, n_freed; /* gradients */
    uint32_t n_new, n_passed_on;                   /* parameters */
    uint32_t n_to_go;                              /* that may be passed on now */
    uint32_t lowest;                               /* none of these is before it */
    uint64_t n_params_sent, n_params_taken;        /* to the next rank, over all steps */
    uint32_t n_queued;                             /* slices that have not left the link */
    bool *is_free; /* (n_buffers) of hop k % n_buffers: it has gone on, or is applied */
    bool *is_new, *is_passed_on; /* (slices.n) */
};

struct gang {
    const struct gang_params *p, *real; /* p: coarse, which is what is simulated */
    struct gang_params coarse;
    struct slices slices;       /* of a ring: the servers are its ranks */
    uint32_t each;              /* slices of a server, or of a rank */
    uint32_t n_hops, n_buffers; /* of a ring */
    struct ring_hop *hops;      /* (n_hops) of rank 0; another rank's slices are as far on */
    uint32_t *owners;           /* (n_hops) of the slices in `hops` */
    size_t *offsets;            /* (slices.n) of a ring */
    double *bytes;              /* (slices.n) */
    uint32_t *first_slice, *last_slice; /* (n_layers) that hold its parameters */
    double now_s;
    uint32_t n_done;
    struct agenda agenda; /* trainers, threads, servers, the cores, wires, their landings */
    struct cores cores;
    struct share share; /* a flow is a wire; links to servers, then those from them */
    struct trainer *trainers;
    struct server *servers;
    struct rank *ranks;     /* (n_trainers) of a ring */
    struct worker *workers; /* threads of the trainers, then servers */
    struct wire *wires; /* up, then down: (server, trainer); of a ring from each rank to the next */
    bool *has_arrived;  /* (n_trainers, slices.n) */
    struct {
        VEC(struct landing) queue; /* from `head` on, with a latency; all wires have the same */
        size_t head;
    } landings;
    uint64_t n_transfers;
    /* In gang.c, or ring_finish. */
    void (*finish)(struct gang *g, uint32_t worker, const struct task *task);
    /* trainer_arrived, trainer_exchanged: what a rank of a ring has to say to its trainer. */
    void (*arrived)(struct gang *g, uint32_t t, uint32_t slice);
    void (*exchanged)(struct gang *g, uint32_t t);
};

/* ---- gang_base.c: actors of the agenda ---- */
uint32_t gang_n_workers(const struct gang *g);
uint32_t gang_actor_worker(const struct gang *g, uint32_t worker);
uint32_t gang_actor_cores(const struct gang *g);
uint32_t gang_actor_wire(const struct gang *g, uint32_t wire);
uint32_t gang_actor_landing(const struct gang *g);
uint32_t gang_n_wires(const struct gang *g);
bool gang_has_exchange(const struct gang *g);
uint32_t gang_worker_of_server(const struct gang *g, uint32_t server);
/* The server that a worker's task is about: itself, or the peer. */
uint32_t gang_server_of(const struct gang *g, uint32_t worker, const struct task *task);
/* The slice of the plan that is a server's i-th. */
uint32_t gang_slice(const struct gang *g, uint32_t server, uint32_t i);
/* Computing, or anything else that a thread does: it acts when the work is done.
 * `thread` as in the agenda. */
void gang_work(struct gang *g, uint32_t thread, double work_s);
/* The cores act when the next thread's work is done. */
void gang_plan_cores(struct gang *g);

/* ---- gang_plan.c ---- */
void ring_plan_init(struct gang *g);
void ring_plan_done(struct gang *g);
bool ring_is_gradient(const struct gang *g, uint32_t item);
/* What `rank` sends as its k-th gradient. */
struct ring_hop ring_hop(const struct gang *g, uint32_t rank, uint32_t k);
/* The slice of what it sends. */
uint32_t ring_slice_of(const struct gang *g, uint32_t rank, uint32_t item);

/* ---- gang_wire.c ---- */
/* The worker gets a task; one that costs nothing is done at once. */
void worker_push(struct gang *g, uint32_t worker, struct task task);
/* The same before all others: it does nothing now. */
void worker_start(struct gang *g, uint32_t worker, const struct task *task);
void worker_act(struct gang *g, uint32_t worker);
void wire_push_up(struct gang *g, uint32_t server, uint32_t t, uint32_t slice);
void wire_push_down(struct gang *g, uint32_t server, uint32_t t, uint32_t slice);
void wire_push_on(struct gang *g, uint32_t rank, uint32_t item);
/* Returns what has left it. */
uint32_t wire_act(struct gang *g, uint32_t wire);
/* What has left one of them first is at its end. */
void wires_land(struct gang *g);
/* Finds the rates of all links anew. */
void wires_settle(struct gang *g);

/* ---- gang_server.c ---- */
void server_init(struct gang *g, struct server *v);
void server_done(struct server *v);
/* The trainer's next n slices are ready. */
void server_offered(struct gang *g, uint32_t server, uint32_t t, uint32_t n);
/* A gradient is received: true if it was the last one of its slice, which is updated now. */
bool server_received(struct gang *g, uint32_t server, uint32_t t, uint32_t slice);
/* The next slice is; slices are completed in their order. */
void server_updated(struct gang *g, uint32_t server);
/* A trainer has a slice's parameters. */
void server_taken(struct gang *g, uint32_t server, uint32_t t);

/* ---- gang_ring.c ---- */
void ring_init(struct gang *g);
void ring_done(struct gang *g);
/* Its gradients from here on are final. */
void ring_ready(struct gang *g, uint32_t t, size_t offset);
/* Everything is here, and has gone on. */
bool ring_has_ended(const struct gang *g, uint32_t t);
/* It has left the rank's link. */
void ring_gone(struct gang *g, uint32_t rank, uint32_t item);
/* A task of the rank's thread is done. */
void ring_finish(struct gang *g, uint32_t worker, const struct task *task);

/* ---- gang_trainer.c ---- */
/* Its next step. */
void trainer_begin(struct gang *g, uint32_t t);
void trainer_act(struct gang *g, uint32_t t);
/* New parameters are there. */
void trainer_arrived(struct gang *g, uint32_t t, uint32_t slice);
/* Of a ring: the worker's part of the step has ended. */
void trainer_exchanged(struct gang *g, uint32_t t);
