/* What makes this benchd itself: its key, from which each run's secret is derived, and its lock, a
 * file next to the store that is held for the life of the process, so that one benchd uses a store.
 * Edge file: random numbers, files. */
#pragma once

#include "base/err.h"
#include "pod/ssh_key.h"

#define KEY_SIZE 32

/* Reads `path`, or creates it with random bytes (mode 0600). Refuses a file of another size, and
 * one that every user can read. */
int key_load(const char *path, unsigned char ret[static KEY_SIZE], struct err *err);
/* HMAC-SHA256 of the run's uid: the same after every restart, so it is not stored. */
int key_derive(const unsigned char key[static KEY_SIZE], const char *run_uid,
               unsigned char ret[static KEY_SIZE], struct err *err);
/* The pair of SSH keys of a run, from its secret: the same after every restart, too. */
int key_derive_ssh(const unsigned char secret[static KEY_SIZE], struct ssh_key *ret,
                   struct err *err);
/* The identity on the Lease, "<host>_<16 hex digits>". `place` is lock_place() of the lock that
 * this process holds: no two living processes have the same identity, also with copies of a key or
 * a store. The next process in the same place has the same, so that after a kill -9 it continues at
 * once instead of waiting until the Lease expires. *ret is owned. */
int key_identity(const unsigned char key[static KEY_SIZE], const char *host, const char *place,
                 char **ret, struct err *err);
/* What a reader must send with --read-key: 32 hexadecimal digits, the same as long as the key is.
 * No other key can be derived from it. Owned. */
int key_for_readers(const unsigned char key[static KEY_SIZE], char **ret, struct err *err);

/* Returns the descriptor that holds the lock. The kernel releases it when the process ends, however
 * that happens. -EBUSY: another process has the lock. */
int lock_take(const char *path, struct err *err);
/* What no other living process can hold: this file on this boot of the machine. The same again for
 * the next process that takes the lock, but not for a copy of the file. Owned. */
int lock_place(int fd, char **ret, struct err *err);
