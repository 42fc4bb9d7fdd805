/* Arguments, errors and bodies, see message.h. */
#include "daemon/web/message.h"

#include <sys/stat.h>
#include <string.h>

#include <jansson.h>

#include "base/mem.h"
#include "base/str.h"
#include "base/vec.h"

const char *web_request_arg(const struct web_request *req, const char *name)
{
    const struct web_arg *arg = array_find(req->args, req->n_args, it, str_eq(it->name, name));
    return arg == NULL ? NULL : arg->value;
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
    buf_clear(&res->body);
    buf_printf(&res->body, "%s\n", json);
}

void web_fail_busy(struct web_response *res, const char *why)
{
    web_fail(res, 503, "%s", why);
    res->must_retry_later = true;
}

void web_put_file(struct web_response *res, int fd_take, const char *content_type)
{
    res->file = fd_take;
    res->is_file = true;
    res->content_type = content_type;
}

static struct body *body_new(struct buf *text, const char *content_type)
{
    struct body *body = xnew(struct body);
    body->len = text->len;
    body->content_type = content_type;
    body->file = -1;
    /* A buffer may be twice as large as its content. */
    body->data = xrealloc(buf_take(text), body->len + 1);
    return body;
}

static struct body *body_of_file(struct web_response *res)
{
    struct stat st;
    struct body *body = body_new(&res->body, res->content_type);
    body->file = res->file;
    body->len = fstat(res->file, &st) == 0 ? (size_t)st.st_size
                                           : 0; /* fstat of an open file does not fail */
    return body;
}

struct body *body_of_response(struct web_response *res)
{
    if (res->is_file) {
        return body_of_file(res);
    }
    return body_new(&res->body, res->content_type);
}

void body_free(struct body *body)
{
    if (body != NULL) {
        fd_close(&body->file);
        free(body->data);
        free(body);
    }
}
