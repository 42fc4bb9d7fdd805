/* The fault of a process and the peer that caused it. A process reports the first fault that it
 * meets and sends it to its peers in an ABORT frame. Later errors, such as closed connections, are
 * consequences of the first and are never reported. */
#pragma once

#include <stdint.h>

#include "base/err.h"
#include "worker/comm/link/frame.h"
#include "worker/comm/link/heartbeat.h"

#define FAULT_TEXT_MAX 400

struct fault {
    int exit_code; /* enum exit_code of the process that reports it; 0: no fault */
    bool has_peer;
    struct frame_id peer; /* the cause; only role and index matter */
    char message[FAULT_TEXT_MAX];
};

/* Sets the fault from a failed call r on the connection to `peer`. -EPROTO: exit 12; -ECONNRESET,
 * -ETIMEDOUT: exit 11; anything else is a local problem: exit 13, no peer. Like all functions below
 * it keeps a fault that is already set. */
void fault_from_err(struct fault *f, int r, const struct frame_id *peer, const struct err *err);
/* This process did not run for `away_ns`. Exit 11, with `self` as the cause. Returns -ETIMEDOUT. */
int fault_from_absence(struct fault *f, int64_t away_ns, const struct frame_id *self,
                       struct err *err);
/* Call it before a peer is blamed for r. True if r means that the peer is lost, but this process
 * was stopped for so long that the peer may have declared it lost; then the fault and *err name
 * `self`. */
bool fault_is_absence(struct fault *f, int r, const struct heartbeat_self *life, int64_t now_ns,
                      const struct frame_id *self, struct err *err);
/* From an ABORT frame. Exit 11 whatever the sender's exit code is: this process has
 * lost its peers. */
int fault_from_abort(struct fault *f, const struct frame *frame, const uint8_t *payload,
                     const struct frame_id *self, struct err *err);
/* Whether the ABORT with this payload names its receiver, with exit code 12. */
bool fault_is_refusal(const uint8_t *payload, const struct frame_id *self);
/* The payload of the ABORT frame that reports this fault to the peers. Returns its length. */
size_t fault_to_abort(const struct fault *f, const struct frame_id *self,
                      uint8_t ret[static FRAME_SMALL_PAYLOAD]);
/* Turns the fault into an error. Returns the negative error code. */
int fault_to_err(const struct fault *f, struct err *err);
