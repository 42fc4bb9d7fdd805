/* See response_body.h. */
#include "daemon/web/response_body.h"

#include "base/mem.h"

struct body *body_new(struct buf *text, const char *content_type)
{
    struct body *body = xnew(struct body);
    body->n_users = 1;
    body->len = body->n_bytes = text->len;
    body->content_type = content_type;
    /* A buffer may be twice as large as its content. */
    body->data = xrealloc(buf_take(text), body->len + 1);
    return body;
}

struct body *body_of_response(struct web_response *res)
{
    if (res->pack == NULL) {
        return body_new(&res->body, res->content_type);
    }
    struct buf bytes;
    size_t len;
    text_pack_put(res->pack, buf_cstr(&res->body), res->body.len);
    text_pack_end(res->pack, &bytes, &len);
    text_pack_free(res->pack);
    res->pack = NULL;
    buf_done(&res->body);
    struct body *body = body_new(&bytes, res->content_type);
    body->is_packed = true;
    body->len = len;
    return body;
}

struct body *body_ref(struct body *body)
{
    atomic_fetch_add(&body->n_users, 1);
    return body;
}

void body_unref(struct body *body)
{
    if (body != NULL && atomic_fetch_sub(&body->n_users, 1) == 1) {
        free(body->data);
        free(body);
    }
}
