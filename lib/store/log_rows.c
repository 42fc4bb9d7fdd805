/* The logs of replicas that share a row of the store, as its bytes before they are compressed:
 *
 *   u32 n; n x (index of the replica u32, length u64); the logs, one after another
 *
 * See sqlite_store.h. Pure. */
#include "store/sqlite_store.h"

#include <errno.h>
#include <string.h>

#include "base/mem.h"
#include "core/replica.h"

#define COUNT_BYTES 4
#define PIECE_BYTES 12

void log_row_done(struct log_row *row)
{
    free(row->bytes);
    free(row->pieces);
    *row = (struct log_row){0};
}

void number_write(struct buf *out, uint64_t value, size_t n_bytes)
{
    for (size_t i = 0; i < n_bytes; i++) {
        buf_putc(out, (char)(unsigned char)(value >> (8 * i)));
    }
}

int rows_compare(const void *a, const void *b)
{
    const struct replica_id *x = *(const void *const *)a;
    const struct replica_id *y = *(const void *const *)b;
    const int r = strcmp(role_to_string(x->role), role_to_string(y->role));
    return r != 0 ? r : (x->index > y->index) - (x->index < y->index);
}

void log_row_write(const struct log_piece *pieces, size_t n, struct buf *out)
{
    number_write(out, n, COUNT_BYTES);
    for (size_t i = 0; i < n; i++) {
        number_write(out, pieces[i].index, 4);
        number_write(out, pieces[i].len, 8);
    }
    for (size_t i = 0; i < n; i++) {
        buf_append(out, pieces[i].data, pieces[i].len);
    }
}

uint64_t number_read(const void *at, size_t n_bytes)
{
    uint64_t value = 0;
    for (size_t i = 0; i < n_bytes; i++) {
        value |= (uint64_t)((const unsigned char *)at)[i] << (8 * i);
    }
    return value;
}

int log_row_read(char *bytes_take, size_t len, struct log_row *ret, struct err *err)
{
    const uint64_t n = len < COUNT_BYTES ? UINT64_MAX : number_read(bytes_take, COUNT_BYTES);
    if (n > (len - COUNT_BYTES) / PIECE_BYTES) {
        return err_set(err, EBADMSG, "the number of logs that share a row");
    }
    struct log_piece *pieces = xnew_array(struct log_piece, n);
    size_t at = COUNT_BYTES + (size_t)n * PIECE_BYTES;
    for (size_t i = 0; i < n && at <= len; i++) {
        const char *entry = bytes_take + COUNT_BYTES + i * PIECE_BYTES;
        const uint64_t piece_len = number_read(entry + 4, 8);
        pieces[i] =
            (struct log_piece){(uint32_t)number_read(entry, 4), bytes_take + at, (size_t)piece_len};
        at = piece_len > len - at ? len + 1 : at + (size_t)piece_len;
    }
    if (at != len) {
        free(pieces);
        return err_set(err, EBADMSG, "the lengths of logs that share a row");
    }
    *ret = (struct log_row){bytes_take, pieces, (size_t)n};
    return 0;
}
