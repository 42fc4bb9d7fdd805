/* Address, credentials and transport, see session.h. Edge file: the wall clock. */
#include "kube/session.h"

#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/vec.h"
#include "kube/client_server.h"
#include "kube/config.h"
#include "kube/credentials.h"
#include "kube/exec_plugin.h"
#include "kube/retry.h"
#include "kube/transport.h"

/* As Go's programs name it. */
#if defined(__x86_64__)
#define ARCHITECTURE "amd64"
#elif defined(__aarch64__)
#define ARCHITECTURE "arm64"
#else
#define ARCHITECTURE "unknown"
#endif

#define PLUGIN_TIMEOUT_MS 60000U
#define PERSON_TIMEOUT_MS 600000U /* for a person who types a password or logs in with a browser */

struct kube_session {
    struct kube_client_params params; /* config: `config` below */
    struct kube_config config;
    struct kube_credentials credentials;
    struct kube_login login;             /* unused without config.exec */
    struct kube_plugin *plugin;          /* NULL: it is not running */
    char *base_url, *connect_to, *proxy; /* what endpoint points to, with the user agent */
    char *user_agent;
    bool is_here;
    struct kube_endpoint endpoint;
    struct kube_transport *transport;
    int64_t now_ns;  /* of the latest look: for callbacks of the plugin */
    unsigned n_open; /* the transport, plugins */
    bool is_insecurity_reported;
    struct kube_warnings warnings;
    void (*on_ready)(void *ctx);
    void (*on_closed)(void *ctx);
    void *ctx;
};

/* --- life --- */

static void refresh_endpoint(struct kube_session *s)
{
    const struct kube_exec_credential *held = &s->login.held;
    const bool has_cert = held->cert_pem != NULL;
    s->endpoint = (struct kube_endpoint){
        .base_url = s->base_url,
        .connect_to = s->connect_to,
        .ca_pem = s->config.ca_pem,
        .cert_pem = has_cert ? held->cert_pem : s->config.cert_pem,
        .key_pem = has_cert ? held->key_pem : s->config.key_pem,
        .user_agent = s->user_agent,
        .proxy = s->proxy,
        .headers = s->config.impersonation,
        .is_insecure = s->config.is_insecure,
        .is_here = s->is_here,
        .is_uncompressed = s->config.is_uncompressed,
    };
}

static void free_session(struct kube_session *s)
{
    kube_config_done(&s->config);
    kube_credentials_done(&s->credentials);
    kube_login_done(&s->login);
    kube_warnings_done(&s->warnings);
    free(s->base_url);
    free(s->connect_to);
    free(s->proxy);
    free(s->user_agent);
    free(s);
}

int kube_session_new(const struct kube_client_params *params, void (*on_ready)(void *ctx),
                     void *ctx, struct kube_session **ret, struct err *err)
{
    struct kube_session *s = xnew(struct kube_session);
    s->params = *params;
    s->on_ready = on_ready;
    s->ctx = ctx;
    int r = client_server(params->config, &s->base_url, &s->connect_to, &s->is_here, err);
    r = r < 0 ? r : client_proxy(params->config, &s->proxy, err);
    r = r < 0 ? r : kube_transport_new(params->loop, &s->transport, err);
    if (r < 0) {
        free_session(s);
        return r;
    }
    s->user_agent = xasprintf("%s (linux/" ARCHITECTURE ")", params->user_agent);
    s->config = kube_config_copy(params->config);
    s->credentials =
        (struct kube_credentials){.fixed = s->config.token, .file = s->config.token_file};
    s->login.held.expires_unix_ms = -1;
    refresh_endpoint(s);
    s->n_open = 1;
    *ret = s;
    return 0;
}

static void release(void *ctx)
{
    struct kube_session *s = ctx;
    if (--s->n_open > 0) {
        return;
    }
    void (*on_closed)(void *ctx) = s->on_closed;
    void *owner = s->ctx;
    free_session(s);
    on_closed(owner);
}

void kube_session_free(struct kube_session *s, void (*on_closed)(void *ctx))
{
    s->on_closed = on_closed;
    if (s->plugin != NULL) {
        kube_plugin_cancel(take_ptr(s->plugin));
    }
    kube_transport_free(s->transport, release, s);
}

struct kube_transport *kube_session_transport(const struct kube_session *s)
{
    return s->transport;
}

static void notice(const struct kube_session *s, enum kube_notice kind, const char *text)
{
    if (s->params.on_notice != NULL) {
        s->params.on_notice(kind, text);
    }
}

void kube_session_heed(struct kube_session *s, const struct kube_response *res)
{
    const char *at = res->warning;
    for (char *text; (text = kube_warning_next(&at)) != NULL; free(text)) {
        if (kube_warnings_add(&s->warnings, text)) {
            notice(s, KUBE_NOTICE_WARNING, text);
        }
    }
}

/* --- the plugin --- */

static void plugin_failed(struct kube_session *s, const struct err *err)
{
    const bool is_still_good = kube_login_look(&s->login, s->now_ns) == KUBE_LOGIN_USE;
    kube_login_failed(&s->login, s->now_ns, err);
    if (is_still_good) { /* else the requests fail with this text */
        notice(s, KUBE_NOTICE_PLUGIN, err->msg);
    }
}

static void on_plugin_done(void *ctx, int r, const char *text, size_t len, const struct err *err)
{
    struct kube_session *s = ctx;
    struct kube_exec_credential answer;
    struct err failure = *err;
    s->plugin = NULL;
    s->now_ns = clock_monotonic_ns();
    if (r >= 0) {
        r = kube_exec_credential_parse(s->config.exec, text, len, &answer, &failure);
        if (r < 0) {
            (void)err_wrap(&failure, r, "'%s'", s->config.exec->argv[0]);
        }
    }
    if (r < 0) {
        plugin_failed(s, &failure);
    } else {
        kube_login_answered(&s->login, s->now_ns, clock_unix_ms(), &answer);
        refresh_endpoint(s);
    }
    s->on_ready(s->ctx);
}

static void start_plugin(struct kube_session *s)
{
    const bool is_interactive = s->params.is_interactive && s->config.exec->mode != KUBE_EXEC_NEVER;
    _cleanup_(freep) char *info = kube_exec_info(&s->config, is_interactive);
    const struct kube_plugin_params params = {
        .loop = s->params.loop,
        .exec = s->config.exec,
        .info = info,
        .environment = s->params.environment,
        .is_interactive = is_interactive,
        .timeout_ms = s->params.plugin_timeout_ms != 0 ? s->params.plugin_timeout_ms
                      : is_interactive                 ? PERSON_TIMEOUT_MS
                                                       : PLUGIN_TIMEOUT_MS,
        .on_done = on_plugin_done,
        .on_closed = release,
        .ctx = s,
    };
    struct err err;
    s->login.is_running = true;
    s->n_open++;
    if (kube_plugin_start(&params, &s->plugin, &err) < 0) {
        plugin_failed(s, &err);
    }
}

/* --- requests --- */

static void report_insecurity(struct kube_session *s)
{
    if (s->config.is_insecure && !s->is_insecurity_reported) {
        s->is_insecurity_reported = true;
        notice(s, KUBE_NOTICE_INSECURE,
               "insecure-skip-tls-verify is set: the API server's certificate is not verified");
    }
}

bool kube_session_prepare(struct kube_session *s, int64_t now_ns)
{
    report_insecurity(s);
    if (s->config.exec == NULL) {
        return true;
    }
    s->now_ns = now_ns;
    const enum kube_login_advice advice = kube_login_look(&s->login, now_ns);
    if (advice == KUBE_LOGIN_RENEW || advice == KUBE_LOGIN_START) {
        start_plugin(s);
    }
    return !kube_session_is_waiting(s, now_ns);
}

bool kube_session_is_waiting(const struct kube_session *s, int64_t now_ns)
{
    return s->config.exec != NULL && kube_login_look(&s->login, now_ns) == KUBE_LOGIN_WAIT;
}

static int get_token(struct kube_session *s, int64_t now_ns, const char **ret, struct err *err)
{
    if (s->config.exec == NULL) {
        return kube_credentials_get(&s->credentials, now_ns, ret, err);
    }
    if (kube_login_look(&s->login, now_ns) == KUBE_LOGIN_FAIL) {
        return err_set(err, EIO, "no credentials: %s", s->login.failure.msg);
    }
    *ret = s->login.held.token;
    return 0;
}

int kube_session_start(struct kube_session *s, int64_t now_ns, struct kube_transfer_params *params,
                       struct kube_transfer **ret, unsigned *ret_generation, struct err *err)
{
    int r = get_token(s, now_ns, &params->token, err);
    if (r < 0) {
        return err_wrap(err, r, "%s", params->req->what);
    }
    *ret_generation = s->login.generation;
    params->endpoint = &s->endpoint;
    return kube_transfer_start(s->transport, params, ret, err);
}

bool kube_session_learn(struct kube_session *s, int64_t now_ns, const struct kube_response *res,
                        unsigned generation)
{
    const bool is_refused = res->failure == KUBE_ANSWERED && kube_is_unauthenticated(res);
    if (!is_refused && res->failure != KUBE_TLS) {
        return false;
    }
    /* Also for a 401: a server treats an expired client certificate as no certificate. */
    bool is_new = kube_config_reload(&s->config, NULL) > 0;
    refresh_endpoint(s);
    if (is_refused) {
        kube_credentials_refused(&s->credentials);
    }
    /* TLS itself refuses an expired certificate. */
    if (s->config.exec != NULL && (is_refused || s->login.held.cert_pem != NULL)) {
        is_new = kube_login_refused(&s->login, now_ns, generation) || is_new;
    }
    return is_new || (is_refused && s->config.token_file != NULL);
}

/* --- warnings --- */

#define TEXT_MAX ((size_t)1000)
#define CODE "299 "

void kube_warnings_done(struct kube_warnings *w)
{
    free_each(w->seen, w->n, freep);
    *w = (struct kube_warnings){0};
}

bool kube_warnings_add(struct kube_warnings *w, const char *text)
{
    if (array_any(w->seen, w->n, it, str_eq(*it, text))) {
        return false;
    }
    if (w->seen == NULL) {
        w->seen = xnew_array(char *, KUBE_WARNINGS_MAX);
    }
    free(w->seen[w->next]);
    w->seen[w->next] = xstrdup(text);
    w->next = (w->next + 1) % KUBE_WARNINGS_MAX;
    w->n += w->n < KUBE_WARNINGS_MAX;
    return true;
}

/* The quoted text of one header, 299 - "a \"text\""; empty if it is not a whole one. */
static void read_one(const char *line, size_t len, struct buf *text)
{
    const char *quote = str_has_prefix(line, CODE) ? memchr(line, '"', len) : NULL;
    const char *p = quote == NULL ? line : quote + 1, *end = line + len;
    for (; quote != NULL && p < end && *p != '"'; p++) {
        p += *p == '\\' && p + 1 < end;
        buf_putc(text, *p);
    }
    if (p >= end) {
        buf_clear(text);
    }
}

char *kube_warning_next(const char **at)
{
    _cleanup_(buf_done) struct buf text = BUF_INIT, clean = BUF_INIT;
    while (text.len == 0 && **at != '\0') {
        const size_t len = strcspn(*at, "\n");
        read_one(*at, len, &text);
        *at += len + ((*at)[len] == '\n');
    }
    if (text.len == 0) {
        return NULL;
    }
    text.len = text_replace_control(text.data, "", ' ');
    buf_put_utf8(&clean, text.data, TEXT_MAX);
    return buf_take(&clean);
}
