/* The connections of a rank: it dials the next one, and accepts the one before. Strangers (wrong
 * secret, another run or attempt, garbage, a second worker of the same index) are rejected and
 * change nothing. Called by the communication thread only. */
#include <inttypes.h>

#include "worker/comm/ring/ring_internal.h"

#define TURN_BYTES ((size_t)1 << 20)

void ring_peers_init(struct ring *r, const struct net_addr *next)
{
    const bool is_alone = r->n_ranks == 1;
    meet_peer_init(&r->meet, &r->next, ROLE_WORKER,
                   ring_next(r->n_ranks, r->params.gang.self.index), is_alone ? NULL : next);
    r->next.state = is_alone ? MEET_GONE : MEET_DIAL;
}

void ring_peers_done(struct ring *r)
{
    meet_peer_done(&r->next);
    if (r->prev != NULL) {
        meet_peer_done(r->prev);
        free(r->prev);
        r->prev = NULL;
    }
    meet_done(&r->meet);
}

bool ring_all_joined(const struct ring *r)
{
    return r->n_ranks == 1 || (r->next.state >= MEET_JOINED && r->prev != NULL);
}

size_t ring_conns(struct ring *r, struct conn *ret[static 2])
{
    size_t n = 0;
    if (r->next.state == MEET_JOINED && r->next.conn.fd >= 0) {
        ret[n++] = &r->next.conn;
    }
    if (r->prev != NULL && r->prev->state == MEET_JOINED && r->prev->conn.fd >= 0) {
        ret[n++] = &r->prev->conn;
    }
    return n;
}

/* ---- frames of a neighbour ---- */

/* The peer is done. That is no fault if it has nothing more to do with this rank in this step. */
static int on_goodbye(struct ring *r, struct meet_peer *l, struct err *err)
{
    const bool is_prev = l == r->prev;
    const bool is_open = r->box.doing == JOB_ROUND && r->box.begun;
    /* Rank 0 leaves the barrier first, when READY has come back to it. */
    const bool may_be_released = r->release_came || (!is_prev && l->id.index == 0 && r->ready_sent);
    const bool has_done_its_part =
        is_prev ? ring_round_has_all_of_prev(r) : ring_round_has_sent_all(r);
    if ((is_open && !has_done_its_part) || (r->box.doing == JOB_BARRIER && !may_be_released)) {
        return err_set(err, EPROTO, "it finished after %" PRIu64 " steps, but others continue",
                       r->round.step);
    }
    l->state = MEET_GONE;
    return 1; /* the caller closes the connection */
}

static int on_barrier_frame(struct ring *r, const struct meet_peer *l, const struct frame *f,
                            struct err *err)
{
    const bool is_first = r->params.gang.self.index == 0;
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

static int joined_frame(struct ring *r, struct meet_peer *l, const struct frame *f,
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
        return meet_on_abort(&r->meet, l->state == MEET_HANDSHAKE, f, payload, err);
    case FRAME_GOODBYE:
        return on_goodbye(r, l, err);
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

static void *on_place(void *ctx, struct conn *c, const struct frame *f, struct err *err)
{
    struct ring *r = ctx;
    if (meet_peer_of(c) != r->prev) {
        (void)err_set(err, EPROTO, "%s came from the wrong side of the ring",
                      frame_type_to_string(f->type));
        return NULL;
    }
    return ring_round_place(r, f, err);
}

static void on_part(void *ctx, struct conn *c, size_t n)
{
    ring_round_part(ctx, &c->rx.frame, n);
}

static int on_frame(void *ctx, struct conn *c, const struct frame *f, const uint8_t *payload,
                    struct err *err)
{
    struct ring *r = ctx;
    struct meet_peer *l = meet_peer_of(c);
    if (!c->secured) {
        return meet_on_challenge(&r->meet, l, f, payload, err);
    }
    if (l->state == MEET_HANDSHAKE && f->type == FRAME_WELCOME) {
        l->state = MEET_JOINED;
        return 0;
    }
    if (l->state == MEET_HANDSHAKE && f->type != FRAME_ABORT) {
        return err_set(err, EPROTO, "%s arrived before WELCOME", frame_type_to_string(f->type));
    }
    return joined_frame(r, l, f, payload, err);
}

static int dial_next(struct ring *r, struct err *err)
{
    struct meet_peer *l = &r->next;
    const int e = meet_dial(&r->meet, l, err);
    if (e > 0) {
        conn_limit_unsent(&l->conn, RING_SLICE_BYTES);
    }
    return e < 0 ? e : 0;
}

static int read_peer(struct ring *r, struct meet_peer *l, size_t budget, struct err *err)
{
    static const struct conn_handler handler = {on_place, on_frame, on_part};
    return conn_pump_rx(&l->conn, r->meet.now_ns, budget, &handler, r, err);
}

/* One neighbour has closed its connection. The other one may have sent an ABORT that names the
 * cause, after gradients that were not read yet: then this neighbour is a consequence. */
static int read_last_words(struct ring *r, const struct meet_peer *closed, struct err *err)
{
    struct meet_peer *other = closed == &r->next ? r->prev : &r->next;
    if (other == NULL || other->state != MEET_JOINED || other->conn.fd < 0) {
        return 0;
    }
    const int e = read_peer(r, other, SIZE_MAX, err);
    return e == -ECONNRESET ? 0 : e;
}

/* A call on the connection to a neighbour has failed. Returns what the thread ends with. */
static int lose(struct ring *r, const struct meet_peer *l, int e, struct err *err)
{
    struct err other;
    const int last = e == -ECONNRESET ? read_last_words(r, l, &other) : 0;
    if (last == -ECANCELED) {
        *err = other;
        return last;
    }
    return meet_blame(&r->meet, &l->id, l == &r->next ? l->dial.addr.text : NULL, e, err);
}

static int read_turn(struct ring *r, struct meet_peer *l, struct err *err)
{
    if (l->state == MEET_GONE) {
        return 0;
    }
    const int e = read_peer(r, l, TURN_BYTES, err);
    if (e == -ECONNRESET && l->state == MEET_HANDSHAKE) {
        meet_dial_anew(&r->meet, l, DIAL_CLOSED);
        return 0;
    }
    if (l->state == MEET_GONE) {
        conn_close(&l->conn);
        return 0;
    }
    return e < 0 ? lose(r, l, e, err) : 0;
}

int ring_next_turn(struct ring *r, bool is_readable, struct err *err)
{
    struct meet_peer *l = &r->next;
    if (l->state == MEET_DIAL) {
        return dial_next(r, err);
    }
    if (!is_readable) {
        (void)meet_dial_silent(&r->meet, l);
        return 0;
    }
    return read_turn(r, l, err);
}

/* ---- the rank before, and strangers ---- */

/* A host of meet.h, as the next one. */
static int admit(void *ctx, const struct frame_id *id, struct err *err)
{
    const struct ring *r = ctx;
    const uint32_t prev = ring_prev(r->n_ranks, r->params.gang.self.index);
    if (id->role != ROLE_WORKER || id->index != prev) {
        return err_set(err, EPROTO,
                       "it connected to worker/%" PRIu32 ", which waits for worker/%" PRIu32
                       "; check --worker-addrs",
                       r->params.gang.self.index, prev);
    }
    return r->prev == NULL;
}

static void welcome(void *ctx, struct meet_peer *guest)
{
    struct ring *r = ctx;
    r->prev = guest;
    r->meet.has_all = true;
    if (r->round.n_granted > 0) {
        conn_send_count(&guest->conn, FRAME_CREDIT, r->round.step, r->round.n_granted);
    }
}

int ring_guests_turn(struct ring *r, const struct pollfd *fds, struct err *err)
{
    const struct meet_host host = {admit, welcome, r};
    return meet_guests_turn(&r->meet, &host, fds, err);
}

int ring_prev_turn(struct ring *r, bool is_readable, struct err *err)
{
    return r->prev == NULL || !is_readable ? 0 : read_turn(r, r->prev, err);
}

/* ---- life ---- */

int ring_check_life(struct ring *r, struct err *err)
{
    const int e = meet_beat(&r->meet, &r->next.conn, r->next.dial.addr.text, err);
    return e < 0 || r->prev == NULL ? e : meet_beat(&r->meet, &r->prev->conn, NULL, err);
}
