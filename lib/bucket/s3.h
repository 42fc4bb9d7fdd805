/* A bucket of S3, for bucket.c. */
#pragma once

#include <stdatomic.h>

#include "bucket/bucket.h"

struct s3 {
    char *url;    /* of the bucket, https://HOST/BUCKET */
    char *prefix; /* of all names: "" or "a/b/" */
    char *sign;   /* aws:amz:REGION:s3 */
    char *user;   /* ID:SECRET */
    char *token;  /* a header; NULL: none */
    char *ca;     /* a file; NULL: those of the system */
    atomic_bool is_stopping;
};

/* `place`: BUCKET[/PREFIX]. */
int s3_open(const char *place, char *(*env)(const char *name), struct s3 *ret, struct err *err);
/* Appends the names. */
int s3_list(struct s3 *s, struct texts *ret, struct err *err);
int s3_get(struct s3 *s, const char *name, size_t max_bytes, struct buf *ret, struct err *err);
int s3_put(struct s3 *s, const char *name, const struct buf *data, struct err *err);
