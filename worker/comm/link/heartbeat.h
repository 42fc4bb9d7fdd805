/* Heartbeats: when to send one, when a peer counts as lost, and when this process itself did not
 * run for so long that its peers count it as lost. Pure. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define HEARTBEAT_PERIOD_NS INT64_C(1000000000)
#define HEARTBEAT_SILENCE_NS INT64_C(6000000000) /* unless the user sets another limit */
/* An absence that is shorter than the limit by so much may have made peers declare this process
 * lost: they count from its last heartbeat, which was sent up to a period before it was stopped.
 * The other period is for delays. */
#define HEARTBEAT_DOUBT_NS (2 * HEARTBEAT_PERIOD_NS)
/* A peer that declared this process lost just before its next heartbeat takes up to a second to
 * report that to the others, and closes the connection after that. */
#define HEARTBEAT_AFTERMATH_NS (2 * HEARTBEAT_PERIOD_NS)

/* Of one process. Detects that the process did not run (SIGSTOP, a frozen cgroup) for so long that
 * its peers must, or may, have declared it lost, so that it does not blame them
 * when it continues. */
struct heartbeat_self {
    int64_t silence_ns;   /* the limit, for this process and its peers; 0: HEARTBEAT_SILENCE_NS */
    int64_t last_turn_ns; /* 0: none yet */
    int64_t woke_ns, away_ns; /* the last absence that left doubt; 0: none yet */
};
/* The limit, of a setting. */
int64_t heartbeat_limit_ns(int64_t silence_ns);
/* Before the first turn, which may wait itself: a process may be stopped in it. */
void heartbeat_begin(struct heartbeat_self *self, int64_t silence_ns, int64_t now_ns);
/* Call it once in each turn of the loop. True if the turn before was as long ago as the limit, or
 * longer. */
bool heartbeat_was_away(struct heartbeat_self *self, int64_t now_ns, int64_t *ret_away_ns);
/* Call it before a peer is blamed for closing the connection or for silence, with the time of the
 * call, not that of the turn. True if this process was away for the limit less HEARTBEAT_DOUBT_NS
 * or more, in this turn or in one that ended at most HEARTBEAT_AFTERMATH_NS ago. */
bool heartbeat_may_be_given_up(const struct heartbeat_self *self, int64_t now_ns,
                               int64_t *ret_away_ns);

/* Of one connection, from the handshake on. */
struct heartbeat {
    int64_t last_sent_ns, last_heard_ns;
};
void heartbeat_init(struct heartbeat *h, int64_t now_ns);
/* True once per period; the caller then sends a heartbeat. */
bool heartbeat_is_due(struct heartbeat *h, int64_t now_ns);
bool heartbeat_is_lost(const struct heartbeat *h, const struct heartbeat_self *self,
                       int64_t now_ns);

/* ---- the main thread ---- */

/* Whether the main thread of a trainer is stuck. The communication thread sends life signs whatever
 * the main thread does, so a main thread that is stuck (its stdout is not read, its data are a dead
 * network file system or a FIFO, a debugger holds it) would hold up the gang for ever while all
 * look alive. A thread that computes, reads or swaps uses CPU time; one that is stuck uses none. No
 * limit is set to the length of a step. */
#define WATCHDOG_LIMIT_NS INT64_C(8000000000)
/* Less than this in all that time is noise of the clocks. */
#define WATCHDOG_CPU_NS INT64_C(1000000)
/* Of the time between two looks at most so much counts: if it was longer, this process was stopped
 * or starved as a whole, which heartbeat_self is for. */
#define WATCHDOG_LOOK_NS INT64_C(1000000000)

struct watchdog { /* zeros: the main thread has just begun to work */
    bool has_looked;
    int64_t looked_ns, cpu_ns, idle_ns;
};
/* Call it several times a second while the main thread works, with the CPU time of all threads but
 * the communication thread. True if it has been stuck for WATCHDOG_LIMIT_NS. */
bool watchdog_is_stuck(struct watchdog *w, int64_t cpu_ns, int64_t now_ns);
