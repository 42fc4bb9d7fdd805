/* Arguments and errors, see message.h. */
#include "daemon/web/message.h"

#include <string.h>

#include <jansson.h>

#include "base/mem.h"
#include "base/str.h"
#include "base/vec_walk.h"

const char *web_request_arg(const struct web_request *req, const char *name)
{
    const struct web_arg *arg = array_find(req->args, req->n_args, it, str_eq(it->name, name));
    return arg == NULL ? NULL : arg->value;
}

static bool pack(void *ctx, const void *data, size_t len)
{
    struct web_response *res = ctx;
    if (res->pack == NULL) {
        res->pack = text_pack_new();
    }
    if (res->pack != NULL) {
        text_pack_put(res->pack, data, len);
    }
    return res->pack != NULL;
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

static void fail(struct web_response *res, int code, const char *fmt, va_list ap)
    __attribute__((format(printf, 3, 0)));
static void fail(struct web_response *res, int code, const char *fmt, va_list ap)
{
    _cleanup_(freep) char *text = xvasprintf(fmt, ap);
    _cleanup_(buf_done) struct buf clean = BUF_INIT;
    buf_put_utf8(&clean, text, strlen(text)); /* it may quote what a client sent */
    json_auto_t *document = json_pack("{s:i, s:s}", "code", code, "message", buf_cstr(&clean));
    _cleanup_(freep) char *json = json_dumps(document, 0);
    res->code = code;
    res->content_type = WEB_JSON;
    text_pack_free(res->pack);
    res->pack = NULL;
    buf_clear(&res->body);
    buf_printf(&res->body, "%s\n", json);
}

void web_fail(struct web_response *res, int code, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    fail(res, code, fmt, ap);
    va_end(ap);
}

void web_fail_busy(struct web_response *res, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    fail(res, 503, fmt, ap);
    va_end(ap);
    res->must_retry_later = true;
}
