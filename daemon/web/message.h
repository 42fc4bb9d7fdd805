/* A request and its answer as plain data: what handlers see of HTTP. http.c makes the one and sends
 * the other. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>

#include "base/buf.h"

struct web_arg {
    const char *name;
    const char *value; /* "" if it was missing */
};

struct web_request {  /* a GET; all borrowed */
    const char *path; /* decoded, without arguments */
    const char *run;  /* the name of a run in the path, or "" */
    const struct web_arg *args;
    size_t n_args;
};
/* Returns NULL if the request does not have the argument. */
const char *web_request_arg(const struct web_request *req, const char *name);

struct web_response {
    int code;
    const char *content_type; /* static */
    struct buf body;          /* owned */
    struct text_pack *pack;   /* what has left `body` already; owned, NULL if nothing has */
    bool must_retry_later;    /* with the header Retry-After */
};
/* The body of a long document. It is compressed (zstd) while it is made, and unpacked while it is
 * sent: the results of 10,000 points have 100 MB as text, and benchd may have 128 MB in all. */
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

/* The finished body of a response. It does not change. */
struct body {
    size_t len;               /* the length of the text */
    char *data;               /* owned */
    size_t n_bytes;           /* the length of data */
    bool is_packed;           /* data is the text compressed; else the text itself */
    const char *content_type; /* static */
};
/* Makes the body out of what the response has. */
struct body *body_of_response(struct web_response *res);
void body_free(struct body *body); /* accepts NULL */

/* The memory that a reader of a packed body takes in addition. */
#define PACK_READER_BYTES ((size_t)512 << 10)

struct text_reader;
/* Reads the data of a packed body, which it borrows. */
struct text_reader *text_reader_new(const void *data, size_t len);
void text_reader_free(struct text_reader *r);
/* Reads the next bytes of the text, at least one. Returns 0 at its end. */
size_t text_reader_next(struct text_reader *r, char *to, size_t max);
