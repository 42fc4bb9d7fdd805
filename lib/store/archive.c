/* See archive.h. What is read may come from anybody. */
#include "store/archive.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>
#include <openssl/evp.h>
#include <zstd.h>

#include "base/ascii.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/text.h"
#include "base/texts.h"
#include "base/vec_sorted.h"
#include "base/vec_walk.h"
#include "base/whole_file.h"
#include "core/json_field.h"

#define ARCHIVE_FORMAT "benchd.io/archive"
/* Fixed: the same run is the same bytes. */
#define LEVEL 6
#define CHUNK_BYTES ((size_t)1 << 16)

void archive_done(struct archive *a)
{
    vec_each (struct archive_member, m, &a->members) {
        free(m->name);
        buf_done(&m->data);
    }
    vec_done(&a->members);
    free(a->program);
    free(a->run);
    if (a->room != NULL) {
        (void)fclose(a->room); /* it was read */
    }
    EVP_MD_CTX_free(a->sha);
    buf_done(&a->text);
    *a = (struct archive){0};
}

const struct buf *archive_find(const struct archive *a, const char *name)
{
    const struct archive_member *m = vec_find(&a->members, it, str_eq(it->name, name));
    return m == NULL ? NULL : &m->data;
}

static bool is_plain(char c)
{
    return ascii_is_alnum(c) || c == '_' || c == '-';
}

bool archive_name_is_good(const char *name)
{
    size_t word_len = 0;
    for (size_t i = 0; i <= ARCHIVE_NAME_MAX; i++) {
        if (name[i] == '/' || name[i] == '\0') {
            if (word_len == 0 || name[i] == '\0') {
                return word_len > 0;
            }
            word_len = 0;
        } else if (is_plain(name[i]) || (name[i] == '.' && word_len > 0)) {
            word_len++;
        } else {
            return false;
        }
    }
    return false;
}

static void put_hex(const unsigned char digest[static ARCHIVE_SHA256_SIZE / 2],
                    char ret[static ARCHIVE_SHA256_SIZE])
{
    for (size_t i = 0; i < ARCHIVE_SHA256_SIZE / 2; i++) {
        (void)snprintf(ret + 2 * i, 3, "%02x", digest[i]);
    }
}

int archive_sha256(const void *data, size_t len, char ret[static ARCHIVE_SHA256_SIZE],
                   struct err *err)
{
    unsigned char digest[ARCHIVE_SHA256_SIZE / 2];
    if (EVP_Digest(data, len, digest, NULL, EVP_sha256(), NULL) != 1) {
        return err_set(err, ENOSYS, "this OpenSSL has no SHA-256");
    }
    put_hex(digest, ret);
    return 0;
}

/* ---- writing ---- */

int archive_new(const char *near, const char *program, const char *run, struct archive *ret,
                struct err *err)
{
    FILE *room = file_unnamed(near);
    if (room == NULL) {
        return err_set_errno(err, errno, "no room for the archive, in the folder of %s", near);
    }
    *ret = (struct archive){
        .program = xstrdup(program), .run = xstrdup(run), .room = room, .sha = EVP_MD_CTX_new()};
    return 0;
}

static bool take_data(void *ctx, const void *data, size_t len)
{
    struct archive *a = ctx;
    a->members.items[a->members.len - 1].len += len;
    a->bytes += len;
    (void)EVP_DigestUpdate(a->sha, data, len);                              /* the end reports it */
    (void)(a->bytes <= ARCHIVE_MAX_BYTES && fwrite(data, 1, len, a->room)); /* as above */
    return true;
}

struct buf *archive_begin_member(struct archive *a, const char *name)
{
    assert(archive_name_is_good(name));
    *vec_push(&a->members) = (struct archive_member){.name = xstrdup(name)};
    a->text.take = take_data;
    a->text.ctx = a;
    (void)EVP_DigestInit_ex(a->sha, EVP_sha256(), NULL); /* the end reports it */
    return &a->text;
}

int archive_end_member(struct archive *a, struct err *err)
{
    unsigned char digest[EVP_MAX_MD_SIZE];
    buf_spill_all(&a->text);
    if (EVP_DigestFinal_ex(a->sha, digest, NULL) != 1) {
        return err_set(err, ENOSYS, "this OpenSSL has no SHA-256");
    }
    put_hex(digest, a->members.items[a->members.len - 1].sha256);
    const bool is_there = !ferror(a->room) && fflush(a->room) == 0;
    return is_there ? 0 : err_set_errno(err, errno, "no room for the archive");
}

/* As text, with its final newline. */
static void make_manifest(const struct archive *a, struct buf *out)
{
    json_t *members = JSON_ARRAY_OF(vec_each (const struct archive_member, m, &a->members),
                                    json_pack("{s:s, s:I, s:s}", "name", m->name, "bytes",
                                              (json_int_t)m->len, "sha256", m->sha256));
    json_auto_t *manifest =
        json_pack("{s:s, s:i, s:s, s:s, s:o}", "format", ARCHIVE_FORMAT, "version", ARCHIVE_VERSION,
                  "program", a->program, "run", a->run, "members", members);
    _cleanup_(freep) char *text = json_dumps(manifest, JSON_INDENT(1));
    buf_printf(out, "%s\n", text);
}

static int check_manifest_size(size_t len, struct err *err)
{
    return len <= ARCHIVE_MAX_MANIFEST_BYTES
               ? 0
               : err_set(err, E2BIG, "member '" ARCHIVE_MANIFEST "' has %zu bytes, more than %zu",
                         len, ARCHIVE_MAX_MANIFEST_BYTES);
}

/* Compresses a piece of the tar, which is empty afterwards. */
static int compress(ZSTD_CCtx *ctx, struct buf *piece, ZSTD_EndDirective end, struct buf *out,
                    struct err *err)
{
    _cleanup_(freep) char *chunk = xmalloc(CHUNK_BYTES);
    ZSTD_inBuffer in = {buf_cstr(piece), piece->len, 0};
    size_t left;
    do {
        ZSTD_outBuffer packed = {chunk, CHUNK_BYTES, 0};
        left = ZSTD_compressStream2(ctx, &packed, &in, end);
        if (ZSTD_isError(left)) {
            return err_set(err, ENOTRECOVERABLE, "compress: %s", ZSTD_getErrorName(left));
        }
        buf_append(out, chunk, packed.pos);
        buf_spill(out);
    } while (in.pos < in.size || (end == ZSTD_e_end && left > 0));
    buf_clear(piece);
    return 0;
}

/* All settings are valid. */
static ZSTD_CCtx *new_compressor(size_t tar_len)
{
    ZSTD_CCtx *ctx = ZSTD_createCCtx();
    (void)ZSTD_CCtx_setParameter(ctx, ZSTD_c_compressionLevel, LEVEL);
    (void)ZSTD_CCtx_setParameter(ctx, ZSTD_c_checksumFlag, 1);
    (void)ZSTD_CCtx_setPledgedSrcSize(ctx, tar_len);
    return ctx;
}

/* The next one of the room. */
static int put_member(const struct archive *a, const struct archive_member *m, ZSTD_CCtx *ctx,
                      struct buf *out, struct err *err)
{
    _cleanup_(freep) char *chunk = xmalloc(CHUNK_BYTES);
    _cleanup_(buf_done) struct buf tar = BUF_INIT;
    int r = 0;
    tar_put_header(&tar, m->name, m->len);
    for (size_t left = m->len; left > 0 && r >= 0;) {
        const size_t n = fread(chunk, 1, left < CHUNK_BYTES ? left : CHUNK_BYTES, a->room);
        if (n == 0) {
            return err_set_errno(err, ferror(a->room) ? errno : EBADMSG, "member '%s'", m->name);
        }
        buf_append(&tar, chunk, n);
        left -= n;
        r = compress(ctx, &tar, ZSTD_e_continue, out, err);
    }
    tar_put_padding(&tar, m->len);
    return r < 0 ? r : compress(ctx, &tar, ZSTD_e_continue, out, err);
}

static int write_members(const struct archive *a, const struct buf *manifest, struct buf *out,
                         struct err *err)
{
    _cleanup_(buf_done) struct buf tar = BUF_INIT;
    ZSTD_CCtx *ctx = new_compressor(tar_size(manifest->len) + 2 * TAR_BLOCK +
                                    vec_sum(&a->members, m, tar_size(m->len)));
    tar_put(&tar, ARCHIVE_MANIFEST, manifest->data, manifest->len);
    int r = compress(ctx, &tar, ZSTD_e_continue, out, err);
    for (size_t i = 0; i < a->members.len && r >= 0; i++) {
        r = put_member(a, &a->members.items[i], ctx, out, err);
    }
    tar_put_end(&tar);
    r = r < 0 ? r : compress(ctx, &tar, ZSTD_e_end, out, err);
    ZSTD_freeCCtx(ctx);
    return r;
}

int archive_write(struct archive *a, struct buf *out, struct err *err)
{
    const size_t bytes = vec_sum(&a->members, m, m->len);
    rewind(a->room);
    if (bytes > ARCHIVE_MAX_BYTES || a->members.len > ARCHIVE_MAX_MEMBERS) {
        return err_set(err, E2BIG,
                       "%zu bytes in %zu members are more than an archive may have (%zu in %d)",
                       bytes, a->members.len, ARCHIVE_MAX_BYTES, ARCHIVE_MAX_MEMBERS);
    }
    _cleanup_(buf_done) struct buf manifest = BUF_INIT;
    make_manifest(a, &manifest);
    int r = check_manifest_size(manifest.len, err);
    r = r < 0 ? r : archive_sha256(manifest.data, manifest.len, a->digest, err);
    return r < 0 ? r : write_members(a, &manifest, out, err);
}

/* ---- reading ---- */

static const char not_ours[] = "it is not an archive of benchctl export";

static int inflate(ZSTD_DCtx *ctx, ZSTD_inBuffer *in, struct buf *tar, struct err *err)
{
    const size_t cap = ZSTD_DStreamOutSize();
    _cleanup_(freep) char *chunk = xmalloc(cap);
    size_t left = 1; /* 0: the frame has ended */
    while (left != 0) {
        ZSTD_outBuffer out = {chunk, cap, 0};
        left = ZSTD_decompressStream(ctx, &out, in);
        if (ZSTD_isError(left)) {
            return err_set(err, EPROTO, "it cannot be unpacked: %s", ZSTD_getErrorName(left));
        }
        if (buf_try_append(tar, chunk, out.pos) < 0) {
            return err_set(err, E2BIG, "it unpacks to more than %zu bytes", tar->max);
        }
        if (left != 0 && in->pos == in->size && out.pos < cap) {
            return err_set(err, EPROTO, "it is cut short");
        }
    }
    return in->pos == in->size ? 0 : err_set(err, EPROTO, "something is behind its end");
}

static int unpack(const void *data, size_t len, struct buf *tar, struct err *err)
{
    const unsigned long long says = ZSTD_getFrameContentSize(data, len);
    if (says == ZSTD_CONTENTSIZE_ERROR) {
        return err_set(err, EPROTO, "%s", not_ours);
    }
    if (says != ZSTD_CONTENTSIZE_UNKNOWN && says > tar->max) {
        return err_set(err, E2BIG, "it unpacks to %llu bytes, more than %zu", says, tar->max);
    }
    ZSTD_DCtx *ctx = ZSTD_createDCtx();
    ZSTD_inBuffer in = {data, len, 0};
    const int r = inflate(ctx, &in, tar, err);
    ZSTD_freeDCtx(ctx);
    return r;
}

/* Sorted, since there may be very many. */
static int check_names(const struct archive *a, struct err *err)
{
    const size_t n = a->members.len;
    _cleanup_(freep) const char **names = xnew_array(const char *, n);
    for (size_t i = 0; i < n; i++) {
        names[i] = a->members.items[i].name;
    }
    qsort(names, n, sizeof(*names), texts_compare);
    for (size_t i = 1; i < n; i++) {
        if (str_eq(names[i - 1], names[i])) {
            return err_set(err, EPROTO, "member '%s' is there twice", names[i]);
        }
    }
    return 0;
}

static int take_file(const struct tar_file *file, struct archive *a, struct err *err)
{
    if (!archive_name_is_good(file->name)) {
        return err_set(err, EPROTO,
                       "member '%s' has a name that leads out of the archive or that "
                       "no member has",
                       file->name);
    }
    const int r = a->members.len == 0 ? check_manifest_size(file->len, err) : 0;
    if (r < 0) {
        return r;
    }
    if (a->members.len >= ARCHIVE_MAX_MEMBERS) {
        return err_set(err, E2BIG, "it has more than %d members", ARCHIVE_MAX_MEMBERS);
    }
    struct archive_member *m = vec_push(&a->members);
    *m = (struct archive_member){.name = xstrdup(file->name)};
    buf_append(&m->data, file->data, file->len);
    return 0;
}

/* All files; the first is the manifest. */
static int take_files(const struct buf *tar, struct archive *a, struct err *err)
{
    struct tar_reader reader = {buf_cstr(tar), tar->len};
    struct tar_file file;
    int r;
    while ((r = tar_next(&reader, &file, err)) > 0) {
        if ((r = take_file(&file, a, err)) < 0) {
            return r;
        }
    }
    if (r >= 0 && (a->members.len == 0 || !str_eq(a->members.items[0].name, ARCHIVE_MANIFEST))) {
        return err_set(err, EPROTO, "%s: its first member is not " ARCHIVE_MANIFEST, not_ours);
    }
    return r < 0 ? r : check_names(a, err);
}

static int check_member(const json_t *says, const struct archive_member *m, struct err *err)
{
    const char *name, *sha256;
    char own[ARCHIVE_SHA256_SIZE];
    int64_t bytes;
    int r;
    if ((r = json_field_text(says, "name", &name, err)) < 0 ||
        (r = json_field_text(says, "sha256", &sha256, err)) < 0 ||
        (r = json_field_int(says, "bytes", 0, INT64_MAX, &bytes, err)) < 0) {
        return r;
    }
    if (m == NULL) {
        return err_set(err, EPROTO, "member '%s' is missing", name);
    }
    if (!str_eq(name, m->name)) {
        return err_set(err, EPROTO, "member '%s' stands where '%s' was written", m->name, name);
    }
    if ((uint64_t)bytes != m->data.len) {
        return err_set(err, EPROTO, "member '%s' has %zu bytes, the manifest says %lld", m->name,
                       m->data.len, (long long)bytes);
    }
    if ((r = archive_sha256(buf_cstr(&m->data), m->data.len, own, err)) < 0) {
        return r;
    }
    return str_eq(own, sha256) ? 0
                               : err_set(err, EPROTO,
                                         "member '%s' is not what was written: its SHA-256 is %s, "
                                         "the manifest says %s",
                                         m->name, own, sha256);
}

/* One line, as long as such a text ever is; owned. */
static char *printable(const char *text)
{
    char clean[256];
    text_put(clean, sizeof(clean), "%s", text);
    return xstrdup(clean);
}

static int check_head(const json_t *manifest, struct archive *a, struct err *err)
{
    const char *format, *program, *run;
    int64_t version;
    int r;
    if ((r = json_field_text(manifest, "format", &format, err)) < 0 ||
        (r = json_field_int(manifest, "version", 1, INT64_MAX, &version, err)) < 0) {
        return r;
    }
    if (!str_eq(format, ARCHIVE_FORMAT)) {
        return err_set(err, EPROTO, "%s: its format is '%.64s'", not_ours, format);
    }
    if (version > ARCHIVE_VERSION) {
        return err_set(err, EPROTONOSUPPORT,
                       "it has version %lld, this benchctl reads up to version %d",
                       (long long)version, ARCHIVE_VERSION);
    }
    if ((r = json_field_text(manifest, "program", &program, err)) < 0 ||
        (r = json_field_text(manifest, "run", &run, err)) < 0) {
        return r;
    }
    a->program = printable(program);
    a->run = printable(run);
    return 0;
}

/* Members[0] is the manifest, and leaves the list. */
static int take_manifest(struct archive *a, struct err *err)
{
    struct archive_member own = a->members.items[0];
    vec_remove(&a->members, 0);
    json_error_t where;
    json_auto_t *manifest =
        json_loadb(buf_cstr(&own.data), own.data.len, JSON_REJECT_DUPLICATES, &where);
    int r = manifest == NULL ? err_set(err, EPROTO, "line %d: %s", where.line, where.text)
                             : check_head(manifest, a, err);
    const json_t *members = json_object_get(manifest, "members");
    if (r >= 0 && !json_is_array(members)) {
        r = err_set(err, EPROTO, "'members' must be a list");
    }
    r = r < 0 ? err_wrap(err, r, ARCHIVE_MANIFEST) : r;
    const size_t n = json_array_size(members);
    for (size_t i = 0; i < n && r >= 0; i++) {
        r = check_member(json_array_get(members, i),
                         i < a->members.len ? &a->members.items[i] : NULL, err);
    }
    if (r >= 0 && a->members.len > n) {
        r = err_set(err, EPROTO, "member '%s' is not in the manifest", a->members.items[n].name);
    }
    r = r < 0 ? r : archive_sha256(buf_cstr(&own.data), own.data.len, a->digest, err);
    free(own.name);
    buf_done(&own.data);
    return r;
}

int archive_read(const void *data, size_t len, size_t max_bytes, struct archive *ret,
                 struct err *err)
{
    struct archive a = {0};
    struct buf tar;
    buf_init(&tar, max_bytes + ARCHIVE_OVERHEAD_BYTES);
    int r = unpack(data, len, &tar, err);
    r = r < 0 ? r : take_files(&tar, &a, err);
    buf_done(&tar);
    r = r < 0 ? r : take_manifest(&a, err);
    if (r < 0) {
        archive_done(&a);
        return r;
    }
    *ret = a;
    return 0;
}
