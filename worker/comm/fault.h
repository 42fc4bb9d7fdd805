/* Whom to blame. The first fault that a process meets is the one that it reports and passes on in an
 * ABORT frame; what follows from it (closed connections) is a consequence and never reported. */
#pragma once

#include <stdint.h>

#include "base/err.h"
#include "worker/comm/frame.h"
#include "worker/comm/heartbeat.h"

#define FAULT_TEXT_MAX 400

struct fault {
    int exit_code; /* enum exit_code of the process that reports it; 0: no fault */
    bool has_peer;
    struct frame_id peer; /* the cause: role and index count */
    char message[FAULT_TEXT_MAX];
};

/* From a failed call r on the connection to `peer`: -EPROTO: exit 12; -ECONNRESET, -ETIMEDOUT:
 * exit 11; anything else is trouble of our own: exit 13, no peer. Keeps a fault already there. */
void fault_from_err(struct fault *f, int r, const struct frame_id *peer, const struct err *err);
/* Ourselves: we did not run for `away_ns`. Exit 11; returns -ETIMEDOUT. Keeps a fault already there. */
int fault_from_absence(struct fault *f, int64_t away_ns, const struct frame_id *self,
                       struct err *err);
/* Ask it before a peer is blamed for r. True: r says that the peer is lost, but we were away and it
 * may have given us up; then the fault and *err name ourselves. */
bool fault_is_absence(struct fault *f, int r, const struct heartbeat_self *life, int64_t now_ns,
                      const struct frame_id *self, struct err *err);
/* From an ABORT frame: exit 11 whatever the sender met, for here it is a lost gang. */
int fault_from_abort(struct fault *f, const struct frame *frame, const uint8_t *payload,
                     const struct frame_id *self, struct err *err);
/* The ABORT payload that tells others. Returns its length. */
size_t fault_to_abort(const struct fault *f, const struct frame_id *self,
                      uint8_t ret[static FRAME_SMALL_PAYLOAD]);
/* As an error: code and text. Returns -code. */
int fault_to_err(const struct fault *f, struct err *err);
