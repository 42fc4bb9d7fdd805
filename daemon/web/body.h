/* The finished body of a response, which the cache and several connections may
 * share. It does not change. */
#pragma once

#include <stdatomic.h>
#include <stddef.h>

#include "base/buf.h"

struct body {
    atomic_uint n_users;
    size_t n_sending; /* connections that it is sent to; of the HTTP thread alone */
    size_t len;
    char *data;               /* owned */
    const char *content_type; /* static */
};
/* With one user. Takes the text out of `text`. */
struct body *body_new(struct buf *text, const char *content_type);
struct body *body_ref(struct body *body);
void body_unref(struct body *body); /* NULL is fine */
