/* Fuzzing of what ranks say about shared memory: the payload of SHARE, and the
 * question on the local socket.
 *
 * Holds: a token that is taken is printable, and reads back as itself; nobody without
 * the key is answered. */
#include "fuzz.h"

#include "base/ascii.h"
#include "worker/comm/shm/share_token.h"
#include "worker/comm/shm/shm_pass.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    struct share_token t, again;
    struct err err;
    if (share_token_read(data, len, &t, &err) >= 0) {
        uint8_t payload[4 + SHARE_WHY_MAX];
        for (const char *c = t.why; *c != '\0'; c++) {
            must(ascii_is_print(*c), "a text that cannot be printed");
        }
        must(t.can == (t.why[0] == '\0'), "no reason, or one too many");
        must(share_token_encode(&t, payload) == len, "another length");
        must(share_token_read(payload, len, &again, &err) >= 0, "what was taken is refused");
        must(again.round == t.round && again.can == t.can && strcmp(again.why, t.why) == 0,
             "it reads back as another one");
    }
    static const struct auth_key key = {{3, 1, 4}};
    uint32_t from;
    uint8_t nonce[AUTH_NONCE_SIZE];
    must(!shm_ask_read(&key, 0, 4, data, len, &from, nonce), "a stranger is answered");
    return 0;
}
