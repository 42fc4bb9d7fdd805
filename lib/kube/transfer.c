/* One request on an easy handle, see transfer.h. Edge file: libcurl. */
#include "kube/transfer.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/parse.h"
#include "base/str.h"
#include "kube/transport_internal.h"

#define CONNECT_TIMEOUT_MS 10000L
#define NS_PER_MS 1000000
#define TCP_IDLE_S 15L /* then keep-alive probes */
#define TCP_INTERVAL_S 5L
#define TCP_DEAD_MS                                                                                \
    30000U /* data or probes without acknowledgement for so long: the connection is lost */
#define HEADER_MAX 4096    /* kept of one header */
#define WARNINGS_MAX 65536 /* kept of all Warning headers */
#define UPLOAD_BUFFER 16384L
#define FAILURE_MAX ((size_t)64 * 1024) /* kept of a failed stream's body */

struct kube_transfer {
    struct pool_item item; /* the first member: pool_item's callbacks find the transfer by it */
    struct kube_transfer_params params;
    struct curl_slist *headers, *connect_to;
    char error[CURL_ERROR_SIZE];

    /* The answer. */
    struct kube_response res; /* numbers; its texts are set when it is delivered */
    struct buf content_type, warning;
    struct buf body; /* whole, or what has not been delivered yet */
    bool has_headers, is_too_large;
    bool is_opened;
    bool *is_gone; /* while a callback runs: set when it is cancelled in there */
};

static bool is_success(const struct kube_transfer *t)
{
    return t->res.http_code >= 200 && t->res.http_code < 300;
}

/* --- what comes from curl --- */

static bool take_header(const char *line, size_t len, const char *name, char ret[HEADER_MAX])
{
    const size_t n = strlen(name);
    if (len <= n || !str_eq_nocase_n(line, name, n) || line[n] != ':') {
        return false;
    }
    const char *value = line + n + 1;
    const char *end = line + len;
    while (value < end && (*value == ' ' || *value == '\t')) {
        value++;
    }
    while (end > value && strchr(" \t\r\n", end[-1]) != NULL) {
        end--;
    }
    const size_t size = (size_t)(end - value) < HEADER_MAX ? (size_t)(end - value) : HEADER_MAX - 1;
    memcpy(ret, value, size);
    ret[size] = '\0';
    return true;
}

/* The server sends one header for each. */
static void add_warning(struct kube_transfer *t, const char *value)
{
    if (t->warning.len + HEADER_MAX < WARNINGS_MAX) {
        buf_puts(&t->warning, t->warning.len == 0 ? "" : "\n");
        buf_puts(&t->warning, value);
    }
}

static void begin_answer(struct kube_transfer *t, const char *line, size_t len)
{
    const char *space = memchr(line, ' ', len);
    int64_t code = 0;
    if (space != NULL && line + len - space >= 4) {
        const char digits[4] = {space[1], space[2], space[3], '\0'};
        (void)parse_i64_in(digits, 100, 999, &code); /* stays 0 for nonsense */
    }
    t->res =
        (struct kube_response){.http_code = (int)code, .retry_after_s = -1, .date_unix_ms = -1};
    buf_clear(&t->content_type);
    buf_clear(&t->warning);
    t->has_headers = false;
}

static size_t on_header(char *line, size_t size, size_t n, void *ctx)
{
    struct kube_transfer *t = ctx;
    const size_t len = size * n;
    char value[HEADER_MAX];
    pool_heard(t->item.pool, 0);
    if (len >= 5 && memcmp(line, "HTTP/", 5) == 0) {
        begin_answer(t, line, len);
    } else if (t->has_headers) {
        return len; /* trailers */
    } else if (take_header(line, len, "content-type", value)) {
        buf_clear(&t->content_type);
        buf_puts(&t->content_type, value);
    } else if (take_header(line, len, "warning", value)) {
        add_warning(t, value);
    } else if (take_header(line, len, "date", value)) {
        const int64_t date_s = curl_getdate(value, NULL);
        t->res.date_unix_ms = date_s < 0 ? -1 : date_s * 1000;
    } else if (take_header(line, len, "retry-after", value)) {
        (void)parse_i64_in(value, 0, INT32_MAX, &t->res.retry_after_s); /* a date: stays -1 */
    } else if (len <= 2 && t->res.http_code >= 200) {
        t->has_headers = true;
        pool_item_ready(&t->item);
    }
    return len;
}

static size_t on_write(char *data, size_t size, size_t n, void *ctx)
{
    struct kube_transfer *t = ctx;
    const size_t len = size * n;
    if (!pool_takes(t->item.pool, len)) {
        return CURL_WRITEFUNC_PAUSE;
    }
    pool_heard(t->item.pool, len);
    if (t->params.on_data != NULL && is_success(t)) {
        buf_append(&t->body, data, len); /* delivered, and emptied, when curl returns */
        pool_item_ready(&t->item);
        return len;
    }
    const size_t max = t->params.is_stream ? FAILURE_MAX : t->params.max_bytes;
    if (len > max - t->body.len) {
        t->is_too_large = true;
        return 0; /* ends the transfer */
    }
    buf_append(&t->body, data, len);
    return len;
}

/* On every new socket. Keep-alive alone does not notice a lost peer while
 * data is unacknowledged. */
static int on_new_socket(void *ctx, curl_socket_t fd, curlsocktype purpose)
{
    (void)purpose;
    struct kube_transfer *t = ctx;
    pool_count_connection(t->item.pool);
    const unsigned dead_ms = TCP_DEAD_MS;
    /* If it fails, the owner's timeout notices a dead peer, only later. */
    (void)setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &dead_ms, sizeof(dead_ms));
    return CURL_SOCKOPT_OK;
}

/* --- options --- */

/* curl 7.88 knows every option below, so this fails only without memory;
 * `code` keeps the failure. */
#define SET(option, value)                                                                         \
    code = code != CURLE_OK ? code : curl_easy_setopt(t->item.easy, option, value)

static CURLcode set_blob(struct kube_transfer *t, CURLoption option, const char *pem)
{
    if (pem == NULL) {
        return CURLE_OK;
    }
    struct curl_blob blob = {(void *)(uintptr_t)pem, strlen(pem), CURL_BLOB_COPY};
    return curl_easy_setopt(t->item.easy, option, &blob);
}

/* Of an https proxy: the same authority as for the server, as in Go's programs. */
static CURLcode set_proxy_tls(struct kube_transfer *t)
{
    const struct kube_endpoint *e = t->params.endpoint;
    CURLcode code = set_blob(t, CURLOPT_PROXY_CAINFO_BLOB, e->ca_pem);
    if (e->ca_pem != NULL) {
        SET(CURLOPT_PROXY_CAPATH, NULL);
        SET(CURLOPT_PROXY_CAINFO, NULL);
    }
    SET(CURLOPT_PROXY_SSL_VERIFYPEER, e->is_insecure ? 0L : 1L);
    SET(CURLOPT_PROXY_SSL_VERIFYHOST, e->is_insecure ? 0L : 2L);
    return code;
}

static CURLcode set_tls(struct kube_transfer *t)
{
    const struct kube_endpoint *e = t->params.endpoint;
    CURLcode code = set_blob(t, CURLOPT_CAINFO_BLOB, e->ca_pem);
    code = code != CURLE_OK ? code : set_blob(t, CURLOPT_SSLCERT_BLOB, e->cert_pem);
    code = code != CURLE_OK ? code : set_blob(t, CURLOPT_SSLKEY_BLOB, e->key_pem);
    const char *own = getenv("SSL_CERT_FILE"); /* as Go's programs and OpenSSL read it */
    if (e->ca_pem != NULL || (own != NULL && own[0] != '\0')) { /* and not what the system trusts */
        SET(CURLOPT_CAPATH, NULL);
        SET(CURLOPT_CAINFO, e->ca_pem != NULL ? NULL : own);
    }
    SET(CURLOPT_SSL_VERIFYPEER, e->is_insecure ? 0L : 1L);
    SET(CURLOPT_SSL_VERIFYHOST, e->is_insecure ? 0L : 2L);
    SET(CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
    if (t->connect_to != NULL) {
        SET(CURLOPT_CONNECT_TO, t->connect_to);
    }
    return code != CURLE_OK || e->proxy == NULL ? code : set_proxy_tls(t);
}

static CURLcode set_connection(struct kube_transfer *t)
{
    CURLcode code = CURLE_OK;
    SET(CURLOPT_PROTOCOLS_STR, "http,https");
    SET(CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_2TLS);
    SET(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L); /* a proxy's headers are not the server's */
    if (t->params.endpoint->proxy != NULL) {
        SET(CURLOPT_PROXY, t->params.endpoint->proxy);
        SET(CURLOPT_NOPROXY, ""); /* of the environment */
    } else if (t->params.endpoint->is_here) {
        SET(CURLOPT_NOPROXY, "*");
    }
    SET(CURLOPT_PATH_AS_IS, 1L); /* a name ".." is refused by the server, and is not another path */
    SET(CURLOPT_PIPEWAIT, 1L);   /* wait for a connection being opened rather than open another */
    SET(CURLOPT_NOSIGNAL, 1L);
    SET(CURLOPT_CONNECTTIMEOUT_MS, CONNECT_TIMEOUT_MS);
    SET(CURLOPT_TIMEOUT_MS, t->params.is_stream ? 0L : (long)(t->params.timeout_ns / NS_PER_MS));
    SET(CURLOPT_TCP_KEEPALIVE, 1L);
    SET(CURLOPT_TCP_KEEPIDLE, TCP_IDLE_S);
    SET(CURLOPT_TCP_KEEPINTVL, TCP_INTERVAL_S);
    SET(CURLOPT_SOCKOPTFUNCTION, on_new_socket);
    SET(CURLOPT_SOCKOPTDATA, t);
    return code;
}

static CURLcode set_method(struct kube_transfer *t)
{
    const struct kube_request *req = t->params.req;
    CURLcode code = CURLE_OK;
    if (req->body != NULL) {
        SET(CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)req->body_len);
        SET(CURLOPT_POSTFIELDS, req->body); /* borrowed: the request outlives the transfer */
        SET(CURLOPT_UPLOAD_BUFFERSIZE,
            UPLOAD_BUFFER); /* the default is 64 KiB for each request in flight */
    } else {
        SET(CURLOPT_HTTPGET, 1L);
    }
    SET(CURLOPT_CUSTOMREQUEST, kube_method_names[req->method]);
    SET(CURLOPT_HTTPHEADER, t->headers);
    SET(CURLOPT_USERAGENT, t->params.endpoint->user_agent);
    if (!t->params.is_stream && !t->params.endpoint->is_uncompressed) {
        SET(CURLOPT_ACCEPT_ENCODING, "gzip"); /* the server compresses lists of more than 128 KiB */
    }
    return code;
}

static CURLcode set_callbacks(struct kube_transfer *t)
{
    CURLcode code = CURLE_OK;
    SET(CURLOPT_ERRORBUFFER, t->error);
    SET(CURLOPT_HEADERFUNCTION, on_header);
    SET(CURLOPT_HEADERDATA, t);
    SET(CURLOPT_WRITEFUNCTION, on_write);
    SET(CURLOPT_WRITEDATA, t);
    return code;
}

/* Of NULL nothing is added. */
static bool add_line(struct curl_slist **list, const char *line)
{
    struct curl_slist *longer = line == NULL ? *list : curl_slist_append(*list, line);
    *list = longer == NULL ? *list : longer;
    return line == NULL || longer != NULL;
}

static bool add_header(struct kube_transfer *t, const char *name, const char *value)
{
    _cleanup_(freep) char *line = value == NULL ? NULL : xasprintf("%s%s", name, value);
    return add_line(&t->headers, line);
}

static bool add_headers(struct kube_transfer *t)
{
    const struct kube_transfer_params *p = &t->params;
    bool is_ok = add_line(&t->headers, "Accept: application/json, */*") &&
                 add_line(&t->headers, "Expect:") && /* no round trip before a body */
                 add_header(t, "Content-Type: ", p->req->content_type) &&
                 add_header(t, "Authorization: Bearer ", p->token) &&
                 add_line(&t->headers, p->req->header) &&
                 add_header(t, "Impersonate-User: ", p->req->user) &&
                 add_line(&t->connect_to, p->endpoint->connect_to);
    /* They are of another user that the kubeconfig impersonates. */
    char *const *line = p->req->user != NULL ? NULL : p->endpoint->headers;
    for (; is_ok && line != NULL && *line != NULL; line++) {
        is_ok = add_line(&t->headers, *line);
    }
    return is_ok;
}

/* The easy handle with every option set. */
static int prepare(struct kube_transfer *t, struct err *err)
{
    t->res = (struct kube_response){.retry_after_s = -1, .date_unix_ms = -1};
    t->item.easy = curl_easy_init();
    if (t->item.easy == NULL || !add_headers(t)) {
        return err_set(err, ENOMEM, "%s: no memory", t->params.req->what);
    }
    _cleanup_(freep) char *url =
        xasprintf("%s%s", t->params.endpoint->base_url, t->params.req->path);
    CURLcode code = curl_easy_setopt(t->item.easy, CURLOPT_URL, url);
    code = code != CURLE_OK ? code : set_callbacks(t);
    code = code != CURLE_OK ? code : set_connection(t);
    code = code != CURLE_OK ? code : set_tls(t);
    code = code != CURLE_OK ? code : set_method(t);
    if (code != CURLE_OK) {
        return err_set(err, EIO, "%s: %s", t->params.req->what, curl_easy_strerror(code));
    }
    return 0;
}

/* After pool_remove, or before pool_add. */
static void release(struct kube_transfer *t)
{
    curl_easy_cleanup(t->item.easy); /* NULL is fine */
    curl_slist_free_all(t->headers);
    curl_slist_free_all(t->connect_to);
    buf_done(&t->content_type);
    buf_done(&t->warning);
    buf_done(&t->body);
    free(t);
}

/* --- delivery --- */

static enum kube_failure failure_of_timeout(const struct kube_transfer *t)
{
    /* 0: there never was a connection. */
    curl_off_t connected_us = 0;
    (void)curl_easy_getinfo(t->item.easy, CURLINFO_PRETRANSFER_TIME_T, &connected_us); /* stays 0 */
    return connected_us == 0 ? KUBE_UNREACHABLE : KUBE_TIMED_OUT;
}

static enum kube_failure failure_of_handshake(const struct kube_transfer *t)
{
    long code = 0;
    (void)curl_easy_getinfo(t->item.easy, CURLINFO_OS_ERRNO, &code); /* stays 0 */
    return code != 0 ? KUBE_UNREACHABLE
                     : KUBE_TLS; /* the peer closed the connection during the handshake */
}

static enum kube_failure failure_of(const struct kube_transfer *t)
{
    if (t->is_too_large) {
        return KUBE_TOO_LARGE;
    }
    switch (t->item.result) {
    case CURLE_OK:
        return KUBE_ANSWERED;
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_RESOLVE_PROXY:
    case CURLE_COULDNT_CONNECT:
    case CURLE_PROXY:
        return KUBE_UNREACHABLE;
    case CURLE_OPERATION_TIMEDOUT:
        return failure_of_timeout(t);
    case CURLE_SSL_CONNECT_ERROR:
        return failure_of_handshake(t);
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CERTPROBLEM:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_CIPHER:
    case CURLE_SSL_ISSUER_ERROR:
        return KUBE_TLS;
    case CURLE_OUT_OF_MEMORY:
    case CURLE_FAILED_INIT:
    case CURLE_URL_MALFORMAT:
    case CURLE_UNSUPPORTED_PROTOCOL:
        return KUBE_LOCAL;
    default:
        return KUBE_BROKEN;
    }
}

static void set_texts(struct kube_transfer *t)
{
    t->res.content_type = buf_cstr(&t->content_type);
    t->res.warning = buf_cstr(&t->warning);
    t->res.body = buf_cstr(&t->body);
    t->res.body_len = t->body.len;
}

static void finish(struct kube_transfer *t)
{
    t->res.failure = failure_of(t);
    if (t->res.failure != KUBE_ANSWERED) {
        t->res.failure_text = t->error[0] != '\0' ? t->error : curl_easy_strerror(t->item.result);
    }
    if (t->res.failure == KUBE_TIMED_OUT) {
        pool_leave(t->item.pool);
    }
    pool_remove(&t->item);
    set_texts(t);
    t->params.on_done(t->params.ctx, &t->res);
    release(t);
}

static void deliver_pieces(struct kube_transfer *t, const bool *is_gone)
{
    if (!t->has_headers || !is_success(t)) {
        return;
    }
    if (!t->is_opened && t->params.on_open != NULL) {
        t->is_opened = true;
        struct kube_response res = t->res;
        res.content_type = buf_cstr(&t->content_type);
        res.warning = buf_cstr(&t->warning);
        res.body = "";
        t->params.on_open(t->params.ctx, &res);
    }
    if (!*is_gone && t->body.len > 0) {
        struct buf data = t->body; /* the owner may cancel while it reads */
        t->body = BUF_INIT;
        t->params.on_data(t->params.ctx, data.data, data.len);
        buf_done(&data);
    }
}

/* The server may answer before it has read the request's body (429, 401). If the whole answer has
 * arrived when curl 7.88 has sent the body, curl waits for the socket instead of reading its
 * buffer. Pausing and resuming makes it read the buffer. */
static void look_again(struct kube_transfer *t)
{
    (void)curl_easy_pause(t->item.easy,
                          CURLPAUSE_RECV); /* if it fails, the timeout ends the request */
    (void)curl_easy_pause(t->item.easy, CURLPAUSE_CONT);
}

static void on_deliver(struct pool_item *item)
{
    struct kube_transfer *t = (struct kube_transfer *)item;
    bool is_gone = false;
    t->is_gone = &is_gone;
    if (t->params.on_data != NULL) {
        deliver_pieces(t, &is_gone);
    }
    if (is_gone) {
        return;
    }
    t->is_gone = NULL;
    if (t->item.is_done) {
        finish(t);
    } else if (t->has_headers && t->params.req->body != NULL) {
        look_again(t);
    }
}

/* --- life --- */

void kube_transfer_cancel(struct kube_transfer *t)
{
    if (t->is_gone != NULL) {
        *t->is_gone = true;
    }
    pool_remove(&t->item);
    release(t);
}

void kube_transfer_abandon(struct kube_transfer *t)
{
    pool_leave(t->item.pool);
    kube_transfer_cancel(t);
}

static void on_cancel(struct pool_item *item)
{
    kube_transfer_cancel((struct kube_transfer *)item);
}

int kube_transfer_start(struct kube_transport *t, const struct kube_transfer_params *params,
                        struct kube_transfer **ret, struct err *err)
{
    struct kube_transfer *transfer = xnew(struct kube_transfer);
    transfer->params = *params;
    transfer->item.is_stream = params->is_stream;
    transfer->item.deliver = on_deliver;
    transfer->item.cancel = on_cancel;
    int r = prepare(transfer, err);
    r = r < 0 ? r : pool_add(t, params->pool, &transfer->item, params->req->what, err);
    if (r < 0) {
        release(transfer);
        return r;
    }
    *ret = transfer;
    return 0;
}
