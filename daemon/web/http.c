/* The HTTP server, see web.h: libmicrohttpd; its own thread calls all that is here but on_done.
 *
 *   first call of on_request   the headers are complete    NEW
 *   second call                the request is complete     answered at once, or suspended: WAITING
 *   on_done                    the document is there       resumed, by a render thread
 *   third call                                             answered
 *   on_completed                                           freed
 *
 * Limits: CONNECTIONS at once, CONNECTIONS_OF_ONE of an address, HEADER_BYTES for request line and
 * headers (MHD answers 414 or 431), IDLE_S of silence, MAX_ARGS arguments, no body; WAITING
 * requests for documents and SCRAPES for /metrics; render.h limits how long they wait. A client
 * that goes away costs its connection only. Responses in flight may have SENDING_BYTES
 * together, except small ones: a client that asks for logs and does not read them must not exhaust
 * benchd's memory, nor take it from /metrics, which has SCRAPES_SENDING_BYTES of its own. */
#include "daemon/web/web.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <jansson.h>
#include <microhttpd.h>
#include <openssl/crypto.h>

#include "base/mem.h"
#include "base/str.h"
#include "daemon/web/listen.h"
#include "daemon/web/render.h"
#include "report/style.h"

#define CONNECTIONS 512
#define CONNECTIONS_OF_ONE 384 /* the rest is for probes and scrapes */
#define HEADER_BYTES 16384     /* MHD's memory for one connection: what is read and what is sent */
#define IDLE_S 10
#define MAX_ARGS 16
#define WAITING 128
#define SCRAPES 16
#define SENDING_BYTES ((size_t)64 << 20)
#define SCRAPES_SENDING_BYTES ((size_t)8 << 20)
#define SMALL_BYTES ((size_t)64 << 10)

/* Makes the documents of one kind, and counts how much of them is being sent. */
struct source {
    struct renderer *renderer;
    /* Bytes of responses that are being sent. Only the HTTP thread reads them. */
    size_t n_sending, max_sending;
};

struct web {
    const struct daemon_view *view;
    char *read_key; /* owned, or NULL if everybody may read */
    bool is_tls;
    struct source readers, scrapes;
    char address[LISTEN_ADDRESS_SIZE];
    struct MHD_Daemon *mhd;
};

/* --- A request ------------------------------------------------------------------------------- */

struct request {
    enum { REQUEST_NEW, REQUEST_WAITING, REQUEST_REFUSED, REQUEST_ANSWERED } state;
    struct MHD_Connection *connection;
    struct web_arg args[MAX_ARGS]; /* MHD's texts: they live as long as the request */
    size_t n_args;
    bool has_too_many_args;
    struct render_job job;
};

static struct source *source_of(struct web *w, const struct request *request)
{
    return request->job.route.kind == ROUTE_SCRAPE ? &w->scrapes : &w->readers;
}

static enum MHD_Result take_argument(void *ctx, enum MHD_ValueKind kind, const char *name,
                                     const char *value)
{
    struct request *request = ctx;
    (void)kind;
    if (request->n_args == MAX_ARGS) {
        request->has_too_many_args = true;
        return MHD_NO;
    }
    request->args[request->n_args++] = (struct web_arg){name, value == NULL ? "" : value};
    return MHD_YES;
}

static bool has_body(struct MHD_Connection *connection)
{
    const char *len = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Content-Length");
    return (len != NULL && !str_eq(len, "0")) ||
           MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Transfer-Encoding") != NULL;
}

static void read_request(struct request *request, const char *path)
{
    struct MHD_Connection *connection = request->connection;
    (void)MHD_get_connection_values(connection, MHD_GET_ARGUMENT_KIND, take_argument, request);
    request->job.req = (struct web_request){
        .path = path,
        .args = request->args,
        .n_args = request->n_args,
    };
    routes_find(path, &request->job.route);
    request->job.ctx = request;
}

/* --- A response ------------------------------------------------------------------------------ */

/* The body of a response, until MHD has sent it or given up. */
struct sending {
    struct source *source;
    struct body *body; /* owned */
};

static void on_sent(void *ctx)
{
    struct sending *s = ctx;
    s->source->n_sending -= s->body->len;
    body_free(s->body);
    free(s);
}

/* A file takes no memory. */
static bool may_send(const struct source *source, const struct body *body)
{
    return body->file >= 0 || body->len <= SMALL_BYTES ||
           source->n_sending + body->len <= source->max_sending;
}

static struct MHD_Response *make_response(struct source *source, struct body *body_take)
{
    if (body_take->file >= 0) {
        struct MHD_Response *file = MHD_create_response_from_fd(body_take->len, body_take->file);
        body_take->file = file == NULL ? body_take->file : -1; /* it closes it */
        body_free(body_take);
        return file;
    }
    struct sending *s = xnew(struct sending);
    *s = (struct sending){source, body_take};
    source->n_sending += body_take->len;
    struct MHD_Response *response = MHD_create_response_from_buffer_with_free_callback_cls(
        body_take->len, body_take->data, on_sent, s);
    if (response == NULL) {
        on_sent(s);
    }
    return response;
}

/* Pages have the style and the script of reports, and nothing else. */
static void add_headers(struct MHD_Response *response, int code, const char *content_type,
                        bool must_retry_later)
{
    char policy[512];
    (void)snprintf(policy, sizeof(policy),
                   "default-src 'none'; style-src '%s'; script-src '%s'; base-uri 'none'; "
                   "form-action 'self'; frame-ancestors 'none'",
                   page_style_hash, page_script_hash);
    const struct {
        const char *name, *value;
    } headers[] = {
        {"Content-Type", content_type},
        {"Content-Security-Policy", policy},
        {"X-Content-Type-Options", "nosniff"},
        {"Referrer-Policy", "no-referrer"},
        {"Cache-Control", "no-store"},
        {"Allow", code == 405 ? "GET, HEAD" : NULL},
        {"Retry-After", must_retry_later ? WEB_RETRY_AFTER : NULL},
    };
    for (size_t i = 0; i < COUNT_OF(headers); i++) {
        if (headers[i].value != NULL) {
            /* Fails only without memory; the response is correct without the header. */
            (void)MHD_add_response_header(response, headers[i].name, headers[i].value);
        }
    }
}

static enum MHD_Result send_body(struct source *source, struct MHD_Connection *connection, int code,
                                 struct body *body_take, bool must_retry_later)
{
    if (!may_send(source, body_take)) {
        struct web_response res = {0};
        web_fail_busy(&res, "too many responses are being sent; try again later");
        body_free(body_take);
        body_take = body_of_response(&res);
        code = res.code;
        must_retry_later = true;
    }
    const char *content_type = body_take->content_type;
    struct MHD_Response *response = make_response(source, body_take);
    if (response == NULL) {
        return MHD_NO;
    }
    add_headers(response, code, content_type, must_retry_later);
    enum MHD_Result queued = MHD_queue_response(connection, (unsigned)code, response);
    MHD_destroy_response(response); /* the connection holds it */
    return queued;
}

static enum MHD_Result send_response(struct web *w, struct MHD_Connection *connection,
                                     struct web_response *res)
{
    return send_body(&w->readers, connection, res->code, body_of_response(res),
                     res->must_retry_later);
}

/* The time of the comparison does not depend on how much of the key is right. */
static bool has_read_key(const struct web *w, struct MHD_Connection *connection)
{
    const char *given = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, WEB_READ_KEY);
    if (w->read_key == NULL || given == NULL) {
        return w->read_key == NULL;
    }
    const size_t len = strlen(w->read_key);
    return strlen(given) == len && CRYPTO_memcmp(given, w->read_key, len) == 0;
}

/* Answers a route that needs neither the store nor much time. */
static enum MHD_Result answer_at_once(struct web *w, const struct request *request)
{
    struct site site = {0};
    struct web_response res = {0};
    daemon_view_read(w->view, &site.now);
    routes_answer(&site, &request->job.route, &request->job.req, &res);
    daemon_snapshot_done(&site.now);
    return send_response(w, request->connection, &res);
}

static enum MHD_Result begin_answer(struct web *w, struct request *request, const char *path)
{
    struct web_response res = {0};
    read_request(request, path);
    if (request->has_too_many_args) {
        web_fail(&res, 400, "too many arguments; at most %d are allowed", MAX_ARGS);
        return send_response(w, request->connection, &res);
    }
    if (!request->job.route.is_open && !has_read_key(w, request->connection)) {
        web_fail(&res, 403,
                 "the header " WEB_READ_KEY " with the key in benchd's Lease is needed; "
                 "benchctl sends it to those who may read the Lease");
        return send_response(w, request->connection, &res);
    }
    if (request->job.route.kind == ROUTE_QUICK) {
        return answer_at_once(w, request);
    }
    request->state = REQUEST_WAITING;
    MHD_suspend_connection(request->connection); /* before on_done can resume it */
    if (!renderer_submit(source_of(w, request)->renderer, &request->job)) {
        request->state = REQUEST_REFUSED;
        MHD_resume_connection(request->connection);
    }
    return MHD_YES;
}

/* A response to the first call makes MHD close the connection afterwards. That is right for a
 * client that sends a body; all others are answered in a later call and keep their connection. */
static enum MHD_Result on_request(void *ctx, struct MHD_Connection *connection, const char *url,
                                  const char *method, const char *version, const char *body,
                                  size_t *body_len, void **state)
{
    struct web *w = ctx;
    struct request *request = *state;
    struct web_response res = {0};
    (void)version, (void)body, (void)body_len;
    if (!str_eq(method, "HEAD") && !str_eq(method, "GET")) {
        web_fail(&res, 405, "only GET and HEAD are supported");
        return send_response(w, connection, &res);
    }
    if (has_body(connection)) {
        web_fail(&res, 400, "a request must not have a body");
        return send_response(w, connection, &res);
    }
    if (request == NULL) {
        request = xnew(struct request);
        request->connection = connection;
        *state = request;
        return MHD_YES;
    }
    struct render_job *job = &request->job;
    switch (request->state) {
    case REQUEST_NEW:
        break;
    case REQUEST_WAITING: /* The document is there now. */
        request->state = REQUEST_ANSWERED;
        return send_body(source_of(w, request), connection, job->code, take_ptr(job->body),
                         job->must_retry_later);
    case REQUEST_REFUSED:
        web_fail_busy(&res, "too many requests; try again later");
        return send_response(w, connection, &res);
    case REQUEST_ANSWERED: /* MHD is being stopped: it took no response, and asks again */
        return MHD_NO;
    }
    return begin_answer(w, request, url);
}

/* Never while the request waits: MHD keeps a suspended connection. */
static void on_completed(void *ctx, struct MHD_Connection *connection, void **state,
                         enum MHD_RequestTerminationCode code)
{
    struct request *request = *state;
    (void)ctx, (void)connection, (void)code;
    if (request != NULL) {
        body_free(request->job.body);
        free(request);
        *state = NULL;
    }
}

/* Runs on a render thread. */
static void on_done(struct render_job *job)
{
    const struct request *request = job->ctx;
    MHD_resume_connection(request->connection);
}

/* --- Start ----------------------------------------------------------------------------------- */

/* Takes the descriptor. MHD does not say whether a failed start closed it, so it is left open. */
static int start_mhd(struct web *w, int fd_take, struct err *err)
{
    struct MHD_OptionItem tls[] = {{MHD_OPTION_HTTPS_CERT_CALLBACK, 0, tls_callback()},
                                   {MHD_OPTION_END, 0, NULL}};
    w->mhd = MHD_start_daemon(
        MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME | (w->is_tls ? MHD_USE_TLS : 0), 0,
        NULL, NULL, on_request, w, MHD_OPTION_LISTEN_SOCKET, fd_take, MHD_OPTION_NOTIFY_COMPLETED,
        on_completed, NULL, MHD_OPTION_CONNECTION_LIMIT, (unsigned)CONNECTIONS,
        MHD_OPTION_PER_IP_CONNECTION_LIMIT, (unsigned)CONNECTIONS_OF_ONE,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)HEADER_BYTES, MHD_OPTION_CONNECTION_TIMEOUT,
        (unsigned)IDLE_S, MHD_OPTION_ARRAY, w->is_tls ? tls : tls + 1, MHD_OPTION_END);
    return w->mhd != NULL ? 0 : err_set(err, EIO, "the HTTP server cannot start");
}

/* They answer no request before MHD runs. */
static int start_renderers(struct web *w, const struct web_params *params, struct err *err)
{
    struct render_params render = {.view = params->view,
                                   .store_url = params->store_url,
                                   .max_waiting = WAITING,
                                   .counts_submitter = true,
                                   .on_done = on_done};
    const int r = renderer_new(&render, &w->readers.renderer, err);
    render.max_waiting = SCRAPES;
    render.counts_submitter = false; /* it works for readers */
    w->readers.max_sending = SENDING_BYTES;
    w->scrapes.max_sending = SCRAPES_SENDING_BYTES;
    return r < 0 ? r : renderer_new(&render, &w->scrapes.renderer, err);
}

int web_new(const struct web_params *params, struct web **ret, struct err *err)
{
    struct web *w = xnew(struct web);
    w->view = params->view;
    w->read_key = xstrdup_or_null(params->read_key);
    w->is_tls = params->tls_cert != NULL;
    json_object_seed(0); /* jansson asks for it before there are threads */
    int r = w->is_tls ? tls_use_files(params->tls_cert, params->tls_key, err) : 0;
    const int fd = r < 0 ? r : listen_open(params->listen, w->address, err);
    r = fd < 0 ? fd : start_renderers(w, params, err);
    if (r < 0 && fd >= 0) {
        (void)close(fd);
    }
    r = r < 0 ? r : start_mhd(w, fd, err);
    if (r < 0) {
        web_free(w);
        return r;
    }
    *ret = w;
    return 0;
}

const char *web_address(const struct web *w)
{
    return w->address;
}

void web_free(struct web *w)
{
    if (w == NULL) {
        return;
    }
    struct renderer *const renderers[] = {w->readers.renderer, w->scrapes.renderer};
    for (size_t i = 0; i < 2 && renderers[i] != NULL; i++) {
        renderer_stop(renderers[i]); /* then no connection is suspended, which MHD needs */
    }
    if (w->mhd != NULL) {
        MHD_stop_daemon(w->mhd);
    }
    renderer_free(w->readers.renderer);
    renderer_free(w->scrapes.renderer);
    free(w->read_key);
    free(w);
}
