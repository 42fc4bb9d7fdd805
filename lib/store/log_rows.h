/* The logs of replicas that share a row of the store, as its bytes before they are compressed:
 *
 *   u32 n; n x (index of the replica u32, length u64); the logs, one after another
 *
 * Used by sqlite_logs.c. Pure. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"

/* Little-endian, as replica_pack.c writes them, too. */
void number_write(struct buf *out, uint64_t value, size_t n_bytes);
uint64_t number_read(const void *at, size_t n_bytes);

/* By the name of the role, then by index: for qsort of pointers to what begins with its replica_id.
 * Packs of replicas have this order, too. */
int rows_compare(const void *a, const void *b);

/* Its bytes are borrowed. */
struct log_piece {
    uint32_t index; /* of the replica */
    const char *data;
    size_t len;
};

struct log_row {
    char *bytes;              /* owned; the pieces are in them */
    struct log_piece *pieces; /* owned */
    size_t n_pieces;
};
void log_row_done(struct log_row *row);

void log_row_write(const struct log_piece *pieces, size_t n, struct buf *out);
/* Takes the bytes, with 0. -EBADMSG: they are no row. */
int log_row_read(char *bytes_take, size_t len, struct log_row *ret, struct err *err);
