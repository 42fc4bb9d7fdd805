/* Preloaded into benchd, measures each turn of its loop: the CPU time of the main thread from the
 * end of one wait for events to the beginning of the next, so that a busy machine does not count.
 * Appends to the file that LOOP_WATCH names a line when it is loaded, and one for each turn over
 * 50 ms: its time, what of it the kernel took, the page faults, and where it was every 4 ms, as
 * stacks, innermost first: functions of libraries by name, then addresses within benchd.
 *
 * While its host holds up a virtual machine nothing ticks, but the kernel may count that time as
 * CPU time of the thread that ran: such a turn has few stacks. */
#include <dlfcn.h>
#include <execinfo.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

enum { STACKS = 64, FRAMES = 32 };
static const int64_t LIMIT_NS = 50 * 1000000LL;
static const int64_t TICK_NS = 4 * 1000000LL;

static int file = -1;
static int64_t begun_ns; /* the turn of the main thread; 0: none yet */
static struct rusage begun;
static __typeof__(epoll_pwait) *wait_for_events;
static volatile sig_atomic_t n_ticks; /* in this turn */
static struct {
    int n;
    void *frames[FRAMES];
} stacks[STACKS];

static int64_t cpu_ns(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return now.tv_sec * 1000000000LL + now.tv_nsec;
}

static void on_tick(int signal_number)
{
    (void)signal_number;
    if (n_ticks < STACKS) {
        stacks[n_ticks].n = backtrace(stacks[n_ticks].frames, FRAMES);
    }
    n_ticks = n_ticks + 1;
}

static void start_ticks(void)
{
    void *frames[1];
    (void)backtrace(frames, 1); /* loads what it needs, which a handler may not */
    const struct sigaction action = {.sa_handler = on_tick, .sa_flags = SA_RESTART};
    struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGPROF};
    event._sigev_un._tid = gettid();
    const struct timespec tick = {.tv_nsec = TICK_NS};
    const struct itimerspec ticks = {.it_interval = tick, .it_value = tick};
    timer_t timer;
    if (sigaction(SIGPROF, &action, NULL) ||
        timer_create(CLOCK_THREAD_CPUTIME_ID, &event, &timer) ||
        timer_settime(timer, 0, &ticks, NULL)) {
        abort();
    }
}

__attribute__((constructor)) static void open_file(void)
{
    const char *path = getenv("LOOP_WATCH");
    file = path ? open(path, O_WRONLY | O_APPEND | O_CLOEXEC) : -1;
    wait_for_events = (__typeof__(epoll_pwait) *)dlsym(RTLD_NEXT, "epoll_pwait");
    if (file < 0 || !wait_for_events || dprintf(file, "loaded\n") < 0) {
        abort(); /* a test that watches nothing would pass */
    }
    start_ticks();
}

static void tell_frame(FILE *out, void *frame)
{
    Dl_info in;
    if (!dladdr(frame, &in) || strstr(in.dli_fname, "loop_watch")) {
        return;
    }
    if (strstr(in.dli_fname, "/benchd")) {
        fprintf(out, " 0x%tx", (char *)frame - (char *)in.dli_fbase);
    } else {
        fprintf(out, " %s:%s", basename(in.dli_fname), in.dli_sname ? in.dli_sname : "?");
    }
}

static int64_t us_of(const struct timeval *t)
{
    return t->tv_sec * 1000000LL + t->tv_usec;
}

static void tell(int64_t took_ns, int n)
{
    static char line[STACKS * FRAMES * 80];
    struct rusage now;
    FILE *out = fmemopen(line, sizeof line, "w");
    if (!out || getrusage(RUSAGE_THREAD, &now)) {
        abort();
    }
    fprintf(out, "a turn of the loop took %.0f ms (%.0f in the kernel, %ld page faults), at",
            (double)took_ns / 1e6, (double)(us_of(&now.ru_stime) - us_of(&begun.ru_stime)) / 1e3,
            now.ru_minflt + now.ru_majflt - begun.ru_minflt - begun.ru_majflt);
    for (int i = 0; i < n && i < STACKS; i++) {
        for (int k = 0; k < stacks[i].n; k++) {
            tell_frame(out, stacks[i].frames[k]);
        }
        fprintf(out, ";");
    }
    fprintf(out, "\n");
    const long length = ftell(out);
    fclose(out);
    (void)!write(file, line, (size_t)length);
}

int epoll_pwait(int epoll, struct epoll_event *events, int n_events, int timeout_ms,
                const sigset_t *mask)
{
    const int is_main = gettid() == getpid();
    if (is_main && begun_ns) {
        const int64_t took_ns = cpu_ns() - begun_ns;
        if (took_ns > LIMIT_NS) {
            tell(took_ns, n_ticks);
        }
    }
    const int n = wait_for_events(epoll, events, n_events, timeout_ms, mask);
    if (is_main) {
        n_ticks = 0;
        (void)getrusage(RUSAGE_THREAD, &begun);
        begun_ns = cpu_ns();
    }
    return n;
}

int epoll_wait(int epoll, struct epoll_event *events, int n_events, int timeout_ms)
{
    return epoll_pwait(epoll, events, n_events, timeout_ms, NULL);
}
