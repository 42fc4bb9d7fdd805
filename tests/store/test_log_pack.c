/* Logs as columns: any bytes come back as they were, the sizes are what the format promises, and
 * damaged bytes are an error. */
#include <errno.h>

#include <zstd.h>

#include "tests/test.h"
#include "base/mem.h"
#include "base/splitmix.h"
#include "store/log_line.h"
#include "store/log_pack.h"

static size_t compressed(const struct buf *bytes)
{
    const size_t cap = ZSTD_compressBound(bytes->len);
    _cleanup_(freep) char *out = xmalloc(cap);
    const size_t len = ZSTD_compress(out, cap, bytes->data, bytes->len, 3);
    assert_false(ZSTD_isError(len));
    return len;
}

/* Packs, unpacks, compares; returns the length of what was packed, compressed. */
static size_t assert_comes_back(const struct log_piece *pieces, size_t n, const char *what)
{
    struct log_packed packed;
    struct log_unpacked got;
    struct err err = {0};
    log_pack(pieces, n, &packed);
    size_t last = 0;
    for (size_t i = 0; i < packed.breaks.len; i++) {
        assert_true(packed.breaks.items[i] > last && packed.breaks.items[i] <= packed.bytes.len);
        last = packed.breaks.items[i];
    }
    char *exact = xmalloc(packed.bytes.len); /* of the exact size, for the sanitizer */
    memcpy(exact, packed.bytes.data, packed.bytes.len);
    if (log_unpack(exact, packed.bytes.len, &got, &err) < 0) {
        fail_msg("%s: %s", what, err.msg);
    }
    free(exact);
    assert_int_equal(got.n_pieces, n);
    for (size_t i = 0; i < n; i++) {
        if (got.pieces[i].index != pieces[i].index || got.pieces[i].len != pieces[i].len ||
            (pieces[i].len > 0 && memcmp(got.pieces[i].data, pieces[i].data, pieces[i].len) != 0)) {
            fail_msg("%s: piece %zu differs", what, i);
        }
    }
    const size_t len = compressed(&packed.bytes);
    log_unpacked_done(&got);
    log_packed_done(&packed);
    return len;
}

static size_t text_comes_back(const char *text)
{
    return assert_comes_back(&(struct log_piece){7, text, strlen(text)}, 1, text);
}

/* Ten lines of each, so that they have a form of their own. */
TEST(numbers_are_printed_as_they_were)
{
    static const char *const lines[] = {
        "0",
        "00",
        "007",
        "1.50",
        "0.0",
        "00.00",
        "1.2.3",
        "1.",
        ".5",
        "-3",
        "1e-05",
        "12:03:09",
        "2026-11-22T06:20:23.123456Z",
        "999999999999999999",
        "1000000000000000000",
        "0.99999999999999999",
        "000000000000000000",
        "0000000000000000000",
        "a1b22c",
        "",
        "1 1",
        "18446744073709551615",
        "9.007199254740993",
        "127.0.0.1:2379",
        "\xff 1 \x80",
        "1\r",
        "1\t2",
    };
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
        struct buf text = BUF_INIT;
        for (int k = 0; k < 10; k++) {
            buf_printf(&text, "%s\n", lines[i]);
        }
        (void)text_comes_back(buf_cstr(&text)); /* its length is asked for elsewhere */
        for (size_t k = 0; k < sizeof(lines) / sizeof(lines[0]);
             k++) { /* the next row is another */
            buf_printf(&text, "x %s\nx %s\n", lines[i], lines[k]);
        }
        (void)text_comes_back(buf_cstr(&text)); /* likewise */
        buf_done(&text);
    }
}

TEST(any_end_of_a_log_comes_back)
{
    static const char *const texts[] = {"", "\n", "a", "a\n", "\n\n", "a\n\n", "1\n2", "\n1"};
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        (void)text_comes_back(texts[i]); /* its length is asked for elsewhere */
        struct log_piece pieces[20];
        for (uint32_t k = 0; k < 20; k++) {
            const char *text = texts[(i + k) % (sizeof(texts) / sizeof(texts[0]))];
            pieces[k] = (struct log_piece){UINT32_MAX - k, text, strlen(text)};
        }
        (void)assert_comes_back(pieces, 20, "several"); /* likewise */
    }
    (void)assert_comes_back(NULL, 0, "none");                                     /* likewise */
    (void)assert_comes_back(&(struct log_piece){1, "a\0b\n1\0\n", 7}, 1, "NULs"); /* likewise */
}

/* A number without a common scale, and columns whose numbers jump over the whole range. */
TEST(numbers_of_all_sizes_share_a_column)
{
    static const char *const numbers[] = {"999999999999999999",  "0.00000000000000001", "0", "1",
                                          "99999999999999999.9", "0000000000000000.1"};
    uint64_t random = 1;
    struct buf text = BUF_INIT;
    for (int i = 0; i < 500; i++) {
        buf_printf(&text, "at %s of %s\n", numbers[splitmix_below(&random, 6)],
                   numbers[splitmix_below(&random, 6)]);
    }
    (void)text_comes_back(buf_cstr(&text)); /* its length is asked for elsewhere */
    buf_done(&text);
}

/* Too many numbers in a line, too many digits, too many forms: kept as they are. */
TEST(what_has_no_form_is_kept)
{
    struct buf text = BUF_INIT;
    for (int i = 0; i < 10; i++) {
        for (int k = 0; k < LOG_LINE_MAX_NUMBERS + i / 5; k++) {
            buf_printf(&text, "%d,", k);
        }
        buf_putc(&text, '\n');
    }
    for (int i = 0; i < 40000; i++) { /* 5,000 forms, of which 255 have columns */
        buf_printf(&text, "form %c%c%c%c of %d\n", 'a' + i / 8 % 10, 'a' + i / 80 % 10,
                   'a' + i / 800 % 10, 'a' + i / 8000 % 10, i);
    }
    (void)text_comes_back(buf_cstr(&text)); /* its length is asked for elsewhere */
    buf_done(&text);
}

/* What a rule foresees takes no bytes: of 1,000 lines stay their random numbers, and what
 * describes the columns. */
TEST(what_is_foreseen_takes_nothing)
{
    static const struct {
        const char *name, *format; /* of i, of a random number, of another, of their sums so far */
        size_t random_bytes;       /* a line */
    } rows[] = {
        {"a constant", "step 7 of 12\n", 0},
        {"a counter", "step %1$u\n", 0},
        {"zeros in front", "step %1$05u\n", 0},
        {"one random number", "took %2$u us\n", 2},
        {"decimals", "took 1.%2$05u ms\n", 2},
        {"the sum of two behind it", "%4$u = %2$u + %3$u\n", 4},
        {"ends and times", "end %5$u took %2$u us\n", 2},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct buf text = BUF_INIT;
        uint64_t random = 5;
        unsigned end = 0;
        for (unsigned k = 0; k < 1000; k++) {
            const unsigned a = 10000 + splitmix_below(&random, 60000);
            const unsigned b = 10000 + splitmix_below(&random, 60000);
            end += a;
            char line[128];
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
            (void)snprintf(line, sizeof(line), rows[i].format, k, a, b, a + b, end);
#pragma GCC diagnostic pop
            buf_puts(&text, line);
        }
        const size_t len = text_comes_back(buf_cstr(&text));
        if (len > 1000 * rows[i].random_bytes + 150) {
            fail_msg("%s: %zu bytes", rows[i].name, len);
        }
        buf_done(&text);
    }
}

/* ---- any bytes ---- */

static void put_random_number(struct buf *out, uint64_t *random)
{
    static const char *const formats[] = {"%u", "%05u", "0.%u", "%u.5", "-%u", "%ue5"};
    const char *format = formats[splitmix_below(random, 6)];
    const unsigned n = splitmix_below(random, 1u << splitmix_below(random, 31));
    char text[32];
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    (void)snprintf(text, sizeof(text), format, n);
#pragma GCC diagnostic pop
    buf_puts(out, text);
}

static void put_random_line(struct buf *out, uint64_t *random, unsigned kind)
{
    static const char *const words[] = {"step ", ": ", " ms, loss ", "{\"t_ns\":", ",", " ", "."};
    const unsigned n = kind + 1;
    uint64_t same = kind; /* lines of a kind have the same words */
    for (unsigned i = 0; i < n; i++) {
        buf_puts(out, words[splitmix_below(&same, 7)]);
        put_random_number(out, random);
    }
    if (splitmix_below(random, 10) == 0) {
        buf_putc(out, (char)splitmix_below(random, 256));
    }
    buf_putc(out, '\n');
}

TEST(any_bytes_come_back)
{
    for (uint64_t seed = 0; seed < 300; seed++) {
        uint64_t random = seed;
        struct buf text = BUF_INIT;
        const unsigned n = splitmix_below(&random, 400);
        const unsigned noise = splitmix_below(&random, 3); /* none, a line in 8, all */
        for (unsigned i = 0; i < n; i++) {
            if (noise == 2 || (noise == 1 && i % 8 == 0)) {
                buf_putc(&text, (char)splitmix_below(&random, 256));
            } else {
                put_random_line(&text, &random, splitmix_below(&random, 6));
            }
        }
        struct log_piece pieces[5];
        size_t at = 0, n_pieces = 0;
        for (; n_pieces < 5; n_pieces++) { /* cut anywhere */
            const size_t rest = text.len - at;
            const size_t len = n_pieces == 4 ? rest : splitmix_below(&random, (uint32_t)rest + 1);
            pieces[n_pieces] =
                (struct log_piece){splitmix_below(&random, 1000), buf_cstr(&text) + at, len};
            at += len;
        }
        char name[32];
        (void)snprintf(name, sizeof(name), "seed %u", (unsigned)seed);
        (void)assert_comes_back(pieces, n_pieces, name); /* its length is asked for elsewhere */
        buf_done(&text);
    }
}

/* ---- damaged ---- */

static struct log_packed make(void)
{
    struct buf text = BUF_INIT;
    for (unsigned i = 0; i < 12; i++) {
        buf_printf(&text, "end %u took %u.%0*u ms\nodd line %c\n", i * i, i, 1 + (int)i % 3, i,
                   'a' + (char)i);
    }
    struct log_packed packed;
    log_pack((const struct log_piece[]){{0, text.data, text.len}, {3, text.data, 40}}, 2, &packed);
    buf_done(&text);
    return packed;
}

static int unpack_exact(const char *data, size_t len, struct err *err)
{
    struct log_unpacked got;
    char *exact = xmalloc(len == 0 ? 1 : len);
    memcpy(exact, data, len);
    const int r = log_unpack(exact, len, &got, err);
    if (r >= 0) {
        size_t total = 0;
        for (size_t i = 0; i < got.n_pieces; i++) {
            total += got.pieces[i].len;
        }
        assert_true(total <= LOG_PACK_MAX_BYTES);
        log_unpacked_done(&got);
    }
    free(exact);
    return r;
}

/* Cut at any byte, with a byte too many, and with any bit changed: an error,
 * or logs, and no more. */
TEST(damaged_bytes_are_an_error)
{
    struct log_packed packed = make();
    struct err err;
    for (size_t len = 0; len < packed.bytes.len; len++) {
        assert_int_equal(unpack_exact(packed.bytes.data, len, &err), -EBADMSG);
        assert_true(err.msg[0] != '\0');
    }
    for (size_t i = 0; i < packed.bytes.len; i++) {
        for (int bit = 0; bit < 8; bit++) {
            packed.bytes.data[i] = (char)(packed.bytes.data[i] ^ (1 << bit));
            const int r = unpack_exact(packed.bytes.data, packed.bytes.len, &err);
            assert_true(r == 0 || r == -EBADMSG);
            packed.bytes.data[i] = (char)(packed.bytes.data[i] ^ (1 << bit));
        }
    }
    buf_putc(&packed.bytes, 'x');
    assert_int_equal(unpack_exact(packed.bytes.data, packed.bytes.len, &err), -EBADMSG);
    packed.bytes.data[0] = 2;
    assert_int_equal(unpack_exact(packed.bytes.data, packed.bytes.len, &err), -EBADMSG);
    assert_non_null(strstr(err.msg, "version"));
    log_packed_done(&packed);
}

/* Few bytes that say there are many: refused before anything is allocated for them. */
TEST(bytes_that_promise_too_much_are_refused)
{
    static const struct {
        const char *name;
        unsigned char bytes[24];
        size_t len;
        const char *text;
    } rows[] = {
        {"pieces", {1, 0xff, 0xff, 0xff, 0xff, 0x0f}, 6, "lengths"},
        {"bytes of a piece", {1, 1, 0, 0x81, 0x80, 0x80, 0x02}, 7, "lengths"},
        {"an index", {1, 1, 0x80, 0x80, 0x80, 0x80, 0x10, 1}, 8, "lengths"},
        {"forms", {1, 1, 0, 9, 0x80, 0x02}, 6, "lines"},
        {"a form's text", {1, 1, 0, 9, 1, 0xff, 0x7f}, 7, "lines"},
        {"lines", {1, 1, 0, 9, 0, 10, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}, 17, "lines"},
        {"plain bytes", {1, 1, 0, 1, 0, 1, 9, 0, 0, 0, 0, 0, 0, 0, 0, 0}, 16, "lines"},
        {"numbers", {1, 1, 0, 2, 1, 3, 0, 0, 0, 1, 0, 1}, 12, "lines"},
        {"a form nobody has", {1, 1, 0, 2, 1, 1, 'a', 1, 1, 0, '\n'}, 11, "numbers"},
        {"a column that foresees itself",
         {1, 1, 0, 2, 1, 1, 0, 1, 0, 1, 0, 0, 0, 0, 1, 0, 10, 0},
         18,
         "numbers"},
        {"a varint of 65 bits",
         {1, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x02},
         11,
         "lengths"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct err err = {0};
        const int r = unpack_exact((const char *)rows[i].bytes, rows[i].len, &err);
        if (r != -EBADMSG || strstr(err.msg, rows[i].text) == NULL) {
            fail_msg("%s: %d '%s'", rows[i].name, r, err.msg);
        }
    }
}
