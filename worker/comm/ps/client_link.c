/* A trainer's connection to one parameter server: connect, perform the handshake, read frames.
 * Called by the communication thread only. */
#include <inttypes.h>

#include "worker/comm/ps/client_internal.h"
#include "worker/tensor/accumulate.h"

#define TURN_BYTES ((size_t)4 << 20)

int link_dial(struct client *c, struct link *l, struct err *err)
{
    const int r = meet_dial(&c->meet, &l->peer, err);
    if (r > 0) {
        l->peer.conn.wire = c->params.wire;
    }
    return r < 0 ? r : 0;
}

/* Where a slice of parameters arrives: those in bf16 in the upper half of their place, where they
 * are widened from. */
static void *place_of(const struct client *c, struct slice slice)
{
    float *to = c->box.doing_params + slice.offset;
    return c->params.wire == EXCHANGE_WIRE_BF16 ? (void *)((uint16_t *)to + slice.len) : to;
}

static void *on_place(void *ctx, struct conn *conn, const struct frame *f, struct err *err)
{
    struct client *c = ctx;
    struct link *l = (struct link *)conn;
    if (f->type != FRAME_PARAMS || l->peer.state != MEET_JOINED || c->box.doing != JOB_ROUND ||
        !c->box.begun) {
        (void)err_set(err, EPROTO, "%s is not expected now", frame_type_to_string(f->type));
        return NULL;
    }
    /* Parameters come in any order, each after its gradient was sent: until then they are read. */
    const uint32_t n_servers = c->params.slices.n_servers;
    const bool is_known = f->slice < c->params.slices.n && f->slice % n_servers == l->number;
    const struct slice want = slices_get(&c->params.slices, is_known ? f->slice : l->number);
    const uint32_t number = c->params.slices.n / n_servers - 1 - f->slice / n_servers;
    const size_t bytes = want.len * frame_wire_bytes(c->params.wire);
    if (!is_known || f->step != c->step || number >= l->n_sent || c->is_received[f->slice] ||
        f->offset != want.offset || f->payload_len != bytes) {
        (void)err_set(err, EPROTO,
                      "parameters of step %" PRIu64 ", slice %" PRIu32 ", offset %" PRIu64
                      ", %" PRIu32 " bytes; expected step %" PRIu64 " and one of the %" PRIu32
                      " slices that it got the gradients of, once",
                      f->step, f->slice, f->offset, f->payload_len, c->step, l->n_sent);
        return NULL;
    }
    if (c->box.doing_times.first_ns == 0) {
        c->box.doing_times.first_ns = c->meet.now_ns;
    }
    return place_of(c, want);
}

uint32_t link_slice(const struct client *c, const struct link *l, uint32_t i)
{
    const uint32_t n_servers = c->params.slices.n_servers;
    return (c->params.slices.n / n_servers - 1 - i) * n_servers + l->number;
}

void link_offer(struct client *c, struct link *l)
{
    const uint32_t each = c->params.slices.n / c->params.slices.n_servers;
    uint32_t n = l->n_offered;
    while (n < each &&
           slices_get(&c->params.slices, link_slice(c, l, n)).offset >= c->box.doing_ready_offset) {
        n++;
    }
    if (n > l->n_offered) {
        l->n_offered = n;
        conn_send_count(&l->peer.conn, FRAME_OFFER, c->step, n);
    }
}

/* The server has room for this trainer's first `f->slice` slices of the step. */
static int on_credit(struct client *c, struct link *l, const struct frame *f, struct err *err)
{
    if (l->peer.state != MEET_JOINED || c->box.doing != JOB_ROUND || !c->box.begun ||
        f->step != c->step || f->slice <= l->n_sent || f->slice > l->n_offered) {
        return err_set(err, EPROTO,
                       "CREDIT for %" PRIu32 " slices of step %" PRIu64 " is not expected now",
                       f->slice, f->step);
    }
    for (; l->n_sent < f->slice; l->n_sent++) {
        const uint32_t id = link_slice(c, l, l->n_sent);
        const struct slice slice = slices_get(&c->params.slices, id);
        const struct frame gradient = {
            .type = FRAME_GRADIENT,
            .step = c->step,
            .offset = slice.offset,
            .slice = id,
        };
        conn_send_slice(&l->peer.conn, &gradient, c->box.doing_grads + slice.offset, slice.len);
    }
    return 0;
}

static int on_welcome(struct client *c, struct link *l, const struct frame *f, struct err *err)
{
    if (f->type != FRAME_WELCOME) {
        return err_set(err, EPROTO, "%s arrived before WELCOME", frame_type_to_string(f->type));
    }
    if (l->peer.state == MEET_JOINED) {
        return err_set(err, EPROTO, "WELCOME came twice");
    }
    const struct slices *slices = &c->params.slices;
    const uint32_t number = slices_server(slices, l->peer.id.index, f->slice);
    if (f->slice >= slices->n_threads ||
        array_any(c->links, slices->n_servers, it,
                  it->peer.state == MEET_JOINED && it->number == number)) {
        return err_set(err, EPROTO, "WELCOME of its thread %" PRIu32 " is not expected", f->slice);
    }
    l->number = number;
    l->peer.state = MEET_JOINED;
    return 0;
}

static int on_params(struct client *c, struct link *l, const struct frame *f,
                     const uint8_t *payload, struct err *err)
{
    const struct slice slice = slices_get(&c->params.slices, f->slice);
    if (!c->params.discards_params && c->params.wire == EXCHANGE_WIRE_BF16) {
        bf16_widen(c->box.doing_params + slice.offset, (const uint16_t *)(const void *)payload,
                   slice.len);
    }
    l->n_received++;
    c->n_received++;
    c->is_received[f->slice] = true;
    return mailbox_check_params(&c->box, f, err);
}

static int on_frame(void *ctx, struct conn *conn, const struct frame *f, const uint8_t *payload,
                    struct err *err)
{
    struct client *c = ctx;
    struct link *l = (struct link *)conn;
    if (!conn->secured) {
        return meet_on_challenge(&c->meet, &l->peer, f, payload, err);
    }
    switch (f->type) {
    case FRAME_HEARTBEAT:
        return 0;
    case FRAME_CREDIT:
        return on_credit(c, l, f, err);
    case FRAME_PARAMS:
        return on_params(c, l, f, payload, err);
    case FRAME_RELEASE:
        if (c->box.doing != JOB_BARRIER || !c->box.begun || l->released) {
            return err_set(err, EPROTO, "RELEASE is not expected now");
        }
        l->released = true;
        return 0;
    case FRAME_ABORT:
        return meet_on_abort(&c->meet, l->peer.state == MEET_HANDSHAKE, f, payload, err);
    default:
        return on_welcome(c, l, f, err);
    }
}

void link_tell_taken(struct client *c, struct link *l)
{
    if (l->n_told < l->n_received) {
        l->n_told = l->n_received;
        conn_send_count(&l->peer.conn, FRAME_TAKEN, c->step, l->n_told);
    }
}

int link_read(struct client *c, struct link *l, struct err *err)
{
    static const struct conn_handler handler = {.place = on_place, .frame = on_frame};
    int r = conn_pump_rx(&l->peer.conn, c->meet.now_ns, TURN_BYTES, &handler, c, err);
    if (r == 0) {
        return 0;
    }
    if (r == -ECONNRESET && l->peer.state == MEET_HANDSHAKE) {
        meet_dial_anew(&c->meet, &l->peer, DIAL_CLOSED);
        return 0;
    }
    return meet_blame(&c->meet, &l->peer.id, l->peer.dial.addr.text, r, err);
}

int link_check_life(struct client *c, struct link *l, struct err *err)
{
    (void)meet_dial_silent(&c->meet, &l->peer);
    return meet_beat(&c->meet, &l->peer.conn, l->peer.dial.addr.text, err);
}
