/* A request and its answer as plain data: what handlers see of HTTP. http.c makes the one and sends
 * the other. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>

#include "base/buf.h"

struct web_arg {
    const char *name;
    const char *value; /* "" if it was missing */
};

struct web_request {    /* a GET; all borrowed */
    const char *path;   /* decoded, without arguments */
    const char *run;    /* the name in the path, of a run or a benchmark; "": it has none */
    const char *accept; /* NULL: not sent */
    const struct web_arg *args;
    size_t n_args;
};
/* NULL: not given. */
const char *web_request_arg(const struct web_request *req, const char *name);

struct web_response {
    int code;
    const char *content_type; /* static */
    struct buf body;          /* owned */
    struct text_pack *pack;   /* what has left `body` already; owned, NULL: nothing */
    bool must_retry_later;    /* with the header Retry-After */
};
/* The body, from which what is much is packed while the document is made. */
struct buf *web_long_body(struct web_response *res);
/* A short document. */
void web_put_json(struct web_response *res, json_t *document_take);

#define WEB_TEXT "text/plain; charset=utf-8"
#define WEB_JSON "application/json"
#define WEB_HTML "text/html; charset=utf-8"

/* Seconds that a client shall wait after a 503. */
#define WEB_RETRY_AFTER "2"

/* 503: the request may succeed later. */
void web_fail_busy(struct web_response *res, const char *why);
/* Replaces the answer by an error as JSON: {"code": 404, "message": "..."}. */
void web_fail(struct web_response *res, int code, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* The finished body of a response, which several connections may share. It does not change. */
struct body {
    atomic_uint n_users;
    size_t n_sending;         /* connections that it is sent to; of the HTTP thread alone */
    size_t len;               /* of the text */
    char *data;               /* owned */
    size_t n_bytes;           /* of data */
    bool is_packed;           /* data is the text as text_pack has it; else the text itself */
    const char *content_type; /* static */
};
/* Makes the body, with one user, out of what the response has. */
struct body *body_of_response(struct web_response *res);
struct body *body_ref(struct body *body);
void body_unref(struct body *body); /* NULL is fine */

/* A long document, compressed while it is made and unpacked while it is sent: the results of 10,000
 * points have 100 MB as text, and benchd may have 128 MB in all. zstd. */
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
