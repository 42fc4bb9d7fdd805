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

#define RUN_QUEUE_MAX_THREADS 1024          /* of more nothing is known */
#define RUN_QUEUE_MAX_NS (INT64_C(1) << 52) /* 52 days of a thread; beyond, it is not known */

struct run_queue_thread {
    int64_t tid;
    int64_t run_ns, wait_ns; /* since the thread began */
};
/* Zero-initialised: nothing is known. */
struct run_queue_look {
    VEC(struct run_queue_thread) threads; /* by rising tid */
};
/* Takes the place of what *look holds. No threads: this kernel does not count (CONFIG_SCHED_INFO),
 * or hides it. `root` is "" for this machine. Reads a file for each thread: about 10 us each. */
void run_queue_look(const char *root, struct run_queue_look *look);
void run_queue_look_done(struct run_queue_look *look);

struct run_queue_time {
    int64_t run_ns, wait_ns; /* of all threads together; run_ns 0: not known */
};
/* Between two looks. Not known also where a thread of the first has ended since. */
struct run_queue_time run_queue_between(const struct run_queue_look *begin,
                                        const struct run_queue_look *end);
