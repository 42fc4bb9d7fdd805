/* The replicas of an attempt as the bytes that the store keeps, compressed, in one row: most of
 * them repeat each other (keys, environments), so that one row of all is a small part of a row
 * each. Used by sqlite_attempts.c alone. Pure.
 *
 * Numbers are little-endian. A text is its length plus 1 as u32 and its bytes; 0: none (NULL).
 *   u8  1, the version of this format
 *   u32 n
 *   n x index u32, exit code i32, signal i32, log bytes u64
 *   n x role (text); n x failure; n x summary; n x environment
 * in the order of their role's name, then of their index. */
#pragma once

#include <stddef.h>

#include "base/buf.h"
#include "base/err.h"
#include "core/phase.h"

/* -ENOTRECOVERABLE: a replica is there twice. */
int replica_pack(const struct attempt_row *row, struct buf *out, struct err *err);
/* Adds them to row->replicas, as those of row->id. -EBADMSG: the text says what is wrong; nothing
 * is added. */
int replica_unpack(const void *data, size_t len, struct attempt_row *row, struct err *err);
