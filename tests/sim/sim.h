/* The deterministic simulation of benchd: its own code (daemon/, lib/run, lib/kube above the
 * transport, lib/decide, lib/store) between simulated surroundings, in one process and one thread.
 * Everything that happens is an event of one queue; time passes only between events; everything
 * random is drawn from a seed.
 *
 *   world.c        the queue of events, random numbers, the trace
 *   world_kinds.h  which worlds have what in addition
 *   loop.c         libuv's timers and the clocks, as benchd sees them     (linked with --wrap)
 *   network.c      kube/transfer.h: a request, its way to the server and back (the same)
 *   server.c       the API server: objects with versions, conflicts, deletion, garbage, a backup
 *   list.c         its lists
 *   sim_watch.c    its watches
 *   node.c         scheduler, kubelets and containers: pods run, print records and end
 *   place.c        what keeps a pod from a node, or takes it away
 *   queue.c        Kueue: a quota, admission, eviction
 *   rows.c         what a row of an attempt must say
 *   logs.c         what containers print, how it is read, and what a stored log must be
 *   printer.c      programs with known figures, read by a log rule
 *   sim_process.c  benchd's processes: start, crash, freeze, end, start again
 *   disk.c         the store's calls: errors, crashes, and what was acknowledged
 *   user.c         runs, and what people do with them
 *   meddler.c      somebody who deletes, edits and forges what benchd makes
 *   hostile.c      somebody who wants to be benchd, and what no pod may have
 *   sim_faults.c   what goes wrong: a plan, drawn from the seed, as text and back
 *   promise.c      what must hold, always and at the end
 *   soon.c         what must be done soon, while nothing goes wrong
 *   main.c         the program: seeds, replay, shrinking */
#pragma once

#include <setjmp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "base/buf.h"
#include "base/vec.h"
#include "core/replica.h"
#include "world_kinds.h"

#define SIM_MS INT64_C(1000000)
#define SIM_S (1000 * SIM_MS)
#define SIM_NS "sim"      /* the namespace */
#define SIM_TTL_S 20      /* of a run that expires */
#define SIM_UNDELETE_S 40 /* benchd --undelete-for */

/* Random numbers are drawn from one stream a purpose, so that less of one does
 * not change the others. */
enum sim_draw {
    DRAW_NETWORK,
    DRAW_NODE,
    DRAW_USER,
    DRAW_FAULT,
    DRAW_HOSTILE,
    DRAW_PRINTER,
    DRAW_SETUP,
    DRAW_MEDDLER,
    DRAW_CODE,
    DRAW_COUNT
};

struct sim_event {
    int64_t at_ns;
    uint64_t serial; /* of two at the same time the first asked for comes first */
    void (*happen)(void *ctx);
    void *ctx;
};

/* Shared with the parent process. */
struct sim_outcome {
    char verdict[1024]; /* "": all promises were kept */
    uint64_t n_steps, trace_hash;
};

struct sim {
    uint64_t seed;
    uint64_t draws[DRAW_COUNT];
    int64_t begin_ns;
    int64_t now_ns;      /* since the machine's start */
    int64_t wall_off_ns; /* what steps of the wall clock have added up to */
    bool has_stepped;    /* it was ever stepped */
    bool is_slow;        /* a training takes minutes */
    bool is_littered;    /* garbage is collected late */
    uint64_t serial;
    uint64_t serial_now;          /* of the event that happens */
    VEC(struct sim_event) events; /* a heap */
    uint64_t trace_hash;
    bool is_printing;            /* the trace */
    int64_t faults_end_ns;       /* from then on nothing goes wrong any more */
    struct sim_outcome *outcome; /* the count of steps, and what sim_broken says */
};
extern struct sim sim;

/* --- world.c --- */

void sim_begin(uint64_t seed, struct sim_outcome *outcome);
void sim_at(int64_t at_ns, void (*happen)(void *ctx), void *ctx);
/* For an event that must wait: it stays before those that were asked for after it. */
void sim_again(int64_t at_ns, void (*happen)(void *ctx), void *ctx);
void sim_after(int64_t wait_ns, void (*happen)(void *ctx), void *ctx);
/* The next event or timer. False: there is none. */
bool sim_step(void);
/* 0..n-1. */
uint32_t sim_below(enum sim_draw draw, uint32_t n);
bool sim_one_in(enum sim_draw draw, uint32_t n);
/* min..max, rather short than long. */
int64_t sim_time(enum sim_draw draw, int64_t min_ns, int64_t max_ns);
/* A line of the trace, with the time. */
void sim_trace(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* A promise is broken: ends the process with the exit code SIM_BROKEN. */
_Noreturn void sim_broken(const char *format, ...) __attribute__((format(printf, 1, 2)));
int64_t sim_unix_ms(void); /* as clocks show it that were not stepped */
int64_t sim_unix_ms_of(int64_t at_ns);
#define SIM_BROKEN 3

/* --- loop.c --- */

struct sim_process;
/* The timer that is due first among all processes; INT64_MAX: none. */
int64_t loop_next_due(void);
void loop_fire(void);
/* Its timers do not fire any more. */
void loop_forget(const struct sim_process *p);
/* --- network.c --- */

/* What the server answers. */
struct sim_answer {
    int code;
    char *body;            /* owned */
    int64_t retry_after_s; /* -1: not said */
    int64_t way_ns;        /* what it takes longer than others */
};
/* The process is gone: nothing of its transfers calls back. */
void network_forget(const struct sim_process *p);
/* All open streams of watches break. */
void network_cut(void);
struct kube_transfer;
/* The stream's sender. `transfer` lives until the last of these, or until
 * network_closed() is true. */
void network_hold(struct kube_transfer *t);
void network_drop(struct kube_transfer *t);
bool network_is_open(const struct kube_transfer *t);
void network_send(struct kube_transfer *t, const char *data, size_t len);
void network_end(struct kube_transfer *t);
int64_t network_delay(void);
/* When the process began that sent the request. */
int64_t network_sender_began_ns(const struct kube_transfer *t);

/* --- server.c --- */

enum sim_kind {
    KIND_PODS,
    KIND_SERVICES,
    KIND_SLICES,
    KIND_SECRETS,
    KIND_BENCHMARKS,
    KIND_RUNS,
    KIND_LEASES,
    KIND_EVENTS,
    KIND_WORKLOADS,
    KIND_COUNT
};
struct sim_pod;
struct sim_object {
    enum sim_kind kind;
    char *name, *uid;
    json_t *json;
    struct sim_pod *pod; /* of a pod */
};
struct sim_request {
    int method; /* enum kube_method */
    const char *path, *body;
};
void server_begin(void);
/* Handles a request that has arrived. A watch or a followed log answers with code 200 and goes on
 * with network_send(). */
void server_serve(const struct sim_request *req, struct kube_transfer *stream,
                  struct sim_answer *ret);
struct sim_object *server_find(enum sim_kind kind, const char *name);
size_t server_count(enum sim_kind kind);
struct sim_object *server_get(enum sim_kind kind, size_t i);
struct sim_object *server_create(enum sim_kind kind, json_t *json_take);
/* After a change of object->json: a new version, and the watches are told. */
void server_changed(struct sim_object *o);
void server_remove(struct sim_object *o);
/* kubectl delete --cascade=... */
enum sim_cascade { CASCADE_BACKGROUND, CASCADE_FOREGROUND, CASCADE_ORPHAN, CASCADE_COUNT };
void server_delete(struct sim_object *o, enum sim_cascade cascade);
/* Somebody deletes the definitions of our kinds, and all objects with them; and brings the same
 * objects back, with their uids, or only the definitions. */
void server_drop_kinds(void);
void server_restore_kinds(bool with_objects);
/* Versions before now are forgotten: 410 for whoever asks for them. */
void server_compact(void);
const char *server_meta(const struct sim_object *o, const char *key); /* "": none */
/* What DNS says, from the slices of the Service. */
bool server_resolves(const char *service, const char *host, const char *ip);
void server_status(struct sim_answer *ret, int code, const char *reason, const char *message);

uint64_t server_version(void);
size_t server_count_live_pods(void); /* as a quota counts */
/* The state of etcd is saved; it is as it was then, and every object with it. The versions of
 * objects go back, too, or (bumped) on beyond all that were. */
void server_back_up(void);
void server_restore(bool is_bumped);

/* --- list.c --- */

void list_serve(enum sim_kind kind, const char *path, struct sim_answer *ret);

/* --- sim_watch.c --- */

void watch_open(enum sim_kind kind, const char *path, struct kube_transfer *stream,
                struct sim_answer *ret);
void watch_tell(const struct sim_object *o, const char *type, uint64_t version);
void watch_listed(enum sim_kind kind); /* a list was answered */
/* Versions before that are forgotten: 410. */
void watch_compact(uint64_t version);
/* The server is at that version again. */
void watch_go_back(uint64_t version);

/* --- node.c --- */

struct sim_container {
    uint64_t nonce; /* no other has it: in its log and its summary */
    bool has_started, has_ended, is_good;
    int exit_code;
    int64_t started_ns, ended_ns;
};
struct sim_line {
    int64_t at_ns;
    char *text; /* owned, with its newline */
};
struct sim_pod {
    struct sim_object *object; /* NULL: the API has forgotten it */
    char *name, *uid, *run_uid;
    struct replica_id id;
    uint32_t n_servers, n_trainers;
    bool is_scheduled, is_deleting, is_phase_told;
    bool is_node_gone, is_collected; /* the last: by the garbage collector of pods */
    int64_t scheduled_ns;            /* if it is */
    const char *unplaced;            /* why it is not; static, NULL: nothing keeps it */
    int64_t unplaced_ns;             /* since when; 0: it never waited */
    enum { PREEMPTED_BY_NOBODY, PREEMPTED_BY_SCHEDULER, PREEMPTED_BY_QUEUE } preempted_by;
    const char
        *rejection; /* why it is Failed whatever its container does; static, NULL: it is not */
    struct sim_container container;
    int64_t trains_ns; /* since then; its gang is complete */
    VEC(struct sim_line) lines;
    size_t first_line; /* of the newest file, which is all that the node returns */
    char *message;     /* of the termination; owned, NULL: none */
    VEC(struct kube_transfer *) followers; /* their streams, and how many lines each has got */
    VEC(size_t) followed;
    uint32_t n_printed, n_to_print, rotates_at; /* lines of printer.c */
    int64_t printed_ns, step_ns;                /* of the last of them */
    double rates_inverse;                       /* their sum of 1 / speed */
};
struct sim_pod *node_new_pod(struct sim_object *o);
void node_delete_pod(struct sim_pod *p, int64_t grace_s);
void node_forget_pod(struct sim_pod *p); /* the object is gone */
struct sim_pod *node_take_pod_back(struct sim_object *o);
void node_report_all(void); /* the kubelets say how their pods are */
/* The container ends, by itself or because its node kills it. */
void node_end(struct sim_pod *p, int exit_code);
void node_evict(struct sim_pod *p);
/* The scheduler takes its place, or a queue that of its gang: a condition, then a deletion. */
void node_preempt(struct sim_pod *p, bool by_queue);
/* The machine of this pod is gone, and its Node is deleted: the garbage collector of pods ends
 * those that were there. */
void node_delete(const struct sim_pod *p);
/* It was not made by benchd: it is of no run, runs for a while and ends. */
bool node_is_disowned(const struct sim_pod *p);
/* Something goes wrong with all pods that are there. */
void node_excuse_all(const char *why);
bool node_is_alive(const struct sim_pod *p); /* its container runs, and the API knows the pod */
bool node_is_of_gang(const struct sim_pod *a, const struct sim_pod *b); /* of one attempt */
size_t node_count(void);
struct sim_pod *node_get(size_t i);
struct sim_pod *node_find_nonce(uint64_t nonce);
/* True: the kubelet is silent, and does this when it is back. */
bool node_must_wait(struct sim_pod *p, void (*happen)(void *ctx));
/* A webhook puts a container of its own in front of those of each pod. */
#define SIM_MESH "a-mesh"
bool node_has_mesh(void);
void node_admit(json_t *pod);

/* --- logs.c --- */

void logs_print(struct sim_pod *p, char *text_take);
/* Sends what followers have not got yet. */
void logs_feed(struct sim_pod *p);
/* The node begins a new file. A stream may miss the first line of it. */
void logs_rotate(struct sim_pod *p);
void logs_shout_perhaps(struct sim_pod *p);
/* Answers a request for the log of a pod's container; one that follows goes on
 * with network_send(). */
void logs_serve(struct sim_pod *p, const char *path, struct kube_transfer *stream,
                struct sim_answer *ret);
/* What was stored of the log is the head and the tail of what the container printed, with a mark
 * in between that says how many bytes are missing; in a log that is not whole, the end may be
 * missing without a mark. */
void logs_check(const struct sim_pod *p, const char *text, bool is_whole);

/* --- printer.c --- */

/* Makes a definition one of such programs. */
void printer_define(json_t *definition);
void printer_start(struct sim_pod *p);
struct attempt_row;
/* The figure of an attempt that succeeded is that of all lines that were printed, and its members
 * ran together. */
void printer_check_row(const char *run_uid, const struct attempt_row *row);
/* Its members did not run together, as far as dates of containers say. */
bool printer_was_apart(const char *run_uid, const struct attempt_id *id);
/* They did not, or a log could not be read and something was wrong then. */
bool printer_explains(const char *run_uid, const struct attempt_row *row);

/* --- sim_process.c --- */

struct sim_process; /* one benchd */
void process_start(void);
void process_crash(void);                /* kill -9, now; not from within benchd */
void process_crash_at_write(uint32_t n); /* at the n-th place of process_crash_within from now on */
/* A place before or after a write of benchd, called from within it. */
void process_crash_within(void);
void process_terminate(void);
void process_freeze(int64_t length_ns);
/* The one that runs now (its code is on the stack), or NULL. */
struct sim_process *process_of_loop(const void *loop);
bool process_is_gone(const struct sim_process *p);
int64_t process_frozen_until(const struct sim_process *p); /* 0: it is not */
int64_t process_busy_until(const struct sim_process *p);   /* its loop; 0: it is not */
int64_t process_wall_off_ns(void); /* sim.wall_off_ns at the start of the current one */
const char *process_name(const struct sim_process *p);
int64_t process_began_ns(const struct sim_process *p);
const char *process_identity(const struct sim_process *p); /* in the Lease */
/* Of a benchd on that host with its store in that place; all have the same key. Owned. */
char *process_identity_of(const char *host, const char *place);
/* Runs a piece of benchd that may crash within. */
void process_enter(struct sim_process *p, void (*call)(void *ctx), void *ctx);
bool process_is_running(void);
struct sim_process *process_current(void);
bool process_is_leading(void);  /* as the Lease says */
const char *process_host(void); /* of the one that runs, or ran last */
struct store;
struct store *process_store(void); /* NULL: none runs */

/* --- disk.c --- */

void disk_begin(const char *folder);
const char *disk_url(void);
int disk_open(struct store **ret);
/* At the start of a process and at the end: what was acknowledged is there. */
void disk_check(struct store *s);
bool disk_is_claimed(const char *uid);
bool disk_has_run(struct store *s, const char *uid);
/* What is known of a run; valid until the next call. */
struct disk_attempt {
    char *run_uid;
    struct attempt_id id;
    int outcome; /* enum attempt_outcome */
};
size_t disk_n_attempts(void);
const struct disk_attempt *disk_get_attempt(size_t i);

/* --- user.c --- */

struct fault_plan;

enum sim_wish { WISH_CANCEL = 1, WISH_SUSPEND = 2, WISH_DELETE = 4, WISH_ERASE = 8 };
struct sim_run {
    char *name, *uid;   /* uid NULL: not created yet */
    unsigned wishes;    /* ever */
    bool is_suspended;  /* now */
    bool is_brief;      /* its object expires; then another run gets its name */
    bool is_hostile;    /* its templates ask for what is benchd's own: it fails */
    bool is_lost;       /* its object went with the definition of its kind */
    bool is_orphaning;  /* its object went without its pods */
    int64_t stop_ns;    /* since then nothing of it shall run; 0: it may */
    int64_t gone_ns;    /* when its object went; 0: it is there */
    int64_t back_ns;    /* when its object was restored; 0: never */
    int64_t settled_ns; /* when its object got its last status; 0: it has no final one */
    int64_t grace_s;    /* of its pods */
    uint32_t n_trials;  /* at most */
    uint32_t n_points;
    uint32_t n_lanes; /* trials that may be under way at a time */
    bool stops_early; /* SIM_MIN_TRIALS to SIM_MAX_TRIALS a point, by SIM_HALF_WIDTH */
    int64_t made_ns;  /* its object */
    int64_t own_ns;   /* in a world with deadlines: see soon_may_be_late() */
};
/* Of the worlds above 40 one in eight, where a training does not take minutes: those below are what
 * mutations are held against. */
#define SIM_MIN_TRIALS 3
#define SIM_MAX_TRIALS 5
#define SIM_HALF_WIDTH 0.05
void user_begin(const struct fault_plan *plan);
size_t user_count(void);
struct sim_run *user_get(size_t i);
struct sim_run *user_find(const char *uid);
struct sim_object *user_object_of(const struct sim_run *r); /* NULL: it is gone */
const char *user_phase_in_object(const struct sim_run *r);
void user_cancel(struct sim_run *r);
void user_suspend(struct sim_run *r, bool suspend);
void user_delete(struct sim_run *r, enum sim_cascade cascade);
/* benchctl delete: the results at once, too. */
void user_erase(struct sim_run *r);
/* The objects of all runs go with the definition of their kind; and some come back. */
void user_lose_objects(void);
void user_lose_object(const char *uid);
void user_object_gone(const char *uid);
void user_object_back(const char *uid);
bool user_is_suspended(void);
/* Another benchd with a copy of the store and its key, of which nothing is seen but that it takes
 * part in the election. */
void user_rival(int64_t length_ns, bool is_on_same_host);
bool user_rival_leads(void);

/* --- meddler.c --- */

void meddler_begin(void);
/* True: the answer to the creation of a pod. */
bool meddler_hides_quota(struct sim_answer *ret);

/* --- hostile.c --- */

/* Makes a definition ask for something of benchd. */
void hostile_spoil(json_t *definition);
/* What benchd asks the API server to make is what it makes for itself, and of no other kind. */
void hostile_check_object(enum sim_kind kind, const json_t *object);
/* A pod that benchd has created: it has nothing of benchd's, no token, and no
 * Secret but its run's key. */
void hostile_check_pod(const struct sim_pod *p);

/* --- sim_faults.c --- */

#define FAULT_KINDS(X)                                                                             \
    X(CRASH, "crash")                   /* kill -9; a new process after length */                  \
    X(CRASH_AT_WRITE, "crash-at-write") /* the same, at the n-th write from then on */             \
    X(RESTART, "restart")               /* SIGTERM */                                              \
    X(FREEZE, "freeze")                 /* the process stands still for length */                  \
    X(REFUSE, "refuse")                 /* no connection for length */                             \
    X(SILENCE, "silence")               /* nothing arrives for length, either way */               \
    X(LOSE_ANSWERS, "lose-answers")     /* requests have their effect, one in n answers is lost */ \
    X(ERROR_500, "error-500")                                                                      \
    X(ERROR_429, "error-429")                                                                      \
    X(ERROR_403, "error-403")       /* for less than the launcher waits */                         \
    X(ERROR_STATUS, "error-status") /* no status may be written for length */                      \
    X(WEBHOOK, "webhook")           /* the admission of pods fails for length */                   \
    X(QUOTA, "quota")               /* less than n pods may be there for length */                 \
    X(NO_ROOM, "no-room")           /* nodes reject pods for length: OutOfcpu */                   \
    X(CUT_WATCHES, "cut-watches")                                                                  \
    X(SLOW_WATCHES, "slow-watches") /* events come up to length later */                           \
    X(COMPACT, "compact")           /* with cut watches: 410 */                                    \
    X(SLOW_GARBAGE, "slow-garbage") /* dependents of deleted objects stay for length */            \
    X(SLOW_NODES, "slow-nodes")                                                                    \
    X(NODE_LOST, "node-lost") /* kubelets are silent for length, containers go on */               \
    X(KILL_CONTAINER, "kill-container")                                                            \
    X(DELETE_POD, "delete-pod")                                                                    \
    X(FORCE_DELETE_POD, "force-delete-pod")                                                        \
    X(EVICT_POD, "evict-pod")                                                                      \
    X(PREEMPT, "preempt")       /* n: by the scheduler, by a queue */                              \
    X(GATE, "gate")             /* pods are created with a gate, which opens after length */       \
    X(FULL, "full")             /* no node has room for length; n=2: but for servers */            \
    X(STEP_CLOCK, "step-clock") /* the wall clock jumps */                                         \
    X(RIVAL, "rival")           /* another benchd wants the Lease, and keeps it for length */      \
    X(DISK_FULL, "disk-full")                                                                      \
    X(DISK_BUSY, "disk-busy")                                                                      \
    X(DISK_BAD_RUN, "disk-bad-run") /* what is written of one run fails */                         \
    X(CANCEL, "cancel")                                                                            \
    X(SUSPEND, "suspend") /* and resume after length */                                            \
    X(DELETE, "delete")                                                                            \
    X(ERASE, "erase")           /* with the results */                                             \
    X(DROP_KINDS, "drop-kinds") /* and all objects of theirs, for length; then they may be back */ \
    X(RESTORE, "restore")       /* after length every object is as it was at its beginning */      \
    X(STARVE, "starve")         /* each turn of benchd's loop takes up to 3 s for length */

enum fault_kind {
#define X(name, text) FAULT_##name,
    FAULT_KINDS(X)
#undef X
        FAULT_KIND_COUNT
};
#define FAULT_DRAWN_COUNT FAULT_STARVE /* those from there on are of some worlds alone */
struct fault {
    enum fault_kind kind;
    int64_t at_ns, length_ns;
    uint32_t n;
    bool is_dropped;
};
#define FAULTS_MAX 24
struct fault_plan {
    unsigned n_runs;
    bool is_slow; /* a training takes minutes, anyway */
    size_t n;
    struct fault list[FAULTS_MAX];
};
void fault_draw_plan(uint64_t seed, struct fault_plan *ret);
void fault_print(const struct fault *f, struct buf *out);
void fault_begin(const struct fault_plan *plan);
/* A window of that kind is open. *ret may be NULL. */
bool fault_is_on(enum fault_kind kind, const struct fault **ret);
/* One of that kind was on, not longer ago than that. */
bool fault_was_on(enum fault_kind kind, int64_t ago_ns);
/* When something went wrong last but faults of that kind, slow garbage, and (unless with_wishes)
 * what people wanted. */
int64_t fault_last_ns(enum fault_kind but, bool with_wishes);

/* --- promise.c --- */

void promise_after_step(void);
void promise_pod_created(const struct sim_pod *p);
void promise_container_started(const struct sim_pod *p);
/* By benchd. */
void promise_pod_deleted(const struct sim_pod *p);
bool promise_has_row(const struct sim_pod *p); /* its attempt is acknowledged */
void promise_request_sent(void);
void promise_write_sent(const struct sim_process *p, const char *what);
struct attempt_row;
struct run_status;
struct replica_log;
void promise_attempt_saved(const char *run_uid, const struct attempt_row *row,
                           const struct replica_log *logs, size_t n_logs);
void promise_attempts_read(const char *run_uid);
void promise_verdict_saved(const char *run_uid, bool is_stored);
void promise_results_erased(const char *run_uid);
void promise_object_expires(const char *run_uid);
/* Before a status is applied to a run's object, by a process that began at that time. phase: its
 * own, NULL: none. */
void promise_status_applied(const char *run_uid, const char *phase, bool is_change,
                            int64_t process_began_ns);
void promise_process_gone(void);
/* The end of a run as it was stored; NULL: none was. */
const struct run_status *promise_end_of(const char *run_uid, int64_t *ret_ended_ns);
void promise_status_saved(const char *run_uid, const struct run_status *status);
/* Something other than benchd's own code ended this attempt, or kept it from going on. */
void promise_excuse(const char *run_uid, const struct attempt_id *id, const char *why);
/* All runs have ended and nothing lives. Else *ret_why says what is open; borrowed. */
bool promise_is_settled(const char **ret_why);
/* What must hold then. */
void promise_at_end(void);

/* --- place.c --- */

/* A container of the pod starts: no other may run that is not of another lane. */
void place_check_others(const struct sim_pod *p);
/* True: the pod has no place yet, and is scheduled later. */
bool place_must_wait(struct sim_pod *p, void (*schedule)(void *ctx));
json_t *place_conditions(const struct sim_pod *p); /* owned */
/* Some pod of the attempt first had no place so long ago. */
bool place_was_missing(const char *run_uid, const struct attempt_id *id, int64_t least_ns);
/* benchd may have given up its attempt, because there was no place or no quota for it. */
bool place_lacks_room(const struct sim_pod *p);

/* --- queue.c --- */

void queue_begin(void);
/* Takes the place of its gang back; false: it has none of a queue. */
bool queue_preempts(const struct sim_pod *p);
void queue_serve_flavor(struct sim_answer *ret);
void queue_pod_created(const struct sim_pod *p);
/* By benchd. */
void queue_workload_deleted(const struct sim_object *o);
/* Not by benchd. */
void queue_workload_lost(const struct sim_object *o);
/* As promise_is_settled(). */
bool queue_is_settled(const char **ret_why);

/* --- rows.c --- */

struct attempt_row;
/* Its times are those of its containers, and its figure that of its program. */
void rows_check(const char *run_uid, const struct attempt_row *row);
/* The row is that of a wait for a place which was too long. */
bool rows_explains(const struct sim_run *run, const struct attempt_row *row);

/* --- soon.c --- */

void soon_begin(void);
/* What was asked is refused, for this reason. */
void soon_refused(enum fault_kind why);
/* A pod was created. */
void soon_accepted(void);
/* Its object was restored, and benchd may not know that yet. */
bool soon_is_back_unseen(const struct sim_run *r);
/* No benchd saw its object go, so its pods and Workloads are left to the garbage collector, which
 * is slow, or to the person who orphaned them. */
bool soon_is_left_to_garbage(const struct sim_run *r);
/* Its activeDeadlineSeconds are over, not counting what it waited for others: another run's pods, a
 * full quota, a webhook that fails, whoever suspended it. */
bool soon_may_be_late(const struct sim_run *r);
