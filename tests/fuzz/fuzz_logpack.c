/* log_pack on any bytes, cut into logs anywhere: they come back. log_unpack on any bytes: it never
 * reads beyond them, a failure has words, and what it gives is within its limits. */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/log_pack.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(int condition, const char *what)
{
    if (!condition) {
        fprintf(stderr, "fuzz_logpack: %s\n", what);
        abort();
    }
}

static void check_unpack(const void *data, size_t size)
{
    struct log_unpacked u;
    struct err err = {0};
    const int r = log_unpack(data, size, &u, &err);
    must(r == 0 || r == -EBADMSG, "another return value");
    must((r < 0) == (err.code != 0 && err.msg[0] != '\0'), "an error without words");
    if (r == 0) {
        size_t total = 0;
        for (size_t i = 0; i < u.n_pieces; i++) {
            must(u.pieces[i].data == u.text + total, "a gap");
            total += u.pieces[i].len;
        }
        must(total <= LOG_PACK_MAX_BYTES, "too long");
        log_unpacked_done(&u);
    }
}

/* The first byte says where the text is cut in two. */
static void check_round_trip(const char *data, size_t size)
{
    const size_t cut = size == 0 ? 0 : (size_t)(unsigned char)data[0] * size / 256;
    const struct log_piece pieces[] = {{0, data, cut}, {1, data + cut, size - cut}};
    struct log_packed p;
    struct log_unpacked u;
    log_pack(pieces, 2, &p);
    must(log_unpack(p.bytes.data, p.bytes.len, &u, NULL) == 0, "what was packed is refused");
    must(u.n_pieces == 2 && u.pieces[0].len == cut && u.pieces[1].len == size - cut &&
             (size == 0 || memcmp(u.text, data, size) == 0),
         "other bytes");
    log_unpacked_done(&u);
    /* A mutation of a text rarely is a pack: here are packs with one changed byte each. */
    for (size_t at = 0; at < p.bytes.len; at += 1 + p.bytes.len / 16) {
        p.bytes.data[at] = (char)(p.bytes.data[at] ^ (1 << at % 8));
        check_unpack(p.bytes.data, p.bytes.len);
        p.bytes.data[at] = (char)(p.bytes.data[at] ^ (1 << at % 8));
    }
    log_packed_done(&p);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    check_unpack(data, size);
    check_round_trip((const char *)data, size);
    return 0;
}
