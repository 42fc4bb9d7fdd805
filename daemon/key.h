/* The daemon's key, from which each run's secret is derived. Edge file: random numbers, files. */
#pragma once

#include "base/err.h"

#define KEY_SIZE 32

/* Reads `path`, or makes it with random bytes (mode 0600). A file of another size, or one that
 * others may read, is refused. */
int key_load(const char *path, unsigned char ret[static KEY_SIZE], struct err *err);
/* HMAC-SHA256 of the run's uid: the same after every restart, and nothing to be stored. */
int key_derive(const unsigned char key[static KEY_SIZE], const char *run_uid,
               unsigned char ret[static KEY_SIZE], struct err *err);
/* Who holds the Lease: "<host>_<16 hex digits>", the same for every process on this key. After a
 * kill -9 the next one goes on at once instead of waiting until the Lease runs out; that no two run
 * at a time is lock.h's business. *ret is owned. */
int key_identity(const unsigned char key[static KEY_SIZE], const char *host, char **ret,
                 struct err *err);
