/* The payload of SHARE, see share_token.h. */
#include "worker/comm/shm/share_token.h"

#include <string.h>

#include "base/ascii.h"

size_t share_token_encode(const struct share_token *t, uint8_t ret[static 4 + SHARE_WHY_MAX])
{
    const size_t n = strlen(t->why);
    ret[0] = (uint8_t)t->round;
    ret[1] = t->can;
    ret[2] = ret[3] = 0;
    memcpy(ret + 4, t->why, n);
    return 4 + n;
}

int share_token_read(const uint8_t *payload, size_t n, struct share_token *ret, struct err *err)
{
    if (n < 4 || n > 4 + SHARE_WHY_MAX || payload[0] < SHARE_LISTEN || payload[0] > SHARE_VERDICT ||
        payload[1] > 1 || payload[2] != 0 || payload[3] != 0 || (payload[1] == 1) != (n == 4)) {
        return err_set(err, EPROTO, "SHARE has a wrong payload");
    }
    struct share_token t = {.round = (enum share_round)payload[0], .can = payload[1] == 1};
    for (size_t i = 4; i < n; i++) {
        t.why[i - 4] = ascii_is_print(payload[i]) ? (char)payload[i] : '?';
    }
    *ret = t;
    return 0;
}

void share_token_send(struct conn *c, const struct share_token *t)
{
    uint8_t payload[4 + SHARE_WHY_MAX];
    conn_send(c, FRAME_SHARE, payload, share_token_encode(t, payload));
}
