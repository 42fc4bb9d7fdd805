/* Logs as schemas 9 and 10 packed them: columns of numbers, a pack a frame. Nothing writes them any
 * more; stores of those versions have them. Used by sqlite_logs.c alone. Pure. */
#pragma once

#include "base/err.h"
#include "store/log_rows.h"

#define OLD_PACK_MAX_BYTES ((size_t)4 << 20) /* of all logs of a pack */

/* -EBADMSG: these bytes are no pack; the text says what is wrong. */
int old_pack_read(const void *data, size_t len, struct log_row *ret, struct err *err);
