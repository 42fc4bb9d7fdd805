/* See archive.h. The ustar format of POSIX.1-1988. */
#include "store/archive.h"

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/vec_walk.h"

/* Offsets in a header. */
enum {
    NAME_SIZE = 100,
    MODE = 100,
    UID = 108,
    GID = 116,
    SIZE = 124,
    MTIME = 136,
    SUM = 148,
    TYPE = 156,
    MAGIC = 257,
};
#define SIZE_DIGITS 11

static const char zeros[TAR_BLOCK];

static unsigned checksum(const char header[static TAR_BLOCK])
{
    return array_sum(header, TAR_BLOCK, c, (unsigned)(unsigned char)*c);
}

static void make_header(const char *name, size_t len, char ret[static TAR_BLOCK])
{
    memset(ret, 0, TAR_BLOCK);
    memcpy(ret, name, strlen(name));
    memcpy(ret + MODE, "0000644", 8);
    memcpy(ret + UID, "0000000", 8);
    memcpy(ret + GID, "0000000", 8);
    (void)snprintf(ret + SIZE, SIZE_DIGITS + 1, "%0*zo", SIZE_DIGITS, len);
    memcpy(ret + MTIME, "00000000000", 12);
    ret[TYPE] = '0';
    memcpy(ret + MAGIC, "ustar\00000", 8);
    memset(ret + SUM, ' ', 8); /* as which the checksum counts itself */
    (void)snprintf(ret + SUM, 7, "%06o", checksum(ret));
}

static size_t padding_of(size_t len)
{
    return (TAR_BLOCK - len % TAR_BLOCK) % TAR_BLOCK;
}

void tar_put_header(struct buf *out, const char *name, size_t len)
{
    assert(strlen(name) < NAME_SIZE);
    char header[TAR_BLOCK];
    make_header(name, len, header);
    buf_append(out, header, sizeof(header));
}

void tar_put_padding(struct buf *out, size_t len)
{
    buf_append(out, zeros, padding_of(len));
}

void tar_put(struct buf *out, const char *name, const void *data, size_t len)
{
    tar_put_header(out, name, len);
    buf_append(out, data, len);
    tar_put_padding(out, len);
}

size_t tar_size(size_t len)
{
    return TAR_BLOCK + len + padding_of(len);
}

void tar_put_end(struct buf *out)
{
    buf_append(out, zeros, TAR_BLOCK);
    buf_append(out, zeros, TAR_BLOCK);
}

static bool is_zero(const char *data, size_t len)
{
    return len <= TAR_BLOCK && memcmp(data, zeros, len) == 0;
}

/* -1: not as make_header writes it. */
static int64_t read_size(const char *header)
{
    int64_t size = 0;
    for (size_t i = 0; i < SIZE_DIGITS; i++) {
        const char digit = header[SIZE + i];
        if (digit < '0' || digit > '7') {
            return -1;
        }
        size = 8 * size + (digit - '0');
    }
    return size;
}

static int check_end(const struct tar_reader *r, struct err *err)
{
    if (r->left != 2 * (size_t)TAR_BLOCK || !is_zero(r->at + TAR_BLOCK, TAR_BLOCK)) {
        return err_set(err, EPROTO, "its end is cut short, or something is behind it");
    }
    return 0;
}

int tar_next(struct tar_reader *r, struct tar_file *ret, struct err *err)
{
    if (r->left < TAR_BLOCK) {
        return err_set(err, EPROTO, "it is cut short");
    }
    if (is_zero(r->at, TAR_BLOCK)) {
        return check_end(r, err);
    }
    struct tar_file file = {0};
    char expected[TAR_BLOCK];
    memcpy(file.name, r->at, NAME_SIZE - 1);
    const int64_t size = read_size(r->at);
    if (size >= 0) {
        make_header(file.name, (size_t)size, expected);
    }
    if (size < 0 || memcmp(r->at, expected, TAR_BLOCK) != 0) {
        return err_set(err, EPROTO, "member '%s' is not a plain file as benchctl export writes it",
                       file.name);
    }
    file.data = r->at + TAR_BLOCK;
    file.len = (size_t)size;
    const size_t padding = padding_of(file.len);
    const size_t left = r->left - TAR_BLOCK;
    if (file.len > left || padding > left - file.len) {
        return err_set(err, EPROTO, "member '%s' is cut short", file.name);
    }
    if (!is_zero(file.data + file.len, padding)) {
        return err_set(err, EPROTO, "something is hidden behind member '%s'", file.name);
    }
    r->at = file.data + file.len + padding;
    r->left = left - file.len - padding;
    *ret = file;
    return 1;
}
