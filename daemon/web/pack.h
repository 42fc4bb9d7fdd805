/* A long document, compressed while it is made and unpacked while it is sent: the results of 10,000
 * points have 100 MB as text, and benchd may have 128 MB in all. zstd. */
#pragma once

#include <stddef.h>
#include <sys/types.h>

#include "base/buf.h"

/* What somebody who reads a packed text takes in addition. */
#define PACK_READER_BYTES ((size_t)512 << 10)

struct text_pack;
/* NULL: there is no memory for it. */
struct text_pack *text_pack_new(void);
void text_pack_free(struct text_pack *p); /* NULL is fine */
void text_pack_put(struct text_pack *p, const char *text, size_t len);
/* After the last one; *ret_len is the length of the text. The bytes are the caller's. */
void text_pack_end(struct text_pack *p, struct buf *ret, size_t *ret_len);

struct text_reader;
/* `data` is borrowed. */
struct text_reader *text_reader_new(const void *data, size_t len);
void text_reader_free(struct text_reader *r);
/* The next bytes of the text, at least one; 0: it is over. */
size_t text_reader_next(struct text_reader *r, char *to, size_t max);
