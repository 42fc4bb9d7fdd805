/* Steps through shared memory, see ring_shm.h. */
#include <string.h>

#include "base/clock.h"
#include "worker/comm/ring/ring_internal.h"
#include "worker/tensor/accumulate.h"
#include "worker/tensor/one_pass.h"

/* Of a slice at a time: the sum stays in the first-level cache while gradients are added. */
#define BLOCK_FLOATS ((size_t)2048)
#define TURN_SLICES 8 /* then the turn ends, and the connections are looked at */
/* Peers that sleep are woken for so many bytes of gradients, such a part of
 * them, or the last ones. */
#define WAKE_BYTES ((size_t)2 << 20)
#define WAKE_PART 8
#define SPIN_NS INT64_C(30000)

static struct slice slice_of(const struct ring *r, uint32_t group, uint32_t owner)
{
    return slices_get(&r->params.slices, group * r->n_ranks + owner);
}

static uint32_t n_groups(const struct ring *r)
{
    return r->params.slices.n / r->n_ranks;
}

static const struct shm_segment *segment_of(const struct ring *r, uint32_t rank)
{
    return shm_peers_segment(&r->share.shm, rank);
}

/* `ready` of this step with the last k floats final. */
static uint64_t ready_at(const struct ring *r, size_t k)
{
    return r->round.step * (uint64_t)(r->params.slices.n_params + 1) + k;
}

static bool is_done_by(const struct ring *r, uint32_t rank, uint32_t group)
{
    return atomic_load(&segment_of(r, rank)->control->done[group]) >= r->round.step + 1;
}

/* Publishes the gradients that are final. Those that lie elsewhere are copied first. */
static void tell_ready(struct ring *r)
{
    struct ring_round *round = &r->round;
    const size_t n = r->params.slices.n_params;
    if (round->grads == NULL || round->ready_offset > n ||
        round->ready_offset == round->told_ready) {
        return;
    }
    const size_t from = round->ready_offset, to = round->told_ready > n ? n : round->told_ready;
    if (round->grads != r->share.shm.own.grads) {
        memcpy(r->share.shm.own.grads + from, round->grads + from, (to - from) * sizeof(float));
    }
    round->told_ready = from;
    atomic_store(&r->share.shm.own.control->ready, ready_at(r, n - from));
    const size_t news = round->woken_ready - from;
    if (from == 0 || news * sizeof(float) >= WAKE_BYTES || news >= n / WAKE_PART) {
        round->woken_ready = from;
        shm_peers_wake(&r->share.shm);
    }
}

/* ---- this rank's slices ---- */

/* The gradients from here on are final on all ranks. */
static size_t ready_on_all(const struct ring *r)
{
    const size_t n = r->params.slices.n_params;
    size_t least = n;
    for (uint32_t i = 0; i < r->n_ranks; i++) {
        const uint64_t ready = atomic_load(&segment_of(r, i)->control->ready);
        const uint64_t base = ready_at(r, 0);
        const size_t k = ready <= base ? 0 : ready - base >= n ? n : (size_t)(ready - base);
        least = k < least ? k : least;
    }
    return n - least;
}

/* The lowest group whose slice of this rank can be added up, because forward wants it first. */
static uint32_t next_to_add(const struct ring *r)
{
    const uint32_t self = r->params.gang.self.index;
    const size_t from = r->round.grads == NULL ? SIZE_MAX : ready_on_all(r);
    for (uint32_t g = 0; g < n_groups(r); g++) {
        if (!r->round.is_new[g * r->n_ranks + self] && slice_of(r, g, self).offset >= from) {
            return g;
        }
    }
    return n_groups(r);
}

static void add_up(struct ring *r, const struct slice *s)
{
    const uint32_t first = ring_next(r->n_ranks, s->server);
    float *sum = r->round.slots[0].data;
    for (size_t at = 0; at < s->len; at += BLOCK_FLOATS) {
        const size_t n = s->len - at < BLOCK_FLOATS ? s->len - at : BLOCK_FLOATS;
        const size_t from = s->offset + at;
        uint32_t rank = ring_next(r->n_ranks, first);
        grad_sum(sum + at, segment_of(r, first)->grads + from, segment_of(r, rank)->grads + from,
                 n);
        while (rank != s->server) {
            rank = ring_next(r->n_ranks, rank);
            grad_add(sum + at, segment_of(r, rank)->grads + from, n);
        }
    }
}

static void finish_own(struct ring *r, uint32_t group)
{
    struct ring_round *round = &r->round;
    const uint32_t self = r->params.gang.self.index;
    const struct slice s = slice_of(r, group, self);
    add_up(r, &s);
    ring_round_apply(r, group * r->n_ranks + self, round->slots[0].data);
    if (round->params != r->share.shm.own.params) {
        one_pass_copy(r->share.shm.own.params + s.offset, round->params + s.offset, s.len);
    }
    atomic_store(&r->share.shm.own.control->done[group], round->step + 1);
    const size_t others = (r->n_ranks - 1) * s.len * sizeof(float);
    r->shm_bytes_rx += others; /* their gradients, */
    r->shm_bytes_tx += others; /* and they copy the parameters */
}

/* ---- the others' slices ---- */

/* A slice whose new parameters are there, or slices.n. Backward must not read
 * the old ones any more. */
static uint32_t next_to_copy(const struct ring *r)
{
    const struct ring_round *round = &r->round;
    for (uint32_t i = round->lowest; round->grads != NULL && i < r->params.slices.n; i++) {
        const uint32_t owner = i % r->n_ranks;
        if (!round->is_new[i] && owner != r->params.gang.self.index &&
            is_done_by(r, owner, i / r->n_ranks) &&
            slices_get(&r->params.slices, i).offset >= round->ready_offset) {
            return i;
        }
    }
    return r->params.slices.n;
}

static void copy(struct ring *r, uint32_t i)
{
    struct ring_round *round = &r->round;
    const struct slice s = slices_get(&r->params.slices, i);
    if (r->box.doing_times.first_ns == 0) {
        r->box.doing_times.first_ns = clock_monotonic_ns();
    }
    one_pass_copy(round->params + s.offset, segment_of(r, s.server)->params + s.offset, s.len);
    round->is_new[i] = true;
    round->n_new++;
    const size_t bytes = s.len * sizeof(float);
    r->shm_bytes_rx += bytes;
    r->shm_bytes_tx += bytes; /* its owner has read this rank's gradient */
}

/* ---- turns ---- */

static bool has_work(const struct ring *r)
{
    return next_to_add(r) < n_groups(r) || next_to_copy(r) < r->params.slices.n;
}

/* What a peer does takes less than falling asleep and being woken, as long as it has a core:
 * look a little longer. */
static bool spin(const struct ring *r)
{
    if (!r->box.doing_main_waits || r->round.grads == NULL || ring_shm_is_done(r)) {
        return false;
    }
    const int64_t end_ns = clock_monotonic_ns() + SPIN_NS;
    do {
        if (has_work(r)) {
            return true;
        }
    } while (clock_monotonic_ns() < end_ns);
    return false;
}

bool ring_shm_advance(struct ring *r)
{
    struct ring_round *round = &r->round;
    tell_ready(r);
    uint32_t n_added = 0, n_copied = 0;
    while (n_added + n_copied < TURN_SLICES) {
        while (round->lowest < r->params.slices.n && round->is_new[round->lowest]) {
            round->lowest++;
        }
        const uint32_t group = next_to_add(r); /* first: others wait for it */
        if (group < n_groups(r)) {
            finish_own(r, group);
            n_added++;
            continue;
        }
        const uint32_t i = next_to_copy(r);
        if (i == r->params.slices.n) {
            break;
        }
        copy(r, i);
        n_copied++;
    }
    if (n_added > 0) {
        shm_peers_wake(&r->share.shm);
    }
    struct round_times *times = &r->box.doing_times;
    if (times->sent_ns == 0 && round->ready_offset == 0 && next_to_add(r) == n_groups(r)) {
        times->sent_ns = clock_monotonic_ns();
    }
    return n_added + n_copied > 0 || spin(r);
}

bool ring_shm_wants_to_sleep(struct ring *r)
{
    atomic_store(&r->share.shm.own.control->sleeps, 1);
    return has_work(r);
}

bool ring_shm_is_done(const struct ring *r)
{
    return r->round.n_new == r->params.slices.n;
}

bool ring_shm_has_all_of(const struct ring *r, uint32_t rank)
{
    for (uint32_t g = 0; g < n_groups(r); g++) {
        if (!is_done_by(r, rank, g)) {
            return false;
        }
    }
    return true;
}

uint32_t ring_shm_who_goes_on(const struct ring *r)
{
    for (uint32_t i = 0; i < r->n_ranks; i++) {
        if (i != r->params.gang.self.index &&
            atomic_load_explicit(&segment_of(r, i)->control->ready, memory_order_relaxed) >
                ready_at(r, 0)) {
            return i;
        }
    }
    return r->params.gang.self.index;
}
