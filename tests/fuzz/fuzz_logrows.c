/* Rows of logs from any bytes: nothing is read beyond them, a failure has words, and what comes out
 * lies in one text without gaps. */
#include "fuzz.h"

#include "store/sqlite_store.h"

static void check(int r, const struct err *err, struct log_row *row, size_t max)
{
    must(r == 0 || r == -EBADMSG, "another return value");
    must((r < 0) == (err->code != 0 && err->msg[0] != '\0'), "an error without words");
    size_t total = 0;
    for (size_t i = 0; i < row->n_pieces; i++) {
        must(row->pieces[i].data == row->pieces[0].data + total, "a gap");
        total += row->pieces[i].len;
    }
    must(total <= max, "too long");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct log_row row = {0};
    struct err err = {0};
    char *bytes = xmalloc(size); /* of the exact size, for the sanitizer */
    memcpy(bytes, data, size);
    const int r = log_row_read(bytes, size, &row, &err);
    check(r, &err, &row, size);
    if (r == 0) {
        struct buf again = BUF_INIT;
        log_row_write(row.pieces, row.n_pieces, &again);
        must(again.len == size && memcmp(again.data, data, size) == 0, "other bytes");
        buf_done(&again);
        log_row_done(&row);
    } else {
        free(bytes);
    }
    return 0;
}
