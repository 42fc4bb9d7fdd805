/* The logs of several replicas as columns of numbers, which compress better than their lines do:
 * what docs/contracts/log-pack.md describes. Any bytes go in, and the same come out. Used by
 * sqlite_logs.c alone. Pure.
 *
 * Most lines of a log repeat a form ("step 7: 412.5 ms"): each form is kept once, the
 * numbers of one place in it become a column, and a column keeps what a simple rule does not
 * foresee: the difference from the line before, or from other numbers of the line. All other
 * lines are kept as they are. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/vec.h"

#define LOG_PACK_MAX_BYTES                                                                         \
    ((size_t)4 << 20) /* of all pieces of a pack, so that memory is bounded */
#define LOG_PACK_MAX_PIECES 65536

/* A log, or a part of one that is longer than a pack. Its bytes are borrowed. */
struct log_piece {
    uint32_t index; /* of the replica */
    const char *data;
    size_t len;
};

/* Packed bytes, not compressed yet. */
struct log_packed {
    struct buf bytes; /* owned */
    VEC(size_t)
    breaks; /* rising: where other statistics begin; a compressor starts a block there. Owned */
};
void log_packed_done(struct log_packed *p);

/* At most LOG_PACK_MAX_PIECES pieces, of LOG_PACK_MAX_BYTES together. */
void log_pack(const struct log_piece *pieces, size_t n, struct log_packed *ret);

/* --- log_unpack.c --- */

struct log_unpacked {
    char *text;               /* all pieces, one after another; owned */
    struct log_piece *pieces; /* owned; their bytes are in `text` */
    size_t n_pieces;
};
void log_unpacked_done(struct log_unpacked *u);

/* -EBADMSG: these bytes are no pack; the text says what is wrong. */
int log_unpack(const void *data, size_t len, struct log_unpacked *ret, struct err *err);
