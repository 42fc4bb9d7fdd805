/* A trainer of the rig in the hands of a test: it knows the secret and sends what it is told, in
 * any order. Every wait is bounded; a test fails by the answer. */
#pragma once

#include "exchange_rig.h"
#include "worker/comm/link/conn.h"

/* A small model: so many slices of at most so many bytes. */
enum { RAW_SLICES = 4, RAW_PARAMS = RAW_SLICES * 1000, RAW_SLICE_BYTES = 4096 };

struct raw_trainer {
    const struct rig *rig;
    struct conn conn;
    struct handshake handshake;
    unsigned seen[FRAME_TYPE_END]; /* frames that have arrived */
    bool is_over;                  /* the server has closed the connection */
    bool says_nothing;             /* never TAKEN: what has arrived counts as being on its way */
    uint64_t offered;              /* steps */
    uint64_t credit_step;          /* of the last CREDIT */
    uint32_t credit;               /* slices of that step that it may have sent */
    float *slice;                  /* zeros to send */
    float *params;                 /* where parameters go */
};

/* Connects to the rig's first server. rcvbuf_bytes: 0 for the system's choice. */
void raw_connect(struct raw_trainer *t, const struct rig *rig, struct frame_id id,
                 int rcvbuf_bytes);
/* Connects and performs the handshake as trainer `index`. */
void raw_join(struct raw_trainer *t, const struct rig *rig, uint32_t index);
/* HELLO, the answer, PROOF; raw_wait(t, FRAME_WELCOME) tells what came of it. */
void raw_shake_hands(struct raw_trainer *t);

/* Queue a frame and send it; nothing is read. */
void raw_send(struct raw_trainer *t, enum frame_type type);
void raw_count(struct raw_trainer *t, enum frame_type type, uint64_t step, uint32_t count);
/* A gradient as the test describes it, of `len` zeros. */
void raw_slice(struct raw_trainer *t, const struct frame *f, size_t len);
/* Offers the step's gradient, waits for the credit for its i-th slice, counted from the
 * last one, and sends it. */
void raw_gradient(struct raw_trainer *t, uint64_t step, uint32_t i);
/* All slices of a step. */
void raw_gradients(struct raw_trainer *t, uint64_t step);

/* Reads until `count` frames of the type have come. False if the server closes the connection first
 * or nothing comes for 20 s. */
bool raw_wait(struct raw_trainer *t, enum frame_type type, unsigned count);
/* Reads what has arrived, and does not wait. */
void raw_read(struct raw_trainer *t);
/* Returns when the server has read what all trainers have sent so far: a stranger that
 * connects later has got an answer. It says that it is trainer/0, which has joined. Needs a
 * rendezvous that is not over. */
void raw_settle(const struct rig *rig);
/* Sends no more, reads until the server has closed the connection, and closes it. */
void raw_end(struct raw_trainer *t);

/* Trainer `index` joins when all is over, and the servers end. True if it was told why; the server
 * waits for it no longer than it must. */
bool raw_come_late(struct rig *rig, uint32_t index);
