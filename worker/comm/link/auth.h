/* Keys and tags of the exchange: HMAC-SHA256 with the run's secret. Pure but for auth_nonce. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define AUTH_SECRET_SIZE 32
#define AUTH_NONCE_SIZE 32
#define AUTH_TAG_SIZE 32
#define AUTH_DIGEST_SIZE 32

struct auth_key {
    uint8_t bytes[AUTH_TAG_SIZE];
};

/* HMAC-SHA256 of data under a key of at most 64 bytes. */
void auth_hmac(const void *key, size_t key_len, const void *data, size_t len,
               uint8_t ret[AUTH_TAG_SIZE]);
void auth_sha256(const void *data, size_t len, uint8_t ret[AUTH_DIGEST_SIZE]);
/* Compares in constant time: the time does not depend on where the two differ. */
bool auth_equal(const void *a, const void *b, size_t len);
/* Fresh random bytes from the kernel. */
int auth_nonce(uint8_t ret[AUTH_NONCE_SIZE], struct err *err);

/* Reads the run's secret, 32 bytes, from a file that others cannot read or from an open descriptor,
 * which is closed. -EACCES (others can read it), -EBADMSG (length), or the errno of the failed
 * call. */
int auth_secret_from_file(const char *path, uint8_t ret[AUTH_SECRET_SIZE], struct err *err);
int auth_secret_from_fd(int fd, uint8_t ret[AUTH_SECRET_SIZE], struct err *err);
