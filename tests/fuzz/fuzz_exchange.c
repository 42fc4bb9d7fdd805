/* Fuzzing of what is above the frames: the rounds of a parameter server and of a trainer,
 * fed by peers that know the keys. An input says which frames come; they are signed here,
 * so it gets past the MAC.
 *
 *     S or T         a server with three trainers, or a trainer with two servers
 *     0O4 0G0 ...    frames: sender, type, number, and how it lies (a space: not at all)
 *
 * Types: O OFFER, G GRADIENT, K TAKEN, R READY, B GOODBYE, H HEARTBEAT, A ABORT, C CREDIT, P
 * PARAMS, L RELEASE, W WELCOME; J, Q and Y: the trainer begins a round, waits at the barrier, or
 * has gradients ready. Numbers are '0' and up. Lies are bits: 1 step, 2 slice, 4 offset, 8 length,
 * 16 the header after it was signed.
 *
 * FUZZ_PRINT in the environment: says what became of each input.
 *
 * Holds after each frame: no more memory and no more slices on their way than the
 * limits; sums are right whatever the order; a refusal has a reason, and a frame whose
 * header was changed is refused. */
#include "fuzz.h"

#include <inttypes.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "worker/comm/ps/client_internal.h"
#include "worker/comm/link/crc32c.h"
#include "worker/comm/ps/ps_internal.h"

enum { TRAINERS = 3, SERVERS = 2, EACH = 3, LEN = 32, RECORD = 4, EARLY = 2 };

static const struct auth_key up = {{1}}, down = {{2}};

struct sender { /* what a peer has sent, and its end of the connection */
    int fd;
    struct frame_id id;
    uint64_t sequence;
};

static void tell(const char *side, uint64_t rounds, uint64_t slices, int r, const struct err *err)
{
    if (getenv("FUZZ_PRINT") != NULL) {
        printf("%s: %" PRIu64 " rounds, %" PRIu64 " slices: %s\n", side, rounds, slices,
               r < 0 ? err->msg : "all taken");
    }
}

static enum frame_type type_of(uint8_t letter)
{
    static const char letters[] = " ...WHGPRLABOCK";
    const char *at = letter > ' ' ? strchr(letters, letter) : NULL;
    return at != NULL && *at != '.' ? (enum frame_type)(at - letters)
                                    : (enum frame_type)(letter & 31);
}

static size_t payload_of(enum frame_type type)
{
    return type == FRAME_GRADIENT || type == FRAME_PARAMS ? LEN * sizeof(float)
           : type == FRAME_ABORT                          ? 16
                                                          : 0;
}

/* Writes the frame into the connection. `value` fills a slice. True: its header was changed. */
static bool send_frame(struct sender *s, const struct auth_key *key, struct frame f, uint8_t how,
                       float value)
{
    uint8_t bytes[FRAME_HEADER_SIZE + LEN * sizeof(float)];
    float values[LEN];
    const bool is_slice = f.type == FRAME_GRADIENT || f.type == FRAME_PARAMS;
    size_t len = payload_of(f.type);
    for (size_t i = 0; i < LEN; i++) {
        values[i] = value;
    }
    memset(bytes, 0, sizeof(bytes));
    if (is_slice) {
        memcpy(bytes + FRAME_HEADER_SIZE, values, sizeof(values));
    }
    len -= (how & 8) != 0 && len > 0 ? 4 : 0;
    f.step += (how & 1) != 0;
    f.slice ^= (how & 2) != 0 ? 1 : 0;
    f.offset += (how & 4) != 0 ? 16 : 0;
    f.from = s->id;
    f.sequence = s->sequence++;
    f.dtype = is_slice ? FRAME_DTYPE_F32 : FRAME_DTYPE_NONE;
    f.payload_len = (uint32_t)len;
    f.payload_crc = crc32c(0, bytes + FRAME_HEADER_SIZE, len);
    frame_encode(&f, key, bytes);
    if ((how & 16) != 0) {
        bytes[f.step % FRAME_HEADER_SIZE] ^= 1;
    }
    ssize_t n = send(s->fd, bytes, FRAME_HEADER_SIZE + len, MSG_NOSIGNAL | MSG_DONTWAIT);
    must(n == (ssize_t)(FRAME_HEADER_SIZE + len), "the socket is full");
    return (how & 16) != 0;
}

static void open_conn(struct conn *c, struct sender *s, const struct frame_id *self,
                      const struct frame_id *peer, const struct auth_key *tx,
                      const struct auth_key *rx)
{
    int fds[2];
    must(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fds) == 0, "socketpair");
    conn_init(c, fds[0], self);
    conn_secure(c, tx, rx, peer, 1);
    *s = (struct sender){.fd = fds[1], .id = *peer};
}

static struct frame_id id_of(enum role role, uint32_t index)
{
    return (struct frame_id){.run = 77, .role = role, .index = index};
}

/* ---- a server ---- */

struct server {
    struct ps_server s;
    struct sender senders[TRAINERS];
    float params[EACH * LEN];
    size_t n_applied;
};

/* Trainer t's gradient of any slice is t + 1 everywhere. */
static void apply(void *ctx, uint64_t t, size_t offset, size_t n, float *params,
                  const float *grad_sum, float grad_scale)
{
    struct server *v = ctx;
    must(t == v->n_applied / EACH + 1, "a round too early or too late");
    must(offset == (EACH - 1 - v->n_applied % EACH) * LEN && n == LEN, "a slice out of its turn");
    must(grad_scale == 1.0f / TRAINERS, "no mean");
    for (size_t i = 0; i < n; i++) {
        must(grad_sum[i] == 6.0f, "a wrong sum");
        params[i] += grad_sum[i];
    }
    v->n_applied++;
}

static void open_server(struct server *v)
{
    *v = (struct server){0};
    struct ps_server *s = &v->s;
    s->params = (struct ps_server_params){
        .gang.self = id_of(ROLE_PSERVER, 0),
        .n_trainers = TRAINERS,
        .slices = {.n_params = EACH * LEN, .n_servers = 1, .n = EACH, .n_threads = 1},
        .params = v->params,
        .early_bytes = EARLY * LEN * sizeof(float),
        .apply = apply,
        .apply_ctx = v,
    };
    s->meet.params.self = s->params.gang.self;
    s->trainers = xnew_array(struct ps_peer *, TRAINERS);
    s->n_joined = TRAINERS;
    ps_round_init(s);
    s->up.max = s->up.max_each = s->down.max = 4; /* within the reach of an input */
    s->down.max_each = 2;
    for (uint32_t t = 0; t < TRAINERS; t++) {
        struct ps_peer *peer = xnew(struct ps_peer);
        struct frame_id id = id_of(ROLE_TRAINER, t);
        open_conn(&peer->conn, &v->senders[t], &s->params.gang.self, &id, &down, &up);
        peer->is_sent = xnew_array(bool, EACH);
        s->trainers[t] = peer;
    }
}

static void close_server(struct server *v)
{
    ps_round_done(&v->s);
    for (uint32_t t = 0; t < TRAINERS; t++) {
        conn_close(&v->s.trainers[t]->conn);
        free(v->s.trainers[t]->is_sent);
        free(v->s.trainers[t]);
        (void)close(v->senders[t].fd);
    }
    vec_done(&v->s.round_ns);
    free(v->s.trainers);
}

static void check_flow(const struct flow *f)
{
    uint64_t n_moving = 0, n_stuck = 0;
    for (uint32_t i = 0; i < f->n_links; i++) {
        const struct flow_link *l = &f->links[i];
        n_stuck += l->is_stuck ? l->sent - l->taken : 0;
        must(l->taken <= l->sent && l->sent <= l->ready, "more was sent than there is");
        must(l->sent - l->taken <= f->max_each, "too much for one link");
        n_moving += l->sent - l->taken;
    }
    must(n_moving == f->n_moving && n_stuck == f->n_stuck, "what is on its way is counted wrong");
    must(n_moving <= f->max + FLOW_STUCK_LINKS * f->max_each, "too much is on its way");
}

static void check_server(const struct server *v)
{
    const struct ps_server *s = &v->s;
    check_flow(&s->up);
    check_flow(&s->down);
    must(s->reduce.n_taken <= s->reduce.n_reserved, "a buffer that was not reserved");
    must(s->reduce.n_reserved <= s->reduce.max_early && s->reduce.max_early == EARLY,
         "more memory than the limit");
    must(v->n_applied == s->round * EACH + s->n_complete, "a slice was not applied");
}

/* The frame that a trainer would send now. */
static struct frame honest(const struct server *v, uint32_t t, enum frame_type type,
                           uint32_t number)
{
    const struct ps_peer *peer = v->s.trainers[t];
    struct frame f = {.type = type};
    switch (type) {
    case FRAME_GRADIENT:
        f.step = peer->step;
        f.slice = EACH - 1 - (uint32_t)peer->next; /* from the last one to the first */
        f.offset = f.slice * LEN;
        break;
    case FRAME_OFFER:
        f.step = peer->step;
        f.slice = number;
        break;
    case FRAME_TAKEN:
        f.step = v->s.down.links[t].taken / EACH;
        f.slice = number;
        break;
    default:
        break;
    }
    return f;
}

static void fuzz_server(const uint8_t *data, size_t len)
{
    static const struct conn_handler handler = {.place = ps_round_place, .frame = ps_round_frame};
    struct server v;
    struct err err = {0};
    int r = 0;
    open_server(&v);
    for (; len >= RECORD && r >= 0; data += RECORD, len -= RECORD) {
        const uint32_t t = data[0] % TRAINERS;
        struct ps_peer *peer = v.s.trainers[t];
        struct frame f = honest(&v, t, type_of(data[1]), (uint32_t)(uint8_t)(data[2] - '0'));
        const bool is_changed = send_frame(&v.senders[t], &up, f, data[3] & 31, (float)t + 1);
        r = conn_pump_rx(&peer->conn, 1, SIZE_MAX, &handler, &v.s, &err);
        must(r >= 0 || err.msg[0] != '\0', "a refusal without a reason");
        must(r < 0 || !is_changed, "a frame whose header was changed came through");
        check_server(&v);
        for (uint32_t i = 0; i < TRAINERS; i++) {
            conn_drop_queue(&v.s.trainers[i]->conn); /* as if it had been sent */
        }
    }
    tell("server", v.s.round, v.n_applied, r, &err);
    close_server(&v);
}

/* ---- a trainer ---- */

enum { GUARD = 16, N_PARAMS = SERVERS * EACH * LEN };

struct trainer {
    struct client c;
    struct link links[SERVERS];
    struct sender senders[SERVERS];
    bool is_received[SERVERS * EACH];
    float grads[N_PARAMS];
    float params[GUARD + N_PARAMS + GUARD];
};

static void open_trainer(struct trainer *v)
{
    *v = (struct trainer){0};
    struct client *c = &v->c;
    c->params.gang.self = c->meet.params.self = id_of(ROLE_TRAINER, 0);
    c->params.slices = (struct slices){
        .n_params = N_PARAMS, .n_servers = SERVERS, .n = SERVERS * EACH, .n_threads = 1};
    c->links = v->links;
    c->box.doing_grads = v->grads;
    c->box.doing_params = v->params + GUARD;
    c->is_received = v->is_received;
    c->meet.now_ns = 1;
    for (uint32_t i = 0; i < SERVERS; i++) {
        struct link *l = &v->links[i];
        l->peer.id = id_of(ROLE_PSERVER, i);
        open_conn(&l->peer.conn, &v->senders[i], &c->params.gang.self, &l->peer.id, &up, &down);
        l->peer.state = MEET_JOINED;
    }
}

static void close_trainer(struct trainer *v)
{
    for (uint32_t i = 0; i < SERVERS; i++) {
        conn_close(&v->links[i].peer.conn);
        (void)close(v->senders[i].fd);
    }
}

/* As exchange_ps.c begins and ends jobs. */
static void begin_job(struct trainer *v, enum mailbox_job job)
{
    if (v->c.box.doing != JOB_NONE) {
        return;
    }
    v->c.box.doing = job;
    v->c.box.begun = true;
    v->c.n_received = 0;
    v->c.box.doing_ready_offset = SIZE_MAX;
    memset(v->is_received, 0, sizeof(v->is_received));
    for (uint32_t i = 0; i < SERVERS; i++) {
        struct link *l = &v->links[i];
        l->n_offered = l->n_sent = l->n_received = l->n_told = 0;
    }
}

static void check_trainer(struct trainer *v)
{
    struct client *c = &v->c;
    uint32_t n_received = 0, n_released = 0;
    for (uint32_t i = 0; i < SERVERS; i++) {
        struct link *l = &v->links[i];
        must(l->n_offered <= EACH && l->n_sent <= l->n_offered && l->n_received <= l->n_sent,
             "a slice too many");
        must(l->peer.conn.lanes[CONN_BULK].len <= EACH, "a slice was queued twice");
        n_received += l->n_received;
        n_released += l->released;
        link_tell_taken(c, l);
        conn_drop_queue(&l->peer.conn); /* as if it had been sent */
    }
    must(n_received == c->n_received, "a slice was not counted");
    for (size_t i = 0; i < GUARD; i++) {
        must(v->params[i] == 0 && v->params[GUARD + N_PARAMS + i] == 0,
             "parameters beyond their place");
    }
    if (c->box.doing == JOB_ROUND && n_received == SERVERS * EACH) {
        for (size_t i = 0; i < N_PARAMS; i++) {
            must(v->params[GUARD + i] == (float)c->step + 1, "a parameter of another step");
        }
        c->step++;
        c->box.doing = JOB_NONE;
    } else if (c->box.doing == JOB_BARRIER && n_released == SERVERS) {
        c->box.doing = JOB_NONE;
    }
}

static void fuzz_trainer(const uint8_t *data, size_t len)
{
    struct trainer v;
    struct err err = {0};
    int r = 0;
    open_trainer(&v);
    for (; len >= RECORD && r >= 0; data += RECORD, len -= RECORD) {
        if (data[1] == 'J' || data[1] == 'Q') {
            begin_job(&v, data[1] == 'J' ? JOB_ROUND : JOB_BARRIER);
            continue;
        }
        if (data[1] == 'Y' && v.c.box.doing == JOB_ROUND) { /* in slices of a server */
            const size_t offset = (size_t)(data[2] & 3) * SERVERS * LEN;
            const size_t before = v.c.box.doing_ready_offset;
            v.c.box.doing_ready_offset = offset < before ? offset : before;
            link_offer(&v.c, &v.links[0]);
            link_offer(&v.c, &v.links[1]);
            continue;
        }
        const uint32_t i = data[0] % SERVERS;
        struct link *l = &v.links[i];
        struct frame f = {.type = type_of(data[1]), .step = v.c.step};
        f.slice = (uint32_t)(uint8_t)(data[2] - '0');
        if (f.type == FRAME_PARAMS) {
            f.slice = link_slice(&v.c, l, (l->n_received + f.slice) % EACH);
            f.offset = f.slice * LEN;
        }
        const bool is_changed =
            send_frame(&v.senders[i], &down, f, data[3] & 31, (float)v.c.step + 1);
        r = link_read(&v.c, l, &err);
        must(r >= 0 || err.msg[0] != '\0', "a refusal without a reason");
        must(r >= 0 || v.c.meet.fault.exit_code != 0, "a refusal that blames nobody");
        must(r < 0 || !is_changed, "a frame whose header was changed came through");
        check_trainer(&v);
    }
    tell("trainer", v.c.step, v.c.n_received, r, &err);
    close_trainer(&v);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    if (len > 0 && data[0] == 'T') {
        fuzz_trainer(data + 1, len - 1);
    } else if (len > 0) {
        fuzz_server(data + 1, len - 1);
    }
    return 0;
}
