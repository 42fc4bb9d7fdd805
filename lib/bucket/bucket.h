/* Where archives are kept outside of a store: a folder, or a bucket of S3. What has a name is there
 * as a whole or not at all. Calls block, for as long as something arrives. Edge files: bucket.c
 * (files), s3.c (libcurl). */
#pragma once

#include <stdbool.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/texts.h"

struct bucket;
/* "file:///DIR" or a path; "s3://BUCKET[/PREFIX]", with what store.md names of `env`, which is
 * getenv. Sends no request yet. -EINVAL: the URL is wrong, or a variable is missing. */
int bucket_open(const char *url, char *(*env)(const char *name), struct bucket **ret,
                struct err *err);
void bucket_free(struct bucket *b); /* NULL is fine */
static inline void bucket_freep(struct bucket **b)
{
    bucket_free(*b);
}
/* s3:// or file://, not a path. */
bool bucket_is_url(const char *text);
/* From any thread: a call that waits for a server fails, and so do all that follow. */
void bucket_stop(struct bucket *b);

/* Names end with a known text and have letters, digits, '.', '_' and '-'; no others are listed. */
int bucket_list(struct bucket *b, const char *ending, struct texts *ret, struct err *err);
/* -ENOENT; -E2BIG: it has more than `max_bytes`. */
int bucket_get(struct bucket *b, const char *name, size_t max_bytes, struct buf *ret,
               struct err *err);
int bucket_put(struct bucket *b, const char *name, const struct buf *data, struct err *err);
