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
    int file; /* if is_file: the body is this file as it is, and nothing else; owned */
    bool is_file;
    bool must_retry_later; /* with the header Retry-After */
};
/* A document that is short: a long one is a file. */
void web_put_json(struct web_response *res, json_t *document_take);

/* A file that is open becomes the body. */
void web_put_file(struct web_response *res, int fd_take, const char *content_type);

#define WEB_ZSTD "application/zstd"
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
    size_t len;
    char *data;               /* owned */
    int file;                 /* instead of data; owned; -1: none */
    const char *content_type; /* static */
};
/* Makes the body out of what the response has. */
struct body *body_of_response(struct web_response *res);
void body_free(struct body *body); /* accepts NULL */
