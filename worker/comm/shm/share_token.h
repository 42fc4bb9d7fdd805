/* What SHARE says: whether its sender, or all that it has passed, can read the others' memory. A
 * ring passes it round (ring_share.h), a trainer and a server talk it over (lend.h). */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "worker/comm/link/conn.h"

enum share_round { SHARE_LISTEN = 1, SHARE_ASK, SHARE_VERDICT };

struct share_token {
    enum share_round round;
    bool can;
    char why[SHARE_WHY_MAX + 1]; /* of the first that cannot: printable; "" if all can */
};
/* The payload of SHARE: round, 1 or 0, two zeros, text. Returns its length. */
size_t share_token_encode(const struct share_token *t, uint8_t ret[static 4 + SHARE_WHY_MAX]);
/* -EPROTO: it is not such payload. */
int share_token_read(const uint8_t *payload, size_t n, struct share_token *ret, struct err *err);
void share_token_send(struct conn *c, const struct share_token *t);
