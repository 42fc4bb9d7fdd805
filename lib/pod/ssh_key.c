/* See ssh_key.h. The private format is that of OpenSSH's PROTOCOL.key; all
 * numbers are big-endian. */
#include "pod/ssh_key.h"

#include <stdint.h>
#include <string.h>

#include "base/base64.h"
#include "base/buf.h"
#include "base/mem.h"

#define TYPE "ssh-ed25519"
#define MAGIC "openssh-key-v1" /* its NUL is part of it */
#define BLOCK 8                /* what is private is filled up to a multiple, with 1, 2, 3 ... */
#define LINE 70

static void put_u32(struct buf *out, uint32_t n)
{
    const unsigned char bytes[] = {(unsigned char)(n >> 24), (unsigned char)(n >> 16),
                                   (unsigned char)(n >> 8), (unsigned char)n};
    buf_append(out, bytes, sizeof(bytes));
}

static void put_string(struct buf *out, const void *data, size_t len)
{
    put_u32(out, (uint32_t)len);
    buf_append(out, data, len);
}

static void put_public(struct buf *out, const struct ssh_key *key)
{
    put_string(out, TYPE, strlen(TYPE));
    put_string(out, key->public, SSH_KEY_SIZE);
}

static void put_private(struct buf *out, const struct ssh_key *key)
{
    unsigned char both[2 * SSH_KEY_SIZE];
    memcpy(both, key->seed, SSH_KEY_SIZE);
    memcpy(both + SSH_KEY_SIZE, key->public, SSH_KEY_SIZE);
    const size_t from = out->len;
    put_u32(out, 0); /* twice the same: shows whether decryption worked, and nothing is encrypted */
    put_u32(out, 0);
    put_public(out, key);
    put_string(out, both, sizeof(both));
    put_string(out, "", 0); /* comment */
    for (char fill = 1; (out->len - from) % BLOCK != 0; fill++) {
        buf_putc(out, fill);
    }
    explicit_bzero(both, sizeof(both));
}

static void clear(struct buf *secret)
{
    explicit_bzero(secret->data, secret->len);
    buf_done(secret);
}

char *ssh_key_private_dup(const struct ssh_key *key)
{
    struct buf public = BUF_INIT, private = BUF_INIT, all = BUF_INIT, text = BUF_INIT;
    put_public(&public, key);
    put_private(&private, key);
    buf_append(&all, MAGIC, sizeof(MAGIC));
    put_string(&all, "none", 4); /* cipher */
    put_string(&all, "none", 4); /* how its key is derived */
    put_string(&all, "", 0);     /* from what */
    put_u32(&all, 1);            /* keys */
    put_string(&all, public.data, public.len);
    put_string(&all, private.data, private.len);
    char *base64 = base64_dup(all.data, all.len);
    buf_puts(&text, "-----BEGIN OPENSSH PRIVATE KEY-----\n");
    for (const char *at = base64; *at != '\0';) {
        const size_t len = strnlen(at, LINE);
        buf_append(&text, at, len);
        buf_putc(&text, '\n');
        at += len;
    }
    buf_puts(&text, "-----END OPENSSH PRIVATE KEY-----\n");
    explicit_bzero(base64, strlen(base64));
    free(base64);
    buf_done(&public);
    clear(&private);
    clear(&all);
    return buf_take(&text);
}

char *ssh_key_public_dup(const struct ssh_key *key)
{
    _cleanup_(buf_done) struct buf public = BUF_INIT;
    put_public(&public, key);
    _cleanup_(freep) char *base64 = base64_dup(public.data, public.len);
    return xasprintf(TYPE " %s\n", base64);
}
