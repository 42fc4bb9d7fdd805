/* Arguments, errors and bodies, see message.h. */
#include "daemon/web/message.h"

#include <assert.h>
#include <string.h>

#include <jansson.h>
#include <zstd.h>

#include "base/mem.h"
#include "base/str.h"
#include "base/vec_walk.h"

#define LEVEL 1
#define WINDOW_LOG 17 /* A reader needs a window of this size. */

const char *web_request_arg(const struct web_request *req, const char *name)
{
    const struct web_arg *arg = array_find(req->args, req->n_args, it, str_eq(it->name, name));
    return arg == NULL ? NULL : arg->value;
}

struct text_pack {
    ZSTD_CCtx *ctx;
    struct buf zstd;
    size_t len; /* the length of the text */
};

static void pack_text(struct text_pack *p, const char *text, size_t len, ZSTD_EndDirective end)
{
    char block[16384];
    ZSTD_inBuffer in = {text, len, 0};
    size_t left;
    do {
        ZSTD_outBuffer out = {block, sizeof(block), 0};
        left = ZSTD_compressStream2(p->ctx, &out, &in, end);
        assert(!ZSTD_isError(left)); /* there is a context, and room */
        buf_append(&p->zstd, block, out.pos);
    } while (end == ZSTD_e_end ? left > 0 : in.pos < in.size);
    p->len += len;
}

static void drop_pack(struct web_response *res)
{
    if (res->pack != NULL) {
        ZSTD_freeCCtx(res->pack->ctx);
        buf_done(&res->pack->zstd);
        free(res->pack);
        res->pack = NULL;
    }
}

/* False: there is no memory for it. */
static bool pack(void *ctx, const void *data, size_t len)
{
    struct web_response *res = ctx;
    if (res->pack == NULL) {
        ZSTD_CCtx *zstd = ZSTD_createCCtx();
        if (zstd == NULL) {
            return false;
        }
        (void)ZSTD_CCtx_setParameter(zstd, ZSTD_c_compressionLevel, LEVEL); /* both are in range */
        (void)ZSTD_CCtx_setParameter(zstd, ZSTD_c_windowLog, WINDOW_LOG);
        res->pack = xnew(struct text_pack);
        res->pack->ctx = zstd;
    }
    pack_text(res->pack, data, len, ZSTD_e_continue);
    return true;
}

struct buf *web_long_body(struct web_response *res)
{
    res->body.take = pack;
    res->body.ctx = res;
    return &res->body;
}

void web_put_json(struct web_response *res, json_t *document_take)
{
    _cleanup_(freep) char *text = json_dumps(document_take, JSON_INDENT(2));
    json_decref(document_take);
    if (text == NULL) { /* a bug of ours: a key or number that JSON cannot hold */
        web_fail(res, 500, "the response cannot be written as JSON");
        return;
    }
    res->content_type = WEB_JSON;
    buf_printf(&res->body, "%s\n", text);
}

void web_fail(struct web_response *res, int code, const char *fmt, ...)
{
    _cleanup_(freep) char *text = xasprintf_rest(fmt);
    _cleanup_(buf_done) struct buf clean = BUF_INIT;
    buf_put_utf8(&clean, text, strlen(text)); /* it may quote what a client sent */
    json_auto_t *document = json_pack("{s:i, s:s}", "code", code, "message", buf_cstr(&clean));
    _cleanup_(freep) char *json = json_dumps(document, 0);
    res->code = code;
    res->content_type = WEB_JSON;
    drop_pack(res);
    buf_clear(&res->body);
    buf_printf(&res->body, "%s\n", json);
}

void web_fail_busy(struct web_response *res, const char *why)
{
    web_fail(res, 503, "%s", why);
    res->must_retry_later = true;
}

static struct body *body_new(struct buf *text, const char *content_type)
{
    struct body *body = xnew(struct body);
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
    struct text_pack *p = res->pack;
    pack_text(p, buf_cstr(&res->body), res->body.len, ZSTD_e_end);
    buf_done(&res->body);
    struct body *body = body_new(&p->zstd, res->content_type);
    body->is_packed = true;
    body->len = p->len;
    drop_pack(res);
    return body;
}

void body_free(struct body *body)
{
    if (body != NULL) {
        free(body->data);
        free(body);
    }
}

struct text_reader {
    ZSTD_DCtx *ctx;
    ZSTD_inBuffer in;
};

struct text_reader *text_reader_new(const void *data, size_t len)
{
    struct text_reader *r = xnew(struct text_reader);
    *r = (struct text_reader){ZSTD_createDCtx(), {data, len, 0}};
    return r;
}

void text_reader_free(struct text_reader *r)
{
    ZSTD_freeDCtx(r->ctx);
    free(r);
}

size_t text_reader_next(struct text_reader *r, char *to, size_t max)
{
    ZSTD_outBuffer out = {to, max, 0};
    while (r->ctx != NULL && out.pos == 0) {
        const size_t before = r->in.pos;
        const size_t left = ZSTD_decompressStream(r->ctx, &out, &r->in);
        if (ZSTD_isError(left) || (out.pos == 0 && r->in.pos == before)) {
            break; /* it is over, or there is no memory */
        }
    }
    return out.pos;
}
