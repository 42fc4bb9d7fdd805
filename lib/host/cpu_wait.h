/* How long the threads of this process ran, and how long they were ready to run while another
 * thread had the CPU: the run-queue wait of /proc/self/task/TID/schedstat (its first two numbers,
 * ns; Documentation/scheduler/sched-stats of the kernel). /proc/self/schedstat is of the main
 * thread alone, and getrusage() has no such time.
 *
 * A thread that ends takes its numbers with it. So a look keeps them by thread, and the time
 * between two looks is known only if all threads of the first are there at the second.
 * Threads that start and end in between are not seen; benchworker has none between the
 * barrier and the last measured step. */
#pragma once

#include <stdint.h>

#include "base/vec.h"

#define CPU_WAIT_MAX_THREADS 1024          /* of more nothing is known */
#define CPU_WAIT_MAX_NS (INT64_C(1) << 52) /* 52 days of a thread; beyond, it is not known */

struct cpu_wait_thread {
    int64_t tid;
    int64_t run_ns, wait_ns; /* since the thread began */
};
/* Zero-initialised: nothing is known. */
struct cpu_wait_look {
    VEC(struct cpu_wait_thread) threads; /* by rising tid */
};
/* Takes the place of what *look holds. No threads: this kernel does not count (CONFIG_SCHED_INFO),
 * or hides it. `root` is "" for this machine. Reads a file for each thread: about 10 us each. */
void cpu_wait_look(const char *root, struct cpu_wait_look *look);
void cpu_wait_look_done(struct cpu_wait_look *look);

struct cpu_wait_time {
    int64_t run_ns, wait_ns; /* of all threads together; run_ns 0: not known */
};
/* Between two looks. Not known also where a thread of the first has ended since. */
struct cpu_wait_time cpu_wait_between(const struct cpu_wait_look *begin,
                                      const struct cpu_wait_look *end);
