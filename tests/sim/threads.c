/* benchd's threads beside its loop, in place of libuv's (--wrap): each is a coroutine, which runs
 * until it waits for a condition or uses CPU time. So one seed gives one order of everything. A
 * mutex is only looked at: whoever would wait for one would wait for a thread that uses CPU time. A
 * clock of CPU time is what was used with thread_use(). */
#include "sim.h"

#include <stdlib.h>
#include <ucontext.h>

#include <uv.h>

#include "base/clock.h"
#include "base/mem.h"

#define STACK_BYTES ((size_t)2 << 20)
#define WAKE_NS (SIM_MS / 20)
#define TURNS_TO_THE_END 10000

struct sim_thread {
    ucontext_t context;
    void *stack;
    struct sim_process *process; /* NULL: it was killed */
    uv_thread_cb entry;
    void *arg;
    const uv_cond_t *awaited; /* NULL: none */
    uint64_t pause;           /* the one that it is in: a wake-up for an earlier one is late */
    bool has_timed_out, has_ended;
    int64_t cpu_ns;
};

static struct {
    VEC(struct sim_thread *) all;
    VEC(const uv_mutex_t *) held;
    struct sim_thread *current; /* NULL: the world runs */
    ucontext_t world;
    int64_t world_cpu_ns; /* of the HTTP thread, which is an event of the world */
} threads;

/* ---- turns ---- */

static void resume(struct sim_thread *t)
{
    t->pause++;
    threads.current = t;
    (void)swapcontext(&threads.world, &t->context); /* fails without a stack only */
    threads.current = NULL;
}

static void pause_current(void)
{
    (void)swapcontext(&threads.current->context, &threads.world); /* as above */
}

struct wake {
    struct sim_thread *thread;
    uint64_t pause;
    bool is_timeout;
};

static void wake(void *ctx)
{
    struct wake *w = ctx;
    struct sim_thread *t = w->thread;
    const int64_t thaw_ns = t->process == NULL ? 0 : process_frozen_until(t->process);
    if (thaw_ns > 0) {
        sim_again(thaw_ns, wake, w);
        return;
    }
    if (t->process != NULL && !t->has_ended && t->pause == w->pause) {
        t->awaited = NULL;
        t->has_timed_out = w->is_timeout;
        resume(t);
    }
    free(w);
}

static void wake_after(struct sim_thread *t, int64_t wait_ns, bool is_timeout)
{
    struct wake *w = xnew(struct wake);
    *w = (struct wake){t, t->pause, is_timeout};
    sim_after(wait_ns, wake, w);
}

bool thread_use(int64_t cpu_ns)
{
    struct sim_thread *t = threads.current;
    if (t == NULL) {
        threads.world_cpu_ns += cpu_ns;
        return false;
    }
    t->cpu_ns += cpu_ns;
    wake_after(t, cpu_ns, false);
    pause_current();
    return true;
}

const void *thread_current(void)
{
    return threads.current;
}

void threads_forget(const struct sim_process *p)
{
    vec_each (struct sim_thread *, it, &threads.all) {
        if ((*it)->process == p) {
            (*it)->process = NULL;
            free((*it)->stack);
            (*it)->stack = NULL;
        }
    }
    threads.held.len = 0;
}

/* ---- libuv ---- */

static void begin(void)
{
    struct sim_thread *t = threads.current;
    t->entry(t->arg);
    t->has_ended = true;
    pause_current(); /* for ever */
}

int __wrap_uv_thread_create(uv_thread_t *ret, uv_thread_cb entry, void *arg);
int __wrap_uv_thread_create(uv_thread_t *ret, uv_thread_cb entry, void *arg)
{
    struct sim_thread *t = xnew(struct sim_thread);
    t->process = process_current();
    t->entry = entry;
    t->arg = arg;
    t->stack = xmalloc(STACK_BYTES);
    (void)getcontext(&t->context); /* cannot fail */
    t->context.uc_stack.ss_sp = t->stack;
    t->context.uc_stack.ss_size = STACK_BYTES;
    makecontext(&t->context, begin, 0);
    *vec_push(&threads.all) = t;
    *ret = (uv_thread_t)threads.all.len;
    wake_after(t, WAKE_NS, false);
    return 0;
}

/* It runs to its end, now: what it has yet to use of the CPU takes no time. */
int __wrap_uv_thread_join(uv_thread_t *thread);
int __wrap_uv_thread_join(uv_thread_t *thread)
{
    struct sim_thread *t = threads.all.items[*thread - 1];
    for (int i = 0; !t->has_ended; i++) {
        if (i == TURNS_TO_THE_END) {
            sim_broken("a thread that shall end goes on");
        }
        t->awaited = NULL;
        resume(t);
    }
    free(t->stack);
    t->stack = NULL;
    return 0;
}

void __wrap_uv_mutex_lock(uv_mutex_t *mutex);
void __wrap_uv_mutex_lock(uv_mutex_t *mutex)
{
    vec_each (const uv_mutex_t *, it, &threads.held) {
        if (*it == mutex) {
            sim_broken("%s waits until a document is made",
                       threads.current != NULL ? "a thread" : "benchd's loop or its HTTP thread");
        }
    }
    *vec_push(&threads.held) = mutex;
}

void __wrap_uv_mutex_unlock(uv_mutex_t *mutex);
void __wrap_uv_mutex_unlock(uv_mutex_t *mutex)
{
    for (size_t i = threads.held.len; i > 0; i--) {
        if (threads.held.items[i - 1] == mutex) {
            threads.held.items[i - 1] = threads.held.items[--threads.held.len];
            return;
        }
    }
    sim_broken("a mutex is unlocked that nobody holds");
}

static int wait_for(uv_cond_t *cond, uv_mutex_t *mutex, int64_t timeout_ns)
{
    struct sim_thread *t = threads.current;
    if (t == NULL) {
        sim_broken("benchd's loop waits for a thread");
    }
    t->awaited = cond;
    t->has_timed_out = false;
    if (timeout_ns >= 0) {
        wake_after(t, timeout_ns, true);
    }
    __wrap_uv_mutex_unlock(mutex);
    pause_current();
    __wrap_uv_mutex_lock(mutex);
    return t->has_timed_out ? UV_ETIMEDOUT : 0;
}

void __wrap_uv_cond_wait(uv_cond_t *cond, uv_mutex_t *mutex);
void __wrap_uv_cond_wait(uv_cond_t *cond, uv_mutex_t *mutex)
{
    (void)wait_for(cond, mutex, -1);
}

int __wrap_uv_cond_timedwait(uv_cond_t *cond, uv_mutex_t *mutex, uint64_t timeout_ns);
int __wrap_uv_cond_timedwait(uv_cond_t *cond, uv_mutex_t *mutex, uint64_t timeout_ns)
{
    return wait_for(cond, mutex, (int64_t)timeout_ns);
}

void __wrap_uv_cond_signal(uv_cond_t *cond);
void __wrap_uv_cond_signal(uv_cond_t *cond)
{
    vec_each (struct sim_thread *, it, &threads.all) {
        if ((*it)->process != NULL && (*it)->awaited == cond) {
            (*it)->awaited = NULL;
            wake_after(*it, WAKE_NS, false);
            return;
        }
    }
}

int64_t __wrap_clock_thread_cpu_ns(void);
int64_t __wrap_clock_thread_cpu_ns(void)
{
    return threads.current != NULL ? threads.current->cpu_ns : threads.world_cpu_ns;
}
