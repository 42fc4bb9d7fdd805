/* How the ranks of one host get each other's segments: over a local socket that has a name
 * only in the kernel's list (an abstract one), so it needs no folder that two containers would
 * have to share, and nothing is left of it. Ranks that are in other network namespaces, or on
 * other hosts, do not find it.
 *
 *     asking rank                           giving rank
 *     ASK   ranks, nonce, tag         ->
 *                                     <-    GIVE  tag; with it: the segment, the doorbell
 *     reads the nonce out of the memory, and compares the tag with what it must be
 *
 * Name and tags are HMACs under a key of the run's secret, over both ranks and both nonces. So only
 * a rank of this attempt is given a descriptor, and the asking rank knows that the memory that it
 * has mapped is that of the rank that it asked. The other process must also have the same user. */
#pragma once

#include "worker/comm/link/frame.h"
#include "worker/comm/link/net.h"
#include "worker/comm/shm/shm_segment.h"

#define SHM_ASK_SIZE 80
#define SHM_GIVE_SIZE 40

/* The key of an attempt. `self` may be any of its ranks. */
void shm_pass_key(const uint8_t secret[static AUTH_SECRET_SIZE], const struct frame_id *self,
                  struct auth_key *ret);

/* The messages. Pure. */
void shm_ask_encode(const struct auth_key *key, uint32_t from, uint32_t to,
                    const uint8_t nonce[static AUTH_NONCE_SIZE], uint8_t ret[static SHM_ASK_SIZE]);
/* True if a rank of this attempt, and less than n_ranks, asks `self`. */
bool shm_ask_read(const struct auth_key *key, uint32_t self, uint32_t n_ranks, const uint8_t *data,
                  size_t n, uint32_t *ret_from, uint8_t ret_nonce[static AUTH_NONCE_SIZE]);

/* Returns a listening socket for those who ask rank `self`. */
int shm_pass_listen(const struct auth_key *key, uint32_t self, struct err *err);
/* Accepts and answers whoever asks. Strangers are turned away. It waits a few ms at most for one
 * that says nothing. False: no process asks now. */
bool shm_pass_answer(struct net_listener *l, int64_t now_ns, const struct auth_key *key,
                     uint32_t self, uint32_t n_ranks, const struct shm_segment *own,
                     int doorbell_fd);
/* One rank asks another for its segment and its doorbell (doorbell.h), in
 * turns, without waiting. */
struct shm_ask {
    int fd; /* -1: not connected; the answer comes here */
    uint8_t nonce[AUTH_NONCE_SIZE];
};
#define SHM_ASK_INIT ((struct shm_ask){.fd = -1})
#define SHM_ASK_AGAIN_MS 5 /* a rank that has hung up */
/* Asks rank `to`, or reads its answer. 1: *ret and *ret_doorbell_fd are the caller's; 0: not yet:
 * call it again when fd is readable, or after SHM_ASK_AGAIN_MS if that is -1, since a rank that was
 * too busy to read the question has hung up. -ENOENT: it does not see that rank; -EPROTO: what it
 * was given is not right. It is done unless it returns 0. */
int shm_ask_turn(struct shm_ask *ask, const struct auth_key *key, uint32_t self, uint32_t to,
                 const struct shm_layout *layout, struct shm_segment *ret, int *ret_doorbell_fd,
                 struct err *err);
/* To give up. May be called again. */
void shm_ask_done(struct shm_ask *ask);
