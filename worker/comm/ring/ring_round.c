/* A step of the ring: gradients come, are added to and go on; parameters go round. See ring_plan.h
 * for the order, and ring_internal.h for the states. */
#include <inttypes.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "worker/comm/ring/ring_internal.h"
#include "worker/tensor/accumulate.h"

static struct slice slice_of(const struct ring *r, uint32_t i)
{
    return slices_get(&r->params.slices, i);
}

static uint32_t self_rank(const struct ring *r)
{
    return r->params.gang.self.index;
}

static uint32_t n_groups(const struct ring *r)
{
    return r->params.slices.n / r->n_ranks;
}

/* Parameters that this rank sends: not those of the next rank. */
static uint32_t n_to_pass_on(const struct ring *r)
{
    return r->n_ranks > 1 ? r->params.slices.n - n_groups(r) : 0;
}

static uint32_t least(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

void ring_round_init(struct ring *r)
{
    const struct slices *s = &r->params.slices;
    struct ring_round *round = &r->round;
    const size_t longest = slices_longest(s);
    size_t own = 0;
    round->own_offsets = xnew_array(size_t, n_groups(r));
    for (uint32_t i = 0; i < s->n; i++) {
        const struct slice slice = slices_get(s, i);
        if (slice.server == self_rank(r)) {
            round->own_offsets[i / r->n_ranks] = own;
            own += slice.len;
        }
    }
    round->n_hops = ring_n_hops(s);
    round->n_slots = ring_buffers(s, r->params.window_bytes);
    round->slots = xnew_array(struct ring_slot, (size_t)round->n_slots + 1);
    for (uint32_t i = 0; i < round->n_slots; i++) {
        round->slots[i].data = xnew_array(float, longest);
    }
    round->is_given = xnew_array(bool, s->n);
    round->is_new = xnew_array(bool, s->n);
    round->is_passed_on = xnew_array(bool, s->n);
    round->crcs = xnew_array(uint32_t, s->n);
    round->n_granted = round->n_slots;
    round->ready_offset = SIZE_MAX;
}

void ring_round_done(struct ring *r)
{
    struct ring_round *round = &r->round;
    for (uint32_t i = 0; i < round->n_slots; i++) {
        free(round->slots[i].data);
    }
    free(round->slots);
    free(round->own_offsets);
    free(round->is_given);
    free(round->is_new);
    free(round->is_passed_on);
    free(round->crcs);
}

static struct ring_slot *slot_of(struct ring_round *round, uint32_t hop)
{
    return &round->slots[hop % round->n_slots];
}

/* This rank's own gradient of the slice is final. */
static bool is_ready(const struct ring *r, const struct slice *slice)
{
    return r->round.grads != NULL && slice->offset >= r->round.ready_offset;
}

/* ---- what comes ---- */

static uint32_t hop_slice(const struct ring *r, uint32_t k)
{
    return ring_hop_at(&r->params.slices, ring_prev(r->n_ranks, self_rank(r)), k).slice;
}

static void *place_gradient(struct ring *r, const struct frame *f, struct err *err)
{
    struct ring_round *round = &r->round;
    if (f->step != round->step || round->n_received >= round->n_granted) {
        (void)err_set(err, EPROTO,
                      "a gradient of step %" PRIu64 ", slice %" PRIu32
                      " came without a credit (this is step %" PRIu64 ")",
                      f->step, f->slice, round->step);
        return NULL;
    }
    const uint32_t want = hop_slice(r, round->n_received);
    const struct slice slice = slice_of(r, want);
    if (f->slice != want || f->offset != slice.offset ||
        f->payload_len != slice.len * sizeof(float)) {
        (void)err_set(err, EPROTO,
                      "gradient of step %" PRIu64 ", slice %" PRIu32 ", offset %" PRIu64
                      ", %" PRIu32 " bytes; expected slice %" PRIu32 ", offset %zu, %zu bytes",
                      f->step, f->slice, f->offset, f->payload_len, want, slice.offset,
                      slice.len * sizeof(float));
        return NULL;
    }
    struct ring_slot *slot = slot_of(round, round->n_received);
    *slot = (struct ring_slot){.state = SLOT_ARRIVING, .data = slot->data, .slice = want};
    return slot->data;
}

static void *place_params(struct ring *r, const struct frame *f, struct err *err)
{
    struct ring_round *round = &r->round;
    const bool is_known = f->slice < r->params.slices.n;
    const struct slice slice = slice_of(r, is_known ? f->slice : 0);
    /* Before this rank's gradient was sent on, backward may still read the old ones. */
    if (!is_known || f->step != round->step || slice.server == self_rank(r) ||
        !round->is_given[f->slice] || round->is_new[f->slice] || f->offset != slice.offset ||
        f->payload_len != slice.len * sizeof(float)) {
        (void)err_set(err, EPROTO,
                      "parameters of step %" PRIu64 ", slice %" PRIu32 ", offset %" PRIu64
                      ", %" PRIu32 " bytes; expected those of step %" PRIu64
                      " of another rank, once, after their gradient",
                      f->step, f->slice, f->offset, f->payload_len, round->step);
        return NULL;
    }
    if (r->box.doing_times.first_ns == 0) {
        r->box.doing_times.first_ns = r->meet.now_ns;
    }
    return round->params + slice.offset;
}

/* This rank waits at the barrier, and another one continues with a step. */
static int refuse_step(uint64_t step, struct err *err)
{
    return err_set(err, EPROTO,
                   "it continues with step %" PRIu64 ", but this worker waits at the barrier; give "
                   "all workers the same number of warm-up steps",
                   step);
}

int ring_round_check_barrier(const struct ring *r, struct err *err)
{
    const struct ring_round *round = &r->round;
    const bool has_begun =
        round->n_received > 0 ||
        (round->n_slots > 0 &&
         round->slots[round->n_received % round->n_slots].state == SLOT_ARRIVING);
    return has_begun ? refuse_step(round->step, err) : 0;
}

void *ring_round_place(struct ring *r, const struct frame *f, struct err *err)
{
    if (r->box.doing == JOB_BARRIER && r->box.begun && !r->release_came) {
        (void)refuse_step(f->step, err);
        return NULL;
    }
    return f->type == FRAME_GRADIENT ? place_gradient(r, f, err) : place_params(r, f, err);
}

/* Adds this rank's own gradient to the first n floats of what has come, while
 * the cache holds them. */
static void add_own(struct ring *r, struct ring_slot *slot, size_t n)
{
    const struct slice slice = slice_of(r, slot->slice);
    if (n > slot->n_added && is_ready(r, &slice)) {
        grad_add(slot->data + slot->n_added, r->round.grads + slice.offset + slot->n_added,
                 n - slot->n_added);
        slot->n_added = n;
    }
}

void ring_round_part(struct ring *r, const struct frame *f, size_t n)
{
    if (f->type == FRAME_GRADIENT) {
        add_own(r, slot_of(&r->round, r->round.n_received), n / sizeof(float));
    }
}

static void note_new(struct ring_round *round, uint32_t slice)
{
    round->is_new[slice] = true;
    round->n_new++;
    round->lowest = least(round->lowest, slice);
}

int ring_round_arrived(struct ring *r, const struct frame *f, struct err *err)
{
    struct ring_round *round = &r->round;
    if (f->type == FRAME_GRADIENT) {
        slot_of(round, round->n_received++)->state = SLOT_ARRIVED;
        return 0;
    }
    round->crcs[f->slice] = f->payload_crc;
    round->n_came++;
    note_new(round, f->slice);
    return mailbox_check_params(&r->box, f, err);
}

int ring_round_told(struct ring *r, const struct frame *f, struct err *err)
{
    struct ring_round *round = &r->round;
    const bool is_credit = f->type == FRAME_CREDIT;
    if (is_credit && f->step == round->step && f->slice > round->credit &&
        f->slice <= round->n_hops) {
        round->credit = f->slice;
        return 0;
    }
    /* The next rank may have ended the step already; then it has got all. */
    if (is_credit && f->step == round->step + 1 && f->slice > round->next_credit &&
        f->slice <= round->n_hops && ring_round_has_sent_all(r)) {
        round->next_credit = f->slice;
        return 0;
    }
    if (!is_credit && f->step == round->step && f->slice > round->n_taken &&
        f->slice <= round->n_passed_on) {
        round->n_taken = f->slice;
        return 0;
    }
    if (!is_credit && round->step > 0 && f->step == round->step - 1 &&
        f->slice <= n_to_pass_on(r)) {
        return 0; /* this step ended first */
    }
    return err_set(err, EPROTO, "%s of %" PRIu32 " slices of step %" PRIu64 " is not expected now",
                   frame_type_to_string(f->type), f->slice, f->step);
}

/* ---- what goes ---- */

/* Applies the optimiser to a slice of this rank, after its gradients are added up. */
static void apply_sum(struct ring *r, uint32_t id, const float *sum)
{
    struct ring_round *round = &r->round;
    const struct slice slice = slice_of(r, id);
    r->params.apply(r->params.apply_ctx, round->step + 1, round->own_offsets[id / r->n_ranks],
                    slice.len, round->params + slice.offset, sum, 1.0f / (float)r->n_ranks);
    note_new(round, id);
}

/* Slices that have come get this rank's gradient, in their order, as far as it is ready. */
static void add_arrived(struct ring *r)
{
    struct ring_round *round = &r->round;
    while (round->n_added < round->n_received) {
        struct ring_slot *slot = slot_of(round, round->n_added);
        const struct slice slice = slice_of(r, slot->slice);
        if (!is_ready(r, &slice)) {
            return;
        }
        add_own(r, slot, slice.len);
        slot->state = SLOT_ADDED;
        if (slice.server == self_rank(r)) {
            round->is_given[slot->slice] = true;
            apply_sum(r, slot->slice, slot->data);
            slot->state = SLOT_FREE;
        }
        round->n_added++;
    }
}

/* A ring of one has no other rank to wait for. */
static void apply_alone(struct ring *r)
{
    struct ring_round *round = &r->round;
    while (round->n_new < r->params.slices.n) {
        const uint32_t id = r->params.slices.n - 1 - round->n_new;
        const struct slice slice = slice_of(r, id);
        if (!is_ready(r, &slice)) {
            return;
        }
        apply_sum(r, id, round->grads + slice.offset);
    }
}

static void free_sent(struct ring *r)
{
    struct ring_round *round = &r->round;
    const uint64_t gone = round->n_queued - conn_n_bulk(&r->next.conn);
    while (round->n_freed < round->n_added) {
        struct ring_slot *slot = slot_of(round, round->n_freed);
        if (slot->state == SLOT_SENDING && slot->is_gone <= gone) {
            slot->state = SLOT_FREE;
        }
        if (slot->state != SLOT_FREE) {
            return;
        }
        round->n_freed++;
    }
}

static void queue(struct ring *r, enum frame_type type, uint32_t id, const float *data,
                  const uint32_t *crc)
{
    const struct slice slice = slice_of(r, id);
    const struct frame f = {
        .type = type,
        .step = r->round.step,
        .offset = slice.offset,
        .slice = id,
    };
    if (crc == NULL) {
        conn_send_slice(&r->next.conn, &f, data, slice.len);
    } else {
        conn_send_payload(&r->next.conn, &f, data, slice.len * sizeof(float), *crc);
    }
    r->round.n_queued++;
}

/* True if the next gradient of the plan could go. */
static bool send_gradient(struct ring *r)
{
    struct ring_round *round = &r->round;
    if (round->n_sent >= least(round->n_hops, round->credit)) {
        return false;
    }
    const struct ring_hop hop = ring_hop_at(&r->params.slices, self_rank(r), round->n_sent);
    const struct slice slice = slice_of(r, hop.slice);
    if (hop.is_first ? !is_ready(r, &slice) : hop.received >= round->n_added) {
        return false;
    }
    struct ring_slot *slot = hop.is_first ? NULL : slot_of(round, hop.received);
    queue(r, FRAME_GRADIENT, hop.slice, slot != NULL ? slot->data : round->grads + slice.offset,
          NULL);
    if (slot != NULL) {
        slot->state = SLOT_SENDING;
        slot->is_gone = round->n_queued;
    }
    round->is_given[hop.slice] = true;
    round->n_sent++;
    round->last_hop = round->n_queued;
    return true;
}

/* The first in the arena of those that are here: the next forward pass wants it first. */
static bool send_params(struct ring *r)
{
    struct ring_round *round = &r->round;
    const struct slices *s = &r->params.slices;
    const uint32_t next = ring_next(r->n_ranks, self_rank(r));
    const uint32_t window = round->n_slots; /* as many as of gradients */
    if (round->n_passed_on == n_to_pass_on(r) || round->n_passed_on - round->n_taken >= window) {
        return false;
    }
    while (round->lowest < s->n &&
           (!round->is_new[round->lowest] || round->is_passed_on[round->lowest] ||
            round->lowest % r->n_ranks == next)) {
        round->lowest++;
    }
    if (round->lowest == s->n) {
        return false;
    }
    const uint32_t id = round->lowest;
    const bool is_own = id % r->n_ranks == self_rank(r);
    queue(r, FRAME_PARAMS, id, round->params + slice_of(r, id).offset,
          is_own ? NULL : &round->crcs[id]);
    round->is_passed_on[id] = true;
    round->n_passed_on++;
    return true;
}

/* All gradients are with the kernel. */
static bool is_sent(const struct ring *r)
{
    const struct ring_round *round = &r->round;
    return round->n_sent == round->n_hops &&
           round->n_queued - conn_n_bulk(&r->next.conn) >= round->last_hop;
}

void ring_round_advance(struct ring *r)
{
    if (r->n_ranks == 1) {
        apply_alone(r);
        return;
    }
    add_arrived(r);
    free_sent(r);
    /* Gradients first: all ranks wait for them, and parameters only for the one that reads them. */
    while (r->next.state == MEET_JOINED && conn_n_bulk(&r->next.conn) < RING_QUEUED_MAX &&
           (send_gradient(r) || send_params(r))) {
    }
    struct round_times *times = &r->box.doing_times;
    if (times->sent_ns == 0 && is_sent(r)) {
        times->sent_ns = clock_monotonic_ns();
    }
}

/* A quarter of the window at a time: a frame costs more than a slice of it would gain. */
static bool is_worth_telling(const struct ring_round *round, uint32_t told, uint32_t now)
{
    return now - told > round->n_slots / 4;
}

void ring_round_tell(struct ring *r)
{
    struct ring_round *round = &r->round;
    if (r->prev == NULL || r->prev->state != MEET_JOINED) {
        return;
    }
    const uint32_t may = least(round->n_hops, round->n_freed + round->n_slots);
    if (is_worth_telling(round, round->n_granted, may) ||
        (may == round->n_hops && may > round->n_granted)) {
        round->n_granted = may;
        conn_send_count(&r->prev->conn, FRAME_CREDIT, round->step, may);
    }
    if (is_worth_telling(round, round->n_told, round->n_came)) {
        round->n_told = round->n_came;
        conn_send_count(&r->prev->conn, FRAME_TAKEN, round->step, round->n_told);
    }
}

/* ---- the end of a step ---- */

bool ring_round_has_all_of_prev(const struct ring *r)
{
    const uint32_t n_of_others = r->params.slices.n - n_groups(r);
    return r->round.n_received == r->round.n_hops && r->round.n_came == n_of_others;
}

bool ring_round_has_sent_all(const struct ring *r)
{
    return r->round.n_sent == r->round.n_hops && r->round.n_passed_on == n_to_pass_on(r);
}

bool ring_round_is_done(const struct ring *r)
{
    return r->round.n_new == r->params.slices.n && ring_round_has_sent_all(r) &&
           conn_n_bulk(&r->next.conn) == 0;
}

void ring_round_next(struct ring *r)
{
    struct ring_round *round = &r->round;
    const size_t n = r->params.slices.n;
    free_sent(r);
    round->step++;
    round->grads = NULL;
    round->ready_offset = SIZE_MAX;
    round->credit = round->next_credit;
    round->next_credit = 0;
    round->n_sent = round->n_received = round->n_added = round->n_freed = 0;
    round->n_new = round->n_passed_on = round->n_taken = round->n_came = round->n_told = 0;
    round->lowest = 0;
    memset(round->is_given, 0, n * sizeof(bool));
    memset(round->is_new, 0, n * sizeof(bool));
    memset(round->is_passed_on, 0, n * sizeof(bool));
    round->n_granted = round->n_slots;
    if (round->n_granted > 0 && r->prev->state == MEET_JOINED) {
        conn_send_count(&r->prev->conn, FRAME_CREDIT, round->step, round->n_granted);
    }
}
