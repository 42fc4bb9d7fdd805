/* libuv's timers, its clock and the clocks of base/clock.h, as benchd sees them. The linker takes
 * these in their place (--wrap, meson.build). A loop is only an address here: it tells the
 * processes apart. */
#include "sim.h"

#include <netdb.h>
#include <string.h>

#include <uv.h>

#include "base/clock.h"
#include "daemon/memory.h"

struct timer {
    uv_timer_t *handle;
    uv_timer_cb fire;
    int64_t due_ns;
    uint64_t serial;
    uint64_t repeat_ms;
    const struct sim_process *process;
};
static VEC(struct timer) timers;

static struct timer *find(const uv_timer_t *handle)
{
    vec_each (struct timer, t, &timers) {
        if (t->handle == handle) {
            return t;
        }
    }
    return NULL;
}

static void forget(struct timer *t)
{
    *t = timers.items[--timers.len];
}

void loop_forget(const struct sim_process *p)
{
    for (size_t i = timers.len; i > 0; i--) {
        if (timers.items[i - 1].process == p) {
            forget(&timers.items[i - 1]);
        }
    }
}

static int64_t due_of(const struct timer *t)
{
    const int64_t free_ns = process_busy_until(t->process);
    return t->due_ns > free_ns ? t->due_ns : free_ns;
}

static struct timer *first(void)
{
    struct timer *best = NULL;
    vec_each (struct timer, t, &timers) {
        if (best == NULL || due_of(t) < due_of(best) ||
            (due_of(t) == due_of(best) && t->serial < best->serial)) {
            best = t;
        }
    }
    return best;
}

int64_t loop_next_due(void)
{
    const struct timer *t = first();
    return t == NULL ? INT64_MAX : due_of(t);
}

static void call(void *ctx)
{
    const struct timer *t = ctx;
    t->fire(t->handle);
}

void loop_fire(void)
{
    struct timer *t = first();
    struct timer copy = *t;
    if (t->repeat_ms > 0) {
        t->due_ns = sim.now_ns + (int64_t)t->repeat_ms * SIM_MS;
        t->serial = sim.serial++;
    } else {
        forget(t);
    }
    process_enter(process_of_loop(copy.handle->loop), call, &copy);
}

/* ---- libuv ---- */

int __wrap_uv_timer_init(uv_loop_t *loop, uv_timer_t *handle);
int __wrap_uv_timer_init(uv_loop_t *loop, uv_timer_t *handle)
{
    handle->loop = loop;
    handle->type = UV_TIMER;
    handle->flags = 0;
    return 0;
}

int __wrap_uv_timer_start(uv_timer_t *handle, uv_timer_cb fire, uint64_t wait_ms,
                          uint64_t repeat_ms);
int __wrap_uv_timer_start(uv_timer_t *handle, uv_timer_cb fire, uint64_t wait_ms,
                          uint64_t repeat_ms)
{
    struct timer *t = find(handle);
    if (t == NULL) {
        t = vec_push(&timers);
    }
    /* As libuv counts: in whole milliseconds. */
    *t = (struct timer){.handle = handle,
                        .fire = fire,
                        .due_ns = (sim.now_ns / SIM_MS + (int64_t)wait_ms) * SIM_MS,
                        .serial = sim.serial++,
                        .repeat_ms = repeat_ms,
                        .process = process_of_loop(handle->loop)};
    return 0;
}

int __wrap_uv_timer_stop(uv_timer_t *handle);
int __wrap_uv_timer_stop(uv_timer_t *handle)
{
    struct timer *t = find(handle);
    if (t != NULL) {
        forget(t);
    }
    return 0;
}

struct closing {
    uv_handle_t *handle;
    uv_close_cb on_closed;
};

static void closed(void *ctx)
{
    const struct closing c = *(struct closing *)ctx;
    free(ctx);
    if (c.on_closed != NULL && !process_is_gone(process_of_loop(c.handle->loop))) {
        c.on_closed(c.handle);
    }
}

void __wrap_uv_close(uv_handle_t *handle, uv_close_cb on_closed);
void __wrap_uv_close(uv_handle_t *handle, uv_close_cb on_closed)
{
    (void)__wrap_uv_timer_stop((uv_timer_t *)handle); /* there are no other handles */
    handle->flags = 1;
    struct closing *c = xnew(struct closing);
    *c = (struct closing){handle, on_closed};
    sim_after(0, closed, c);
}

int __wrap_uv_is_closing(const uv_handle_t *handle);
int __wrap_uv_is_closing(const uv_handle_t *handle)
{
    return handle->flags != 0;
}

uint64_t __wrap_uv_hrtime(void);
uint64_t __wrap_uv_hrtime(void)
{
    return (uint64_t)sim.now_ns;
}

uint64_t __wrap_uv_now(const uv_loop_t *loop);
uint64_t __wrap_uv_now(const uv_loop_t *loop)
{
    (void)loop;
    return (uint64_t)(sim.now_ns / SIM_MS);
}

void __wrap_uv_update_time(uv_loop_t *loop);
void __wrap_uv_update_time(uv_loop_t *loop)
{
    (void)loop; /* it is never out of date */
}

/* The one name that benchd looks up. Whether names resolve is the seed's choice: always, never, or
 * for every second process. */
static void resolved(void *ctx)
{
    uv_getaddrinfo_t *request = ctx;
    const char *name = process_name(process_of_loop(request->loop));
    const unsigned number = (unsigned char)name[strlen(name) - 1];
    const bool is_found = sim.seed % 4 < 2 ? sim.seed % 4 == 0 : (number + sim.seed) % 2 == 0;
    request->cb(request, is_found ? 0 : UV_EAI_NONAME, NULL);
}

static void resolve(void *ctx)
{
    uv_getaddrinfo_t *request = ctx;
    const struct sim_process *p = process_of_loop(request->loop);
    process_enter((struct sim_process *)p, resolved, request);
}

int __wrap_uv_getaddrinfo(uv_loop_t *loop, uv_getaddrinfo_t *request, uv_getaddrinfo_cb on_found,
                          const char *node, const char *service, const struct addrinfo *hints);
int __wrap_uv_getaddrinfo(uv_loop_t *loop, uv_getaddrinfo_t *request, uv_getaddrinfo_cb on_found,
                          const char *node, const char *service, const struct addrinfo *hints)
{
    (void)node;
    (void)service;
    (void)hints;
    request->loop = loop;
    request->cb = on_found;
    sim_after(SIM_MS, resolve, request);
    return 0;
}

void __wrap_uv_freeaddrinfo(struct addrinfo *found);
void __wrap_uv_freeaddrinfo(struct addrinfo *found)
{
    (void)found; /* there is none */
}

int __wrap_uv_cancel(uv_req_t *request);
int __wrap_uv_cancel(uv_req_t *request)
{
    (void)request; /* as one that has begun; it comes soon */
    return UV_EBUSY;
}

/* ---- work for another thread ---- */

struct job {
    uv_work_t *request;
    uv_work_cb work;
    uv_after_work_cb after;
};

static void after_work(void *ctx)
{
    const struct job *j = ctx;
    j->after(j->request, 0);
}

/* Some time later, whatever the process does meanwhile. */
static void work(void *ctx)
{
    struct job *j = ctx;
    struct sim_process *p = process_of_loop(j->request->loop);
    if (!process_is_gone(p)) {
        const int64_t free_ns = process_busy_until(p);
        if (free_ns > 0) {
            sim_again(free_ns, work, j);
            return;
        }
        j->work(j->request);
        process_enter(p, after_work, j);
    }
    free(j);
}

int __wrap_uv_queue_work(uv_loop_t *loop, uv_work_t *request, uv_work_cb on_work,
                         uv_after_work_cb on_worked);
int __wrap_uv_queue_work(uv_loop_t *loop, uv_work_t *request, uv_work_cb on_work,
                         uv_after_work_cb on_worked)
{
    request->loop = loop;
    struct job *j = xnew(struct job);
    *j = (struct job){request, on_work, on_worked};
    sim_after(sim_time(DRAW_NETWORK, SIM_MS, 50 * SIM_MS), work, j);
    return 0;
}

/* ---- clocks ---- */

/* Code of benchd takes no CPU time. */
int64_t __wrap_clock_thread_cpu_ns(void);
int64_t __wrap_clock_thread_cpu_ns(void)
{
    return 0;
}

int64_t __wrap_clock_monotonic_ns(void);
int64_t __wrap_clock_monotonic_ns(void)
{
    return sim.now_ns;
}

int64_t __wrap_clock_boottime_ns(void);
int64_t __wrap_clock_boottime_ns(void)
{
    return sim.now_ns;
}

int64_t __wrap_clock_unix_ms(void);
int64_t __wrap_clock_unix_ms(void)
{
    return sim_unix_ms() + sim.wall_off_ns / SIM_MS;
}

/* What the process took for the date at its start, and the time that has passed. */
int64_t __wrap_clock_steady_unix_ms(void);
int64_t __wrap_clock_steady_unix_ms(void)
{
    return sim_unix_ms() + process_wall_off_ns() / SIM_MS;
}

/* Malloc's business, and slow. */
void __wrap_memory_rest(void);
void __wrap_memory_rest(void)
{
}
