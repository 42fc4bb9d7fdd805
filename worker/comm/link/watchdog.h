/* Whether the main thread of a trainer is stuck. The communication thread sends life signs whatever
 * the main thread does, so a main thread that is stuck (its stdout is not read, its data are a dead
 * network file system or a FIFO, a debugger holds it) would hold up the gang for ever while all
 * look alive. A thread that computes, reads or swaps uses CPU time; one that is stuck uses none. No
 * limit is set to the length of a step. Pure. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define WATCHDOG_LIMIT_NS INT64_C(8000000000)
/* Less than this in all that time is noise of the clocks. */
#define WATCHDOG_CPU_NS INT64_C(1000000)
/* Of the time between two looks at most so much counts: if it was longer, this process was stopped
 * or starved as a whole, which heartbeat.h deals with. */
#define WATCHDOG_LOOK_NS INT64_C(1000000000)

struct watchdog { /* zeros: the main thread has just begun to work */
    bool has_looked;
    int64_t looked_ns, cpu_ns, idle_ns;
};
/* Call it several times a second while the main thread works, with the CPU time of all threads but
 * the communication thread. True if it has been stuck for WATCHDOG_LIMIT_NS. */
bool watchdog_is_stuck(struct watchdog *w, int64_t cpu_ns, int64_t now_ns);
