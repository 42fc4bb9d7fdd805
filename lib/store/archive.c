/* Makes and writes archives, see archive.h; archive_read.c reads them. */
#include "store/archive.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>
#include <openssl/sha.h>
#include <zstd.h>

#include "base/mem.h"
#include "base/str.h"
#include "store/archive_internal.h"
#include "store/archive_tar.h"

/* Fixed: the same run is the same bytes. */
#define LEVEL 9

void archive_done(struct archive *a)
{
    vec_each (struct archive_member, m, &a->members) {
        free(m->name);
        buf_done(&m->data);
    }
    vec_done(&a->members);
    free(a->program);
    free(a->run);
    *a = (struct archive){0};
}

void archive_add_take(struct archive *a, const char *name, struct buf *data_take)
{
    assert(archive_name_is_good(name));
    *vec_push(&a->members) = (struct archive_member){xstrdup(name), *data_take};
    *data_take = BUF_INIT;
}

const struct buf *archive_find(const struct archive *a, const char *name)
{
    vec_each (const struct archive_member, m, &a->members) {
        if (str_eq(m->name, name)) {
            return &m->data;
        }
    }
    return NULL;
}

static bool is_plain(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-';
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

int archive_sha256(const void *data, size_t len, char ret[static ARCHIVE_SHA256_SIZE],
                   struct err *err)
{
    unsigned char digest[ARCHIVE_SHA256_SIZE / 2];
    if (SHA256(data, len, digest) == NULL) {
        return err_set(err, ENOSYS, "this OpenSSL has no SHA-256");
    }
    for (size_t i = 0; i < sizeof(digest); i++) {
        (void)snprintf(ret + 2 * i, 3, "%02x", digest[i]);
    }
    return 0;
}

/* As text, with its final newline. */
static int make_manifest(const struct archive *a, struct buf *out, struct err *err)
{
    json_t *members = json_array();
    int r = 0;
    vec_each (const struct archive_member, m, &a->members) {
        char sha256[ARCHIVE_SHA256_SIZE];
        r = r < 0 ? r : archive_sha256(buf_cstr(&m->data), m->data.len, sha256, err);
        if (r >= 0) {
            (void)json_array_append_new(members,
                                        json_pack("{s:s, s:I, s:s}", "name", m->name, "bytes",
                                                  (json_int_t)m->data.len, "sha256", sha256));
        }
    }
    json_t *manifest =
        json_pack("{s:s, s:i, s:s, s:s, s:o}", "format", ARCHIVE_FORMAT, "version", ARCHIVE_VERSION,
                  "program", a->program, "run", a->run, "members", members);
    char *text = json_dumps(manifest, JSON_INDENT(1));
    json_decref(manifest);
    buf_printf(out, "%s\n", text);
    free(text);
    return r;
}

int archive_check_size(const char *name, size_t len, struct err *err)
{
    const size_t most = str_eq(name, ARCHIVE_MANIFEST)  ? ARCHIVE_MAX_MANIFEST_BYTES
                        : str_has_suffix(name, ".json") ? ARCHIVE_MAX_JSON_BYTES
                                                        : ARCHIVE_MAX_BYTES;
    return len <= most
               ? 0
               : err_set(err, E2BIG, "member '%s' has %zu bytes, more than %zu", name, len, most);
}

static int compress(const struct buf *tar, struct buf *out, struct err *err)
{
    const size_t cap = ZSTD_compressBound(tar->len);
    _cleanup_(freep) char *packed = xmalloc(cap);
    ZSTD_CCtx *ctx = ZSTD_createCCtx();
    size_t n = ZSTD_CCtx_setParameter(ctx, ZSTD_c_compressionLevel, LEVEL);
    n = ZSTD_isError(n) ? n : ZSTD_CCtx_setParameter(ctx, ZSTD_c_checksumFlag, 1);
    n = ZSTD_isError(n) ? n : ZSTD_compress2(ctx, packed, cap, tar->data, tar->len);
    ZSTD_freeCCtx(ctx);
    if (ZSTD_isError(n)) {
        return err_set(err, ENOTRECOVERABLE, "compress: %s", ZSTD_getErrorName(n));
    }
    buf_append(out, packed, n);
    return 0;
}

int archive_write(struct archive *a, struct buf *out, struct err *err)
{
    size_t bytes = 0;
    vec_each (const struct archive_member, m, &a->members) {
        bytes += m->data.len;
    }
    if (bytes > ARCHIVE_MAX_BYTES || a->members.len > ARCHIVE_MAX_MEMBERS) {
        return err_set(err, E2BIG,
                       "%zu bytes in %zu members are more than an archive may have (%zu in %d)",
                       bytes, a->members.len, ARCHIVE_MAX_BYTES, ARCHIVE_MAX_MEMBERS);
    }
    _cleanup_(buf_done) struct buf manifest = BUF_INIT, tar = BUF_INIT;
    int r = 0;
    vec_each (const struct archive_member, m, &a->members) {
        r = r < 0 ? r : archive_check_size(m->name, m->data.len, err);
    }
    r = r < 0 ? r : make_manifest(a, &manifest, err);
    r = r < 0 ? r : archive_check_size(ARCHIVE_MANIFEST, manifest.len, err);
    if (r >= 0) {
        tar_put(&tar, ARCHIVE_MANIFEST, manifest.data, manifest.len);
        vec_each (const struct archive_member, m, &a->members) {
            tar_put(&tar, m->name, m->data.data, m->data.len);
        }
        tar_put_end(&tar);
        r = compress(&tar, out, err);
    }
    r = r < 0 ? r : archive_sha256(manifest.data, manifest.len, a->digest, err);
    return r < 0 ? r : 0;
}
