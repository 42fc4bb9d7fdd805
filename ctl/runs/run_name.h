/* Names and uids of new runs. */
#pragma once

#include <stddef.h>

#include "base/err.h"

#define RUN_NAME_SIZE 33 /* names have at most 32 characters */
#define RUN_UID_SIZE 37

/* <benchmark>-<5 characters>, the benchmark cut so that it fits. Pure: 5 random bytes in. The
 * characters are letters without vowels and digits that do not look like letters. */
void run_name_make(const char *benchmark, const unsigned char random[5],
                   char ret[static RUN_NAME_SIZE]);
/* A version 4 UUID of 16 random bytes. Pure. */
void run_uid_make(const unsigned char random[16], char ret[static RUN_UID_SIZE]);
/* Random bytes from the kernel. */
int run_random(void *ret, size_t len, struct err *err);
