/* Faults, see fault.h. ABORT payload: exit code, role, index (u32 each), then text. */
#include "worker/comm/link/fault.h"

#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "base/exit_code.h"
#include "worker/comm/link/little_endian.h"

#define ABORT_FIXED 12

static bool is_loss(int r)
{
    return r == -ECONNRESET || r == -ETIMEDOUT;
}

void fault_from_err(struct fault *f, int r, const struct frame_id *peer, const struct err *err)
{
    if (f->exit_code != 0) {
        return;
    }
    bool is_lost = is_loss(r);
    f->exit_code = is_lost        ? EXIT_WORKER_PEER_LOST
                   : r == -EPROTO ? EXIT_WORKER_PROTOCOL
                                  : EXIT_WORKER_RESOURCE;
    f->has_peer = is_lost || r == -EPROTO;
    f->peer = *peer;
    (void)snprintf(f->message, sizeof(f->message), "%.*s", FAULT_TEXT_MAX - 1, err->msg);
}

int fault_from_absence(struct fault *f, int64_t away_ns, const struct frame_id *self,
                       struct err *err)
{
    char name[32];
    frame_id_name(self, name);
    (void)err_set(err, ETIMEDOUT,
                  "%s itself was stopped for %.1f s; its peers have declared it lost", name,
                  (double)away_ns / 1e9);
    fault_from_err(f, -ETIMEDOUT, self, err);
    return -ETIMEDOUT;
}

bool fault_is_absence(struct fault *f, int r, const struct heartbeat_self *life, int64_t now_ns,
                      const struct frame_id *self, struct err *err)
{
    int64_t away_ns;
    if (!is_loss(r) || !heartbeat_may_be_given_up(life, now_ns, &away_ns)) {
        return false;
    }
    (void)fault_from_absence(f, away_ns, self, err);
    return true;
}

/* Exit code, role and index. */
static void take_fixed(const uint8_t *payload, uint32_t ret[static 3])
{
    for (int i = 0; i < 3; i++) {
        ret[i] = get32(payload + 4 * i);
    }
}

bool fault_is_refusal(const uint8_t *payload, const struct frame_id *self)
{
    uint32_t v[3];
    take_fixed(payload, v);
    return v[0] == EXIT_WORKER_PROTOCOL && v[1] == self->role && v[2] == self->index;
}

int fault_from_abort(struct fault *f, const struct frame *frame, const uint8_t *payload,
                     const struct frame_id *self, struct err *err)
{
    uint32_t v[3];
    take_fixed(payload, v);
    if (v[1] >= ROLE_COUNT || v[2] > FRAME_MAX_INDEX) {
        return err_set(err, EPROTO, "ABORT names an invalid peer: role %u, index %u", v[1], v[2]);
    }
    if (f->exit_code != 0) {
        return 0;
    }
    char sender[32];
    frame_id_name(&frame->from, sender);
    f->exit_code = EXIT_WORKER_PEER_LOST;
    f->has_peer = true;
    f->peer = (struct frame_id){self->run, self->attempt, v[1], v[2]};
    int n = snprintf(f->message, sizeof(f->message), "%s reports: ", sender);
    size_t room = sizeof(f->message) - 1 - (size_t)n;
    size_t len = frame->payload_len - ABORT_FIXED;
    len = len < room ? len : room;
    for (size_t i = 0; i < len; i++) {
        uint8_t c = payload[ABORT_FIXED + i];
        f->message[n++] =
            (char)(ascii_is_print(c) || c >= 0x80 ? c : '?'); /* no control codes on a terminal */
    }
    f->message[n] = '\0';
    return 0;
}

size_t fault_to_abort(const struct fault *f, const struct frame_id *self,
                      uint8_t ret[static FRAME_SMALL_PAYLOAD])
{
    const struct frame_id *cause = f->has_peer ? &f->peer : self;
    const uint32_t v[3] = {(uint32_t)f->exit_code, cause->role, cause->index};
    for (int i = 0; i < 3; i++) {
        put32(ret + 4 * i, v[i]);
    }
    size_t len = strlen(f->message);
    memcpy(ret + ABORT_FIXED, f->message, len);
    return ABORT_FIXED + len;
}

int fault_to_err(const struct fault *f, struct err *err)
{
    int code = f->exit_code == EXIT_WORKER_PEER_LOST  ? ECONNRESET
               : f->exit_code == EXIT_WORKER_PROTOCOL ? EPROTO
                                                      : EIO;
    return err_set(err, code, "%s", f->message);
}
