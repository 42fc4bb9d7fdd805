/* Agreeing on shared memory, see mesh_share.h. */
#include "worker/comm/collective/mesh_share.h"

#include <poll.h>

#include "base/ascii.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "worker/comm/collective/collective_sum.h"
#include "worker/comm/collective/mesh.h"

void mesh_share_init(struct mesh *m)
{
    struct mesh_share *s = &m->share;
    s->shm = SHM_PEERS_NONE;
    const uint32_t n_ranks = m->params.n_ranks;
    if (n_ranks == 1 || m->params.transport == EXCHANGE_TRANSPORT_TCP) {
        return;
    }
    s->numbers = xnew_array(const float *, n_ranks);
    s->n_copied = xnew_array(uint32_t, n_ranks);
    s->scratch = xnew_array(float, COLLECTIVE_SUM_SCRATCH);
    const size_t n_max = m->params.n_max;
    const struct shm_layout layout = shm_layout_of(2 * MESH_SLOT_FLOATS + n_max, MESH_WORDS);
    struct err why = {0};
    shm_peers_init(&s->shm, m->params.gang.secret, &m->params.gang.self, mesh_self(m), n_ranks);
    if (shm_peers_open(&s->shm, &layout, &why) < 0 ||
        shm_segment_reserve(&s->shm.own, 0, n_max, &why) < 0) {
        shm_peers_cannot(&s->shm, &why);
    }
}

void mesh_share_done(struct mesh *m)
{
    shm_peers_done(&m->share.shm);
    free(m->share.numbers);
    free(m->share.n_copied);
    free(m->share.scratch);
}

/* ---- the verdict ---- */

/* The lowest rank that cannot, with its reason in `why` of all ranks; n_ranks: all can. */
static int who_cannot(struct mesh *m, uint32_t *ret, struct err *err)
{
    char *const why = m->share.shm.why;
    const uint32_t n_ranks = m->params.n_ranks;
    float flags[COLLECTIVE_RANKS_MAX] = {0}, text[SHARE_WHY_MAX] = {0};
    uint32_t first = 0;
    flags[mesh_self(m)] = why[0] != '\0';
    const int e = mesh_all_reduce(m, flags, flags, n_ranks, err);
    while (e >= 0 && first < n_ranks && flags[first] == 0) {
        first++;
    }
    *ret = first;
    if (e < 0 || first == n_ranks) {
        return e;
    }
    for (size_t i = 0; first == mesh_self(m) && why[i] != '\0'; i++) {
        text[i] = (float)(unsigned char)why[i];
    }
    const int sent = mesh_all_reduce(m, text, text, SHARE_WHY_MAX, err);
    for (size_t i = 0; sent >= 0 && i < SHARE_WHY_MAX; i++) {
        const int c = text[i] >= 0 && text[i] < 128 ? (int)text[i] : '?';
        why[i] = c == 0 || ascii_is_print(c) ? (char)c : '?';
    }
    return sent;
}

/* Until all others have answered, or `why` says why not. < 0: this rank must end. */
static int ask_others(struct mesh *m, struct err *err)
{
    struct shm_peers *shm = &m->share.shm;
    int e = 0;
    m->meet.now_ns = clock_monotonic_ns();
    while (e >= 0 && !shm_peers_ask_all(shm, false, m->meet.now_ns, m->meet.rendezvous_by_ns)) {
        struct pollfd fds[2];
        int timeout_ms = MESH_TICK_MS;
        const size_t n = shm_peers_poll(shm, m->meet.now_ns, fds, &timeout_ms);
        (void)poll(fds, n, timeout_ms); /* an error: it asks */
        e = mesh_beat(m, err);          /* answers, too */
    }
    return e;
}

static int decide(struct mesh *m, bool is_shared, struct err *err)
{
    struct shm_peers *shm = &m->share.shm;
    shm_peers_stop_giving(shm);
    m->share.is_shared = is_shared;
    if (is_shared) {
        return 0;
    }
    if (m->params.transport == EXCHANGE_TRANSPORT_SHARED_MEMORY) {
        return err_set(err, ENOTSUP, "shared memory: %s", shm->why);
    }
    if (mesh_self(m) == 0) {
        log_event(LOG_LEVEL_INFO, "the ranks add up over TCP", "why", shm->why, NULL);
    }
    shm_peers_done(shm);
    return 0;
}

int mesh_share_agree(struct mesh *m, struct err *err)
{
    const uint32_t n_ranks = m->params.n_ranks;
    if (m->share.shm.peers == NULL) {
        return 0; /* it is not wanted */
    }
    uint32_t who;
    int e = who_cannot(m, &who, err);
    if (e >= 0 && who == n_ranks) {
        e = ask_others(m, err);
        e = e < 0 ? e : who_cannot(m, &who, err);
        if (e >= 0 && who == n_ranks && !shm_peers_sees_all(&m->share.shm)) {
            e = err_set(err, EPROTO, "the ranks say that all share memory, but this one sees less");
        }
    }
    return e < 0 ? e : decide(m, who == n_ranks, err);
}
