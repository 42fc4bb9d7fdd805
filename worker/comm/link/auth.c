/* Keys and tags of the exchange, see auth.h. */
/* SHA256_Init and the like: HMAC() looks its provider up at each call, which takes longer
 * than to compute a tag. */
#define OPENSSL_SUPPRESS_DEPRECATED
#include "worker/comm/link/auth.h"

#include <assert.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <openssl/crypto.h>
#include <openssl/sha.h>

void auth_sha256(const void *data, size_t len, uint8_t ret[AUTH_DIGEST_SIZE])
{
    SHA256_CTX state;
    (void)SHA256_Init(&state); /* none of these can fail */
    (void)SHA256_Update(&state, data, len);
    (void)SHA256_Final(ret, &state);
}

/* H((key ^ pad) || data), the one half of HMAC (RFC 2104). The key fills a block, with zeros. */
static void keyed_sha256(const uint8_t *key, size_t key_len, uint8_t pad, const void *data,
                         size_t len, uint8_t ret[AUTH_DIGEST_SIZE])
{
    uint8_t block[SHA256_CBLOCK];
    for (size_t i = 0; i < sizeof(block); i++) {
        block[i] = (uint8_t)((i < key_len ? key[i] : 0) ^ pad);
    }
    SHA256_CTX state;
    (void)SHA256_Init(&state); /* none of these can fail */
    (void)SHA256_Update(&state, block, sizeof(block));
    (void)SHA256_Update(&state, data, len);
    (void)SHA256_Final(ret, &state);
}

void auth_hmac(const void *key, size_t key_len, const void *data, size_t len,
               uint8_t ret[AUTH_TAG_SIZE])
{
    assert(key_len <= SHA256_CBLOCK);
    uint8_t inner[AUTH_DIGEST_SIZE];
    keyed_sha256(key, key_len, 0x36, data, len, inner);
    keyed_sha256(key, key_len, 0x5c, inner, sizeof(inner), ret);
}

bool auth_equal(const void *a, const void *b, size_t len)
{
    return CRYPTO_memcmp(a, b, len) == 0;
}

int auth_nonce(uint8_t ret[AUTH_NONCE_SIZE], struct err *err)
{
    /* Once the kernel's pool is initialised, long before this process, 256 bytes are never cut. */
    ssize_t n = getrandom(ret, AUTH_NONCE_SIZE, 0);
    if (n != AUTH_NONCE_SIZE) {
        return err_set_errno(err, n < 0 ? errno : EIO, "getrandom");
    }
    return 0;
}

/* Reads exactly 32 bytes and then the end. Closes fd. */
static int read_secret(int fd, const char *what, uint8_t ret[AUTH_SECRET_SIZE], struct err *err)
{
    uint8_t bytes[AUTH_SECRET_SIZE + 1]; /* one more, to detect a longer file */
    size_t got = 0;
    int r = 0;
    while (got < sizeof(bytes)) {
        ssize_t n = read(fd, bytes + got, sizeof(bytes) - got);
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n < 0) {
            r = err_set_errno(err, errno, "secret: read %s", what);
        }
        if (n <= 0) {
            break;
        }
        got += (size_t)n;
    }
    (void)close(fd); /* read only: nothing can be lost */
    if (r == 0 && got != AUTH_SECRET_SIZE) {
        r = err_set(err, EBADMSG,
                    "secret: %s holds %s%zu bytes, expected %d (make one: head -c %d "
                    "/dev/urandom > FILE)",
                    what, got > AUTH_SECRET_SIZE ? "at least " : "", got, AUTH_SECRET_SIZE,
                    AUTH_SECRET_SIZE);
    }
    if (r == 0) {
        memcpy(ret, bytes, AUTH_SECRET_SIZE);
    }
    OPENSSL_cleanse(bytes, sizeof(bytes));
    return r;
}

int auth_secret_from_file(const char *path, uint8_t ret[AUTH_SECRET_SIZE], struct err *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return err_set_errno(err, errno, "secret: open '%s'", path);
    }
    struct stat st;
    if (fstat(fd, &st) < 0) {
        int code = errno;
        (void)close(fd); /* the first error counts */
        return err_set_errno(err, code, "secret: stat '%s'", path);
    }
    if ((st.st_mode & (S_IROTH | S_IWOTH)) != 0) {
        (void)close(fd);
        return err_set(err, EACCES,
                       "secret: '%s' has mode %04o: everyone on this machine can read "
                       "or change it; run: chmod o= '%s'",
                       path, (unsigned)(st.st_mode & 07777), path);
    }
    char what[300];
    int n = snprintf(what, sizeof(what), "'%s'", path);
    (void)n; /* a truncated path is still useful in the message */
    return read_secret(fd, what, ret, err);
}

int auth_secret_from_fd(int fd, uint8_t ret[AUTH_SECRET_SIZE], struct err *err)
{
    char what[32];
    (void)snprintf(what, sizeof(what), "descriptor %d", fd); /* fits */
    return read_secret(fd, what, ret, err);
}
