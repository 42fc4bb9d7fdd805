/* How long a program ran, and how long its threads were ready to run while another thread had the
 * CPU: the run-queue wait of /proc/PID/task/TID/schedstat (its first two numbers, ns;
 * Documentation/scheduler/sched-stats of the kernel). /proc/PID/schedstat is of the main thread
 * alone, and getrusage() has no such time. A program is a process with all that it has started.
 *
 * A thread that ends takes its numbers with it, so a watch keeps what each look has seen. Threads
 * that start and end between two looks are not seen, but the CPU time of their process is known:
 * they are taken to have waited as the others did. benchworker watches itself with two looks,
 * because none of its threads ends between the barrier and the last measured step. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"
#include "host/host.h"

#define CPU_WAIT_MAX_THREADS 1024          /* of more nothing is known */
#define CPU_WAIT_MAX_NS (INT64_C(1) << 52) /* 52 days of a thread; beyond, it is not known */

struct cpu_wait_thread {
    int64_t tid;
    int64_t run_ns, wait_ns; /* since the thread began */
};
struct cpu_wait_threads {
    VEC(struct cpu_wait_thread) list; /* by rising tid */
};
/* What was counted up to a moment. */
struct cpu_count {
    int64_t t_ns;                      /* of the caller's clock */
    struct host_cpu_time cpus;         /* of the CPUs that the program may use */
    struct host_throttling throttling; /* of the cgroup, which this process and the program share */
    int64_t used_ns;         /* CPU time of its processes, also of those that were waited for */
    int64_t run_ns, wait_ns; /* of all its threads that a look has seen */
    bool is_known;           /* of a time between: run_ns and wait_ns are those of all threads */
};
/* Zero-initialised but for pid, has_guard and cpus. */
struct cpu_watch {
    int pid;        /* of the process from which all others descend */
    bool has_guard; /* that process only waits for the program: run_ns and wait_ns leave it out */
    bool has_ended; /* no look follows */
    char *cpus;     /* "0-3,8"; owned; NULL: those of this process */
    struct cpu_wait_threads threads;
    struct cpu_wait_thread gone; /* the sum of those that have ended, when they were seen last */
    VEC(struct cpu_count) counts;
};
/* Reads two files for each thread: about 20 us each. `root` is "" for this machine. A process that
 * has ended and was not waited for yet still has its counts. */
void cpu_watch_look(const char *root, struct cpu_watch *w, int64_t now_ns);
/* Of the time between, interpolated; t_ns means nothing. It is not known how long the threads ran
 * and waited if the kernel does not count it (CONFIG_SCHED_INFO), or hides it, or if most of the
 * CPU time is of threads that no look has seen. */
struct cpu_count cpu_watch_between(const struct cpu_watch *w, int64_t from_ns, int64_t to_ns);
void cpu_watch_done(struct cpu_watch *w);
