/* A process and the others of its gang that run on the same host: it gives its own memory and its
 * doorbell to those that ask, asks them for theirs (shm_pass.h), and maps what they give. What
 * differs is agreed on over TCP: who asks whom, when, and what follows from the answers. A ring
 * passes a frame round (ring_share.h), a trainer and a server talk it over (lend.h).
 *
 *     init ---> open ---> ask, answer ---> stop_giving ---> done
 *
 * Processes have numbers from 0 on: ranks; or servers, then trainers. Those that are asked may be
 * busy, so nothing here waits for them: the caller polls what shm_peers_poll says, and calls again.
 */
#pragma once

#include <poll.h>

#include "worker/comm/shm/doorbell.h"
#include "worker/comm/shm/shm_pass.h"

struct shm_peer { /* another process, as this one sees it */
    struct shm_ask ask;
    int64_t asks_until_ns;      /* 0: it is not asked now */
    struct shm_segment segment; /* at NULL: this process does not see it */
    int doorbell_fd;            /* -1: none */
};

struct shm_peers {
    struct frame_id id;
    uint32_t self, n; /* this process; those less than n may ask it, and be asked */
    struct auth_key key;
    struct net_listener listener; /* fd -1: gives nothing to anybody */
    struct shm_segment own;       /* at NULL: none */
    struct doorbell bell;         /* others ring it when this process sleeps */
    struct shm_peer *peers;       /* (n) that of this process is not used; NULL: not wanted */
    uint32_t n_asked;             /* by shm_peers_ask_all */
    int64_t asks_until_ns;        /* the same; 0: it has not begun */
    char why[SHARE_WHY_MAX + 1];  /* why this process cannot share, also after done; "": it can */
};

/* Shared memory is not wanted, and there is nothing to end. */
#define SHM_PEERS_NONE                                                                             \
    ((struct shm_peers){.listener = {.fd = -1}, .own = {.fd = -1}, .bell = DOORBELL_INIT})

/* This process is number `self`; it gives and asks nothing yet. */
void shm_peers_init(struct shm_peers *p, const uint8_t secret[static AUTH_SECRET_SIZE],
                    const struct frame_id *id, uint32_t self, uint32_t n);
/* Makes its segment and its doorbell, and listens for those that ask. If it fails, nothing is
 * left of them. */
int shm_peers_open(struct shm_peers *p, const struct shm_layout *layout, struct err *err);
/* Gives up what open has made. */
void shm_peers_close(struct shm_peers *p);
/* Notes why this process cannot share, with its name. The first reason counts. */
void shm_peers_cannot(struct shm_peers *p, const struct err *why);
/* All have asked: a process that asks from now on is a stranger. */
void shm_peers_stop_giving(struct shm_peers *p);
/* Unmaps what peer i has given, or gives up asking it. */
void shm_peers_forget(struct shm_peers *p, uint32_t i);
void shm_peers_forget_all(struct shm_peers *p);
void shm_peers_done(struct shm_peers *p);

/* What to poll for POLLIN before the next turn, at most 1 + those that are asked now. Returns how
 * many; *timeout_ms gets less if one is to be asked again soon, which no descriptor signals. */
size_t shm_peers_poll(const struct shm_peers *p, int64_t now_ns, struct pollfd *ret,
                      int *timeout_ms);
/* Answers those that ask, some at a time. Call it in every turn. */
void shm_peers_answer(struct shm_peers *p, int64_t now_ns);
/* Asks peer i, from the first call on as long as the rendezvous, and 3 s where less is left of it.
 * 1: its segment, of that layout, is mapped; 0: not yet, call it in the next turn; -Exxx: it cannot
 * be had. is_there: the peer was seen on this host; if it is not there now it has ended, which its
 * connection shows. */
int shm_peers_ask(struct shm_peers *p, uint32_t i, const struct shm_layout *layout, bool is_there,
                  int64_t now_ns, int64_t rendezvous_by_ns, struct err *err);
/* Asks all others, one after the other, within one such limit, for segments like its own. False:
 * not yet, call it in the next turn. True: this process sees all, or `why` says why not. */
bool shm_peers_ask_all(struct shm_peers *p, bool are_there, int64_t now_ns,
                       int64_t rendezvous_by_ns);

/* True if it sees all. Without it, no verdict that all share memory may be believed. */
bool shm_peers_sees_all(const struct shm_peers *p);

/* The segment of any process, this one too. */
static inline const struct shm_segment *shm_peers_segment(const struct shm_peers *p, uint32_t i)
{
    return i == p->self ? &p->own : &p->peers[i].segment;
}
/* Rings those that sleep, after a change of what they look at (shm_segment.h). Call it when all are
 * seen. */
void shm_peers_wake(const struct shm_peers *p);
