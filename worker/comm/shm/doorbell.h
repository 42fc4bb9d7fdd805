/* Wakes a process that sleeps until another one has changed memory that both see
 * (ring_shm.h): a pair of local datagram sockets. Its owner sleeps on one end, and hands the other
 * one to those who ring (shm_pass.h).
 *
 * The process that rings trusts neither the descriptor that it was handed nor what the owner does
 * with it later. The owner shares the open file, so it could fill it, make it block, or close the
 * other end: a ring never waits and raises no signal. An eventfd cannot promise that: only its own
 * flag keeps a write from waiting, and the owner can clear that. A ring that is lost costs only the
 * owner time: it sleeps for a limited time only. */
#pragma once

#include "base/err.h"

struct doorbell {
    int fd;      /* the owner's end: readable once somebody has rung; -1: none */
    int hand_fd; /* the end for the others; -1: none */
};
#define DOORBELL_INIT ((struct doorbell){-1, -1})

int doorbell_new(struct doorbell *b, struct err *err);
void doorbell_done(struct doorbell *b);
/* Call it when awake, before looking at what others have changed: what rings from
 * then on wakes again. */
void doorbell_clear(const struct doorbell *b);

/* Of an end that another process has handed over. -EPROTO: it is something else. */
int doorbell_check(int hand_fd, struct err *err);
void doorbell_ring(int hand_fd);
