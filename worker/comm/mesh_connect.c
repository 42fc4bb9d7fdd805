/* The rendezvous of a mesh: a rank dials those before it and accepts those after it. Strangers
 * (wrong secret, another run or attempt, garbage, a second process of a rank) are rejected and
 * change nothing. See mesh.h. */
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/exit_code.h"
#include "base/log.h"
#include "worker/comm/mesh.h"

#define TURN_BYTES ((size_t)64 << 10)
#define MAX_STRANGERS 64
#define HANDSHAKE_NS INT64_C(10000000000)
#define LATE_NS INT64_C(2000000000)
#define DIAL_TICK_MS 20

void mesh_peers_init(struct mesh *m, const struct net_addr *addrs)
{
    m->peers = xnew_array(struct mesh_peer, m->params.n_ranks);
    for (uint32_t i = 0; i < m->params.n_ranks; i++) {
        struct mesh_peer *p = &m->peers[i];
        p->id = m->params.self;
        p->id.index = i;
        p->conn.fd = -1;
        p->dial.fd = -1;
        if (i < mesh_self(m)) {
            dial_init(&p->dial, &addrs[i]);
        }
        memcpy(p->handshake.secret, m->params.secret, AUTH_SECRET_SIZE);
        p->handshake.trainer.id = m->params.self;
        memcpy(p->handshake.trainer.digest, m->params.digest, AUTH_DIGEST_SIZE);
    }
}

static void free_guest(struct mesh_peer *p)
{
    conn_close(&p->conn);
    free(p);
}

void mesh_peers_done(struct mesh *m)
{
    for (uint32_t i = 0; i < m->params.n_ranks; i++) {
        dial_done(&m->peers[i].dial);
        conn_close(&m->peers[i].conn);
    }
    free(m->peers);
    vec_each (struct mesh_peer *, it, &m->guests) {
        free_guest(*it);
    }
    vec_done(&m->guests);
}

static bool all_joined(const struct mesh *m)
{
    return m->n_joined == m->params.n_ranks - 1;
}

/* As handshake_agree, in the words of a rank: its digest is of other settings than a training's. */
static int agree(const struct handshake_side *self, const struct handshake_side *peer,
                 struct err *err)
{
    const int e = handshake_agree(self, peer, err);
    return e != -EPROTO ? e
                        : err_set(err, EPROTO,
                                  "its sizes, calls, algorithm, backend or number of ranks differ; "
                                  "give all replicas of a run the same settings");
}

/* ---- ranks before this one ---- */

static int dial_peer(struct mesh *m, struct mesh_peer *p, struct err *err)
{
    int fd = dial_step(&p->dial, m->now_ns);
    if (fd < 0) {
        return 0;
    }
    int e = net_tune(fd, err);
    conn_init(&p->conn, fd, &m->params.self);
    if (e >= 0) {
        e = auth_nonce(p->handshake.trainer.nonce, err);
    }
    if (e < 0) {
        return e;
    }
    uint8_t hello[HANDSHAKE_HELLO_SIZE];
    handshake_hello(&p->handshake, hello);
    conn_send(&p->conn, FRAME_HELLO, hello, sizeof(hello));
    p->state = MESH_HANDSHAKE;
    return 0;
}

static int on_challenge(struct mesh *m, struct mesh_peer *p, const struct frame *f,
                        const uint8_t *payload, struct err *err)
{
    uint8_t proof[HANDSHAKE_PROOF_SIZE];
    if (f->type != FRAME_CHALLENGE) {
        return err_set(err, EPROTO, "unexpected %s in the handshake",
                       frame_type_to_string(f->type));
    }
    int e = handshake_on_challenge(&p->handshake, f, payload, proof, err);
    if (e < 0) {
        return e;
    }
    conn_send(&p->conn, FRAME_PROOF, proof, sizeof(proof));
    /* The proof is sent even if the two sides differ, so that the other side
     * also learns the reason. */
    e = agree(&p->handshake.trainer, &p->handshake.server, err);
    if (e < 0) {
        return -EPROTO;
    }
    const struct frame_id *id = &p->handshake.server.id;
    if (id->role != p->id.role || id->index != p->id.index) {
        char name[32];
        frame_id_name(id, name);
        return err_set(err, EPROTO, "the process at this address is %s; check --worker-addrs",
                       name);
    }
    struct handshake_keys keys;
    handshake_keys(&p->handshake, &keys);
    conn_secure(&p->conn, &keys.from_trainer, &keys.from_server, &p->id, m->now_ns);
    return 0;
}

struct caller {
    struct mesh *mesh;
    struct mesh_peer *peer;
};

/* Of a rank that was dialled, until it has said WELCOME. */
static int on_dialled_frame(void *ctx, struct conn *c, const struct frame *f,
                            const uint8_t *payload, struct err *err)
{
    struct mesh *m = ((struct caller *)ctx)->mesh;
    struct mesh_peer *p = ((struct caller *)ctx)->peer;
    if (!c->secured) {
        return on_challenge(m, p, f, payload, err);
    }
    if (f->type == FRAME_WELCOME) {
        p->state = MESH_JOINED;
        m->n_joined++;
        return 1; /* read on as a peer */
    }
    if (f->type == FRAME_ABORT) {
        return mesh_on_frame(m, p, f, payload, err);
    }
    return err_set(err, EPROTO, "%s arrived before WELCOME", frame_type_to_string(f->type));
}

static void *no_place(void *ctx, struct conn *c, const struct frame *f, struct err *err)
{
    (void)ctx, (void)c;
    (void)err_set(err, EPROTO, "%s came before the handshake's end", frame_type_to_string(f->type));
    return NULL;
}

static int read_handshake(struct mesh *m, struct mesh_peer *p,
                          int (*on_frame)(void *, struct conn *, const struct frame *,
                                          const uint8_t *, struct err *),
                          struct err *err)
{
    const struct conn_handler handler = {no_place, on_frame, NULL};
    struct caller caller = {m, p};
    return conn_pump_rx(&p->conn, m->now_ns, TURN_BYTES, &handler, &caller, err);
}

static int dialled_turn(struct mesh *m, struct mesh_peer *p, struct err *err)
{
    if (p->state == MESH_DIAL) {
        return dial_peer(m, p, err);
    }
    if (p->state != MESH_HANDSHAKE) {
        return 0;
    }
    int e = read_handshake(m, p, on_dialled_frame, err);
    const bool is_late = e == 0 && !p->conn.secured && m->now_ns >= p->dial.answer_by_ns;
    if (e == -ECONNRESET || is_late) {
        conn_close(&p->conn); /* it is starting, ending, or not what the name means any more */
        dial_again(&p->dial, m->now_ns, is_late ? DIAL_SILENT : DIAL_CLOSED);
        p->state = MESH_DIAL;
        return 0;
    }
    return e < 0 ? mesh_blame(m, p, e, err) : conn_pump_tx(&p->conn, TURN_BYTES, err);
}

/* ---- ranks after this one, and strangers ---- */

static void drop_guest(struct mesh *m, struct mesh_peer *guest)
{
    for (size_t i = 0; i < m->guests.len; i++) {
        if (m->guests.items[i] == guest) {
            m->guests.items[i] = m->guests.items[--m->guests.len];
            free_guest(guest);
            return;
        }
    }
}

static void note_rejected(struct mesh *m, const struct mesh_peer *guest, const char *why)
{
    char claims[32] = "nothing";
    if (guest->handshake.trainer.id.run != 0) {
        frame_id_name(&guest->handshake.trainer.id, claims); /* unproved, but useful to know */
    }
    (void)snprintf(m->rejected, sizeof(m->rejected), "%s: %s", claims, why); /* may truncate */
    log_event(LOG_LEVEL_WARN, "connection rejected", "claims", claims, "err", why, NULL);
}

static int accept_all(struct mesh *m, struct err *err)
{
    for (;;) {
        const int fd = net_accept(&m->listener, m->now_ns, err);
        if (fd < 0) {
            return fd == -EAGAIN ? 0 : fd; /* the caller still waits for somebody */
        }
        if (net_tune(fd, err) < 0 || m->guests.len >= m->params.n_ranks + MAX_STRANGERS) {
            (void)close(fd); /* closed again, or a flood: a rank connects again */
            continue;
        }
        struct mesh_peer *guest = xnew(struct mesh_peer);
        *vec_push(&m->guests) = guest;
        guest->state = MESH_HANDSHAKE;
        guest->dial.fd = -1;
        conn_init(&guest->conn, fd, &m->params.self);
        guest->joins_by_ns = m->now_ns + HANDSHAKE_NS;
        memcpy(guest->handshake.secret, m->params.secret, AUTH_SECRET_SIZE);
        guest->handshake.server.id = m->params.self;
        memcpy(guest->handshake.server.digest, m->params.digest, AUTH_DIGEST_SIZE);
        int e = auth_nonce(guest->handshake.server.nonce, err);
        if (e < 0) {
            return e;
        }
    }
}

/* Sends ABORT in place of WELCOME: the fault, or that the name is taken. */
static void refuse(struct mesh *m, struct mesh_peer *guest)
{
    struct fault why = {.exit_code = EXIT_WORKER_PROTOCOL, .has_peer = true};
    why.peer = guest->handshake.trainer.id;
    char name[32];
    frame_id_name(&why.peer, name);
    (void)snprintf(why.message, sizeof(why.message),
                   "another process is %s already; give each worker an index of its own", name);
    const bool has_fault = m->fault.exit_code != 0;
    if (!has_fault) {
        note_rejected(m, guest, "another process has this name already");
    }
    uint8_t payload[FRAME_SMALL_PAYLOAD];
    const size_t len =
        has_fault ? mesh_fault_payload(m, payload) : fault_to_abort(&why, &m->params.self, payload);
    conn_send(&guest->conn, FRAME_ABORT, payload, len);
    guest->is_refused = true;
}

static bool is_of_this_attempt(const struct mesh *m, const struct frame_id *id)
{
    return id->run == m->params.self.run && id->attempt == m->params.self.attempt;
}

/* The guest has proved the secret. -ESTALE: reject it; -EPROTO: the ranks do not fit together. */
static int join(struct mesh *m, struct mesh_peer *guest, struct err *err)
{
    const struct frame_id *id = &guest->handshake.trainer.id;
    struct handshake_keys keys;
    handshake_keys(&guest->handshake, &keys);
    conn_secure(&guest->conn, &keys.from_server, &keys.from_trainer, id, m->now_ns);
    guest->id = *id;
    const bool is_expected =
        id->role == ROLE_WORKER && id->index > mesh_self(m) && id->index < m->params.n_ranks;
    const bool is_taken = is_expected && m->peers[id->index].state != MESH_DIAL;
    if (is_of_this_attempt(m, id) && (is_taken || m->fault.exit_code != 0)) {
        refuse(m, guest);
        return 0;
    }
    int e = agree(&guest->handshake.server, &guest->handshake.trainer, err);
    if (e < 0) {
        return e;
    }
    if (!is_expected) {
        return err_set(err, EPROTO,
                       "it connected to worker/%" PRIu32 ", which only later ranks dial; check "
                       "--worker-addrs",
                       mesh_self(m));
    }
    conn_send(&guest->conn, FRAME_WELCOME, NULL, 0);
    guest->state = MESH_JOINED;
    return 1; /* read on when it has its place */
}

static int on_guest_frame(void *ctx, struct conn *c, const struct frame *f, const uint8_t *payload,
                          struct err *err)
{
    struct mesh *m = ((struct caller *)ctx)->mesh;
    struct mesh_peer *guest = ((struct caller *)ctx)->peer;
    (void)c;
    if (guest->is_refused) {
        return 0;
    }
    if (f->type == FRAME_HELLO && f->sequence == 0) {
        uint8_t challenge[HANDSHAKE_CHALLENGE_SIZE];
        handshake_on_hello(&guest->handshake, f, payload, challenge);
        conn_send(&guest->conn, FRAME_CHALLENGE, challenge, sizeof(challenge));
        return 0;
    }
    if (f->type == FRAME_PROOF && f->sequence == 1) {
        int e = handshake_on_proof(&guest->handshake, f, payload, err);
        return e < 0 ? e : join(m, guest, err);
    }
    return err_set(err, EPROTO, "unexpected %s in the handshake", frame_type_to_string(f->type));
}

/* The connection of a guest that has joined becomes that of its rank. */
static int welcome(struct mesh *m, struct mesh_peer *guest, struct err *err)
{
    struct mesh_peer *p = &m->peers[guest->id.index];
    p->conn = guest->conn;
    p->state = MESH_JOINED;
    guest->conn = (struct conn){.fd = -1};
    m->n_joined++;
    drop_guest(m, guest);
    return conn_pump_tx(&p->conn, TURN_BYTES, err);
}

static int guest_turn(struct mesh *m, struct mesh_peer *guest, struct err *err)
{
    int e = read_handshake(m, guest, on_guest_frame, err);
    if (guest->state == MESH_JOINED) {
        return welcome(m, guest, err);
    }
    if (e >= 0) {
        e = conn_pump_tx(&guest->conn, TURN_BYTES, err);
    }
    if (guest->is_refused && (e < 0 || m->now_ns >= guest->joins_by_ns)) {
        drop_guest(m, guest); /* it knows the reason */
        return 0;
    }
    if (e == -EPROTO && guest->conn.secured) {
        return mesh_blame(m, guest, e, err);
    }
    if (e < 0) {
        /* The listener proves the secret first, and the dialling side leaves if
         * that proof is wrong. */
        const bool left = e == -ECONNRESET && guest->handshake.trainer.id.run != 0;
        note_rejected(m, guest, left ? HANDSHAKE_LEFT : err->msg);
        drop_guest(m, guest);
    } else if (m->now_ns >= guest->joins_by_ns) {
        note_rejected(m, guest, "the handshake took too long");
        drop_guest(m, guest);
    }
    return 0;
}

/* ---- the rendezvous ---- */

/* Names a rank that is missing. */
static int check_rendezvous(struct mesh *m, struct err *err)
{
    if (m->now_ns < m->rendezvous_by_ns || all_joined(m)) {
        return 0;
    }
    if (mesh_were_away(m, -ETIMEDOUT, err)) {
        return -ETIMEDOUT;
    }
    const struct mesh_peer *first = NULL;
    struct buf text = BUF_INIT;
    for (uint32_t i = 0; i < m->params.n_ranks; i++) {
        const struct mesh_peer *p = &m->peers[i];
        if (i == mesh_self(m) || p->state >= MESH_JOINED) {
            continue;
        }
        first = first == NULL ? p : first;
        buf_printf(&text, "%sworker/%" PRIu32, text.len > 0 ? ", " : "", i);
        if (i < mesh_self(m)) {
            buf_printf(&text, " (%.100s%s%s)", p->dial.addr.text,
                       p->dial.why[0] != '\0' ? ": " : "", p->dial.why);
        }
    }
    const bool has_rejected = m->rejected[0] != '\0';
    (void)err_set(err, ETIMEDOUT, "%s did not connect within %.0f s%s%s%s", buf_cstr(&text),
                  (double)m->params.rendezvous_ns / 1e9,
                  has_rejected ? " (rejected a connection that claimed to be " : "",
                  has_rejected ? m->rejected : "", has_rejected ? ")" : "");
    buf_done(&text);
    fault_from_err(&m->fault, -ETIMEDOUT, &first->id, err);
    return -ETIMEDOUT;
}

static int timeout_ms(const struct mesh *m)
{
    int ms = MESH_TICK_MS;
    for (uint32_t i = 0; i < mesh_self(m); i++) {
        const struct mesh_peer *p = &m->peers[i];
        if (p->state == MESH_DIAL) {
            const bool is_due = p->dial.state == DIAL_WAIT && m->now_ns >= p->dial.again_ns;
            ms = is_due ? 0 : ms < DIAL_TICK_MS ? ms : DIAL_TICK_MS;
        }
    }
    return ms;
}

static void wait_turn(struct mesh *m)
{
    struct pollfd *fds = xnew_array(struct pollfd, m->params.n_ranks + m->guests.len + 1);
    nfds_t n = 0;
    for (uint32_t i = 0; i < m->params.n_ranks; i++) {
        const struct mesh_peer *p = &m->peers[i];
        if (p->state == MESH_DIAL && p->dial.fd >= 0) {
            fds[n++] = (struct pollfd){.fd = p->dial.fd, .events = POLLOUT};
        } else if (p->state == MESH_HANDSHAKE) {
            fds[n++] = conn_watch(&p->conn);
        } /* those that have joined may have sent numbers already: mesh_beat looks */
    }
    vec_each (struct mesh_peer *, it, &m->guests) {
        fds[n++] = conn_watch(&(*it)->conn);
    }
    fds[n++] = (struct pollfd){.fd = net_listener_poll(&m->listener, m->now_ns), .events = POLLIN};
    (void)poll(fds, n, timeout_ms(m)); /* an error: it finds nothing to do */
    free(fds);
}

static int one_turn(struct mesh *m, struct err *err)
{
    wait_turn(m);
    m->now_ns = clock_monotonic_ns();
    int e = 0;
    for (uint32_t i = 0; i < mesh_self(m) && e >= 0; i++) {
        e = dialled_turn(m, &m->peers[i], err);
    }
    /* In reverse, because a guest that leaves moves the last one into its place. */
    for (size_t i = m->guests.len; e >= 0 && i-- > 0;) {
        e = guest_turn(m, m->guests.items[i], err);
    }
    return e < 0 ? e : accept_all(m, err);
}

int mesh_connect(struct mesh *m, struct err *err)
{
    m->now_ns = clock_monotonic_ns();
    m->rendezvous_by_ns = m->now_ns + m->params.rendezvous_ns;
    heartbeat_begin(&m->self, m->params.silence_ns, m->now_ns);
    while (!all_joined(m)) {
        int e = one_turn(m, err);
        e = e < 0 ? e : mesh_beat(m, err);
        e = e < 0 ? e : check_rendezvous(m, err);
        if (e < 0) {
            return e;
        }
    }
    return 0;
}

void mesh_tell_late_comers(struct mesh *m)
{
    m->now_ns = clock_monotonic_ns();
    const int64_t end_ns = m->now_ns + LATE_NS;
    struct err ignored;
    while (!all_joined(m) && m->now_ns < end_ns && m->now_ns < m->rendezvous_by_ns) {
        if (one_turn(m, &ignored) < 0) {
            return;
        }
        mesh_tell_fault(m); /* whoever has said WELCOME; those that have dialled were refused */
    }
}
