/* All-reduce through shared memory, see mesh_shm.h. */
#include "worker/comm/collective/mesh_shm.h"

#include <inttypes.h>
#include <poll.h>
#include <sched.h>
#include <string.h>

#include "base/clock.h"
#include "worker/comm/collective/collective_sum.h"
#include "worker/comm/collective/mesh.h"
#include "worker/tensor/one_pass.h"

/* A rank looks so often without a pause, as long as others have a CPU of their own; then it lets
 * them have this one, for so long; then it sleeps. */
#define LOOKS 500
#define SPIN_NS INT64_C(50000)
/* Shorter messages go by slots, wherever they are. */
#define IN_PLACE_FROM_BYTES ((size_t)64 << 10)

/* What all ranks must agree on. */
struct mesh_call {
    uint64_t round;
    uint64_t n;        /* floats of the whole message, of which the round may have a part */
    uint64_t from, to; /* floats from the start of the segments; 0: not in their arrays */
};

static const struct shm_segment *segment_of(const struct mesh *m, uint32_t rank)
{
    return shm_peers_segment(&m->share.shm, rank);
}

static uint64_t word(const struct mesh *m, uint32_t rank, uint32_t index)
{
    return atomic_load_explicit(&segment_of(m, rank)->control->done[index], memory_order_relaxed);
}

/* Where the call of a round is. */
static uint32_t call_at(uint64_t round)
{
    return MESH_CALL + (round % 2 == 0 ? 0 : 4);
}

/* ---- telling and waiting ---- */

/* No rank sleeps through a change (shm_segment.h). */

/* Sets `counter` of this rank's control block to `value` and wakes the others. */
static void tell(struct mesh *m, _Atomic uint64_t *counter, uint64_t value)
{
    atomic_store(counter, value);
    shm_peers_wake(&m->share.shm);
}

static bool has(const _Atomic uint64_t *counter, uint64_t value)
{
    return atomic_load(counter) >= value;
}

static void sleep_turn(struct mesh *m, const _Atomic uint64_t *counter, uint64_t value)
{
    struct shm_control *own = m->share.shm.own.control;
    atomic_store(&own->sleeps, 1);
    if (!has(counter, value)) {
        struct pollfd p = {.fd = m->share.shm.bell.fd, .events = POLLIN};
        (void)poll(&p, 1, MESH_TICK_MS); /* on an error it looks again */
    }
    atomic_store(&own->sleeps, 0);
    doorbell_clear(&m->share.shm.bell);
}

static int beat_if_due(struct mesh *m, struct err *err)
{
    m->meet.now_ns = clock_monotonic_ns();
    return m->meet.now_ns - m->beat_ns >= MESH_TICK_MS * INT64_C(1000000) ? mesh_beat(m, err) : 0;
}

static void relax(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
}

/* Until another rank's counter has reached the value. */
static int wait_for(struct mesh *m, uint32_t rank, const _Atomic uint64_t *counter, uint64_t value,
                    struct err *err)
{
    for (int i = 0; i < LOOKS; i++) {
        if (has(counter, value)) {
            return 0;
        }
        relax();
    }
    const int64_t since_ns = clock_monotonic_ns();
    for (;;) {
        int e = beat_if_due(m, err);
        const bool is_gone = m->peers[rank].state == MEET_GONE;
        if (e < 0 || has(counter, value)) {
            return e;
        }
        e = is_gone ? mesh_check_gone(m, &m->peers[rank], err) : 0;
        if (e < 0) {
            return e;
        }
        if (m->meet.now_ns - since_ns < SPIN_NS) {
            (void)sched_yield(); /* cannot fail */
        } else {
            sleep_turn(m, counter, value);
        }
    }
}

/* ---- rounds ---- */

static int check_call(struct mesh *m, uint32_t rank, const struct mesh_call *call, struct err *err)
{
    const uint32_t at = call_at(call->round);
    const struct mesh_call theirs = {word(m, rank, at), word(m, rank, at + 1),
                                     word(m, rank, at + 2), word(m, rank, at + 3)};
    if (memcmp(&theirs, call, sizeof(theirs)) == 0) {
        return 0;
    }
    (void)err_set(err, EPROTO,
                  "its round %" PRIu64 " has %" PRIu64 " numbers at %" PRIu64 " and %" PRIu64
                  "; expected round %" PRIu64 ", %" PRIu64 " numbers at %" PRIu64 " and %" PRIu64,
                  theirs.round, theirs.n, theirs.from, theirs.to, call->round, call->n, call->from,
                  call->to);
    return meet_blame(&m->meet, &m->peers[rank].id, NULL, -EPROTO, err);
}

/* Says that this rank's numbers are final, and waits for those of all others. */
static int begin_round(struct mesh *m, const struct mesh_call *call, struct err *err)
{
    struct shm_control *own = m->share.shm.own.control;
    const uint32_t at = call_at(call->round);
    const uint64_t words[4] = {call->round, call->n, call->from, call->to};
    for (uint32_t i = 0; i < 4; i++) {
        atomic_store_explicit(&own->done[at + i], words[i], memory_order_relaxed);
    }
    m->share.n_rounds = call->round + 1;
    tell(m, &own->ready, call->round + 1);
    int e = 0;
    for (uint32_t i = 0; i < m->params.n_ranks && e >= 0; i++) {
        if (i != mesh_self(m)) {
            e = wait_for(m, i, &segment_of(m, i)->control->ready, call->round + 1, err);
            e = e < 0 ? e : check_call(m, i, call, err);
        }
    }
    m->step++;
    return e;
}

/* Waits until all have finished a round. */
static int end_round(struct mesh *m, struct err *err)
{
    const uint64_t n_rounds = m->share.n_rounds;
    tell(m, &m->share.shm.own.control->done[MESH_FINISHED], n_rounds);
    int e = 0;
    for (uint32_t i = 0; i < m->params.n_ranks && e >= 0; i++) {
        const _Atomic uint64_t *theirs = &segment_of(m, i)->control->done[MESH_FINISHED];
        e = i == mesh_self(m) ? 0 : wait_for(m, i, theirs, n_rounds, err);
    }
    return e < 0 ? e : beat_if_due(m, err);
}

struct segment { /* of the message, as the plan cuts it */
    enum collective_way way;
    size_t n;
};

/* ---- by slots ---- */

/* Adds up n floats from `at` on of a segment: of one block after the other. numbers[i] is where
 * those from `at` on are. */
static void add_slots(struct mesh *m, const struct segment *s, size_t at, float *to, size_t n)
{
    const uint32_t n_ranks = m->params.n_ranks;
    const uint32_t n_owners = s->way == WAY_RING ? n_ranks : 1;
    const size_t end = at + n;
    for (uint32_t owner = 0; owner < n_owners; owner++) {
        const struct collective_range all = {0, s->n};
        const struct collective_range b =
            s->way == WAY_RING ? collective_block(n_ranks, s->n, owner) : all;
        const size_t from = b.at > at ? b.at : at, until = b.at + b.n < end ? b.at + b.n : end;
        for (uint32_t i = 0; i < n_ranks && from < until; i++) {
            m->share.numbers[i] = segment_of(m, i)->grads +
                                  (m->share.n_rounds + 1) % 2 * MESH_SLOT_FLOATS + (from - at);
        }
        if (from < until) {
            collective_sum(s->way, n_ranks, owner, m->share.numbers, to + (from - at), until - from,
                           m->share.scratch);
        }
    }
}

static int reduce_by_slots(struct mesh *m, const struct segment *s, const float *from, float *to,
                           struct err *err)
{
    int e = 0;
    for (size_t at = 0; at < s->n && e >= 0; at += MESH_SLOT_FLOATS) {
        const size_t n = s->n - at < MESH_SLOT_FLOATS ? s->n - at : MESH_SLOT_FLOATS;
        const struct mesh_call call = {.round = m->share.n_rounds, .n = m->message};
        memcpy(m->share.shm.own.grads + call.round % 2 * MESH_SLOT_FLOATS, from + at,
               n * sizeof(float));
        e = begin_round(m, &call, err);
        if (e >= 0) {
            add_slots(m, s, at, to + at, n);
            e = beat_if_due(m, err);
        }
    }
    return e;
}

/* ---- in place ---- */

struct in_place {
    size_t from, to; /* the arrays: floats from the start of each segment */
    enum collective_way way;
    size_t n, most; /* of the message, and of its segments but the last */
    uint32_t n_segments;
    uint64_t n_summed; /* of each rank when the round began */
};

static float *array_of(const struct mesh *m, uint32_t rank, size_t at)
{
    return (float *)segment_of(m, rank)->at + at;
}

/* The block of `owner` in the k-th segment: floats of the message. */
static struct collective_range block_of(const struct mesh *m, const struct in_place *p, uint32_t k,
                                        uint32_t owner)
{
    const size_t at = k * p->most;
    const size_t n = p->n - at < p->most ? p->n - at : p->most;
    struct collective_range b = collective_block(m->params.n_ranks, n, owner);
    b.at += at;
    return b;
}

static void add_own(struct mesh *m, const struct in_place *p, uint32_t k)
{
    const uint32_t self = mesh_self(m);
    const struct collective_range b = block_of(m, p, k, self);
    for (uint32_t i = 0; i < m->params.n_ranks; i++) {
        m->share.numbers[i] = array_of(m, i, p->from) + b.at;
    }
    collective_sum(p->way, m->params.n_ranks, self, m->share.numbers,
                   array_of(m, self, p->to) + b.at, b.n, m->share.scratch);
    m->share.n_summed++;
    tell(m, &m->share.shm.own.control->done[MESH_SUMMED], m->share.n_summed);
}

static void copy_next(struct mesh *m, const struct in_place *p, uint32_t rank)
{
    const struct collective_range b = block_of(m, p, m->share.n_copied[rank]++, rank);
    one_pass_copy(array_of(m, mesh_self(m), p->to) + b.at, array_of(m, rank, p->to) + b.at, b.n);
}

static const _Atomic uint64_t *summed_by(const struct mesh *m, uint32_t rank)
{
    return &segment_of(m, rank)->control->done[MESH_SUMMED];
}

/* One block of each other rank, of those that are there. */
static void copy_some(struct mesh *m, const struct in_place *p, uint32_t k)
{
    for (uint32_t i = 0; i < m->params.n_ranks; i++) {
        const uint32_t n_copied = m->share.n_copied[i];
        if (i != mesh_self(m) && n_copied <= k &&
            has(summed_by(m, i), p->n_summed + n_copied + 1)) {
            copy_next(m, p, i);
        }
    }
}

static int copy_rest(struct mesh *m, const struct in_place *p, uint32_t rank, struct err *err)
{
    int e = 0;
    while (e >= 0 && m->share.n_copied[rank] < p->n_segments) {
        e = wait_for(m, rank, summed_by(m, rank), p->n_summed + m->share.n_copied[rank] + 1, err);
        if (e >= 0) {
            copy_next(m, p, rank);
            e = beat_if_due(m, err);
        }
    }
    return e;
}

static int reduce_in_place(struct mesh *m, const struct in_place *p, struct err *err)
{
    const uint32_t n_ranks = m->params.n_ranks, self = mesh_self(m);
    const struct mesh_call call = {m->share.n_rounds, p->n, p->from, p->to};
    int e = begin_round(m, &call, err);
    memset(m->share.n_copied, 0, n_ranks * sizeof(m->share.n_copied[0]));
    for (uint32_t k = 0; k < p->n_segments && e >= 0; k++) {
        add_own(m, p, k);
        copy_some(m, p, k);
        e = beat_if_due(m, err);
    }
    for (uint32_t i = 1; i < n_ranks && e >= 0; i++) {
        e = copy_rest(m, p, (self + i) % n_ranks, err);
    }
    return e < 0 ? e : end_round(m, err);
}

/* ---- calls ---- */

struct collective_memory mesh_shm_memory(const struct mesh *m)
{
    const struct shm_segment *s = &m->share.shm.own;
    return (struct collective_memory){s->grads + 2 * MESH_SLOT_FLOATS, s->params};
}

/* Where n floats at `p` begin in this rank's segment; 0: not in one of its arrays. */
static size_t place_of(const struct mesh *m, const float *p, size_t n)
{
    const struct collective_memory own = mesh_shm_memory(m);
    const float *const arrays[2] = {own.from, own.to};
    for (int i = 0; i < 2; i++) {
        const uintptr_t begin = (uintptr_t)arrays[i], end = begin + m->params.n_max * sizeof(float);
        if ((uintptr_t)p >= begin && (uintptr_t)p <= end &&
            n * sizeof(float) <= end - (uintptr_t)p) {
            return (size_t)(p - (const float *)m->share.shm.own.at);
        }
    }
    return 0;
}

int mesh_shm_all_reduce(struct mesh *m, const float *from, float *to, size_t n, struct err *err)
{
    const uint32_t n_ranks = m->params.n_ranks;
    const enum collective_way way = collective_way_of(m->params.algorithm, n_ranks, n);
    /* In place the additions of the pairs may be cut as those of a ring. */
    struct in_place p = {.way = way, .n = n, .most = collective_segment(WAY_RING, n_ranks, n)};
    p.from = place_of(m, from, n);
    p.to = place_of(m, to, n);
    int e = beat_if_due(m, err);
    m->message = n;
    if (e >= 0 && n * sizeof(float) >= IN_PLACE_FROM_BYTES && p.from != 0 && p.to != 0) {
        p.n_segments = (uint32_t)((n + p.most - 1) / p.most);
        p.n_summed = m->share.n_summed;
        return reduce_in_place(m, &p, err);
    }
    const size_t most = collective_segment(way, n_ranks, n);
    for (size_t at = 0; at < n && e >= 0; at += most) {
        const struct segment s = {way, n - at < most ? n - at : most};
        e = reduce_by_slots(m, &s, from + at, to + at, err);
    }
    return e;
}
