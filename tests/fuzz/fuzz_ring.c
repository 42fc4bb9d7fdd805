/* Fuzzing of a rank of a ring, above the frames: its neighbours know the keys, so what they say
 * gets past the MAC. An input is the rank, and then what happens, in records of four bytes:
 *
 *     0, 1 or 2      the rank, of three
 *     PG0 NC4!..     a frame: from the rank before (P) or the next one (N), type, number, and how
 *                    it lies (a space: not at all)
 *     .J0 .Y2 .Q0    this rank's worker begins a step, has the gradients of its groups from 2 on,
 *                    waits at the barrier
 *
 * Types: G GRADIENT, P PARAMS, C CREDIT, K TAKEN, k TAKEN of the step before, R READY, L
 * RELEASE, B GOODBYE, H HEARTBEAT, A ABORT, W WELCOME, O OFFER; X: the connection
 * ends. Numbers are '0' and up. Lies are bits: 1 step, 2 slice, 4 offset, 8 length, 16 the
 * header after it was signed.
 *
 * FUZZ_PRINT in the environment: says what became of each input.
 *
 * Holds after each frame: every number that leaves this rank, as a gradient or as a parameter, and
 * every one that it keeps is right; nothing leaves without credit; nothing is overwritten that
 * backward still reads; a slice that lies, and a frame whose header was changed, is refused; a
 * refusal has a reason, and blames somebody. */
#include "fuzz.h"

#include <inttypes.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "worker/comm/link/crc32c.h"
#include "worker/comm/ring/ring_internal.h"

enum { RANKS = 3, GROUPS = 4, LEN = 32, SLICES = RANKS * GROUPS, N_PARAMS = SLICES * LEN };
enum { RECORD = 4, GUARD = 16, LIE_OF_A_SLICE = 15, LIE_AFTER_SIGNING = 16 };

/* Of the frames to the next rank, and of those back: of each connection the same two. */
static const struct auth_key onward = {{1}}, backward = {{2}};

struct neighbour { /* its end of the connection, which also reads what the rank under test says */
    struct conn conn;
    uint64_t sequence;
};

struct gang {
    struct ring r;
    struct meet_peer prev_peer;
    struct neighbour prev, next;
    float grads[N_PARAMS];
    float params[GUARD + N_PARAMS + GUARD];
    float landing[LEN];
    /* of this step */
    uint32_t n_grads, credit, next_credit; /* to the next rank: came there, and were allowed */
    uint32_t n_applied;
    bool has_params[SLICES]; /* came there */
};

/* ---- the right numbers ---- */

/* Rank r's gradient of each number in a step. */
static float gradient_of(uint32_t rank, uint64_t step)
{
    return (float)(rank + 1) * (float)(step % 8 + 1);
}

/* The sum of a slice from the rank after its owner up to `rank`. */
static float sum_up_to(uint32_t slice, uint32_t rank, uint64_t step)
{
    float sum = 0;
    uint32_t at = slice % RANKS;
    do {
        at = ring_next(RANKS, at);
        sum += gradient_of(at, step);
    } while (at != rank);
    return sum;
}

/* The optimiser puts the sum and the step in the place of the parameters of the step before. */
static float params_after(uint64_t step)
{
    return sum_up_to(0, 0, step) + 1000.0f * (float)(step % 1000 + 1);
}

static bool all_are(const float *x, size_t n, float value)
{
    for (size_t i = 0; i < n; i++) {
        if (x[i] != value) {
            return false;
        }
    }
    return true;
}

static void apply(void *ctx, uint64_t t, size_t offset, size_t n, float *params,
                  const float *grad_sum, float grad_scale)
{
    struct gang *g = ctx;
    const uint64_t step = g->r.round.step;
    must(t == step + 1 && n == LEN && offset % LEN == 0 && offset < (size_t)GROUPS * LEN,
         "the optimiser runs on what is not a slice of this rank");
    must(grad_scale == 1.0f / RANKS, "no mean");
    must(all_are(grad_sum, n, sum_up_to(0, 0, step)), "a wrong sum");
    must(all_are(params, n, step == 0 ? 0 : params_after(step - 1)), "not the parameters before");
    for (size_t i = 0; i < n; i++) {
        params[i] = params_after(step);
    }
    g->n_applied++;
}

/* ---- what the neighbours read ---- */

static void *read_place(void *ctx, struct conn *c, const struct frame *f, struct err *err)
{
    struct gang *g = ctx;
    (void)c, (void)err;
    must(f->payload_len == sizeof(g->landing) && f->slice < SLICES &&
             f->offset == (uint64_t)f->slice * LEN && f->step == g->r.round.step,
         "a slice that is none goes on");
    return g->landing;
}

static void check_gradient(struct gang *g, const struct frame *f)
{
    const uint32_t self = g->r.params.gang.self.index;
    must(g->n_grads < g->credit, "a gradient goes on without credit");
    must(f->slice == ring_hop_at(&g->r.params.slices, self, g->n_grads).slice,
         "a gradient goes on out of its turn");
    must(all_are(g->landing, LEN, sum_up_to(f->slice, self, f->step)), "a wrong sum goes on");
    g->n_grads++;
}

static void check_params(struct gang *g, const struct frame *f)
{
    must(f->slice % RANKS != ring_next(RANKS, g->r.params.gang.self.index),
         "parameters go back to their owner");
    must(!g->has_params[f->slice], "parameters go on twice");
    must(all_are(g->landing, LEN, params_after(f->step)), "wrong parameters go on");
    g->has_params[f->slice] = true;
}

static int read_frame(void *ctx, struct conn *c, const struct frame *f, const uint8_t *payload,
                      struct err *err)
{
    struct gang *g = ctx;
    (void)payload, (void)err;
    const bool is_next = c == &g->next.conn;
    switch (f->type) {
    case FRAME_GRADIENT:
        must(is_next, "a gradient goes the wrong way round");
        check_gradient(g, f);
        break;
    case FRAME_PARAMS:
        must(is_next, "parameters go the wrong way round");
        check_params(g, f);
        break;
    case FRAME_CREDIT:
        must(!is_next && f->step == g->r.round.step && f->slice <= g->r.round.n_hops &&
                 f->slice <= g->r.round.n_granted,
             "a credit that is none");
        break;
    case FRAME_TAKEN:
        must(!is_next && f->slice <= g->r.round.n_came, "more is taken than came");
        break;
    default:
        must(is_next && (f->type == FRAME_READY || f->type == FRAME_RELEASE),
             "it says what nobody asked for");
    }
    return 0;
}

static void read_all(struct gang *g, struct neighbour *n)
{
    static const struct conn_handler handler = {.place = read_place, .frame = read_frame};
    struct err err = {0};
    must(conn_pump_rx(&n->conn, 1, SIZE_MAX, &handler, g, &err) >= 0 || err.code == ECONNRESET,
         "what it sends is no frame");
}

/* ---- the rank under test ---- */

static struct frame_id worker(uint32_t index)
{
    return (struct frame_id){.run = 77, .role = ROLE_WORKER, .index = index};
}

static void connect_to(struct ring *r, struct meet_peer *l, struct neighbour *n, uint32_t index,
                       const struct auth_key *tx, const struct auth_key *rx)
{
    int fds[2];
    must(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fds) == 0, "socketpair");
    l->id = worker(index);
    l->state = MEET_JOINED;
    conn_init(&l->conn, fds[0], &r->params.gang.self);
    conn_secure(&l->conn, tx, rx, &l->id, 1);
    conn_init(&n->conn, fds[1], &l->id);
    conn_secure(&n->conn, rx, tx, &r->params.gang.self, 1);
}

static void open_gang(struct gang *g, uint32_t rank)
{
    *g = (struct gang){0};
    struct ring *r = &g->r;
    r->params = (struct exchange_ring_params){
        .gang.self = worker(rank),
        .slices = {.n_params = N_PARAMS, .n_servers = RANKS, .n = SLICES},
        .window_bytes = 1, /* the least number of buffers */
        .apply = apply,
        .apply_ctx = g,
    };
    r->n_ranks = RANKS;
    r->meet.params.self = r->params.gang.self;
    meet_begin(&r->meet);
    ring_round_init(r);
    must(r->round.n_slots == RING_BUFFERS_MIN && r->round.n_hops > RING_BUFFERS_MIN,
         "buffers for all");
    r->prev = &g->prev_peer;
    connect_to(r, &r->next, &g->next, ring_next(RANKS, rank), &onward, &backward);
    connect_to(r, r->prev, &g->prev, ring_prev(RANKS, rank), &backward, &onward);
}

static void close_gang(struct gang *g)
{
    ring_round_done(&g->r);
    conn_close(&g->r.next.conn);
    conn_close(&g->prev_peer.conn);
    conn_close(&g->next.conn);
    conn_close(&g->prev.conn);
}

/* As exchange_ring.c begins and ends jobs. */
static int begin_job(struct gang *g, enum mailbox_job job, struct err *err)
{
    struct ring *r = &g->r;
    if (r->box.doing != JOB_NONE || r->next.state == MEET_GONE || r->prev->state == MEET_GONE) {
        return 0;
    }
    r->box.doing = job;
    r->box.begun = true;
    if (job == JOB_BARRIER) {
        return ring_round_check_barrier(r, err);
    }
    for (size_t i = 0; i < N_PARAMS; i++) {
        g->grads[i] = gradient_of(r->params.gang.self.index, r->round.step);
    }
    r->box.doing_times = (struct round_times){0};
    r->round.grads = g->grads;
    r->round.params = g->params + GUARD;
    r->round.ready_offset = SIZE_MAX;
    return 0;
}

static void be_ready(struct gang *g, uint8_t number)
{
    struct ring_round *round = &g->r.round;
    const size_t offset = (size_t)(number % GROUPS) * RANKS * LEN;
    if (g->r.box.doing == JOB_ROUND && offset < round->ready_offset) {
        round->ready_offset = offset;
    }
}

static void continue_barrier(struct ring *r)
{
    const bool is_first = r->params.gang.self.index == 0;
    if (!r->ready_sent && (is_first || r->ready_came)) {
        r->ready_sent = true;
        conn_send(&r->next.conn, FRAME_READY, NULL, 0);
    }
    if (!(is_first ? r->ready_came : r->release_came)) {
        return;
    }
    must(r->ready_sent, "the barrier lets go before this rank has said that it is there");
    if (ring_next(RANKS, r->params.gang.self.index) != 0) {
        conn_send(&r->next.conn, FRAME_RELEASE, NULL, 0);
    }
    r->ready_came = r->release_came = r->ready_sent = false;
    r->box.doing = JOB_NONE;
    r->box.begun = false;
}

static void finish_round(struct gang *g)
{
    const struct ring_round *round = &g->r.round;
    must(all_are(g->params + GUARD, N_PARAMS, params_after(round->step)),
         "a step ends with other parameters");
    must(g->n_grads == round->n_hops && g->n_applied == GROUPS, "a step ends too early");
    g->r.box.doing = JOB_NONE;
    g->r.box.begun = false;
    ring_round_next(&g->r);
    g->n_grads = g->n_applied = 0;
    g->credit = g->next_credit;
    g->next_credit = 0;
    memset(g->has_params, 0, sizeof(g->has_params));
}

static void check(const struct gang *g)
{
    const struct ring_round *round = &g->r.round;
    must(round->n_freed <= round->n_added && round->n_added <= round->n_received &&
             round->n_received <= round->n_granted && round->n_granted <= round->n_hops &&
             round->n_granted <= round->n_freed + round->n_slots,
         "more gradients than buffers");
    must(round->n_taken <= round->n_passed_on &&
             round->n_passed_on <= round->n_taken + round->n_slots,
         "more parameters are on their way than may be");
    must(conn_n_bulk(&g->r.next.conn) <= 2, "too many slices are with the connection");
    must(all_are(g->params, GUARD, 0) && all_are(g->params + GUARD + N_PARAMS, GUARD, 0),
         "parameters beyond their place");
    for (size_t i = 0; i < SLICES; i++) {
        const bool is_read = round->grads == NULL || i * LEN < round->ready_offset;
        const float before = round->step == 0 ? 0 : params_after(round->step - 1);
        must(!is_read || (!round->is_new[i] && all_are(g->params + GUARD + i * LEN, LEN, before)),
             "parameters are overwritten that backward reads");
    }
}

/* What a turn of the loop does after it has read. */
static void go_on(struct gang *g)
{
    struct ring *r = &g->r;
    struct err err;
    if (r->box.doing == JOB_BARRIER && r->box.begun) {
        continue_barrier(r);
    }
    do {
        ring_round_advance(r);
        if (r->next.state == MEET_JOINED) {
            (void)conn_pump_tx(&r->next.conn, SIZE_MAX, &err); /* it has the room */
        }
        read_all(g, &g->next);
        check(g);
        ring_round_advance(r);
    } while (r->next.state == MEET_JOINED && conn_wants_tx(&r->next.conn));
    ring_round_tell(r);
    if (r->prev->state == MEET_JOINED) {
        (void)conn_pump_tx(&r->prev->conn, SIZE_MAX, &err); /* the same */
    }
    read_all(g, &g->prev);
    if (r->box.doing == JOB_ROUND && r->box.begun && ring_round_is_done(r)) {
        finish_round(g);
    }
    check(g);
}

/* ---- what the neighbours say ---- */

static enum frame_type type_of(uint8_t letter)
{
    static const char letters[] = " ...WHGPRLABOCKS";
    const char *at = letter > ' ' ? strchr(letters, letter == 'k' ? 'K' : letter) : NULL;
    return at != NULL && *at != '.' ? (enum frame_type)(at - letters)
                                    : (enum frame_type)(letter & 31);
}

/* The number-th of the parameters that may come now; else any. */
static uint32_t slice_to_pass_on(const struct ring *r, uint32_t number)
{
    for (uint32_t i = 0, n = 0; i < SLICES; i++) {
        if (i % RANKS != r->params.gang.self.index && r->round.is_given[i] && !r->round.is_new[i] &&
            n++ == number) {
            return i;
        }
    }
    return number % SLICES;
}

/* What a neighbour would say now. *ret_value fills a slice. */
static struct frame honest(const struct ring *r, uint8_t letter, uint32_t number, float *ret_value)
{
    struct frame f = {.type = type_of(letter), .step = r->round.step, .slice = number};
    const uint32_t prev = ring_prev(RANKS, r->params.gang.self.index);
    *ret_value = 0;
    if (f.type == FRAME_GRADIENT) {
        const uint32_t k = (r->round.n_received + number) % r->round.n_hops;
        f.slice = ring_hop_at(&r->params.slices, prev, k).slice;
        *ret_value = sum_up_to(f.slice, prev, f.step);
    } else if (f.type == FRAME_PARAMS) {
        f.slice = slice_to_pass_on(r, number);
        *ret_value = params_after(f.step);
    } else if (letter == 'k') {
        f.step--;
    }
    f.offset = f.type == FRAME_GRADIENT || f.type == FRAME_PARAMS ? (uint64_t)f.slice * LEN : 0;
    return f;
}

static size_t payload_of(enum frame_type type)
{
    return type == FRAME_GRADIENT || type == FRAME_PARAMS ? LEN * sizeof(float)
           : type == FRAME_ABORT                          ? 16
                                                          : 0;
}

static void say(struct neighbour *n, struct frame *f, const struct auth_key *key, uint8_t how,
                float value)
{
    uint8_t bytes[FRAME_HEADER_SIZE + LEN * sizeof(float)] = {0};
    const bool is_slice = f->type == FRAME_GRADIENT || f->type == FRAME_PARAMS;
    size_t len = payload_of(f->type);
    for (size_t i = 0; is_slice && i < LEN; i++) {
        memcpy(bytes + FRAME_HEADER_SIZE + i * sizeof(value), &value, sizeof(value));
    }
    len -= (how & 8) != 0 && len > 0 ? 4 : 0;
    f->step += (how & 1) != 0;
    f->slice ^= (how & 2) != 0 ? 1 : 0;
    f->offset += (how & 4) != 0 ? 16 : 0;
    f->from = n->conn.self;
    f->sequence = n->sequence++;
    f->dtype = is_slice ? FRAME_DTYPE_F32 : FRAME_DTYPE_NONE;
    f->payload_len = (uint32_t)len;
    f->payload_crc = crc32c(0, bytes + FRAME_HEADER_SIZE, len);
    frame_encode(f, key, bytes);
    if ((how & LIE_AFTER_SIGNING) != 0) {
        bytes[f->sequence % FRAME_HEADER_SIZE] ^= 1;
    }
    must(send(n->conn.fd, bytes, FRAME_HEADER_SIZE + len, MSG_NOSIGNAL | MSG_DONTWAIT) ==
             (ssize_t)(FRAME_HEADER_SIZE + len),
         "the socket is full");
}

static void note_credit(struct gang *g, const struct frame *f)
{
    const uint64_t step = g->r.round.step;
    if (f->type == FRAME_CREDIT && f->step == step) {
        g->credit = f->slice;
    } else if (f->type == FRAME_CREDIT && f->step == step + 1) {
        g->next_credit = f->slice;
    }
}

/* A record that is a frame, or the end of a connection. */
static int one_frame(struct gang *g, const uint8_t *record, struct err *err)
{
    struct ring *r = &g->r;
    const bool is_prev = record[0] == 'P';
    struct neighbour *n = is_prev ? &g->prev : &g->next;
    struct meet_peer *l = is_prev ? r->prev : &r->next;
    if (l->state != MEET_JOINED) {
        return 0;
    }
    const uint8_t how = record[3] & 31;
    bool is_changed = false, lies = false;
    struct frame f = {0};
    if (record[1] == 'X') {
        (void)shutdown(n->conn.fd, SHUT_WR); /* it cannot fail: both ends are open */
    } else {
        float value;
        f = honest(r, record[1], (uint32_t)(uint8_t)(record[2] - '0'), &value);
        say(n, &f, is_prev ? &onward : &backward, how, value);
        is_changed = (how & LIE_AFTER_SIGNING) != 0;
        lies =
            f.dtype != FRAME_DTYPE_NONE && ((how & LIE_OF_A_SLICE) != 0 || !is_prev ||
                                            (f.type == FRAME_PARAMS && r->round.is_new[f.slice]));
    }
    const int e = is_prev ? ring_prev_turn(r, true, err) : ring_next_turn(r, true, err);
    must(e >= 0 || err->msg[0] != '\0', "a refusal without a reason");
    must(e >= 0 || r->meet.fault.exit_code != 0, "a refusal that blames nobody");
    must(e < 0 || record[1] != 'X', "the end of a connection is not seen");
    must(e < 0 || !is_changed, "a frame whose header was changed came through");
    must(e < 0 || !lies, "a slice that lies came through");
    if (e >= 0) {
        note_credit(g, &f);
    }
    return e;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    static struct gang g;
    struct err err = {0};
    int e = 0;
    if (len == 0) {
        return 0;
    }
    open_gang(&g, data[0] % RANKS);
    for (data++, len--; len >= RECORD && e >= 0; data += RECORD, len -= RECORD) {
        if (data[0] != '.') {
            e = one_frame(&g, data, &err);
        } else if (data[1] == 'Y') {
            be_ready(&g, (uint8_t)(data[2] - '0'));
        } else {
            e = begin_job(&g, data[1] == 'Q' ? JOB_BARRIER : JOB_ROUND, &err);
        }
        if (e >= 0) {
            go_on(&g);
        }
    }
    if (getenv("FUZZ_PRINT") != NULL) {
        printf("rank %" PRIu32 ": step %" PRIu64 ", %" PRIu32 " gradients came, %" PRIu32
               " went, %" PRIu32 " slices are new: %s\n",
               g.r.params.gang.self.index, g.r.round.step, g.r.round.n_received, g.n_grads,
               g.r.round.n_new, e < 0 ? err.msg : "all taken");
    }
    close_gang(&g);
    return 0;
}
