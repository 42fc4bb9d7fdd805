/* A request and its answer as plain data: what handlers see of HTTP. http.c makes the one and sends
 * the other. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>

#include "base/buf.h"
#include "daemon/web/pack.h"

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
void web_fail_busy(struct web_response *res, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/* Replaces the answer by an error as JSON: {"code": 404, "message": "..."}. */
void web_fail(struct web_response *res, int code, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
