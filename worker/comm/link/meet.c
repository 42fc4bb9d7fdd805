/* See meet.h. */
#include "worker/comm/link/meet.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/exit_code.h"
#include "base/log.h"
#include "base/mem.h"

#define TURN_BYTES ((size_t)64 << 10)
#define CLAIM_SIZE 192 /* bytes of the text about a rejected connection */
#define NAMES_MAX 3    /* names in a message */

void meet_init(struct meet *m, const struct meet_params *params)
{
    *m = (struct meet){
        .params = *params,
        .listener = {.fd = params->listen_fd},
    };
    m->params.handshake_ns = params->handshake_ns > 0 ? params->handshake_ns : MEET_HANDSHAKE_NS;
}

void meet_begin(struct meet *m)
{
    m->now_ns = clock_monotonic_ns();
    m->rendezvous_by_ns = m->now_ns + m->params.rendezvous_ns;
    heartbeat_begin(&m->life, m->params.silence_ns, m->now_ns);
}

/* ---- life and faults ---- */

int meet_check_self(struct meet *m, struct err *err)
{
    int64_t away_ns;
    return heartbeat_was_away(&m->life, m->now_ns, &away_ns)
               ? fault_from_absence(&m->fault, away_ns, &m->params.self, err)
               : 0;
}

bool meet_were_away(struct meet *m, int r, struct err *err)
{
    return fault_is_absence(&m->fault, r, &m->life, clock_monotonic_ns(), &m->params.self, err);
}

int meet_blame(struct meet *m, const struct frame_id *peer, const char *addr, int r,
               struct err *err)
{
    if (m->fault.exit_code == 0 && !meet_were_away(m, r, err)) {
        char name[32];
        frame_id_name(peer, name);
        if (addr != NULL) {
            (void)err_wrap(err, r, "%s (%.100s)", name, addr);
        } else {
            (void)err_wrap(err, r, "%s", name);
        }
        fault_from_err(&m->fault, r, peer, err);
    }
    return r;
}

int meet_beat(struct meet *m, struct conn *c, const char *addr, struct err *err)
{
    if (!c->secured || c->fd < 0) {
        return 0;
    }
    const int r = conn_beat(c, &m->life, m->now_ns, err);
    return r < 0 ? meet_blame(m, &c->peer, addr, r, err) : 0;
}

static bool is_culprit(const struct meet *m, const struct conn *c)
{
    return c->secured && m->fault.has_peer && m->fault.peer.role == c->peer.role &&
           m->fault.peer.index == c->peer.index;
}

void meet_farewell(const struct meet *m, struct conn **conns, size_t n, int64_t limit_ns)
{
    size_t n_others = 0;
    for (size_t i = 0; i < n; i++) {
        struct conn *c = conns[i];
        struct err ignored;
        if (is_culprit(m, c)) {
            (void)conn_pump_tx(c, SIZE_MAX, &ignored); /* no wait for the culprit */
            (void)shutdown(c->fd, SHUT_WR);            /* fails only if it is gone */
        } else {
            conns[i] = conns[n_others];
            conns[n_others++] = c;
        }
    }
    conn_farewell(conns, n_others, limit_ns);
    for (size_t i = n_others; i < n; i++) {
        conn_close(conns[i]);
    }
}

void meet_goodbye(const struct meet *m, struct conn **conns, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        conn_send(conns[i], FRAME_GOODBYE, NULL, 0);
    }
    meet_farewell(m, conns, n, heartbeat_limit_ns(m->params.silence_ns));
}

int meet_on_abort(struct meet *m, bool is_joining, const struct frame *f, const uint8_t *payload,
                  struct err *err)
{
    const bool is_first = m->fault.exit_code == 0;
    const int r = fault_from_abort(&m->fault, f, payload, &m->params.self, err);
    if (r < 0) {
        return r;
    }
    if (is_first && is_joining && fault_is_refusal(payload, &m->params.self)) {
        m->fault.exit_code = EXIT_WORKER_PROTOCOL; /* it is in this process: no peer is lost */
    } else if (is_first && m->relays) {
        memcpy(m->relayed, payload, f->payload_len);
        m->relayed_len = f->payload_len;
    }
    return err_set(err, ECANCELED, "%s", m->fault.message);
}

/* Writes the payload of an ABORT that reports the fault of this process. Returns its length. */
static size_t report(const struct meet *m, uint8_t ret[static FRAME_SMALL_PAYLOAD])
{
    memcpy(ret, m->relayed, m->relayed_len);
    return m->relayed_len > 0 ? m->relayed_len : fault_to_abort(&m->fault, &m->params.self, ret);
}

void meet_send_fault(const struct meet *m, struct conn *const *conns, size_t n)
{
    uint8_t payload[FRAME_SMALL_PAYLOAD];
    const size_t len = report(m, payload);
    for (size_t i = 0; i < n; i++) {
        conn_drop_queue(conns[i]);
        conn_send(conns[i], FRAME_ABORT, payload, len);
    }
}

/* ---- the time limit ---- */

bool meet_is_due(const struct meet *m)
{
    return m->now_ns >= m->rendezvous_by_ns;
}

void meet_absent_add(struct meet_absent *a, const struct frame_id *id, const struct dial *dial)
{
    const uint32_t n_before = a->dialled.n + a->awaited.n;
    struct meet_names *names = dial != NULL ? &a->dialled : &a->awaited;
    if (dial != NULL && n_before > 0 && a->last.index == id->index) {
        return; /* another thread of it */
    }
    a->first = n_before == 0 ? *id : a->first;
    a->last = *id;
    if (names->n++ >= NAMES_MAX) {
        return;
    }
    char name[32];
    frame_id_name(id, name);
    buf_printf(&names->list, "%s%s", names->n > 1 ? ", " : "", name);
    if (dial != NULL) {
        buf_printf(&names->list, " (%.100s%s%s)", dial->addr.text, dial->why[0] != '\0' ? ": " : "",
                   dial->why);
    }
}

static const char *names_end(struct meet_names *names)
{
    if (names->n > NAMES_MAX) {
        buf_printf(&names->list, " and %" PRIu32 " more", names->n - NAMES_MAX);
    }
    return buf_cstr(&names->list);
}

int meet_absent_check(struct meet *m, struct meet_absent *a, struct err *err)
{
    const bool is_any = a->dialled.n + a->awaited.n > 0;
    if (is_any && !meet_were_away(m, -ETIMEDOUT, err)) {
        const double limit_s = (double)m->params.rendezvous_ns / 1e9;
        _cleanup_(buf_done) struct buf text = BUF_INIT;
        if (a->dialled.n > 0) {
            buf_printf(&text, "%.300s: no answer within %.0f s%s", names_end(&a->dialled), limit_s,
                       a->awaited.n > 0 ? "; " : "");
        }
        if (a->awaited.n > 0) {
            buf_printf(&text, "%s did not connect within %.0f s%s", names_end(&a->awaited), limit_s,
                       m->rejected);
        }
        (void)err_set(err, ETIMEDOUT, "%s", buf_cstr(&text));
        fault_from_err(&m->fault, -ETIMEDOUT, &a->first, err);
    }
    buf_done(&a->dialled.list);
    buf_done(&a->awaited.list);
    return is_any ? -ETIMEDOUT : 0;
}

/* ---- who dials ---- */

static void be(const struct meet *m, struct handshake *h, struct handshake_side *side)
{
    memcpy(h->secret, m->params.secret, AUTH_SECRET_SIZE);
    side->id = m->params.self;
    memcpy(side->digest, m->params.digest, AUTH_DIGEST_SIZE);
}

void meet_peer_init(const struct meet *m, struct meet_peer *p, enum role role, uint32_t index,
                    const struct net_addr *addr)
{
    p->id = m->params.self;
    p->id.role = role;
    p->id.index = index;
    p->conn.fd = p->dial.fd = -1;
    if (addr != NULL) {
        dial_init(&p->dial, addr);
    }
    be(m, &p->handshake, &p->handshake.trainer);
}

void meet_peer_done(struct meet_peer *p)
{
    dial_done(&p->dial);
    conn_close(&p->conn);
}

int meet_dial(struct meet *m, struct meet_peer *p, struct err *err)
{
    const int fd = dial_step(&p->dial, m->now_ns);
    if (fd < 0) {
        return 0;
    }
    int r = net_tune(fd, err);
    conn_init(&p->conn, fd, &m->params.self);
    r = r < 0 ? r : auth_nonce(p->handshake.trainer.nonce, err);
    if (r < 0) {
        return r;
    }
    uint8_t hello[HANDSHAKE_HELLO_SIZE];
    handshake_hello(&p->handshake, hello);
    conn_send(&p->conn, FRAME_HELLO, hello, sizeof(hello));
    p->state = MEET_HANDSHAKE;
    return 1;
}

void meet_dial_anew(const struct meet *m, struct meet_peer *p, const char *why)
{
    conn_close(&p->conn);
    dial_again(&p->dial, m->now_ns, why);
    p->state = MEET_DIAL;
}

bool meet_dial_silent(const struct meet *m, struct meet_peer *p)
{
    const bool is_silent =
        p->state == MEET_HANDSHAKE && !p->conn.secured && m->now_ns >= p->dial.answer_by_ns;
    if (is_silent) {
        meet_dial_anew(m, p, DIAL_SILENT);
    }
    return is_silent;
}

int meet_on_challenge(const struct meet *m, struct meet_peer *p, const struct frame *f,
                      const uint8_t *payload, struct err *err)
{
    struct handshake *h = &p->handshake;
    if (f->type != FRAME_CHALLENGE) {
        return err_set(err, EPROTO, "unexpected %s in the handshake",
                       frame_type_to_string(f->type));
    }
    uint8_t proof[HANDSHAKE_PROOF_SIZE];
    int r = handshake_on_challenge(h, f, payload, proof, err);
    if (r < 0) {
        return r;
    }
    conn_send(&p->conn, FRAME_PROOF, proof, sizeof(proof));
    /* The proof is sent even if the two sides differ, so that the other side also learns the
     * reason. */
    r = handshake_agree(&h->trainer, &h->server, err);
    if (r < 0) {
        return -EPROTO;
    }
    const struct frame_id *id = &h->server.id;
    if (id->role != p->id.role || id->index != p->id.index) {
        char name[32];
        frame_id_name(id, name);
        return err_set(err, EPROTO, "the process at this address is %s; check --%s-addrs", name,
                       role_to_string(p->id.role));
    }
    struct handshake_keys keys;
    handshake_keys(h, &keys);
    conn_secure(&p->conn, &keys.from_trainer, &keys.from_server, &p->id, m->now_ns);
    return 0;
}

/* ---- who accepts ---- */

static bool is_of_this_attempt(const struct meet *m, const struct frame_id *peer)
{
    return peer->run == m->params.self.run && peer->attempt == m->params.self.attempt;
}

static void note_rejected(struct meet *m, const struct meet_peer *guest, const char *why)
{
    char claims[32] = "nothing", text[CLAIM_SIZE];
    if (guest->handshake.trainer.id.run != 0) {
        frame_id_name(&guest->handshake.trainer.id, claims); /* unproved, but useful to know */
    }
    (void)snprintf(text, sizeof(text), "%s: %s", claims, why); /* may truncate */
    (void)snprintf(m->rejected, sizeof(m->rejected),
                   " (rejected a connection that claimed to be %s)", text); /* fits */
    log_event(LOG_LEVEL_WARN, "connection rejected", "claims", claims, "err", why, NULL);
}

/* Notes that the handshake with this guest failed with r. */
static void note_failed(struct meet *m, const struct meet_peer *guest, int r, const struct err *err)
{
    /* The accepting process proves the secret first. The dialling process leaves if that proof is
     * wrong, and dials again if it does not come (DIAL_ANSWER_NS). */
    const bool has_left = r == -ECONNRESET && guest->handshake.trainer.id.run != 0;
    note_rejected(
        m, guest,
        has_left ? "it left during the handshake: it failed, dials again or has a different secret"
                 : err->msg);
}

/* Sends ABORT in place of WELCOME: the guest's name is taken. It then stops and blames itself; a
 * closed connection would make it connect again. After a fault, the reason is that fault. */
static void refuse(struct meet *m, struct meet_peer *guest)
{
    const struct frame_id *peer = &guest->id;
    uint8_t payload[FRAME_SMALL_PAYLOAD];
    guest->is_refused = true;
    if (m->fault.exit_code != 0) {
        conn_send(&guest->conn, FRAME_ABORT, payload, report(m, payload));
        return;
    }
    struct fault why = {.exit_code = EXIT_WORKER_PROTOCOL, .has_peer = true, .peer = *peer};
    char name[32];
    frame_id_name(peer, name);
    (void)snprintf(why.message, sizeof(why.message),
                   "another process is %s already; give each %s an index of its own", name,
                   role_to_string(peer->role));
    note_rejected(m, guest, "another process has this name already");
    conn_send(&guest->conn, FRAME_ABORT, payload, fault_to_abort(&why, &m->params.self, payload));
}

struct visit {
    struct meet *meet;
    const struct meet_host *host;
    struct meet_peer *guest;
};

/* The guest has proved the secret. -ESTALE: reject it; -EPROTO: the two do not fit together. */
static int join(const struct visit *v, struct err *err)
{
    struct meet *m = v->meet;
    struct meet_peer *guest = v->guest;
    struct err stranger;
    guest->id = guest->handshake.trainer.id;
    const int may = v->host->admit(v->host->ctx, &guest->id, &stranger);
    if (may == 0 && is_of_this_attempt(m, &guest->id)) {
        refuse(m, guest);
        return 0;
    }
    const int r = handshake_agree(&guest->handshake.server, &guest->handshake.trainer, err);
    if (r < 0) {
        return r;
    }
    if (may < 0) {
        *err = stranger;
        return may;
    }
    guest->number = (uint32_t)may - 1;
    conn_send_count(&guest->conn, FRAME_WELCOME, 0, guest->number);
    guest->state = MEET_JOINED;
    return 1; /* read on when it has its place */
}

static int on_frame(void *ctx, struct conn *c, const struct frame *f, const uint8_t *payload,
                    struct err *err)
{
    const struct visit *v = ctx;
    struct meet *m = v->meet;
    struct handshake *h = &v->guest->handshake;
    if (v->guest->is_refused) {
        return 0;
    }
    if (m->has_all && !is_of_this_attempt(m, &f->from)) {
        /* It may belong to the next attempt, and find the process of that attempt at this address:
         * it connects again, where an answer would make it fail. */
        return err_set(err, ESTALE, "it belongs to another run or attempt");
    }
    if (f->type == FRAME_HELLO && f->sequence == 0) {
        uint8_t challenge[HANDSHAKE_CHALLENGE_SIZE];
        handshake_on_hello(h, f, payload, challenge);
        conn_send(c, FRAME_CHALLENGE, challenge, sizeof(challenge));
        return 0;
    }
    if (f->type != FRAME_PROOF || f->sequence != 1) {
        return err_set(err, EPROTO, "unexpected %s in the handshake",
                       frame_type_to_string(f->type));
    }
    const int r = handshake_on_proof(h, f, payload, err);
    if (r < 0) {
        return r;
    }
    struct handshake_keys keys;
    handshake_keys(h, &keys);
    conn_secure(c, &keys.from_server, &keys.from_trainer, &h->trainer.id, m->now_ns);
    return join(v, err);
}

/* Refuses numbers until the end of the handshake. */
static void *no_place(void *ctx, struct conn *c, const struct frame *f, struct err *err)
{
    (void)ctx, (void)c;
    (void)err_set(err, EPROTO, "%s came before the handshake's end", frame_type_to_string(f->type));
    return NULL;
}

static void drop_guest(struct meet *m, struct meet_peer *guest)
{
    vec_take_out(&m->guests, guest);
    conn_close(&guest->conn);
    free(guest);
}

static int guest_turn(struct meet *m, const struct meet_host *host, struct meet_peer *guest,
                      struct err *err)
{
    static const struct conn_handler handler = {.place = no_place, .frame = on_frame};
    struct visit visit = {m, host, guest};
    int r = conn_pump_rx(&guest->conn, m->now_ns, TURN_BYTES, &handler, &visit, err);
    r = r < 0 ? r : conn_pump_tx(&guest->conn, TURN_BYTES, err);
    if (guest->state == MEET_JOINED) {
        vec_take_out(&m->guests, guest);
        host->welcome(host->ctx, guest);
        return 0;
    }
    if (r >= 0 && m->now_ns < guest->joins_by_ns) {
        return 0;
    }
    if (!guest->is_refused && r == -EPROTO && guest->conn.secured && !m->has_all) {
        return meet_blame(m, &guest->id, NULL, r, err);
    }
    if (!guest->is_refused && r < 0) {
        note_failed(m, guest, r, err);
    } else if (!guest->is_refused) { /* else it knows the reason */
        char late[64];
        (void)snprintf(late, sizeof(late), "the handshake took longer than %g s",
                       (double)m->params.handshake_ns / 1e9); /* fits */
        note_rejected(m, guest, late);
    }
    drop_guest(m, guest);
    return 0;
}

/* Takes ownership of fd. */
static int add_guest(struct meet *m, int fd, struct err *err)
{
    struct meet_peer *guest = xnew(struct meet_peer);
    *vec_push(&m->guests) = guest;
    guest->state = MEET_HANDSHAKE;
    guest->dial.fd = -1;
    guest->joins_by_ns = m->now_ns + m->params.handshake_ns;
    conn_init(&guest->conn, fd, &m->params.self);
    be(m, &guest->handshake, &guest->handshake.server);
    return auth_nonce(guest->handshake.server.nonce, err);
}

/* More than MEET_STRANGERS are a flood, and are closed again; a process of the gang dials again. */
static int accept_all(struct meet *m, struct err *err)
{
    for (;;) {
        const bool is_full = m->guests.len >= MEET_STRANGERS;
        const int fd = net_accept(&m->listener, m->now_ns, err);
        if (fd < 0) {
            /* Without a place for every process there is no gang. Strangers may wait. */
            return fd == -EAGAIN || m->has_all ? 0 : fd;
        }
        if (is_full || net_tune(fd, err) < 0) {
            (void)close(fd); /* it has not proved the secret */
            continue;
        }
        const int r = add_guest(m, fd, err);
        if (r < 0) {
            return r;
        }
    }
}

size_t meet_poll(const struct meet *m, struct pollfd *ret)
{
    size_t n = 0;
    ret[n++] = (struct pollfd){.fd = net_listener_poll(&m->listener, m->now_ns), .events = POLLIN};
    vec_each (struct meet_peer *, it, &m->guests) {
        ret[n++] = conn_watch(&(*it)->conn);
    }
    return n;
}

int meet_guests_turn(struct meet *m, const struct meet_host *host, const struct pollfd *fds,
                     struct err *err)
{
    int r = 0;
    /* In reverse, because a guest that leaves moves the last one into its place. */
    for (size_t i = m->guests.len; r >= 0 && i-- > 0;) {
        r = guest_turn(m, host, m->guests.items[i], err);
    }
    return r < 0 || fds[0].revents == 0 ? r : accept_all(m, err);
}

struct conn meet_take_conn(struct meet_peer *guest)
{
    const struct conn c = guest->conn;
    free(guest);
    return c;
}

void meet_done(struct meet *m)
{
    while (m->guests.len > 0) {
        drop_guest(m, m->guests.items[0]);
    }
    vec_done(&m->guests);
}
