/* The text of a document with long lists, of which one item at a time is a tree in memory. It is
 * what json_dumps would make of the whole. And back. Pure. */
#pragma once

#include <jansson.h>

#include "base/buf.h"
#include "base/err.h"

struct json_lists {
    struct buf *out;        /* borrowed */
    char *text;             /* of the document with these lists empty; owned */
    const char *rest;       /* what of it is still to be copied */
    unsigned indent, depth; /* of items */
    bool is_open;
    size_t n; /* items of the open list */
};
/* document_take NULL: it is one list, which is open. */
void json_lists_begin(struct json_lists *w, json_t *document_take, unsigned indent,
                      struct buf *out);
/* The document's next list that gets items; in its order. */
void json_lists_open(struct json_lists *w, const char *name);
/* The item holds nothing that cannot be dumped. Then buf_spill. */
void json_lists_add(struct json_lists *w, json_t *item_take);
/* With a final newline. */
void json_lists_end(struct json_lists *w);

/* Reads a document of indent 1 as it was written: calls `each` for the items of the list, which are
 * trees one at a time, and gives the document with the list empty. Of JSON in another form
 * *ret_rest has the list, and there is no call. It is the caller's, or NULL. -E2BIG: an item, or
 * what is around them, has more than max_bytes. Other errors: -EPROTO, and those of `each`. */
typedef int json_lists_fn(void *ctx, const json_t *item, struct err *err);
int json_lists_read(const struct buf *text, const char *name, size_t max_bytes, json_lists_fn *each,
                    void *ctx, json_t **ret_rest, struct err *err);
