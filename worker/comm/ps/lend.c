/* Memory of trainers and servers of one host, see lend.h. */
#include "worker/comm/ps/lend.h"

#include <stdio.h>
#include <string.h>

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

/* ---- one pair ---- */

bool lend_is_agreed(const struct lend_pair *p)
{
    return p->state == LEND_YES;
}

void lend_say(struct conn *c, enum share_round round)
{
    share_token_send(c, &(struct share_token){.round = round, .can = true});
}

void lend_refuse(struct lend_pair *p, const char *why)
{
    p->state = LEND_NO;
    (void)snprintf(p->why, sizeof(p->why), "%.200s", why); /* fits, or may be cut */
}

void lend_say_no(struct lend_pair *p, struct conn *c, enum share_round round, const char *why)
{
    lend_refuse(p, why);
    struct share_token t = {.round = round};
    memcpy(t.why, p->why, sizeof(t.why));
    share_token_send(c, &t);
}
