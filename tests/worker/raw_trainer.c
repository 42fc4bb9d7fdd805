#include "raw_trainer.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/mem.h"

#define PATIENCE_MS 120000

static void check(bool ok, const char *what, const char *why)
{
    if (!ok) {
        fprintf(stderr, "raw trainer: %s: %s\n", what, why);
        abort();
    }
}

static int wait_for(const struct raw_trainer *t, short events)
{
    struct pollfd fd = {.fd = t->conn.fd, .events = events};
    return poll(&fd, 1, PATIENCE_MS);
}

static void *on_place(void *ctx, struct conn *conn, const struct frame *f, struct err *err)
{
    struct raw_trainer *t = ctx;
    (void)conn;
    (void)f;
    (void)err;
    return t->params;
}

static int on_frame(void *ctx, struct conn *conn, const struct frame *f, const uint8_t *payload,
                    struct err *err)
{
    struct raw_trainer *t = ctx;
    t->seen[f->type]++;
    if (f->type == FRAME_CREDIT) {
        t->credit_step = f->step;
        t->credit = f->slice;
    }
    if (f->type == FRAME_PARAMS && !t->says_nothing) {
        conn_send_count(
            conn, FRAME_TAKEN, f->step,
            (t->seen[FRAME_PARAMS] - 1) % (t->rig->slices.n / t->rig->slices.n_servers) + 1);
    }
    if (f->type != FRAME_CHALLENGE) {
        return 0;
    }
    uint8_t proof[HANDSHAKE_PROOF_SIZE];
    check(handshake_on_challenge(&t->handshake, f, payload, proof, err) == 0, "CHALLENGE",
          err->msg);
    conn_send(conn, FRAME_PROOF, proof, sizeof(proof));
    struct handshake_keys keys;
    handshake_keys(&t->handshake, &keys);
    conn_secure(conn, &keys.from_trainer, &keys.from_server, &f->from, 0);
    return 0;
}

void raw_connect(struct raw_trainer *t, const struct rig *rig, struct frame_id id, int rcvbuf_bytes)
{
    struct sockaddr_in addr = {.sin_family = AF_INET, .sin_port = htons(rig->servers[0].port)};
    addr.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    check(fd >= 0, "socket", strerror(errno));
    if (rcvbuf_bytes > 0) {
        (void)setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &rcvbuf_bytes, sizeof(rcvbuf_bytes));
    }
    check(connect(fd, (struct sockaddr *)&addr, sizeof(addr)) == 0, "connect", strerror(errno));
    struct err err;
    check(net_tune(fd, &err) == 0, "net_tune", err.msg);
    *t = (struct raw_trainer){.rig = rig};
    conn_init(&t->conn, fd, &id);
    memcpy(t->handshake.secret, rig->secret, sizeof(rig->secret));
    t->handshake.trainer.id = id;
    memcpy(t->handshake.trainer.digest, rig->digest, sizeof(rig->digest));
    t->slice = xnew_array(float, SLICES_MAX_BYTES / sizeof(float));
    t->params = xnew_array(float, SLICES_MAX_BYTES / sizeof(float));
}

static void flush(struct raw_trainer *t)
{
    struct err err;
    while (conn_wants_tx(&t->conn)) {
        check(conn_pump_tx(&t->conn, SIZE_MAX, &err) == 0, "send", err.msg);
        check(!conn_wants_tx(&t->conn) || wait_for(t, POLLOUT) > 0, "send", "no room for 120 s");
    }
}

void raw_send(struct raw_trainer *t, enum frame_type type)
{
    conn_send(&t->conn, type, NULL, 0);
    flush(t);
}

void raw_slice(struct raw_trainer *t, const struct frame *f, size_t len)
{
    conn_send_slice(&t->conn, f, t->slice, len);
    flush(t);
}

void raw_count(struct raw_trainer *t, enum frame_type type, uint64_t step, uint32_t count)
{
    conn_send_count(&t->conn, type, step, count);
    flush(t);
}

/* Reads once; false at the end of the stream and when nothing comes. */
static bool read_some(struct raw_trainer *t)
{
    static const struct conn_handler handler = {.place = on_place, .frame = on_frame};
    struct err err;
    check(wait_for(t, POLLIN) > 0, "read", "the server says nothing for 120 s");
    t->is_over = conn_pump_rx(&t->conn, 0, SIZE_MAX, &handler, t, &err) < 0;
    flush(t); /* PROOF, TAKEN */
    return !t->is_over;
}

bool raw_wait(struct raw_trainer *t, enum frame_type type, unsigned count)
{
    while (t->seen[type] < count && !t->is_over && read_some(t)) {
    }
    return t->seen[type] >= count;
}

void raw_read(struct raw_trainer *t)
{
    while (!t->is_over && poll(&(struct pollfd){.fd = t->conn.fd, .events = POLLIN}, 1, 0) > 0) {
        (void)read_some(t); /* is_over says it */
    }
}

void raw_gradient(struct raw_trainer *t, uint64_t step, uint32_t i)
{
    if (t->offered <= step) {
        t->offered = step + 1;
        raw_count(t, FRAME_OFFER, step, t->rig->slices.n);
    }
    while (!t->is_over && (t->credit_step != step || t->credit <= i)) {
        (void)read_some(t); /* is_over says it */
    }
    const uint32_t slice = t->rig->slices.n - 1 - i;
    struct slice s = slices_get(&t->rig->slices, slice);
    struct frame f = {.type = FRAME_GRADIENT, .step = step, .offset = s.offset, .slice = slice};
    raw_slice(t, &f, s.len);
}

void raw_gradients(struct raw_trainer *t, uint64_t step)
{
    for (uint32_t i = 0; i < t->rig->slices.n; i++) {
        raw_gradient(t, step, i);
    }
}

void raw_shake_hands(struct raw_trainer *t)
{
    uint8_t hello[HANDSHAKE_HELLO_SIZE];
    handshake_hello(&t->handshake, hello);
    conn_send(&t->conn, FRAME_HELLO, hello, sizeof(hello));
    flush(t);
    (void)raw_wait(t, FRAME_CHALLENGE, 1);
}

void raw_join(struct raw_trainer *t, const struct rig *rig, uint32_t index)
{
    raw_connect(t, rig, rig_id(ROLE_TRAINER, index), 0);
    raw_shake_hands(t);
    check(raw_wait(t, FRAME_WELCOME, 1), "handshake", "the server closed the connection");
}

void raw_settle(const struct rig *rig)
{
    struct raw_trainer stranger;
    raw_connect(&stranger, rig, rig_id(ROLE_TRAINER, 0), 0);
    raw_shake_hands(&stranger);
    conn_close(&stranger.conn);
    free(stranger.slice);
    free(stranger.params);
}

void raw_end(struct raw_trainer *t)
{
    (void)shutdown(t->conn.fd, SHUT_WR); /* the server may be gone */
    while (!t->is_over && read_some(t)) {
    }
    conn_close(&t->conn);
    free(t->slice);
    free(t->params);
}

bool raw_come_late(struct rig *rig, uint32_t index)
{
    struct raw_trainer late;
    raw_join(&late, rig, index);
    const bool is_told = raw_wait(&late, FRAME_ABORT, 1);
    raw_end(&late);
    rig_join_servers(rig);
    return is_told;
}
