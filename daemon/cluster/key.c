/* See key.h. */
#include "daemon/cluster/key.h"

#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <openssl/evp.h>
#include <openssl/hmac.h>

#include "base/buf.h"
#include "base/mem.h"
#include "host/host.h"

#define RUN_PURPOSE "benchd run key 1:"
#define IDENTITY_PURPOSE "benchd identity 2:"
#define SSH_PURPOSE "benchd ssh key 1:"
#define READ_PURPOSE "benchd read key 1:"
#define READ_KEY_BYTES 16
#define BOOT_ID "/proc/sys/kernel/random/boot_id"

static int read_key(int fd, const char *path, unsigned char *ret, struct err *err)
{
    struct stat st;
    unsigned char bytes[KEY_SIZE + 1];
    if (fstat(fd, &st) < 0) {
        return err_set_errno(err, errno, "key file '%s'", path);
    }
    if (S_ISREG(st.st_mode) && (st.st_mode & S_IRWXO) != 0) {
        return err_set(err, EACCES, "key file '%s': every user can read it; run chmod 600 on it",
                       path);
    }
    const ssize_t n = read(fd, bytes, sizeof(bytes));
    if (n < 0) { /* not the file's fault: it need not be deleted */
        return err_set_errno(err, errno, "key file '%s'", path);
    }
    if (n != KEY_SIZE) {
        return err_set(
            err, EINVAL,
            "key file '%s': must have exactly %d bytes; delete it and benchd creates a new one",
            path, KEY_SIZE);
    }
    memcpy(ret, bytes, KEY_SIZE);
    explicit_bzero(bytes, sizeof(bytes));
    return 0;
}

/* Written to a temporary file and linked: a crash leaves a complete file or none, and of two
 * processes the first wins. */
static int make_key(const char *path, struct err *err)
{
    unsigned char bytes[KEY_SIZE];
    _cleanup_(freep) char *aside = xasprintf("%s.new", path);
    if (getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes)) {
        return err_set_errno(err, errno, "create a key");
    }
    const int fd = open(aside, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0) {
        return err_set_errno(err, errno, "key file '%s'", aside);
    }
    int r = 0;
    if (write(fd, bytes, sizeof(bytes)) != (ssize_t)sizeof(bytes) || fsync(fd) < 0) {
        r = err_set_errno(err, errno, "write key file '%s'", aside);
    }
    (void)close(fd); /* fsync reported any error */
    if (r == 0 && link(aside, path) < 0 && errno != EEXIST) {
        r = err_set_errno(err, errno, "key file '%s'", path);
    }
    (void)unlink(aside); /* removes the temporary name only */
    explicit_bzero(bytes, sizeof(bytes));
    return r;
}

int key_load(const char *path, unsigned char ret[static KEY_SIZE], struct err *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 && errno == ENOENT) {
        int r = make_key(path, err);
        if (r < 0) {
            return r;
        }
        fd = open(path, O_RDONLY | O_CLOEXEC);
    }
    if (fd < 0) {
        return err_set_errno(err, errno, "key file '%s'", path);
    }
    int r = read_key(fd, path, ret, err);
    (void)close(fd); /* only read */
    return r;
}

static int derive(const unsigned char *key, const char *purpose, const char *what,
                  unsigned char *ret, struct err *err)
{
    _cleanup_(freep) char *text = xasprintf("%s%s", purpose, what);
    unsigned len = KEY_SIZE;
    if (HMAC(EVP_sha256(), key, KEY_SIZE, (const unsigned char *)text, strlen(text), ret, &len) ==
        NULL) {
        return err_set(err, ENOSYS, "this OpenSSL has no SHA-256");
    }
    return 0;
}

int key_derive(const unsigned char key[static KEY_SIZE], const char *run_uid,
               unsigned char ret[static KEY_SIZE], struct err *err)
{
    return derive(key, RUN_PURPOSE, run_uid, ret, err);
}

int key_derive_ssh(const unsigned char secret[static KEY_SIZE], struct ssh_key *ret,
                   struct err *err)
{
    struct ssh_key key;
    size_t len = sizeof(key.public);
    int r = derive(secret, SSH_PURPOSE, "", key.seed, err);
    if (r < 0) {
        return r;
    }
    EVP_PKEY *pair =
        EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, NULL, key.seed, sizeof(key.seed));
    if (pair == NULL || EVP_PKEY_get_raw_public_key(pair, key.public, &len) != 1) {
        r = err_set(err, ENOSYS, "this OpenSSL has no Ed25519");
    } else {
        *ret = key;
    }
    EVP_PKEY_free(pair);
    explicit_bzero(&key, sizeof(key));
    return r;
}

int key_identity(const unsigned char key[static KEY_SIZE], const char *host, const char *place,
                 char **ret, struct err *err)
{
    unsigned char bytes[KEY_SIZE];
    int r = derive(key, IDENTITY_PURPOSE, place, bytes, err);
    if (r < 0) {
        return r;
    }
    struct buf text = BUF_INIT;
    buf_printf(&text, "%s_", host);
    for (int i = 0; i < 8; i++) {
        buf_printf(&text, "%02x", bytes[i]);
    }
    *ret = buf_take(&text);
    return 0;
}

int key_for_readers(const unsigned char key[static KEY_SIZE], char **ret, struct err *err)
{
    unsigned char bytes[KEY_SIZE];
    int r = derive(key, READ_PURPOSE, "", bytes, err);
    if (r < 0) {
        return r;
    }
    struct buf text = BUF_INIT;
    for (int i = 0; i < READ_KEY_BYTES; i++) {
        buf_printf(&text, "%02x", bytes[i]);
    }
    *ret = buf_take(&text);
    return 0;
}

/* ---- the lock ---- */

int lock_take(const char *path, struct err *err)
{
    const int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0) {
        return err_set_errno(err, errno, "lock file '%s'", path);
    }
    if (flock(fd, LOCK_EX | LOCK_NB) < 0) {
        const int code = errno == EWOULDBLOCK ? EBUSY : errno;
        (void)close(fd); /* nothing was written */
        return err_set(err, code,
                       "lock file '%s': another benchd uses this store; stop it, or pass "
                       "another --store",
                       path);
    }
    return fd;
}

int lock_place(int fd, char **ret, struct err *err)
{
    struct stat st;
    uint64_t random;
    if (fstat(fd, &st) < 0) {
        return err_set_errno(err, errno, "lock file");
    }
    _cleanup_(freep) char *boot = host_read_line("", BOOT_ID);
    if (boot == NULL) { /* another machine might have the same: a number of this process's own */
        if (getrandom(&random, sizeof(random), 0) != (ssize_t)sizeof(random)) {
            return err_set_errno(err, errno, "create an identity");
        }
        boot = xasprintf("%016llx", (unsigned long long)random);
    }
    *ret = xasprintf("%s:%llx:%llx", boot, (unsigned long long)st.st_dev,
                     (unsigned long long)st.st_ino);
    return 0;
}
