/* A process and the others of its host, see shm_peers.h. */
#include "worker/comm/shm/shm_peers.h"

#include <stdio.h>

#include "base/fd.h"
#include "base/mem.h"

/* How many requests are answered in one turn: a stranger may ask again and again. */
#define ANSWERS_A_TURN 8
#define ASK_LEAST_NS INT64_C(3000000000)

static const struct shm_peer unseen = {
    .ask = SHM_ASK_INIT, .segment = {.fd = -1}, .doorbell_fd = -1};

/* ---- begin and end ---- */

void shm_peers_init(struct shm_peers *p, const uint8_t secret[static AUTH_SECRET_SIZE],
                    const struct frame_id *id, uint32_t self, uint32_t n)
{
    *p = SHM_PEERS_NONE;
    p->id = *id;
    p->self = self;
    p->n = n;
    p->peers = xnew_array(struct shm_peer, n);
    for (uint32_t i = 0; i < n; i++) {
        p->peers[i] = unseen;
    }
    shm_pass_key(secret, id, &p->key);
}

int shm_peers_open(struct shm_peers *p, const struct shm_layout *layout, struct err *err)
{
    int r = shm_segment_new(&p->own, layout, err);
    r = r < 0 ? r : doorbell_new(&p->bell, err);
    r = r < 0 ? r : shm_pass_listen(&p->key, p->self, err);
    if (r < 0) {
        shm_peers_close(p);
        return r;
    }
    p->listener = (struct net_listener){.fd = r};
    return 0;
}

void shm_peers_close(struct shm_peers *p)
{
    shm_peers_stop_giving(p);
    doorbell_done(&p->bell);
    shm_segment_done(&p->own);
}

void shm_peers_cannot(struct shm_peers *p, const struct err *why)
{
    if (p->why[0] == '\0') {
        char name[32];
        frame_id_name(&p->id, name);
        (void)snprintf(p->why, sizeof(p->why), "%s: %.160s", name, why->msg); /* fits */
    }
}

void shm_peers_stop_giving(struct shm_peers *p)
{
    fd_close(&p->listener.fd); /* what was sent stays readable */
}

void shm_peers_forget(struct shm_peers *p, uint32_t i)
{
    struct shm_peer *peer = &p->peers[i];
    shm_ask_done(&peer->ask);
    shm_segment_done(&peer->segment);
    fd_close(&peer->doorbell_fd);
    *peer = unseen;
}

void shm_peers_forget_all(struct shm_peers *p)
{
    for (uint32_t i = 0; p->peers != NULL && i < p->n; i++) {
        shm_peers_forget(p, i);
    }
}

void shm_peers_done(struct shm_peers *p)
{
    shm_peers_close(p);
    shm_peers_forget_all(p);
    free(p->peers);
    p->peers = NULL;
}

/* ---- asking and answering ---- */

size_t shm_peers_poll(const struct shm_peers *p, int64_t now_ns, struct pollfd *ret,
                      int *timeout_ms)
{
    size_t n = 0;
    ret[n++] = (struct pollfd){.fd = net_listener_poll(&p->listener, now_ns), .events = POLLIN};
    for (uint32_t i = 0; p->peers != NULL && i < p->n; i++) {
        const struct shm_peer *peer = &p->peers[i];
        if (peer->asks_until_ns == 0) {
            continue;
        }
        ret[n++] = (struct pollfd){.fd = peer->ask.fd, .events = POLLIN};
        if (peer->ask.fd < 0 && *timeout_ms > SHM_ASK_AGAIN_MS) {
            *timeout_ms = SHM_ASK_AGAIN_MS;
        }
    }
    return n;
}

void shm_peers_answer(struct shm_peers *p, int64_t now_ns)
{
    for (int i = 0; i < ANSWERS_A_TURN && p->listener.fd >= 0; i++) {
        if (!shm_pass_answer(&p->listener, now_ns, &p->key, p->self, p->n, &p->own,
                             p->bell.hand_fd)) {
            return;
        }
    }
}

static int64_t ask_until(int64_t now_ns, int64_t rendezvous_by_ns)
{
    const int64_t least_ns = now_ns + ASK_LEAST_NS;
    return least_ns > rendezvous_by_ns ? least_ns : rendezvous_by_ns;
}

int shm_peers_ask(struct shm_peers *p, uint32_t i, const struct shm_layout *layout, bool is_there,
                  int64_t now_ns, int64_t rendezvous_by_ns, struct err *err)
{
    struct shm_peer *peer = &p->peers[i];
    if (peer->asks_until_ns == 0) {
        peer->asks_until_ns = ask_until(now_ns, rendezvous_by_ns);
    }
    int r = shm_ask_turn(&peer->ask, &p->key, p->self, i, layout, &peer->segment,
                         &peer->doorbell_fd, err);
    r = r == -ENOENT && is_there ? 0 : r;
    if (r == 0 && now_ns < peer->asks_until_ns) {
        return 0;
    }
    shm_ask_done(&peer->ask);
    peer->asks_until_ns = 0;
    return r == 0 ? err_set(err, ETIMEDOUT, "no answer on its local socket") : r;
}

bool shm_peers_ask_all(struct shm_peers *p, bool are_there, int64_t now_ns,
                       int64_t rendezvous_by_ns)
{
    if (p->asks_until_ns == 0) {
        p->asks_until_ns = ask_until(now_ns, rendezvous_by_ns);
    }
    for (; p->n_asked < p->n && p->why[0] == '\0'; p->n_asked++) {
        const uint32_t i = p->n_asked;
        if (i == p->self) {
            continue;
        }
        struct err err = {0};
        p->peers[i].asks_until_ns = p->asks_until_ns;
        const int r =
            shm_peers_ask(p, i, &p->own.layout, are_there, now_ns, rendezvous_by_ns, &err);
        if (r == 0) {
            return false;
        }
        if (r < 0) {
            (void)err_wrap(&err, r, "it does not see the memory of worker/%u", i);
            shm_peers_cannot(p, &err);
        }
    }
    return true;
}

bool shm_peers_sees_all(const struct shm_peers *p)
{
    return p->n_asked == p->n && p->why[0] == '\0';
}

void shm_peers_wake(const struct shm_peers *p)
{
    for (uint32_t i = 0; i < p->n; i++) {
        if (i != p->self && atomic_load(&p->peers[i].segment.control->sleeps) != 0) {
            doorbell_ring(p->peers[i].doorbell_fd);
        }
    }
}
