#include "tests/test.h"
#include "store/archive.h"

#include <openssl/sha.h>
#include <zstd.h>

#include "base/str.h"

static void add(struct archive *a, const char *name, const char *text)
{
    buf_puts(archive_begin_member(a, name), text);
    assert_int_equal(archive_end_member(a, NULL), 0);
}

/* Three members; one is empty, one fills its block. */
static void make(struct archive *a)
{
    char block[TAR_BLOCK + 1];
    memset(block, 'x', TAR_BLOCK);
    block[TAR_BLOCK] = '\0';
    assert_int_equal(archive_new("/tmp/test_archive", "benchctl 0.1.0", "demo-7k3fq", a, NULL), 0);
    add(a, "records.json", "{}\n");
    add(a, "tables/points.csv", block);
    add(a, "logs/p0t0a0-trainer-0.log", "");
}

static void write_one(struct buf *out, char digest[static ARCHIVE_SHA256_SIZE])
{
    _cleanup_(archive_done) struct archive a;
    make(&a);
    assert_int_equal(archive_write(&a, out, NULL), 0);
    memcpy(digest, a.digest, ARCHIVE_SHA256_SIZE);
}

TEST(what_is_written_is_read)
{
    _cleanup_(buf_done) struct buf file = BUF_INIT, again = BUF_INIT;
    char digest[ARCHIVE_SHA256_SIZE];
    write_one(&file, digest);
    write_one(&again, digest);
    assert_int_equal(file.len, again.len);
    assert_memory_equal(file.data, again.data, file.len);
    _cleanup_(archive_done) struct archive a;
    struct err err = {0};
    if (archive_read(file.data, file.len, ARCHIVE_MAX_BYTES, &a, &err) < 0) {
        fail_msg("%s", err.msg);
    }
    assert_string_equal(a.digest, digest);
    assert_int_equal(strlen(digest), 64);
    assert_string_equal(a.run, "demo-7k3fq");
    assert_string_equal(a.program, "benchctl 0.1.0");
    assert_int_equal(a.members.len, 3);
    assert_string_equal(buf_cstr(archive_find(&a, "records.json")), "{}\n");
    assert_int_equal(archive_find(&a, "tables/points.csv")->len, TAR_BLOCK);
    assert_int_equal(archive_find(&a, "logs/p0t0a0-trainer-0.log")->len, 0);
    assert_null(archive_find(&a, "manifest.json"));
}

/* What other programs read in it. */
TEST(a_header_is_ustar)
{
    _cleanup_(buf_done) struct buf tar = BUF_INIT;
    tar_put(&tar, "a", "x", 1);
    assert_memory_equal(tar.data + 100,
                        "0000644\0000000000\0000000000\00000000000001\00000000000000", 48);
    assert_memory_equal(tar.data + 257, "ustar\00000", 8);
    assert_memory_equal(tar.data + 148, "006077\0 ", 8); /* as tarfile of Python has it */
}

TEST(names)
{
    static const char *const good[] = {"a", "a/b", "p0t0a0-trainer-0.log", "A_9/b..c/d."};
    static const char *const bad[] = {"",    "/",     "/etc/passwd", "../a", "a/../b", "a/..",
                                      ".",   ".a",    "a//b",        "a/",   "a b",    "a\\b",
                                      "a\n", "a/.\n", "\xc3\xa9",    "a:b"};
    for (size_t i = 0; i < N_ROWS(good); i++) {
        assert_true(archive_name_is_good(good[i]));
    }
    for (size_t i = 0; i < N_ROWS(bad); i++) {
        if (archive_name_is_good(bad[i])) {
            fail_msg("'%s' is taken", bad[i]);
        }
    }
    char longest[ARCHIVE_NAME_MAX + 2];
    memset(longest, 'a', sizeof(longest));
    longest[ARCHIVE_NAME_MAX] = '\0';
    assert_true(archive_name_is_good(longest));
    longest[ARCHIVE_NAME_MAX] = 'a';
    longest[ARCHIVE_NAME_MAX + 1] = '\0';
    assert_false(archive_name_is_good(longest));
}

/* ---- files that nobody should have written ---- */

#define MAX_BYTES ((size_t)100000)

static void must_fail(const char *what, const void *data, size_t len, int code,
                      const char *expected)
{
    struct archive a;
    memset(&a, 0x5a, sizeof(a));
    const struct archive untouched = a;
    struct err err = {0};
    const int r = archive_read(data, len, MAX_BYTES, &a, &err);
    if (r != -code || strstr(err.msg, expected) == NULL) {
        fail_msg("%s: expected %d '%s', got %d '%s'", what, -code, expected, r, err.msg);
    }
    assert_memory_equal(&a, &untouched, sizeof(a));
}

/* Not the size: as a program writes that does not know it. */
static void compress(const struct buf *tar, bool with_size, struct buf *out)
{
    const size_t cap = ZSTD_compressBound(tar->len);
    _cleanup_(freep) char *packed = xmalloc(cap);
    ZSTD_CCtx *ctx = ZSTD_createCCtx();
    ZSTD_CCtx_setParameter(ctx, ZSTD_c_contentSizeFlag, with_size ? 1 : 0);
    const size_t n = ZSTD_compress2(ctx, packed, cap, tar->data, tar->len);
    assert_false(ZSTD_isError(n));
    ZSTD_freeCCtx(ctx);
    buf_append(out, packed, n);
}

static void sha256(const char *text, char ret[static ARCHIVE_SHA256_SIZE])
{
    unsigned char digest[32];
    SHA256((const unsigned char *)text, strlen(text), digest);
    for (size_t i = 0; i < sizeof(digest); i++) {
        (void)snprintf(ret + 2 * i, 3, "%02x", digest[i]);
    }
}

#define HEAD                                                                                       \
    "{\"format\": \"benchd.io/archive\", \"version\": 1, \"program\": \"p\", \"run\": \"r\", "
#define A_SHA "\"sha256\": \"ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb\""
#define A_AND_B                                                                                    \
    HEAD "\"members\": [{\"name\": \"a\", \"bytes\": 1, " A_SHA "}, "                              \
         "{\"name\": \"b\", \"bytes\": 1, " A_SHA "}]}"

/* Each member's text is "a". */
/* clang-format off */
static const struct hostile_row {
    const char *what, *manifest; /* NULL: there is none */
    const char *names[3];
    int code;
    const char *expected;
} hostile_rows[] = {
    {"no manifest", NULL, {"a", "b"}, EPROTO, "its first member is not manifest.json"},
    {"no member", NULL, {NULL}, EPROTO, "its first member is not manifest.json"},
    {"not JSON", "{", {"a", "b"}, EPROTO, "manifest.json: line 1: "},
    {"a list", "[]", {"a", "b"}, EPROTO, "manifest.json: 'format' is missing"},
    {"a NUL", "\"\\u0000\"", {"a", "b"}, EPROTO, "manifest.json: "},
    {"a key twice", "{\"format\": 1, \"format\": 2}", {"a"}, EPROTO, "duplicate object key"},
    {"another format", "{\"format\": \"x\", \"version\": 1}", {"a"}, EPROTO, "its format is 'x'"},
    {"a newer version", "{\"format\": \"benchd.io/archive\", \"version\": 2}", {"a"},
     EPROTONOSUPPORT, "it has version 2, this benchctl reads up to version 1"},
    {"no list", HEAD "\"members\": {}}", {"a"}, EPROTO, "'members' must be a list"},
    {"no program", "{\"format\": \"benchd.io/archive\", \"version\": 1, \"members\": []}", {NULL},
     EPROTO, "'program'"},
    {"a member less", A_AND_B, {"a"}, EPROTO, "member 'b' is missing"},
    {"a member more", A_AND_B, {"a", "b", "c"}, EPROTO, "member 'c' is not in the manifest"},
    {"another order", A_AND_B, {"b", "a"}, EPROTO, "member 'b' stands where 'a' was written"},
    {"twice", A_AND_B, {"a", "a"}, EPROTO, "member 'a' is there twice"},
    {"a second manifest", A_AND_B, {"a", "manifest.json"}, EPROTO,
     "member 'manifest.json' is there twice"},
    {"out of the folder", A_AND_B, {"a", "../b"}, EPROTO,
     "member '../b' has a name that leads out"},
    {"absolute", A_AND_B, {"/a", "b"}, EPROTO, "member '/a' has a name that leads out"},
    {"through a folder", A_AND_B, {"a", "b/../../c"}, EPROTO,
     "member 'b/../../c' has a name that leads out"},
    {"wrong size", HEAD "\"members\": [{\"name\": \"a\", \"bytes\": 2, " A_SHA "}]}", {"a"}, EPROTO,
     "member 'a' has 1 bytes, the manifest says 2"},
    {"wrong digest", HEAD "\"members\": [{\"name\": \"a\", \"bytes\": 1, \"sha256\": \"ca97\"}]}",
     {"a"}, EPROTO, "member 'a' is not what was written: its SHA-256 is ca978112"},
    {"no digest", HEAD "\"members\": [{\"name\": \"a\", \"bytes\": 1}]}", {"a"}, EPROTO,
     "'sha256'"},
};
/* clang-format on */

static void build_tar(const struct hostile_row *row, struct buf *tar)
{
    if (row->manifest != NULL) {
        tar_put(tar, ARCHIVE_MANIFEST, row->manifest, strlen(row->manifest));
    }
    for (size_t i = 0; i < N_ROWS(row->names) && row->names[i] != NULL; i++) {
        tar_put(tar, row->names[i], "a", 1);
    }
    tar_put_end(tar);
}

TEST(hostile)
{
    for (size_t i = 0; i < N_ROWS(hostile_rows); i++) {
        _cleanup_(buf_done) struct buf tar = BUF_INIT, file = BUF_INIT;
        build_tar(&hostile_rows[i], &tar);
        compress(&tar, i % 2 == 0, &file);
        must_fail(hostile_rows[i].what, file.data, file.len, hostile_rows[i].code,
                  hostile_rows[i].expected);
    }
}

/* The rows above fail for the reason that they name: this one is as they are, and is taken. */
TEST(an_honest_stranger)
{
    const struct hostile_row row = {"", A_AND_B, {"a", "b"}, 0, ""};
    _cleanup_(buf_done) struct buf tar = BUF_INIT, file = BUF_INIT;
    _cleanup_(archive_done) struct archive a;
    char digest[ARCHIVE_SHA256_SIZE];
    build_tar(&row, &tar);
    compress(&tar, false, &file);
    assert_int_equal(archive_read(file.data, file.len, MAX_BYTES, &a, NULL), 0);
    sha256(row.manifest, digest);
    assert_string_equal(a.digest, digest);
}

/* Bytes of the tar that no member shows. */
TEST(hidden)
{
    static const struct {
        const char *what;
        size_t at; /* in the header of the first member, or behind it */
        char byte;
        const char *expected;
    } rows[] = {
        {"a link", 156, '2', "member 'manifest.json' is not a plain file"},
        {"a program", 106, '7', "member 'manifest.json' is not a plain file"},
        {"an owner", 110, '1', "member 'manifest.json' is not a plain file"},
        {"a name of a link", 157, 'x', "member 'manifest.json' is not a plain file"},
        {"a negative size", 124, '-', "member 'manifest.json' is not a plain file"},
        {"a huge size", 124, '7', "member 'manifest.json' is not a plain file"},
        {"padding", TAR_BLOCK + 400, 'x', "something is hidden behind member 'manifest.json'"},
        {"the end", 5 * TAR_BLOCK + 600, 'x', "its end is cut short, or something is behind it"},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        const struct hostile_row row = {"", "{}", {"a"}, 0, ""};
        _cleanup_(buf_done) struct buf tar = BUF_INIT, file = BUF_INIT;
        build_tar(&row, &tar);
        assert_int_equal(tar.len, 6 * TAR_BLOCK);
        tar.data[rows[i].at >= tar.len ? tar.len - 1 : rows[i].at] = rows[i].byte;
        compress(&tar, true, &file);
        must_fail(rows[i].what, file.data, file.len, EPROTO, rows[i].expected);
    }
}

/* A header with a good checksum and a size that is not there. */
TEST(a_size_that_is_not_there)
{
    _cleanup_(buf_done) struct buf tar = BUF_INIT, file = BUF_INIT;
    _cleanup_(freep) char *zeros = xnew_array(char, 1000000);
    tar_put(&tar, ARCHIVE_MANIFEST, zeros, 1000000);
    tar.len = 3 * TAR_BLOCK;
    compress(&tar, true, &file);
    must_fail("size", file.data, file.len, EPROTO, "member 'manifest.json' is cut short");
}

TEST(every_prefix_and_every_byte)
{
    _cleanup_(buf_done) struct buf file = BUF_INIT;
    char digest[ARCHIVE_SHA256_SIZE];
    write_one(&file, digest);
    for (size_t len = 0; len < file.len; len++) {
        must_fail("prefix", file.data, len, EPROTO, "");
    }
    for (size_t i = 0; i < file.len; i++) {
        char *byte = &file.data[i];
        *byte = (char)(*byte ^ 0x10);
        struct archive a;
        struct err err = {0};
        if (archive_read(file.data, file.len, MAX_BYTES, &a, &err) >= 0) {
            /* Zstandard has bits that its decoders ignore; what is read is the same. */
            assert_int_equal(a.members.len, 3);
            assert_string_equal(a.digest, digest);
            archive_done(&a);
        } else if (err.msg[0] == '\0') {
            fail_msg("byte %zu: an error without words", i);
        }
        *byte = (char)(*byte ^ 0x10);
    }
    buf_append(&file, "x", 1);
    must_fail("behind", file.data, file.len, EPROTO, "something is behind its end");
    must_fail("other file", "apiVersion: benchd.io/v1alpha1", 30, EPROTO,
              "it is not an archive of benchctl export");
    must_fail("empty file", "", 0, EPROTO, "");
}

/* A few kilobytes that unpack to very many, whether they say so or not. */
TEST(bombs)
{
    _cleanup_(buf_done) struct buf tar = BUF_INIT;
    const size_t len = MAX_BYTES + ARCHIVE_OVERHEAD_BYTES + 1;
    _cleanup_(freep) char *zeros = xnew_array(char, len);
    buf_append(&tar, zeros, len);
    for (int with_size = 0; with_size < 2; with_size++) {
        _cleanup_(buf_done) struct buf file = BUF_INIT;
        compress(&tar, with_size == 1, &file);
        assert_true(file.len < 20000);
        must_fail("bomb", file.data, file.len, E2BIG,
                  with_size == 1 ? "it unpacks to 67208865 bytes, more than 67208864"
                                 : "it unpacks to more than 67208864 bytes");
    }
}

TEST(too_much_to_write)
{
    _cleanup_(archive_done) struct archive a;
    make(&a);
    struct buf out = BUF_INIT;
    struct archive_member *data = &a.members.items[2];
    struct err err = {0};
    data->len = ARCHIVE_MAX_BYTES; /* looked at, not read */
    assert_int_equal(archive_write(&a, &out, &err), -E2BIG);
    assert_non_null(strstr(err.msg, "more than an archive may have"));
    assert_int_equal(out.len, 0);
}

/* A file of some kB whose manifest, as a tree, would take gigabytes. */
TEST(a_huge_manifest)
{
    _cleanup_(buf_done) struct buf tar = BUF_INIT, file = BUF_INIT;
    _cleanup_(freep) char *zeros = xnew_array(char, ARCHIVE_MAX_MANIFEST_BYTES + 1);
    tar_put(&tar, ARCHIVE_MANIFEST, zeros, ARCHIVE_MAX_MANIFEST_BYTES + 1);
    tar_put_end(&tar);
    compress(&tar, true, &file);
    must_fail("manifest", file.data, file.len, E2BIG,
              "member 'manifest.json' has 16777217 bytes, more than 16777216");
}
