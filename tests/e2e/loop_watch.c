/* Preloaded into benchd, measures each turn of its loop: the CPU time of the main thread from the
 * end of one wait for events to the beginning of the next, so that a busy machine does not count.
 * Appends to the file that LOOP_WATCH names a line when it is loaded, and one for each turn over
 * 50 ms. */
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

static const int64_t LIMIT_NS = 50 * 1000000LL;

static int file = -1;
static int64_t begun_ns; /* the turn of the main thread; 0: none yet */
static __typeof__(epoll_pwait) *wait_for_events;

static int64_t cpu_ns(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return now.tv_sec * 1000000000LL + now.tv_nsec;
}

__attribute__((constructor)) static void open_file(void)
{
    const char *path = getenv("LOOP_WATCH");
    file = path ? open(path, O_WRONLY | O_APPEND | O_CLOEXEC) : -1;
    wait_for_events = (__typeof__(epoll_pwait) *)dlsym(RTLD_NEXT, "epoll_pwait");
    if (file < 0 || !wait_for_events || dprintf(file, "loaded\n") < 0) {
        abort(); /* a test that watches nothing would pass */
    }
}

int epoll_pwait(int epoll, struct epoll_event *events, int n_events, int timeout_ms,
                const sigset_t *mask)
{
    const int is_main = gettid() == getpid();
    if (is_main && begun_ns) {
        const int64_t took_ns = cpu_ns() - begun_ns;
        if (took_ns > LIMIT_NS) {
            (void)dprintf(file, "a turn of the loop took %.0f ms\n", (double)took_ns / 1e6);
        }
    }
    const int n = wait_for_events(epoll, events, n_events, timeout_ms, mask);
    if (is_main) {
        begun_ns = cpu_ns();
    }
    return n;
}

int epoll_wait(int epoll, struct epoll_event *events, int n_events, int timeout_ms)
{
    return epoll_pwait(epoll, events, n_events, timeout_ms, NULL);
}
