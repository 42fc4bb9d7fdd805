/* Life signs: when to send one, when a peer is lost, when we ourselves were away. Pure. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define HEARTBEAT_PERIOD_NS INT64_C(1000000000)
#define HEARTBEAT_SILENCE_NS INT64_C(6000000000)
/* Peers count from our last life sign: up to a period before we were stopped, and delays. */
#define HEARTBEAT_DOUBT_NS (HEARTBEAT_SILENCE_NS - 2 * HEARTBEAT_PERIOD_NS)
/* One that gave us up just before our next life sign reached it takes up to a second to tell the
 * others, and closes its connection to us behind that. */
#define HEARTBEAT_AFTERMATH_NS (2 * HEARTBEAT_PERIOD_NS)

/* Of one process: notices that it did not run (SIGSTOP, a frozen cgroup) for so long that its peers
 * must, or may, have given it up, so that it does not blame them when it wakes. */
struct heartbeat_self {
    int64_t last_turn_ns;     /* 0: none yet */
    int64_t woke_ns, away_ns; /* the last absence of HEARTBEAT_DOUBT_NS or more; 0: none yet */
};
/* Call it once each turn of the loop: true if the turn before is HEARTBEAT_SILENCE_NS or more ago. */
bool heartbeat_was_away(struct heartbeat_self *self, int64_t now_ns, int64_t *ret_away_ns);
/* Ask it before a peer is blamed that went or says nothing, with the time of asking, not the turn's:
 * true if we were away for HEARTBEAT_DOUBT_NS in this turn, or before and woke lately. */
bool heartbeat_may_be_given_up(const struct heartbeat_self *self, int64_t now_ns,
                               int64_t *ret_away_ns);

/* Of one connection, since the handshake. */
struct heartbeat {
    int64_t last_sent_ns, last_heard_ns;
};
void heartbeat_init(struct heartbeat *h, int64_t now_ns);
/* True once a period; counts as sent. */
bool heartbeat_is_due(struct heartbeat *h, int64_t now_ns);
bool heartbeat_is_lost(const struct heartbeat *h, int64_t now_ns);
