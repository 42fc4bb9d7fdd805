/* The connections of a rank: it dials the next one, and accepts the one before. Strangers (wrong
 * secret, another run or attempt, garbage, a second worker of the same index) are rejected and
 * change nothing. Called by the communication thread only. */
#include <inttypes.h>
#include <unistd.h>

#include "base/clock.h"
#include "worker/comm/ring/ring_internal.h"

#define TURN_BYTES ((size_t)1 << 20)
#define HANDSHAKE_NS INT64_C(10000000000)

void ring_peers_init(struct ring *r, const struct net_addr *next)
{
    struct ring_peer *l = &r->next;
    const uint32_t self = r->params.self.index;
    l->id = r->params.self;
    l->id.index = ring_next(r->n_ranks, self);
    l->conn.fd = -1;
    if (r->n_ranks > 1) {
        dial_init(&l->dial, next);
    } else {
        l->state = RING_GONE;
        l->dial.fd = -1;
    }
    meet_dials(&l->handshake, &r->params.self, r->params.secret, r->params.digest);
}

static void free_peer(struct ring_peer *l)
{
    if (l != NULL) {
        conn_close(&l->conn);
        free(l);
    }
}

void ring_peers_done(struct ring *r)
{
    dial_done(&r->next.dial);
    conn_close(&r->next.conn);
    free_peer(r->prev);
    r->prev = NULL;
    vec_each (struct ring_peer *, it, &r->guests) {
        free_peer(*it);
    }
    vec_done(&r->guests);
}

bool ring_all_joined(const struct ring *r)
{
    return r->n_ranks == 1 || (r->next.state >= RING_JOINED && r->prev != NULL);
}

size_t ring_conns(struct ring *r, struct ring_peer *ret[static 2])
{
    size_t n = 0;
    if (r->next.state == RING_JOINED && r->next.conn.fd >= 0) {
        ret[n++] = &r->next;
    }
    if (r->prev != NULL && r->prev->state == RING_JOINED && r->prev->conn.fd >= 0) {
        ret[n++] = r->prev;
    }
    return n;
}

bool ring_were_away(struct ring *r, int e, struct err *err)
{
    return fault_is_absence(&r->box.doing_fault, e, &r->self, clock_monotonic_ns(), &r->params.self,
                            err);
}

static int blame(struct ring *r, const struct ring_peer *l, int e, struct err *err)
{
    if (r->box.doing_fault.exit_code == 0 && !ring_were_away(r, e, err)) {
        char name[32];
        frame_id_name(&l->id, name);
        if (l == &r->next) {
            (void)err_wrap(err, e, "%s (%.100s)", name, l->dial.addr.text);
        } else {
            (void)err_wrap(err, e, "%s", name);
        }
        fault_from_err(&r->box.doing_fault, e, &l->id, err);
    }
    return e;
}

/* ---- frames of a neighbour ---- */

/* The peer is done. That is no fault if it has nothing more to do with this rank in this step. */
static int on_goodbye(struct ring *r, struct ring_peer *l, struct err *err)
{
    const bool is_prev = l == r->prev;
    const bool is_open = r->box.doing == JOB_ROUND && r->box.begun;
    /* Rank 0 leaves the barrier first, when READY has come back to it. */
    const bool may_be_released = r->release_came || (!is_prev && l->id.index == 0 && r->ready_sent);
    const bool has_done_its_part = r->share.is_shared ? ring_shm_has_all_of(r, l->id.index)
                                   : is_prev          ? ring_round_has_all_of_prev(r)
                                                      : ring_round_has_sent_all(r);
    if ((is_open && !has_done_its_part) || (r->box.doing == JOB_BARRIER && !may_be_released)) {
        return err_set(err, EPROTO, "it finished after %" PRIu64 " steps, but others continue",
                       r->round.step);
    }
    l->state = RING_GONE;
    return 1; /* the caller closes the connection */
}

static int on_barrier_frame(struct ring *r, const struct ring_peer *l, const struct frame *f,
                            struct err *err)
{
    const bool is_first = r->params.self.index == 0;
    const bool waits = r->box.doing == JOB_BARRIER && r->box.begun && r->ready_sent;
    const bool is_ready = f->type == FRAME_READY;
    /* READY goes round when all are there: it comes back to rank 0, which lets go. */
    if (l != r->prev || (is_ready ? r->ready_came || (is_first && !waits)
                                  : r->release_came || is_first || !waits)) {
        return err_set(err, EPROTO, "%s is not expected now", frame_type_to_string(f->type));
    }
    if (is_ready) {
        r->ready_came = true;
    } else {
        r->release_came = true;
    }
    return 0;
}

static int joined_frame(struct ring *r, struct ring_peer *l, const struct frame *f,
                        const uint8_t *payload, struct err *err)
{
    switch (f->type) {
    case FRAME_HEARTBEAT:
        return 0;
    case FRAME_GRADIENT:
    case FRAME_PARAMS:
        return ring_round_arrived(r, f, err); /* of the rank before: on_place has seen to it */
    case FRAME_READY:
    case FRAME_RELEASE:
        return on_barrier_frame(r, l, f, err);
    case FRAME_ABORT:
        return fault_on_abort(&r->box.doing_fault, f, payload, l->state == RING_HANDSHAKE,
                              &r->params.self, &r->relay, err);
    case FRAME_GOODBYE:
        return on_goodbye(r, l, err);
    case FRAME_SHARE:
        if (l == r->prev) {
            return ring_share_on_frame(r, f, payload, err);
        }
        break;
    case FRAME_CREDIT:
    case FRAME_TAKEN:
        if (l == &r->next) {
            return ring_round_told(r, f, err);
        }
        break;
    default:
        break;
    }
    return err_set(err, EPROTO, "a worker does not accept %s now", frame_type_to_string(f->type));
}

/* ---- the next rank ---- */

struct sender {
    struct ring *ring;
    struct ring_peer *peer;
};

static void *on_place(void *ctx, struct conn *c, const struct frame *f, struct err *err)
{
    struct sender *s = ctx;
    (void)c;
    if (s->peer != s->ring->prev) {
        (void)err_set(err, EPROTO, "%s came from the wrong side of the ring",
                      frame_type_to_string(f->type));
        return NULL;
    }
    return ring_round_place(s->ring, f, err);
}

static void on_part(void *ctx, struct conn *c, size_t n)
{
    struct sender *s = ctx;
    ring_round_part(s->ring, &c->rx.frame, n);
}

static int on_next_frame(void *ctx, struct conn *c, const struct frame *f, const uint8_t *payload,
                         struct err *err)
{
    struct sender *s = ctx;
    struct ring_peer *l = s->peer;
    if (!c->secured) {
        return meet_on_challenge(c, &l->handshake, &l->id, NULL, f, payload, s->ring->now_ns, err);
    }
    if (l->state == RING_HANDSHAKE && f->type == FRAME_WELCOME) {
        l->state = RING_JOINED;
        return 0;
    }
    if (l->state == RING_HANDSHAKE && f->type != FRAME_ABORT) {
        return err_set(err, EPROTO, "%s arrived before WELCOME", frame_type_to_string(f->type));
    }
    return joined_frame(s->ring, l, f, payload, err);
}

static int dial_next(struct ring *r, struct err *err)
{
    struct ring_peer *l = &r->next;
    const int e = meet_dial(&l->dial, &l->conn, &l->handshake, r->now_ns, err);
    if (e > 0) {
        conn_limit_unsent(&l->conn, RING_SLICE_BYTES);
        l->state = RING_HANDSHAKE;
    }
    return e < 0 ? e : 0;
}

static int read_peer(struct ring *r, struct ring_peer *l, size_t budget,
                     int (*on_frame)(void *, struct conn *, const struct frame *, const uint8_t *,
                                     struct err *),
                     struct err *err)
{
    const struct conn_handler handler = {on_place, on_frame, on_part};
    struct sender sender = {r, l};
    return conn_pump_rx(&l->conn, r->now_ns, budget, &handler, &sender, err);
}

/* One neighbour has closed its connection. The other one may have sent an ABORT that names the
 * cause, after gradients that were not read yet: then this neighbour is a consequence. */
static int read_last_words(struct ring *r, const struct ring_peer *closed, struct err *err)
{
    struct ring_peer *other = closed == &r->next ? r->prev : &r->next;
    if (other == NULL || other->state != RING_JOINED || other->conn.fd < 0) {
        return 0;
    }
    const int e = read_peer(r, other, SIZE_MAX, on_next_frame, err);
    return e == -ECONNRESET ? 0 : e;
}

/* A call on the connection to a neighbour has failed. Returns what the thread ends with. */
static int lose(struct ring *r, const struct ring_peer *l, int e, struct err *err)
{
    struct err other;
    const int last = e == -ECONNRESET ? read_last_words(r, l, &other) : 0;
    if (last == -ECANCELED) {
        *err = other;
        return last;
    }
    return blame(r, l, e, err);
}

/* The peer is starting, ending, or not what the name means any more. */
static void dial_anew(struct ring *r, struct ring_peer *l, const char *why)
{
    conn_close(&l->conn);
    dial_again(&l->dial, r->now_ns, why);
    l->state = RING_DIAL;
}

int ring_next_turn(struct ring *r, bool is_readable, struct err *err)
{
    struct ring_peer *l = &r->next;
    if (l->state == RING_DIAL) {
        return dial_next(r, err);
    }
    if (l->state == RING_HANDSHAKE && !l->conn.secured && !is_readable &&
        r->now_ns >= l->dial.answer_by_ns) {
        dial_anew(r, l, DIAL_SILENT);
        return 0;
    }
    if (!is_readable || l->state == RING_GONE) {
        return 0;
    }
    int e = read_peer(r, l, TURN_BYTES, on_next_frame, err);
    if (e == -ECONNRESET && l->state == RING_HANDSHAKE) {
        dial_anew(r, l, DIAL_CLOSED);
        return 0;
    }
    if (l->state == RING_GONE) {
        conn_close(&l->conn);
        return 0;
    }
    return e < 0 ? lose(r, l, e, err) : 0;
}

/* ---- the rank before, and strangers ---- */

static void drop_guest(struct ring *r, struct ring_peer *guest)
{
    for (size_t i = 0; i < r->guests.len; i++) {
        if (r->guests.items[i] == guest) {
            r->guests.items[i] = r->guests.items[--r->guests.len];
            free_peer(guest);
            return;
        }
    }
}

int ring_accept(struct ring *r, struct err *err)
{
    for (;;) {
        const int fd = meet_accept(&r->listener, r->guests.len >= MEET_STRANGERS, r->now_ns, err);
        if (fd < 0) {
            /* Without a place for the rank before there is no ring. Strangers may wait. */
            return fd == -EAGAIN || r->prev != NULL ? 0 : fd;
        }
        struct ring_peer *guest = xnew(struct ring_peer);
        guest->state = RING_HANDSHAKE;
        guest->joins_by_ns = r->now_ns + HANDSHAKE_NS;
        *vec_push(&r->guests) = guest;
        const int e = meet_accepts(&guest->conn, &guest->handshake, fd, &r->params.self,
                                   r->params.secret, r->params.digest, err);
        if (e < 0) {
            return e;
        }
    }
}

/* The guest has proved the secret. -ESTALE: reject it; -EPROTO: the ranks do not fit together. */
static int join(struct ring *r, struct ring_peer *guest, struct err *err)
{
    const struct frame_id *id = &guest->handshake.trainer.id;
    const uint32_t prev = ring_prev(r->n_ranks, r->params.self.index);
    guest->id = *id;
    const bool is_prev = id->role == ROLE_WORKER && id->index == prev;
    if (r->prev != NULL && is_prev && meet_is_of_this_attempt(&r->params.self, id)) {
        meet_refuse(&guest->conn, &guest->handshake, &r->box.doing_fault, r->rejected);
        guest->is_refused = true;
        return 0;
    }
    int e = handshake_agree(&guest->handshake.server, &guest->handshake.trainer, err);
    if (e < 0) {
        return e;
    }
    if (!is_prev) {
        return err_set(err, EPROTO,
                       "it connected to worker/%" PRIu32 ", which waits for worker/%" PRIu32
                       "; check --worker-addrs",
                       r->params.self.index, prev);
    }
    conn_send(&guest->conn, FRAME_WELCOME, NULL, 0);
    guest->state = RING_JOINED;
    return 1; /* read on when it is r->prev */
}

static int on_guest_frame(void *ctx, struct conn *c, const struct frame *f, const uint8_t *payload,
                          struct err *err)
{
    struct ring *r = ((struct sender *)ctx)->ring;
    struct ring_peer *guest = ((struct sender *)ctx)->peer;
    if (guest->is_refused) {
        return 0;
    }
    if (r->prev != NULL && !meet_is_of_this_attempt(&r->params.self, &f->from)) {
        /* It may belong to the next attempt, and find the worker of that attempt at this address:
         * it connects again, where an answer would make it fail. */
        return err_set(err, ESTALE, "it belongs to another run or attempt");
    }
    const int e = meet_on_guest(c, &guest->handshake, f, payload, r->now_ns, err);
    return e > 0 ? join(r, guest, err) : e;
}

static void welcome(struct ring *r, struct ring_peer *guest)
{
    for (size_t i = 0; i < r->guests.len; i++) {
        if (r->guests.items[i] == guest) {
            r->guests.items[i] = r->guests.items[--r->guests.len];
        }
    }
    r->prev = guest;
    if (r->round.n_granted > 0) {
        conn_send_count(&guest->conn, FRAME_CREDIT, r->round.step, r->round.n_granted);
    }
}

int ring_guest_turn(struct ring *r, struct ring_peer *guest, bool is_readable, struct err *err)
{
    int e = is_readable ? read_peer(r, guest, TURN_BYTES, on_guest_frame, err) : 0;
    if (guest->state == RING_JOINED) {
        welcome(r, guest);
        return 0;
    }
    if (guest->is_refused && (e < 0 || r->now_ns >= guest->joins_by_ns)) {
        drop_guest(r, guest); /* it knows the reason */
        return 0;
    }
    if (e < 0 && guest->conn.secured && e == -EPROTO && r->prev == NULL) {
        return blame(r, guest, e, err);
    }
    if (e < 0) {
        meet_note_failed(&guest->handshake, e, err, r->rejected);
        drop_guest(r, guest);
    } else if (r->now_ns >= guest->joins_by_ns) {
        meet_note_rejected(&guest->handshake, "the handshake took too long", r->rejected);
        drop_guest(r, guest);
    }
    return 0;
}

int ring_prev_turn(struct ring *r, bool is_readable, struct err *err)
{
    struct ring_peer *l = r->prev;
    if (l == NULL || l->state == RING_GONE || !is_readable) {
        return 0;
    }
    int e = read_peer(r, l, TURN_BYTES, on_next_frame, err);
    if (l->state == RING_GONE) {
        conn_close(&l->conn);
        return 0;
    }
    return e < 0 ? lose(r, l, e, err) : 0;
}

/* ---- life ---- */

static int check_peer(struct ring *r, struct ring_peer *l, struct err *err)
{
    if (!l->conn.secured || l->conn.fd < 0) {
        return 0;
    }
    const int e = conn_beat(&l->conn, &r->self, r->now_ns, err);
    return e < 0 ? blame(r, l, e, err) : 0;
}

int ring_check_life(struct ring *r, struct err *err)
{
    int e = check_peer(r, &r->next, err);
    return e < 0 || r->prev == NULL ? e : check_peer(r, r->prev, err);
}
