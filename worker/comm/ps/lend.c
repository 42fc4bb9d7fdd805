/* Memory of trainers and servers of one host, see lend.h. */
#include "worker/comm/ps/lend.h"

#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "exchange/flow.h"

#define LINE_BYTES ((size_t)64)

/* ---- layouts ---- */

size_t lend_bytes(const struct lend_plan *p, uint32_t slice)
{
    return slices_get(&p->slices, slice).len * frame_wire_bytes(p->wire);
}

static size_t floats(size_t bytes)
{
    return (bytes + sizeof(float) - 1) / sizeof(float);
}

/* The longest slice of a server, which is what its credits count in (flow.h). */
static size_t longest(const struct lend_plan *p, uint32_t server)
{
    size_t most = 0;
    for (uint32_t i = server; i < p->slices.n; i += p->slices.n_servers) {
        const size_t bytes = lend_bytes(p, i);
        most = bytes > most ? bytes : most;
    }
    return most;
}

/* The copies of a trainer begin at cache lines, and so does each of them. */
static size_t slot_bytes(const struct lend_plan *p, uint32_t server)
{
    return (longest(p, server) + LINE_BYTES - 1) / LINE_BYTES * LINE_BYTES;
}

struct shm_layout lend_trainer_layout(const struct lend_plan *p)
{
    return shm_layout_of_two(floats(p->slices.n_params * frame_wire_bytes(p->wire)), 0, 0);
}

void lend_params_of(const struct lend_plan *p, uint32_t server, uint32_t trainer, size_t *ret_at,
                    size_t *ret_n)
{
    if (p->has_copies) {
        *ret_n = floats(flow_each(longest(p, server)) * slot_bytes(p, server));
        *ret_at = trainer * *ret_n;
    } else {
        *ret_n = floats(slices_server_params(&p->slices, server) * frame_wire_bytes(p->wire));
        *ret_at = 0;
    }
}

struct shm_layout lend_server_layout(const struct lend_plan *p, uint32_t server)
{
    size_t at, n;
    lend_params_of(p, server, p->has_copies ? p->n_trainers - 1 : 0, &at, &n);
    return shm_layout_of_two(0, at + n, 0);
}

size_t lend_gradient_at(const struct lend_plan *p, uint32_t slice)
{
    return slices_get(&p->slices, slice).offset * frame_wire_bytes(p->wire);
}

size_t lend_params_at(const struct lend_plan *p, uint32_t slice, uint32_t trainer, uint64_t number)
{
    const uint32_t server = slice % p->slices.n_servers;
    if (p->has_copies) {
        size_t at, n;
        lend_params_of(p, server, trainer, &at, &n);
        return at * sizeof(float) + number % flow_each(longest(p, server)) * slot_bytes(p, server);
    }
    size_t at = 0;
    for (uint32_t i = server; i < slice; i += p->slices.n_servers) {
        at += lend_bytes(p, i);
    }
    return at;
}

/* ---- what this process lends ---- */

static uint32_t name_of(uint32_t n_servers, const struct frame_id *id)
{
    return id->role == ROLE_PSERVER ? id->index : n_servers + id->index;
}

void lend_init(struct lend *l, const uint8_t secret[static AUTH_SECRET_SIZE],
               const struct frame_id *self, uint32_t n_servers)
{
    *l = (struct lend){.n_servers = n_servers,
                       .self = name_of(n_servers, self),
                       .listener = {.fd = -1},
                       .unrung_fd = -1,
                       .own = {.fd = -1}};
    shm_pass_key(secret, self, &l->key);
}

int lend_open(struct lend *l, const struct shm_layout *layout, struct err *err)
{
    int r = shm_segment_new(&l->own, layout, err);
    if (r < 0) {
        return r;
    }
    l->unrung_fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    r = l->unrung_fd < 0 ? err_set_errno(err, errno, "make a local socket")
                         : shm_pass_listen(&l->key, l->self, err);
    if (r < 0) {
        lend_done(l);
        return r;
    }
    l->listener = (struct net_listener){.fd = r};
    return 0;
}

void lend_answer(struct lend *l, uint32_t n_trainers, int64_t now_ns)
{
    const uint32_t n = l->self < l->n_servers ? l->n_servers + n_trainers : l->n_servers;
    shm_pass_answer(&l->listener, now_ns, &l->key, l->self, n, &l->own, l->unrung_fd);
}

void lend_stop_giving(struct lend *l)
{
    if (l->listener.fd >= 0) {
        (void)close(l->listener.fd); /* a process that asks now is a stranger */
        l->listener.fd = -1;
    }
    if (l->unrung_fd >= 0) {
        (void)close(l->unrung_fd); /* nothing to lose */
        l->unrung_fd = -1;
    }
}

void lend_done(struct lend *l)
{
    lend_stop_giving(l);
    shm_segment_done(&l->own);
}

/* ---- one pair ---- */

bool lend_is_open(const struct lend_pair *p)
{
    return p->state == LEND_WAITS || p->state == LEND_ASKS;
}

static void say(struct conn *c, const struct share_token *t)
{
    uint8_t payload[4 + SHARE_WHY_MAX];
    conn_send(c, FRAME_SHARE, payload, share_token_encode(t, payload));
}

void lend_say(struct conn *c, enum share_round round)
{
    say(c, &(struct share_token){.round = round, .can = true});
}

void lend_refuse(struct lend_pair *p, const char *why)
{
    lend_pair_done(p);
    p->state = LEND_NO;
    (void)snprintf(p->why, sizeof(p->why), "%s", why); /* fits: it comes from such a text */
}

void lend_say_no(struct lend_pair *p, struct conn *c, enum share_round round, const char *why)
{
    lend_refuse(p, why);
    struct share_token t = {.round = round};
    memcpy(t.why, p->why, sizeof(t.why));
    say(c, &t);
}

void lend_begin_to_ask(struct lend_pair *p, bool is_seen, int64_t now_ns, int64_t rendezvous_by_ns)
{
    p->state = LEND_ASKS;
    p->is_seen = is_seen;
    p->asks_until_ns = shm_ask_until(now_ns, rendezvous_by_ns);
}

int lend_ask(struct lend_pair *p, const struct lend *l, const struct frame_id *peer,
             const struct shm_layout *layout, int64_t now_ns, struct err *err)
{
    int doorbell_fd;
    int r = shm_ask_turn(&p->ask, &l->key, l->self, name_of(l->n_servers, peer), layout, &p->theirs,
                         &doorbell_fd, err);
    if (r > 0) {
        (void)close(doorbell_fd); /* it is never rung */
    }
    r = r == -ENOENT && p->is_seen ? 0 : r;
    return r == 0 && now_ns >= p->asks_until_ns
               ? err_set(err, ETIMEDOUT, "no answer on its local socket")
               : r;
}

void lend_pair_done(struct lend_pair *p)
{
    shm_ask_done(&p->ask);
    shm_segment_done(&p->theirs);
}
