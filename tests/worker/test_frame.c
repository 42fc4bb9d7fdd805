/* Frames against the golden bytes (made by peer.py, a second implementation), and every lie. */
#include "tests/test.h"
#include "golden_frame.h"
#include "worker/comm/link/crc32c.h"
#include "worker/comm/link/frame.h"

#define GOLDEN_RUN "vgg16-pserver-sweep-7k3fq"

static struct frame_id golden_id(enum role role, uint32_t index)
{
    return (struct frame_id){frame_run_id(GOLDEN_RUN, 2, 0), 0, role, index};
}

static struct auth_key golden_key(const char *name)
{
    struct auth_key key;
    assert_int_equal(golden(name, key.bytes, sizeof(key.bytes)), sizeof(key.bytes));
    return key;
}

/* The definition: bit by bit. */
static uint32_t crc_by_bits(uint32_t crc, const uint8_t *data, size_t n)
{
    crc = ~crc;
    for (size_t i = 0; i < 8 * n; i++) {
        crc ^= i % 8 == 0 ? data[i / 8] : 0;
        crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0x82f63b78u : 0);
    }
    return ~crc;
}

TEST(crc)
{
    /* clang-format off */
    static const struct {
        uint8_t bytes[48];
        size_t n;
        uint32_t crc;
    } rows[] = {
        {"", 0, 0},
        {"123456789", 9, 0xe3069283}, /* the check value of the polynomial */
        /* RFC 3720, B.4: zeros, ones, incrementing, decrementing, a SCSI Read(10) command. */
        {{0}, 32, 0x8a9136aa},
        {{255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255,
          255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255},
         32, 0x62a8ab43},
        {{0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15,
          16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31}, 32, 0x46dd794e},
        {{31, 30, 29, 28, 27, 26, 25, 24, 23, 22, 21, 20, 19, 18, 17, 16,
          15, 14, 13, 12, 11, 10, 9,  8,  7,  6,  5,  4,  3,  2,  1,  0}, 32, 0x113fdb5c},
        {{[0] = 0x01, [1] = 0xc0, [16] = 0x14, [22] = 0x04, [27] = 0x14, [31] = 0x18, [32] = 0x28,
          [40] = 0x02}, 48, 0xd9963a56},
    };
    /* clang-format on */
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        assert_int_equal(crc32c(0, rows[i].bytes, rows[i].n), rows[i].crc);
    }
    enum { MAX = 120000 };
    uint8_t *data = test_malloc(MAX);
    for (size_t i = 0; i < MAX; i++) {
        data[i] = (uint8_t)(i * 2654435761u >> 13);
    }
    static const size_t lengths[] = {1, 7, 8, 127, 128, 129, 511, 513, 4096, 73729, MAX};
    for (size_t i = 0; i < N_ROWS(lengths); i++) {
        const size_t n = lengths[i], cut = n / 3;
        assert_int_equal(crc32c(0, data, n), crc_by_bits(0, data, n));
        /* What came before counts, and the place in memory does not. */
        assert_int_equal(crc32c(0x12345678, data + 1, n - 1),
                         crc_by_bits(0x12345678, data + 1, n - 1));
        assert_int_equal(crc32c(crc32c(0, data, cut), data + cut, n - cut), crc32c(0, data, n));
    }
    test_free(data);
}

TEST(encode_golden)
{
    const float values[4] = {1.0f, -2.0f, 0.5f, 0.25f};
    struct auth_key key = golden_key("trainer_key");
    struct frame f = {
        .type = FRAME_GRADIENT,
        .from = golden_id(ROLE_TRAINER, 1),
        .step = 7,
        .offset = 16,
        .slice = 3,
        .dtype = FRAME_DTYPE_F32,
        .sequence = 3, /* HELLO, PROOF, HEARTBEAT before */
        .payload_len = sizeof(values),
        .payload_crc = crc32c(0, values, sizeof(values)),
    };
    uint8_t got[FRAME_HEADER_SIZE], want[512];
    frame_encode(&f, &key, got);
    assert_int_equal(golden("GRADIENT", want, sizeof(want)), sizeof(got) + sizeof(values));
    assert_memory_equal(got, want, sizeof(got));
    assert_memory_equal(values, want + sizeof(got), sizeof(values));
}

/* Feeds bytes in pieces of `step`; returns the last event and in *ret_used how many were taken. */
static int feed(struct frame_parser *p, const uint8_t *bytes, size_t len, size_t step, void *to,
                size_t *ret_used, struct err *err)
{
    int event = FRAME_MORE;
    size_t used = 0;
    while (used < len && event >= 0 && event != FRAME_COMPLETE) {
        uint8_t *at;
        size_t room = frame_parser_space(p, &at);
        assert_true(room > 0);
        size_t n = room < step ? room : step;
        n = n < len - used ? n : len - used;
        memcpy(at, bytes + used, n);
        used += n;
        event = frame_parser_advance(p, n, err);
        if (event == FRAME_HEADER_DONE) {
            event = frame_parser_place(p, p->frame.dtype == FRAME_DTYPE_F32 ? to : NULL, err);
        }
    }
    *ret_used = used;
    return event;
}

TEST(parse_golden_in_any_split)
{
    static const char *const names[] = {"HELLO",   "PROOF", "HEARTBEAT", "GRADIENT",
                                        "GOODBYE", "OFFER", "TAKEN"};
    struct auth_key key = golden_key("trainer_key");
    struct frame_id from = golden_id(ROLE_TRAINER, 1);
    for (size_t step = 1; step <= 200; step += 13) {
        struct frame_parser p;
        frame_parser_init(&p);
        for (size_t i = 0; i < N_ROWS(names); i++) {
            uint8_t bytes[512];
            float values[4] = {0};
            size_t len = golden(names[i], bytes, sizeof(bytes)), used;
            struct err err = {0};
            print_message("# %s in pieces of %zu\n", names[i], step);
            assert_int_equal(feed(&p, bytes, len, step, values, &used, &err), FRAME_COMPLETE);
            assert_int_equal(used, len);
            assert_string_equal(frame_type_to_string(p.frame.type), names[i]);
            assert_memory_equal(p.payload, bytes + FRAME_HEADER_SIZE, len - FRAME_HEADER_SIZE);
            if (p.frame.type == FRAME_PROOF) {
                frame_parser_secure(&p, &key, &from);
            }
            if (p.frame.type == FRAME_GRADIENT) {
                assert_int_equal(p.frame.step, 7);
                assert_int_equal(p.frame.offset, 16);
                assert_int_equal(p.frame.slice, 3);
                assert_true(values[1] == -2.0f);
            }
            if (p.frame.type == FRAME_OFFER) {
                assert_int_equal(p.frame.step, 7);
                assert_int_equal(p.frame.slice, 5);
            }
        }
    }
}

struct lie {
    const char *name;
    struct frame f; /* zero fields are honest */
    bool other_key, flip_payload;
    int flip_header; /* byte to damage after signing, -1: none */
    const char *says;
};

TEST(lies)
{
    /* clang-format off */
    static const struct lie rows[] = {
        {"honest", {0}, false, false, -1, NULL},
        {"signed with another key", {0}, true, false, -1, "MAC of the header is wrong"},
        {"magic", {0}, false, false, 0, "not a frame of benchd"},
        {"version", {0}, false, false, 4, "frames are of version"},
        {"length damaged", {0}, false, false, 48, "MAC of the header is wrong"},
        {"MAC damaged", {0}, false, false, 79, "MAC of the header is wrong"},
        {"payload damaged", {0}, false, true, -1, "CRC of the payload"},
        {"another sender", {.from = {.index = 9}}, false, false, -1, "another sender (trainer/9)"},
        {"another attempt", {.from = {.attempt = 3}}, false, false, -1, "another sender"},
        {"another run", {.from = {.run = 3}}, false, false, -1, "another sender (trainer/1)"},
        {"another role", {.from = {.role = ROLE_WORKER}}, false, false, -1, "(worker/1)"},
        {"an index too large", {.from = {.index = FRAME_MAX_INDEX + 1}}, false, false, -1,
         "invalid sender: role 1, index 65536"},
        {"a role too large", {.from = {.role = ROLE_COUNT}}, false, false, -1, "invalid sender"},
        {"replayed", {.sequence = 5}, false, false, -1, "frame 5 arrived, expected frame 0"},
        {"too long", {.payload_len = FRAME_MAX_PAYLOAD + 1}, false, false, -1, "allowed are 0 to"},
        {"huge", {.payload_len = UINT32_MAX}, false, false, -1, "allowed are 0 to"},
        {"type 0", {.type = 255}, false, false, -1, "type 255 (?) is not expected"},
        {"handshake again", {.type = FRAME_HELLO}, false, false, -1, "after the handshake"},
        {"ABORT without a cause", {.type = FRAME_ABORT, .payload_len = 11}, false, false, -1,
         "allowed are 12 to"},
        {"an ABORT of numbers", {.type = FRAME_ABORT}, false, false, -1, "wrong dtype 1"},
        {"an ABORT of bf16", {.type = FRAME_ABORT, .dtype = FRAME_DTYPE_BF16}, false, false, -1,
         "wrong dtype 2"},
        {"dtype", {.dtype = 7}, false, false, -1, "dtype 7"},
        {"heartbeat with a payload", {.type = FRAME_HEARTBEAT}, false, false, -1, "allowed are 0"},
    };
    /* clang-format on */
    struct auth_key key = golden_key("trainer_key");
    struct frame_id from = golden_id(ROLE_TRAINER, 1);
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        const struct lie *l = &rows[i];
        float values[4] = {1, 2, 3, 4}, to[4];
        struct frame f = {
            .type = l->f.type != 0 ? l->f.type : FRAME_GRADIENT,
            .from = from,
            .dtype = l->f.dtype != 0 ? l->f.dtype : FRAME_DTYPE_F32,
            .sequence = l->f.sequence,
            .payload_len = l->f.payload_len != 0 ? l->f.payload_len : sizeof(values),
            .payload_crc = crc32c(0, values, sizeof(values)),
        };
        f.from.index = l->f.from.index != 0 ? l->f.from.index : 1;
        f.from.attempt = l->f.from.attempt;
        f.from.run ^= l->f.from.run;
        f.from.role = l->f.from.role != 0 ? l->f.from.role : from.role;
        uint8_t bytes[FRAME_HEADER_SIZE + sizeof(values)];
        struct auth_key other = {{1}};
        frame_encode(&f, l->other_key ? &other : &key, bytes);
        memcpy(bytes + FRAME_HEADER_SIZE, values, sizeof(values));
        if (l->flip_header >= 0) {
            bytes[l->flip_header] ^= 1;
        }
        bytes[sizeof(bytes) - 1] ^= l->flip_payload;
        struct frame_parser p;
        frame_parser_init(&p);
        frame_parser_secure(&p, &key, &from);
        struct err err = {0};
        size_t used;
        int r = feed(&p, bytes, sizeof(bytes), sizeof(bytes), to, &used, &err);
        print_message("# row '%s': %d %s\n", l->name, r, err.msg);
        assert_int_equal(r, l->says == NULL ? FRAME_COMPLETE : -EPROTO);
        if (l->says != NULL) {
            uint8_t *at;
            assert_non_null(strstr(err.msg, l->says));
            assert_int_equal(frame_parser_space(&p, &at), 0); /* dead */
        }
    }
}

TEST(only_the_handshake_goes_unsigned)
{
    for (int type = 0; type < 16; type++) {
        bool is_handshake = type >= FRAME_HELLO && type <= FRAME_PROOF;
        static const uint32_t sizes[] = {0, 64, 96, 32};
        struct frame f = {
            .type = type,
            .from = golden_id(ROLE_TRAINER, 0),
            .payload_len = is_handshake ? sizes[type] : 0,
        };
        uint8_t bytes[FRAME_HEADER_SIZE];
        frame_encode(&f, NULL, bytes);
        struct frame_parser p;
        frame_parser_init(&p);
        struct err err = {0};
        uint8_t *at;
        assert_int_equal(frame_parser_space(&p, &at), FRAME_HEADER_SIZE);
        memcpy(at, bytes, sizeof(bytes));
        print_message("# type %d\n", type);
        assert_int_equal(frame_parser_advance(&p, sizeof(bytes), &err),
                         is_handshake ? FRAME_HEADER_DONE : -EPROTO);
    }
}
