/* Addresses and sockets of the exchange: listening, and connecting without ever blocking. */
#pragma once

#include <netdb.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

#define NET_ADDR_SIZE 288

struct net_addr { /* "host:port", "[::1]:port" in parts */
    char host[256];
    char port[8];
    char text[NET_ADDR_SIZE]; /* as given, for messages */
};
/* -EINVAL with a hint. Port 0 is allowed and means any free port. */
int net_addr_parse(const char *text, struct net_addr *ret, struct err *err);

/* Returns a listening, non-blocking socket. */
int net_listen(const struct net_addr *addr, struct err *err);
/* A listening socket. While no descriptor (or memory) is free for another connection it rests,
 * because poll would report the one that waits again and again.
 *
 *             net_accept: none is free           NET_REST_NS later
 *     open -----------------------------> rests --------------------> open */
struct net_listener {
    int fd;
    int64_t rests_until_ns; /* 0: it does not rest */
    bool is_logged;         /* that it has rested, since it accepted one */
};
#define NET_REST_NS INT64_C(100000000)
/* Returns a connection; -EAGAIN: none waits, or the listener rests; -EMFILE, -ENFILE, -ENOMEM or
 * -ENOBUFS: one waits, and there is no room for it. The first of these is logged. */
int net_accept(struct net_listener *l, int64_t now_ns, struct err *err);
/* What to poll: -1 while it rests. */
int net_listener_poll(const struct net_listener *l, int64_t now_ns);

/* Sets the options of every connection of the exchange: no delay, close on exec, non-blocking. */
int net_tune(int fd, struct err *err);

struct dial_lookup;

/* How long one connect may take. The kernel itself gives up after two minutes and more, and in that
 * time a name may have moved to another address. */
#define DIAL_ATTEMPT_NS INT64_C(3000000000)

/* How long the peer may take for its first word: whoever accepts connections and then says nothing
 * may be a process that the name no longer means. */
#define DIAL_ANSWER_NS INT64_C(30000000000)

/* Name look-up and connect as a state machine, which starts again after a failure. Each address of
 * the name has DIAL_ATTEMPT_NS; after the last one the name is looked up again. */
struct dial {
    struct net_addr addr;
    enum { DIAL_WAIT, DIAL_RESOLVE, DIAL_CONNECT } state;
    int fd;                     /* poll it for POLLOUT; -1: nothing to poll, step again soon */
    char why[160];              /* the last failure, "" if none */
    int64_t again_ns;           /* when to try again, in DIAL_WAIT */
    int64_t connect_by_ns;      /* the time limit of this attempt, in DIAL_CONNECT */
    int64_t answer_by_ns;       /* of the peer's first word on the connection that it returned */
    struct dial_lookup *lookup; /* owned */
    const struct addrinfo *next;
};
void dial_init(struct dial *d, const struct net_addr *addr);
/* Returns the connected socket, which is then the caller's, or -EAGAIN if none exists yet. */
int dial_step(struct dial *d, int64_t now_ns);
/* The connection failed after dial_step returned it (closed in the handshake): try again later. */
void dial_again(struct dial *d, int64_t now_ns, const char *why);
void dial_done(struct dial *d);
/* Reasons to dial again. */
#define DIAL_CLOSED "it closed the connection during the handshake"
#define DIAL_SILENT "it accepted the connection and said nothing for 30 s"
