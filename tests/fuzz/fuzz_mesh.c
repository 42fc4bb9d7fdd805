/* Fuzzing of all-reduce as a call, above the frames: the other ranks know the keys, so what they
 * say gets past the MAC. An input is two calls of a gang, and what the other ranks say, in records
 * of four bytes; all of it is in the sockets before the first call:
 *
 *     R, H or D      ring, halving, doubling; then the number of ranks, 2 to 5; the rank under
 *                    test; and floats: 1 to 96, '0' is 48
 *     1N0 2V0!..     a frame: sender, what, number, and how it lies (a space: not at all)
 *
 * What: N the next numbers of the plan, V the same of a message of another length, T as if they
 * were of the other half of the plan; H HEARTBEAT, A ABORT, B GOODBYE, R READY, C CREDIT, S SHARE,
 * ...; X: the connection ends. Lies are bits: 1 step, 2 frame, 4 offset, 8 length, 16 the header
 * after it was signed. Who lies, or has not said all in the end, ends its connection.
 *
 * FUZZ_PRINT in the environment: says what became of each input.
 *
 * Holds: each call ends. It succeeds if all ranks are honest, and only if all numbers that it needs
 * were honest; then every sum is right. What this rank sends is right, whatever comes. A refusal
 * has a reason, and blames a rank that is not honest. */
#include "fuzz.h"

#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "worker/comm/link/crc32c.h"
#include "worker/comm/collective/mesh.h"

enum { RANKS = 5, CALLS = 2, STEPS = 2 * (RANKS - 1), FLOATS = 96, HEAD = 4, RECORD = 4 };
enum { LIE_AFTER_SIGNING = 16 };

static const struct auth_key ours = {{1}},
                             theirs = {{2}}; /* of what this rank says; of the others */

struct message { /* of one step */
    uint32_t to;
    enum frame_type type;
    size_t at, n;
    float numbers[FLOATS];
};

struct other { /* a rank beside the one under test, and its end of the connection */
    struct conn conn;
    uint64_t sequence;
    size_t n_said, n_heard; /* steps of the plan, of all calls; said: honestly */
    bool is_honest;         /* so far */
};

struct gang {
    struct mesh m;
    struct meet_peer peers[RANKS];
    struct other others[RANKS];
    struct message plan[CALLS * STEPS][RANKS];
    enum collective_way way;
    uint32_t n_ranks, self, n_steps; /* of a call */
    size_t n;
    bool has_abort; /* which may name anybody */
    float from[FLOATS], to[FLOATS], heard[FLOATS];
};

static float landing[MESH_CHUNK_BYTES / sizeof(float)];

/* ---- the right numbers ---- */

static float number_of(uint32_t rank, size_t call, size_t i)
{
    return (float)((rank + 1) * (i % 7 + 1) + call);
}

static float sum_of(const struct gang *g, size_t call, size_t i)
{
    float sum = 0;
    for (uint32_t r = 0; r < g->n_ranks; r++) {
        sum += number_of(r, call, i);
    }
    return sum;
}

/* All ranks do a step at once: first all send, then all receive. */
static void plan_step(struct gang *g, size_t call, uint32_t k, float own[RANKS][FLOATS],
                      float sums[RANKS][FLOATS])
{
    struct message *row = g->plan[call * g->n_steps + k];
    for (uint32_t r = 0; r < g->n_ranks; r++) {
        const struct collective_step s = collective_step_at(g->way, g->n_ranks, r, g->n, k);
        row[r] = (struct message){
            .to = s.to,
            .type = s.adds ? FRAME_GRADIENT : FRAME_PARAMS,
            .at = s.send.at,
            .n = s.send.n,
        };
        memcpy(row[r].numbers, (s.sends_own ? own : sums)[r] + s.send.at, s.send.n * sizeof(float));
    }
    for (uint32_t r = 0; r < g->n_ranks; r++) {
        const struct collective_step s = collective_step_at(g->way, g->n_ranks, r, g->n, k);
        for (size_t i = 0; i < s.receive.n; i++) {
            const size_t at = s.receive.at + i;
            const float before = s.adds ? (s.adds_own ? own : sums)[r][at] : 0;
            sums[r][at] = before + row[s.from].numbers[i];
        }
    }
}

static void plan(struct gang *g)
{
    for (size_t call = 0; call < CALLS; call++) {
        float own[RANKS][FLOATS], sums[RANKS][FLOATS] = {{0}};
        for (uint32_t r = 0; r < g->n_ranks; r++) {
            for (size_t i = 0; i < g->n; i++) {
                own[r][i] = number_of(r, call, i);
            }
        }
        for (uint32_t k = 0; k < g->n_steps; k++) {
            plan_step(g, call, k, own, sums);
        }
        for (size_t i = 0; i < g->n; i++) {
            must(sums[g->self][i] == sum_of(g, call, i), "the plan itself is wrong");
        }
    }
}

/* The first step from `at` on in which `from` sends numbers to `to`; all steps: none. */
static size_t next_message(const struct gang *g, uint32_t from, uint32_t to, size_t at)
{
    const size_t end = CALLS * g->n_steps;
    while (at < end && (g->plan[at][from].to != to || g->plan[at][from].n == 0)) {
        at++;
    }
    return at;
}

/* ---- what this rank says ---- */

struct hearing {
    struct gang *gang;
    uint32_t rank;
};

static const struct message *expected(const struct hearing *h)
{
    struct gang *g = h->gang;
    struct other *o = &g->others[h->rank];
    o->n_heard = next_message(g, g->self, h->rank, o->n_heard);
    must(o->n_heard < CALLS * g->n_steps, "it sends more than the plan says");
    return &g->plan[o->n_heard][g->self];
}

static void *hear_place(void *ctx, struct conn *c, const struct frame *f, struct err *err)
{
    struct hearing *h = ctx;
    struct gang *g = h->gang;
    (void)c, (void)err;
    const struct message *m = expected(h);
    must(f->type == m->type && f->step == g->others[h->rank].n_heard / g->n_steps &&
             f->slice == 0 && f->offset == m->at && f->message == g->n &&
             f->payload_len == m->n * sizeof(float),
         "it sends something else than the plan says");
    return g->heard;
}

static int hear_frame(void *ctx, struct conn *c, const struct frame *f, const uint8_t *payload,
                      struct err *err)
{
    struct hearing *h = ctx;
    (void)c, (void)payload, (void)err;
    if (f->type == FRAME_HEARTBEAT) {
        return 0;
    }
    const struct message *m = expected(h);
    must(f->type == m->type, "it says what nobody asked for");
    must(memcmp(h->gang->heard, m->numbers, m->n * sizeof(float)) == 0, "a wrong sum goes on");
    h->gang->others[h->rank].n_heard++;
    return 0;
}

static void hear_all(struct gang *g)
{
    static const struct conn_handler handler = {.place = hear_place, .frame = hear_frame};
    for (uint32_t r = 0; r < g->n_ranks; r++) {
        struct hearing h = {g, r};
        struct err err = {0};
        must(r == g->self ||
                 conn_pump_rx(&g->others[r].conn, 1, SIZE_MAX, &handler, &h, &err) >= 0 ||
                 err.code == ECONNRESET,
             "what it sends is no frame");
    }
}

/* ---- what the others say ---- */

static enum frame_type type_of(uint8_t letter)
{
    static const char letters[] = " ...WHGPRLABOCKS";
    const char *at = letter > ' ' ? strchr(letters, letter) : NULL;
    return at != NULL && *at != '.' ? (enum frame_type)(at - letters)
                                    : (enum frame_type)(letter & 31);
}

static void send_frame(struct other *o, struct frame f, const float *numbers, uint8_t how)
{
    uint8_t bytes[FRAME_HEADER_SIZE + FLOATS * sizeof(float)] = {0};
    if (numbers != NULL) {
        memcpy(bytes + FRAME_HEADER_SIZE, numbers, f.payload_len);
    }
    f.payload_len -= (how & 8) != 0 && f.payload_len > 0 ? 4 : 0;
    f.step += (how & 1) != 0;
    f.slice ^= (how & 2) != 0 ? 1 : 0;
    f.offset += (how & 4) != 0 ? 16 : 0;
    f.from = o->conn.self;
    f.sequence = o->sequence++;
    f.dtype = numbers != NULL ? FRAME_DTYPE_F32 : FRAME_DTYPE_NONE;
    f.payload_crc = crc32c(0, bytes + FRAME_HEADER_SIZE, f.payload_len);
    frame_encode(&f, &theirs, bytes);
    if ((how & LIE_AFTER_SIGNING) != 0) {
        bytes[f.sequence % FRAME_HEADER_SIZE] ^= 1;
    }
    const size_t len = FRAME_HEADER_SIZE + f.payload_len;
    must(send(o->conn.fd, bytes, len, MSG_NOSIGNAL | MSG_DONTWAIT) == (ssize_t)len,
         "the socket is full");
}

/* Says the next numbers of the plan; V and T: with another length or type. */
static void say_numbers(struct gang *g, uint32_t rank, uint8_t what, uint8_t how)
{
    struct other *o = &g->others[rank];
    const size_t at = next_message(g, rank, g->self, o->n_said);
    if (at == CALLS * g->n_steps) {
        return; /* it has said all */
    }
    const struct message *m = &g->plan[at][rank];
    const enum frame_type other_type = m->type == FRAME_PARAMS ? FRAME_GRADIENT : FRAME_PARAMS;
    const struct frame f = {
        .type = what == 'T' ? other_type : m->type,
        .step = at / g->n_steps,
        .offset = m->at,
        .message = (uint32_t)g->n + (what == 'V'),
        .payload_len = (uint32_t)(m->n * sizeof(float)),
    };
    send_frame(o, f, m->numbers, how);
    o->is_honest = what == 'N' && how == 0;
    o->n_said = o->is_honest ? at + 1 : o->n_said;
}

static void end_stream(struct other *o)
{
    (void)shutdown(o->conn.fd, SHUT_WR); /* cannot fail: both ends are open */
    o->is_honest = false;
}

static void say(struct gang *g, const uint8_t *record)
{
    const uint32_t rank = (uint8_t)(record[0] - '0') % g->n_ranks;
    struct other *o = &g->others[rank];
    const uint8_t what = record[1], how = record[3] & 31;
    if (rank == g->self || !o->is_honest) {
        return; /* nothing is heard of it after its first lie */
    }
    if (what == 'N' || what == 'V' || what == 'T') {
        say_numbers(g, rank, what, how);
    } else if (what != 'X') {
        struct frame f = {.type = type_of(what), .slice = (uint32_t)(uint8_t)(record[2] - '0')};
        f.payload_len = f.type == FRAME_ABORT || f.type == FRAME_SHARE ? 16 : 0;
        g->has_abort = g->has_abort || f.type == FRAME_ABORT;
        send_frame(o, f, NULL, how);
        o->is_honest = f.type == FRAME_HEARTBEAT && f.slice == 0 && how == 0;
    } else {
        o->is_honest = false;
    }
}

/* ---- the calls ---- */

static struct frame_id worker(uint32_t index)
{
    return (struct frame_id){.run = 77, .role = ROLE_WORKER, .index = index};
}

static void open_gang(struct gang *g, const uint8_t *head)
{
    static const enum collective_algorithm algorithms[] = {COLLECTIVE_RING, COLLECTIVE_HALVING,
                                                           COLLECTIVE_DOUBLING};
    *g = (struct gang){.n_ranks = 2 + (uint32_t)(head[1] - '2') % (RANKS - 1)};
    g->self = (uint8_t)(head[2] - '0') % g->n_ranks;
    g->n = 1 + (size_t)(head[3] - '0' + 47) % FLOATS;
    struct mesh *m = &g->m;
    m->params = (struct collective_params){
        .gang.self = worker(g->self),
        .n_ranks = g->n_ranks,
        .algorithm = algorithms[head[0] == 'R'   ? 0
                                : head[0] == 'H' ? 1
                                                 : 2],
    };
    g->way = collective_way_of(m->params.algorithm, g->n_ranks, g->n);
    g->n_steps = collective_n_steps(g->way, g->n_ranks);
    must(collective_segment(g->way, g->n_ranks, g->n) >= g->n, "a call is several segments");
    m->peers = g->peers;
    m->meet.listener.fd = -1;
    m->share.shm = SHM_PEERS_NONE;
    m->landing = landing;
    m->landing_floats = sizeof(landing) / sizeof(*landing);
    m->meet.params.self = m->params.gang.self;
    meet_begin(&m->meet);
    for (uint32_t r = 0; r < g->n_ranks; r++) {
        int fds[2];
        struct meet_peer *p = &g->peers[r];
        struct other *o = &g->others[r];
        p->id = worker(r);
        p->conn.fd = o->conn.fd = -1;
        o->is_honest = true;
        if (r == g->self) {
            continue;
        }
        must(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fds) == 0, "socketpair");
        p->state = MEET_JOINED;
        conn_init(&p->conn, fds[0], &m->params.gang.self);
        conn_secure(&p->conn, &ours, &theirs, &p->id, m->meet.now_ns);
        conn_init(&o->conn, fds[1], &p->id);
        conn_secure(&o->conn, &theirs, &ours, &m->params.gang.self, m->meet.now_ns);
    }
}

static void close_gang(struct gang *g)
{
    for (uint32_t r = 0; r < g->n_ranks; r++) {
        conn_close(&g->peers[r].conn);
        conn_close(&g->others[r].conn);
    }
}

/* Has the rank said all that the calls before `n_calls` need of it? */
static bool has_said(const struct gang *g, uint32_t rank, size_t n_calls)
{
    return next_message(g, rank, g->self, g->others[rank].n_said) >= n_calls * g->n_steps;
}

static bool have_said(const struct gang *g, size_t n_calls)
{
    bool have = true;
    for (uint32_t r = 0; r < g->n_ranks; r++) {
        have = have && (r == g->self || has_said(g, r, n_calls));
    }
    return have;
}

static void check_refusal(const struct gang *g, const struct err *err)
{
    const struct fault *f = &g->m.meet.fault;
    must(err->msg[0] != '\0', "a refusal without a reason");
    must(f->exit_code != 0 && f->has_peer, "a refusal that blames nobody");
    must(g->has_abort || (f->peer.index < g->n_ranks && !g->others[f->peer.index].is_honest),
         "an honest rank is blamed");
}

/* One out of place, one in place. */
static int call(struct gang *g, size_t number, bool all_honest, struct err *err)
{
    struct mesh *m = &g->m;
    const float *from = number == 0 ? g->from : g->to;
    for (size_t i = 0; i < g->n; i++) {
        g->from[i] = g->to[i] = number_of(g->self, number, i);
    }
    m->beat_ns = INT64_MAX / 2; /* none in the call: it would see ends of streams in any order */
    const int e = mesh_all_reduce(m, from, g->to, g->n, err);
    hear_all(g);
    must(e >= 0 || !all_honest, "honest ranks are refused");
    if (e < 0) {
        check_refusal(g, err);
        return e;
    }
    must(have_said(g, number + 1), "numbers that nobody sent are in a sum");
    for (size_t i = 0; i < g->n; i++) {
        must(g->to[i] == sum_of(g, number, i), "a wrong sum");
    }
    for (uint32_t r = 0; r < g->n_ranks; r++) {
        must(r == g->self ||
                 next_message(g, g->self, r, g->others[r].n_heard) >= (number + 1) * g->n_steps,
             "a call ends before its numbers are sent");
    }
    return e;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    static struct gang g;
    struct err err = {0};
    if (len < HEAD) {
        return 0;
    }
    open_gang(&g, data);
    plan(&g);
    for (data += HEAD, len -= HEAD; len >= RECORD; data += RECORD, len -= RECORD) {
        say(&g, data);
    }
    bool all_honest = true;
    for (uint32_t r = 0; r < g.n_ranks; r++) {
        struct other *o = &g.others[r];
        if (r != g.self && (!o->is_honest || !has_said(&g, r, CALLS))) {
            end_stream(o);
            all_honest = false;
        }
    }
    int e = 0;
    size_t n_calls = 0;
    for (; n_calls < CALLS && e >= 0; n_calls += e >= 0) {
        e = call(&g, n_calls, all_honest, &err);
        if (e >= 0 && (e = mesh_beat(&g.m, &err)) < 0) {
            must(!all_honest, "a beat refuses honest ranks");
            check_refusal(&g, &err);
        }
    }
    if (getenv("FUZZ_PRINT") != NULL) {
        printf("%s, rank %u of %u, %zu floats: %zu calls: %s\n", collective_way_names[g.way],
               g.self, g.n_ranks, g.n, n_calls, e < 0 ? err.msg : "all well");
    }
    close_gang(&g);
    return 0;
}
