/* benchd's processes. One runs at a time on a store, as its lock file makes sure; what main.c does
 * around daemon.h is done here. A process that is killed is forgotten as it is: its timers and what
 * it waits for are gone, its memory is never looked at again. */
#include "sim.h"

#include <stdio.h>
#include <string.h>

#include <uv.h>

#include "base/clock.h"
#include "base/exit_code.h"
#include "base/mem.h"
#include "base/str.h"
#include "daemon/daemon.h"
#include "daemon/loop_meter.h"
#include "daemon/cluster/key.h"
#include "daemon/web/daemon_view.h"
#include "store/store.h"

#define RESTART_MAX_S 10
#define BUSY_MAX_NS (200 * SIM_MS)
#define STARVED_MAX_NS (3 * SIM_S)

struct sim_process {
    uv_loop_t loop; /* an address, never used */
    char name[32];
    char *identity;
    struct options options;
    struct kube_config config;
    struct store *store;
    struct daemon_view *view;
    struct daemon *daemon;
    struct loop_meter meter; /* each call into benchd is a turn of its loop */
    int64_t began_ns, thaw_ns, wall_off_ns;
    int64_t busy_ns; /* its loop is, until then */
    bool is_killed;  /* or has ended and is forgotten */
    bool is_ending;  /* daemon_free was called; callbacks still come */
    jmp_buf death;   /* while is_inside */
    bool is_inside;
};

static struct {
    struct sim_process *current; /* NULL: none runs */
    unsigned n;
    char host[32];            /* of the current one */
    uint32_t writes_to_death; /* 0: it lives on */
} processes;

const char *process_host(void)
{
    return processes.host;
}

struct sim_process *process_of_loop(const void *loop)
{
    return (struct sim_process *)loop; /* `loop` is the first member */
}

int64_t process_frozen_until(const struct sim_process *p)
{
    return p->thaw_ns > sim.now_ns ? p->thaw_ns : 0;
}

int64_t process_busy_until(const struct sim_process *p)
{
    const int64_t until_ns = p->busy_ns > p->thaw_ns ? p->busy_ns : p->thaw_ns;
    return until_ns > sim.now_ns ? until_ns : 0;
}

int64_t process_wall_off_ns(void)
{
    return processes.current == NULL ? 0 : processes.current->wall_off_ns;
}

const char *process_name(const struct sim_process *p)
{
    return p->name;
}

int64_t process_began_ns(const struct sim_process *p)
{
    return p->began_ns;
}

const char *process_identity(const struct sim_process *p)
{
    return p->identity;
}

static const unsigned char the_key[KEY_SIZE] = "the key of the simulated benchd";

char *process_identity_of(const char *host, const char *place)
{
    char *identity;
    struct err err;
    if (key_identity(the_key, host, place, &identity, &err) < 0) {
        sim_broken("key_identity: %s", err.msg);
    }
    return identity;
}

bool process_is_leading(void)
{
    const struct sim_process *p = processes.current;
    const struct sim_object *lease = server_find(KIND_LEASES, "benchd");
    const json_t *spec = lease == NULL ? NULL : json_object_get(lease->json, "spec");
    const char *holder = json_string_value(json_object_get(spec, "holderIdentity"));
    return p != NULL && holder != NULL && !p->is_ending && process_frozen_until(p) == 0 &&
           str_eq(holder, p->identity);
}

struct sim_process *process_current(void)
{
    return processes.current;
}

bool process_is_running(void)
{
    return processes.current != NULL;
}

struct store *process_store(void)
{
    return processes.current == NULL ? NULL : processes.current->store;
}

/* ---- the start ---- */

static void on_stop(void *ctx);

static void start_daemon(void *ctx)
{
    struct sim_process *p = ctx;
    struct err err = {0};
    p->view = daemon_view_new();
    int r = daemon_new(&(struct daemon_params){.loop = &p->loop,
                                               .options = &p->options,
                                               .config = &p->config,
                                               .ns = SIM_NS,
                                               .identity = p->identity,
                                               .store = p->store,
                                               .view = p->view,
                                               .meter = &p->meter,
                                               .key = the_key,
                                               .on_stop = on_stop,
                                               .ctx = p},
                       &p->daemon, &err);
    if (r < 0) {
        sim_broken("daemon_new: %s", err.msg);
    }
    daemon_start(p->daemon, "service");
}

static void start(void *ctx)
{
    (void)ctx;
    if (processes.current != NULL) {
        return;
    }
    struct sim_process *p = xnew(struct sim_process);
    (void)snprintf(p->name, sizeof(p->name), "benchd-%u", ++processes.n);
    if (processes.host[0] == '\0' ||
        sim_one_in(DRAW_USER, 3)) { /* another pod, and not only a container */
        (void)snprintf(processes.host, sizeof(processes.host), "host-%u", processes.n);
    }
    p->identity = process_identity_of(processes.host, "place-1");
    p->began_ns = sim.now_ns;
    p->wall_off_ns = sim.wall_off_ns;
    p->options =
        (struct options){.store = disk_url(), .undelete_ms = SIM_UNDELETE_S * INT64_C(1000)};
    p->config = (struct kube_config){.server = (char *)"https://10.0.0.1:443"};
    if (disk_open(&p->store) < 0) {
        sim_trace("%s: the store cannot be opened", p->name);
        free(p->identity);
        free(p);
        sim_after(sim_time(DRAW_USER, SIM_S, RESTART_MAX_S * SIM_S), start, NULL);
        return;
    }
    sim_trace("%s starts", p->name);
    disk_check(p->store);
    processes.current = p;
    process_enter(p, start_daemon, p);
}

void process_start(void)
{
    sim_after(SIM_S, start, NULL);
}

static void start_again(void)
{
    sim_after(sim_time(DRAW_USER, SIM_S / 2, RESTART_MAX_S * SIM_S), start, NULL);
}

/* ---- a regular end ---- */

static void forget(struct sim_process *p)
{
    promise_process_gone();
    loop_forget(p);
    network_forget(p);
    processes.current = processes.current == p ? NULL : processes.current;
}

static void close_all(void *ctx)
{
    struct sim_process *p = ctx;
    if (p->is_killed) {
        return;
    }
    store_close(p->store);
    p->store = NULL;
    daemon_view_free(p->view);
    forget(p);
    p->is_killed = true;
    start_again();
}

static void free_daemon(void *ctx)
{
    struct sim_process *p = ctx;
    daemon_free(p->daemon);
}

#define GIVE_UP_NS (60 * SIM_S) /* first the pods of the run that met the fault go */

static void stopped(void *ctx)
{
    struct sim_process *p = ctx;
    if (p->is_killed) {
        return;
    }
    const struct err *failure;
    const int exit_code = daemon_exit_code(p->daemon, &failure);
    sim_trace("%s exits with %d%s%s", p->name, exit_code, failure != NULL ? ": " : "",
              failure != NULL ? failure->msg : "");
    if (failure != NULL && exit_code == EXIT_LOCAL_RESOURCE &&
        !(sim_has_bad_disk(sim.seed) && fault_was_on(FAULT_DISK_BUSY, GIVE_UP_NS))) {
        sim_broken("benchd gives up: %s", failure->msg);
    }
    p->is_ending = true;
    process_enter(p, free_daemon, p);
    sim_after(100 * SIM_MS, close_all, p); /* after the close callbacks */
}

/* As uv_stop: the loop ends after this callback. */
static void on_stop(void *ctx)
{
    sim_after(0, stopped, ctx);
}

static void terminate(void *ctx)
{
    struct sim_process *p = ctx;
    daemon_stop(p->daemon);
}

void process_terminate(void)
{
    struct sim_process *p = processes.current;
    if (p != NULL && !p->is_ending) {
        sim_trace("%s is terminated", p->name);
        process_enter(p, terminate, p);
    }
}

/* ---- a sudden end ---- */

static void die(struct sim_process *p)
{
    sim_trace("%s is killed", p->name);
    p->is_killed = true;
    if (p->store != NULL) {
        store_close(p->store); /* what the kernel does: locks and descriptors go */
        p->store = NULL;
    }
    daemon_view_free(p->view);
    forget(p);
    start_again();
}

bool process_is_gone(const struct sim_process *p)
{
    return p == NULL || p->is_killed;
}

void process_enter(struct sim_process *p, void (*call)(void *ctx), void *ctx)
{
    if (process_is_gone(p)) {
        return;
    }
    p->is_inside = true;
    p->meter.cpu_ns = clock_thread_cpu_ns();
    if (setjmp(p->death) == 0) {
        call(ctx);
        p->is_inside = false;
        if (sim_has_slow_code(sim.seed) && sim_one_in(DRAW_CODE, 8)) {
            p->busy_ns = sim.now_ns + sim_time(DRAW_CODE, SIM_MS, BUSY_MAX_NS);
        }
        if (fault_is_on(FAULT_STARVE, NULL)) {
            p->busy_ns = sim.now_ns + sim_time(DRAW_CODE, 10 * SIM_MS, STARVED_MAX_NS);
        }
    } else {
        p->is_inside = false;
        die(p);
    }
}

void process_crash(void)
{
    if (processes.current != NULL) {
        die(processes.current);
    }
}

void process_crash_within(void)
{
    struct sim_process *p = processes.current;
    if (p == NULL || !p->is_inside || processes.writes_to_death == 0 ||
        --processes.writes_to_death > 0) {
        return;
    }
    longjmp(p->death, 1);
}

void process_crash_at_write(uint32_t n)
{
    processes.writes_to_death = n;
}

void process_freeze(int64_t length_ns)
{
    if (processes.current != NULL) {
        processes.current->thaw_ns = sim.now_ns + length_ns;
        sim_trace("%s is frozen for %d ms", processes.current->name, (int)(length_ns / SIM_MS));
    }
}
