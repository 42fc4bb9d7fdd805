/* Agreeing on shared memory, see mesh_share.h. */
#include "worker/comm/collective/mesh_share.h"

#include <ctype.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "worker/comm/collective/collective_sum.h"
#include "worker/comm/collective/mesh.h"

/* ---- begin and end ---- */

static int begin(struct mesh *m, struct err *err)
{
    struct mesh_share *s = &m->share;
    s->layout = shm_layout_of(2 * MESH_SLOT_FLOATS + m->params.n_max, MESH_WORDS);
    int e = shm_segment_new(&s->segment, &s->layout, err);
    e = e < 0 ? e : shm_segment_reserve(&s->segment, 0, m->params.n_max, err);
    e = e < 0 ? e : doorbell_new(&s->bell, err);
    if (e < 0) {
        return e;
    }
    shm_pass_key(m->params.secret, &m->params.self, &s->key);
    s->listener.fd = shm_pass_listen(&s->key, mesh_self(m), err);
    return s->listener.fd;
}

/* The first reason counts. */
static void cannot(struct mesh *m, const char *what)
{
    struct mesh_share *s = &m->share;
    if (s->why[0] == '\0') {
        (void)snprintf(s->why, sizeof(s->why), "worker/%u: %.170s", mesh_self(m), what); /* fits */
    }
}

void mesh_share_init(struct mesh *m)
{
    struct mesh_share *s = &m->share;
    *s = (struct mesh_share){.listener = {.fd = -1}, .bell = DOORBELL_INIT, .segment = {.fd = -1}};
    const uint32_t n_ranks = m->params.n_ranks;
    if (n_ranks == 1 || m->params.transport == EXCHANGE_TRANSPORT_TCP) {
        return;
    }
    s->peers = xnew_array(struct shm_segment, n_ranks);
    s->doorbells = xnew_array(int, n_ranks);
    s->numbers = xnew_array(const float *, n_ranks);
    s->n_copied = xnew_array(uint32_t, n_ranks);
    s->scratch = xnew_array(float, COLLECTIVE_SUM_SCRATCH);
    for (uint32_t i = 0; i < n_ranks; i++) {
        s->peers[i].fd = s->doorbells[i] = -1;
    }
    struct err why = {0};
    if (begin(m, &why) < 0) {
        cannot(m, why.msg);
    }
}

static void stop_giving(struct mesh_share *s)
{
    if (s->listener.fd >= 0) {
        (void)close(s->listener.fd); /* a process that asks now is a stranger */
        s->listener.fd = -1;
    }
}

void mesh_share_done(struct mesh *m)
{
    struct mesh_share *s = &m->share;
    stop_giving(s);
    for (uint32_t i = 0; s->peers != NULL && i < m->params.n_ranks; i++) {
        shm_segment_done(&s->peers[i]);
        if (s->doorbells[i] >= 0) {
            (void)close(s->doorbells[i]); /* nothing to lose */
        }
    }
    doorbell_done(&s->bell);
    free(s->peers);
    free(s->doorbells);
    free(s->numbers);
    free(s->n_copied);
    free(s->scratch);
    shm_segment_done(&s->segment);
    *s = (struct mesh_share){.listener = {.fd = -1}, .bell = DOORBELL_INIT, .segment = {.fd = -1}};
}

/* ---- the verdict ---- */

/* The lowest rank that cannot, with its reason in s->why of all ranks; n_ranks: all can. */
static int who_cannot(struct mesh *m, uint32_t *ret, struct err *err)
{
    struct mesh_share *s = &m->share;
    const uint32_t n_ranks = m->params.n_ranks;
    float flags[COLLECTIVE_RANKS_MAX] = {0}, text[SHARE_WHY_MAX] = {0};
    uint32_t first = 0;
    flags[mesh_self(m)] = s->why[0] != '\0';
    const int e = mesh_all_reduce(m, flags, flags, n_ranks, err);
    while (e >= 0 && first < n_ranks && flags[first] == 0) {
        first++;
    }
    *ret = first;
    if (e < 0 || first == n_ranks) {
        return e;
    }
    for (size_t i = 0; first == mesh_self(m) && s->why[i] != '\0'; i++) {
        text[i] = (float)(unsigned char)s->why[i];
    }
    const int sent = mesh_all_reduce(m, text, text, SHARE_WHY_MAX, err);
    for (size_t i = 0; sent >= 0 && i < SHARE_WHY_MAX; i++) {
        const int c = text[i] >= 0 && text[i] < 128 ? (int)text[i] : '?';
        s->why[i] = c == 0 || isprint(c) ? (char)c : '?';
    }
    return sent;
}

/* Until the answer of one rank is there, or not to be had. < 0: this rank must end. */
static int ask_one(struct mesh *m, uint32_t rank, int64_t until_ns, struct err *err)
{
    struct mesh_share *s = &m->share;
    struct shm_ask ask = SHM_ASK_INIT;
    struct err why = {0};
    int e = 0, asked = 0;
    while (e >= 0 && asked == 0) {
        struct pollfd fds[2] = {
            {.fd = net_listener_poll(&s->listener, m->now_ns), .events = POLLIN},
            {.fd = ask.fd, .events = POLLIN}};
        asked = shm_ask_turn(&ask, &s->key, mesh_self(m), rank, &s->layout, &s->peers[rank],
                             &s->doorbells[rank], &why);
        if (asked == 0) {
            fds[1].fd = ask.fd;
            (void)poll(fds, 2,
                       ask.fd < 0 ? SHM_ASK_AGAIN_MS : MESH_TICK_MS); /* an error: it asks */
            e = mesh_beat(m, err);                                    /* answers, too */
        }
        if (asked == 0 && m->now_ns >= until_ns) {
            asked = err_set(&why, ETIMEDOUT, "no answer on its local socket");
        }
    }
    shm_ask_done(&ask);
    if (asked < 0) {
        char text[SHARE_WHY_MAX + 1];
        (void)snprintf(text, sizeof(text), "it does not see the memory of worker/%u: %.120s", rank,
                       why.msg); /* fits */
        cannot(m, text);
    }
    return e;
}

static int decide(struct mesh *m, bool is_shared, struct err *err)
{
    struct mesh_share *s = &m->share;
    stop_giving(s);
    s->is_shared = is_shared;
    if (is_shared) {
        return 0;
    }
    if (m->params.transport == EXCHANGE_TRANSPORT_SHARED_MEMORY) {
        return err_set(err, ENOTSUP, "shared memory: %s", s->why);
    }
    if (mesh_self(m) == 0) {
        log_event(LOG_LEVEL_INFO, "the ranks add up over TCP", "why", s->why, NULL);
    }
    char why[sizeof(s->why)];
    memcpy(why, s->why, sizeof(why));
    mesh_share_done(m);
    memcpy(s->why, why, sizeof(why));
    return 0;
}

int mesh_share_agree(struct mesh *m, struct err *err)
{
    const uint32_t n_ranks = m->params.n_ranks;
    struct mesh_share *s = &m->share;
    if (s->peers == NULL) {
        return 0; /* it is not wanted */
    }
    uint32_t who;
    int e = who_cannot(m, &who, err);
    if (e >= 0 && who == n_ranks) {
        const int64_t until_ns = shm_ask_until(clock_monotonic_ns(), m->rendezvous_by_ns);
        for (uint32_t i = 0; i < n_ranks && e >= 0 && s->why[0] == '\0'; i++) {
            e = i == mesh_self(m) ? 0 : ask_one(m, i, until_ns, err);
        }
        e = e < 0 ? e : who_cannot(m, &who, err);
    }
    return e < 0 ? e : decide(m, who == n_ranks, err);
}
