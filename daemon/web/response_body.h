/* The finished body of a response, which several connections may share. It does not change. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "daemon/web/message.h"

struct body {
    atomic_uint n_users;
    size_t n_sending;         /* connections that it is sent to; of the HTTP thread alone */
    size_t len;               /* of the text */
    char *data;               /* owned */
    size_t n_bytes;           /* of data */
    bool is_packed;           /* data is the text as pack.h has it; else the text itself */
    const char *content_type; /* static */
};
/* With one user. Takes the text out of `text`. */
struct body *body_new(struct buf *text, const char *content_type);
/* The same of a response. */
struct body *body_of_response(struct web_response *res);
struct body *body_ref(struct body *body);
void body_unref(struct body *body); /* NULL is fine */
