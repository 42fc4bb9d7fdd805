/* The HTTP server, see web.h: libmicrohttpd without threads, its epoll descriptor in the loop.
 *
 * MHD's epoll set is edge-triggered: after every MHD_run its timeout must be read and obeyed (0 means
 * "run again"), or connections hang. The timer does that, so that a busy server takes turns with the
 * rest of the loop.
 *
 * Limits: CONNECTIONS at once, HEADER_BYTES for request line and headers (MHD answers 414 or 431),
 * IDLE_S of silence, MAX_ARGS arguments, no body. A request is answered in full when its headers
 * are complete, from memory; a client that goes away costs its connection only. Responses in flight
 * may have SENDING_BYTES together, except small ones: a client that asks for logs and does not read
 * them must not exhaust benchd's memory or keep /healthz from being answered. */
#include "daemon/web/web.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <microhttpd.h>
#include <uv.h>

#include "base/mem.h"
#include "base/parse.h"
#include "base/str.h"
#include "daemon/web/routes.h"

#define CONNECTIONS 512
#define HEADER_BYTES 16384 /* MHD's memory for one connection: what is read and what is sent */
#define IDLE_S 10
#define MAX_ARGS 16
#define BACKLOG 128
#define SENDING_BYTES ((size_t)64 << 20)
#define SMALL_BYTES ((size_t)64 << 10)

#define SECURITY                                                                                   \
    "default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'none'; "                  \
    "frame-ancestors 'none'"

struct web {
    struct site site;
    struct MHD_Daemon *mhd;
    uv_poll_t poll;
    uv_timer_t timer;
    size_t n_sending; /* bytes of responses that are not sent completely */
    int n_open;       /* handles; the last one's close callback frees */
    char address[INET6_ADDRSTRLEN + 16];
};

/* --- A request ------------------------------------------------------------------------------- */

struct arguments {
    struct web_arg list[MAX_ARGS];
    size_t n;
    bool is_full;
};

static enum MHD_Result take_argument(void *ctx, enum MHD_ValueKind kind, const char *name,
                                     const char *value)
{
    struct arguments *args = ctx;
    (void)kind;
    if (args->n == MAX_ARGS) {
        args->is_full = true;
        return MHD_NO;
    }
    args->list[args->n++] = (struct web_arg){name, value == NULL ? "" : value};
    return MHD_YES;
}

static bool is_get(const char *method)
{
    return str_eq(method, "GET") || str_eq(method, "HEAD");
}

static bool has_body(struct MHD_Connection *connection)
{
    const char *len = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Content-Length");
    return (len != NULL && !str_eq(len, "0")) ||
           MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Transfer-Encoding") != NULL;
}

static void make_answer(struct web *w, struct MHD_Connection *connection, const char *path,
                        const char *method, struct web_response *res)
{
    struct arguments args = {0};
    (void)MHD_get_connection_values(connection, MHD_GET_ARGUMENT_KIND, take_argument, &args);
    const struct web_request req = {
        .path = path,
        .accept = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Accept"),
        .args = args.list,
        .n_args = args.n,
    };
    if (!is_get(method)) {
        web_fail(res, 405, "only GET and HEAD are supported");
    } else if (has_body(connection)) {
        web_fail(res, 400, "a request must not have a body");
    } else if (args.is_full) {
        web_fail(res, 400, "too many arguments; at most %d are allowed", MAX_ARGS);
    } else {
        routes_answer(&w->site, &req, res);
    }
    if (res->body.len > SMALL_BYTES && w->n_sending + res->body.len > SENDING_BYTES) {
        buf_done(&res->body);
        web_fail(res, 503, "too many responses are being sent; try again later");
    }
    web_stats_count(&w->site.stats, res->code);
}

/* The body of a response, until MHD has sent it or given up. */
struct sending {
    struct web *web;
    char *data; /* owned */
    size_t len;
};

static void on_sent(void *ctx)
{
    struct sending *s = ctx;
    s->web->n_sending -= s->len;
    free(s->data);
    free(s);
}

static struct MHD_Response *make_response(struct web *w, struct buf *body)
{
    struct sending *s = xnew(struct sending);
    s->web = w;
    s->len = body->len;
    s->data =
        xrealloc(buf_take(body), s->len + 1); /* a buffer may be twice as large as its content */
    w->n_sending += s->len;
    struct MHD_Response *response =
        MHD_create_response_from_buffer_with_free_callback_cls(s->len, s->data, on_sent, s);
    if (response == NULL) {
        on_sent(s);
    }
    return response;
}

static void add_headers(struct MHD_Response *response, const struct web_response *res)
{
    const struct {
        const char *name, *value;
    } headers[] = {
        {"Content-Type", res->content_type},   {"Content-Security-Policy", SECURITY},
        {"X-Content-Type-Options", "nosniff"}, {"Referrer-Policy", "no-referrer"},
        {"Cache-Control", "no-store"},         {"Allow", res->code == 405 ? "GET, HEAD" : NULL},
    };
    for (size_t i = 0; i < sizeof(headers) / sizeof(headers[0]); i++) {
        if (headers[i].value != NULL) {
            /* Fails only without memory; the response is correct without the header. */
            (void)MHD_add_response_header(response, headers[i].name, headers[i].value);
        }
    }
}

/* Called when the headers are there, and again when the request is complete. A response to the first
 * call makes MHD close the connection afterwards. That is right for a client that sends a body; all
 * others are answered in the second call and keep their connection. */
static enum MHD_Result on_request(void *ctx, struct MHD_Connection *connection, const char *url,
                                  const char *method, const char *version, const char *body,
                                  size_t *body_len, void **state)
{
    struct web *w = ctx;
    struct web_response res = {0};
    (void)version, (void)body, (void)body_len;
    if (*state == NULL && is_get(method) && !has_body(connection)) {
        *state = w; /* anything: it was called */
        return MHD_YES;
    }
    make_answer(w, connection, url, method, &res);
    struct MHD_Response *response = make_response(w, &res.body);
    if (response == NULL) {
        return MHD_NO;
    }
    add_headers(response, &res);
    enum MHD_Result queued = MHD_queue_response(connection, (unsigned)res.code, response);
    MHD_destroy_response(response); /* the connection holds it */
    return queued;
}

/* --- In the loop ----------------------------------------------------------------------------- */

static void on_timer(uv_timer_t *timer);

static void serve(struct web *w)
{
    MHD_UNSIGNED_LONG_LONG timeout_ms = 0;
    (void)MHD_run(w->mhd); /* its failures are those of single connections */
    if (MHD_get_timeout(w->mhd, &timeout_ms) == MHD_YES) {
        (void)uv_timer_start(&w->timer, on_timer, timeout_ms, 0); /* not closing: cannot fail */
    } else {
        (void)uv_timer_stop(&w->timer);
    }
}

static void on_timer(uv_timer_t *timer)
{
    serve(timer->data);
}

static void on_readable(uv_poll_t *poll, int status, int events)
{
    (void)status, (void)events;
    serve(poll->data);
}

static void on_closed(uv_handle_t *handle)
{
    struct web *w = handle->data;
    if (--w->n_open == 0) {
        site_done(&w->site);
        free(w);
    }
}

/* --- Start ----------------------------------------------------------------------------------- */

union address {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
};

/* "127.0.0.1:8080", "[::1]:8080", "localhost:0", ":8080" (every IPv4 address). */
static int parse_address(const char *listen, union address *ret, struct err *err)
{
    const char *colon = strrchr(listen, ':');
    int64_t port = 0;
    const size_t host_len = colon == NULL ? 0 : (size_t)(colon - listen);
    if (colon == NULL || parse_i64_in(colon + 1, 0, 65535, &port) < 0 ||
        host_len >= INET6_ADDRSTRLEN + 2) {
        return err_set(err, EINVAL, "listen address '%.100s': expected host:port", listen);
    }
    char host[INET6_ADDRSTRLEN + 2];
    memcpy(host, listen, host_len);
    host[host_len] = '\0';
    const char *name = host_len == 0 ? "0.0.0.0" : str_eq(host, "localhost") ? "127.0.0.1" : host;
    memset(ret, 0, sizeof(*ret));
    int r;
    if (host[0] == '[' && host[host_len - 1] == ']') {
        host[host_len - 1] = '\0';
        r = uv_ip6_addr(host + 1, (int)port, &ret->v6);
    } else {
        r = uv_ip4_addr(name, (int)port, &ret->v4);
    }
    return r == 0 ? 0
                  : err_set(err, EINVAL,
                            "listen address '%s': expected an IP address, [IPv6] or "
                            "localhost before the port",
                            listen);
}

static int open_socket(const char *listen_on, const union address *address, struct err *err)
{
    const int on = 1;
    const int fd = socket(address->any.sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0) {
        return err_set_errno(err, errno, "listen on '%s'", listen_on);
    }
    const socklen_t size =
        address->any.sa_family == AF_INET6 ? sizeof(address->v6) : sizeof(address->v4);
    (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)); /* bind says what matters */
    if (bind(fd, &address->any, size) < 0 || listen(fd, BACKLOG) < 0) {
        const int code = errno;
        close(fd);
        return err_set_errno(err, code, "listen on '%s'", listen_on);
    }
    return fd;
}

static int name_socket(int fd, char *ret, size_t size, struct err *err)
{
    union address address;
    socklen_t len = sizeof(address);
    char host[INET6_ADDRSTRLEN] = "";
    if (getsockname(fd, &address.any, &len) < 0) {
        return err_set_errno(err, errno, "name of the listening socket");
    }
    const bool is_v6 = address.any.sa_family == AF_INET6;
    const int r = is_v6 ? uv_ip6_name(&address.v6, host, sizeof(host))
                        : uv_ip4_name(&address.v4, host, sizeof(host));
    (void)snprintf(ret, size, is_v6 ? "[%s]:%u" : "%s:%u", host,
                   ntohs(is_v6 ? address.v6.sin6_port : address.v4.sin_port));
    return r == 0 ? 0 : err_set(err, EINVAL, "name of the listening socket: %s", uv_strerror(r));
}

/* Takes the descriptor. MHD does not say whether a failed start closed it, so it is left open. */
static int start_mhd(struct web *w, int fd_take, struct err *err)
{
    w->mhd = MHD_start_daemon(MHD_USE_EPOLL, 0, NULL, NULL, on_request, w, MHD_OPTION_LISTEN_SOCKET,
                              fd_take, MHD_OPTION_CONNECTION_LIMIT, (unsigned)CONNECTIONS,
                              MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)HEADER_BYTES,
                              MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)IDLE_S, MHD_OPTION_END);
    if (w->mhd == NULL) {
        return err_set(err, EIO, "the HTTP server cannot start");
    }
    return 0;
}

static int watch_mhd(struct web *w, struct uv_loop_s *loop, struct err *err)
{
    const union MHD_DaemonInfo *info = MHD_get_daemon_info(w->mhd, MHD_DAEMON_INFO_EPOLL_FD);
    const int r = info == NULL ? UV_ENOTSUP : uv_poll_init(loop, &w->poll, info->epoll_fd);
    if (r < 0) {
        MHD_stop_daemon(w->mhd);
        return err_set(err, EIO, "the HTTP server cannot be watched: %s", uv_strerror(r));
    }
    (void)uv_timer_init(loop, &w->timer); /* sets fields only */
    w->poll.data = w->timer.data = w;
    w->n_open = 2;
    (void)uv_poll_start(&w->poll, UV_READABLE, on_readable); /* not closing: cannot fail */
    serve(w);
    return 0;
}

int web_new(struct uv_loop_s *loop, const struct daemon *daemon, const char *listen,
            struct web **ret, struct err *err)
{
    union address address;
    int fd = parse_address(listen, &address, err);
    if (fd >= 0) {
        fd = open_socket(listen, &address, err);
    }
    if (fd < 0) {
        return fd;
    }
    struct web *w = xnew(struct web);
    w->site.daemon = daemon;
    int r = name_socket(fd, w->address, sizeof(w->address), err);
    if (r < 0) {
        close(fd);
    } else {
        r = start_mhd(w, fd, err);
    }
    if (r >= 0) {
        r = watch_mhd(w, loop, err);
    }
    if (r < 0) {
        free(w);
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
    (void)uv_poll_stop(&w->poll); /* before its descriptor goes */
    MHD_stop_daemon(w->mhd);
    uv_close((uv_handle_t *)&w->poll, on_closed);
    uv_close((uv_handle_t *)&w->timer, on_closed);
}
