/* Bearer tokens, see credentials.h. */
#include "kube/credentials.h"

#include <jansson.h>
#include <string.h>

#include "base/base64.h"
#include "base/mem.h"
#include "base/rfc3339.h"
#include "base/str.h"
#include "kube/config.h"
#include "kube/config_read.h"
#include "kube/json.h"

void kube_credentials_done(struct kube_credentials *c)
{
    free(c->token);
    *c = (struct kube_credentials){0};
}

/* Cuts trailing white space. */
static int clean(char *token, const char *path, struct err *err)
{
    size_t len = strlen(token);
    while (len > 0 && strchr(" \t\r\n", token[len - 1]) != NULL) {
        token[--len] = '\0';
    }
    const size_t fault = kube_token_fault(token);
    if (fault > 0) {
        return err_set(err, EINVAL, "token file %s: byte %zu is not allowed in a token", path,
                       fault);
    }
    return len == 0 ? err_set(err, EINVAL, "token file %s is empty", path) : 0;
}

static int read_token(struct kube_credentials *c, struct err *err)
{
    _cleanup_(freep) char *text = NULL;
    size_t len;
    int r = kube_file_read(c->file, &text, &len, err);
    r = r < 0 ? r : clean(text, c->file, err);
    if (r == 0) {
        free(c->token);
        c->token = take_ptr(text);
    }
    return r;
}

int kube_credentials_get(struct kube_credentials *c, int64_t now_ns, const char **ret,
                         struct err *err)
{
    if (c->file == NULL) {
        *ret = c->fixed;
        return 0;
    }
    if (c->token == NULL || c->is_refused || now_ns - c->read_ns >= KUBE_TOKEN_AGE_NS) {
        const int r = read_token(c, err);
        if (r < 0 && c->token == NULL) {
            return r;
        }
        c->read_ns = now_ns;
        c->is_refused = false;
    }
    *ret = c->token;
    return 0;
}

void kube_credentials_refused(struct kube_credentials *c)
{
    c->is_refused = true;
}

/* ---- the credential of a plugin ---- */

void kube_login_done(struct kube_login *l)
{
    kube_exec_credential_done(&l->held);
}

enum kube_login_advice kube_login_look(const struct kube_login *l, int64_t now_ns)
{
    const bool is_good = !l->is_refused && now_ns < l->expires_ns;
    const bool is_resting = l->failure.code != 0 && now_ns - l->failed_ns < KUBE_LOGIN_REST_NS;
    if (is_good) {
        return now_ns < l->renew_ns || l->is_running || is_resting ? KUBE_LOGIN_USE
                                                                   : KUBE_LOGIN_RENEW;
    }
    if (l->is_running) {
        return KUBE_LOGIN_WAIT;
    }
    return is_resting ? KUBE_LOGIN_FAIL : KUBE_LOGIN_START;
}

void kube_login_answered(struct kube_login *l, int64_t now_ns, int64_t wall_unix_ms,
                         struct kube_exec_credential *answer)
{
    kube_exec_credential_done(&l->held);
    l->held = *answer;
    *answer = (struct kube_exec_credential){.expires_unix_ms = -1};
    l->generation++;
    l->is_running = l->is_refused = false;
    l->failure.code = 0;
    l->renew_ns = l->expires_ns = INT64_MAX;
    if (l->held.expires_unix_ms >= 0) {
        /* Even where our clock or the plugin is wrong, a new credential is tried. */
        const int64_t said_ns = (l->held.expires_unix_ms - wall_unix_ms) * 1000000;
        const int64_t lifetime_ns =
            said_ns < KUBE_LOGIN_REFUSED_NS ? KUBE_LOGIN_REFUSED_NS : said_ns;
        const int64_t quarter_ns = lifetime_ns / 4;
        l->expires_ns = now_ns + lifetime_ns;
        l->renew_ns =
            l->expires_ns - (quarter_ns < KUBE_LOGIN_MARGIN_NS ? quarter_ns : KUBE_LOGIN_MARGIN_NS);
    }
}

void kube_login_failed(struct kube_login *l, int64_t now_ns, const struct err *err)
{
    l->is_running = false;
    l->failure = *err;
    l->failed_ns = now_ns;
}

bool kube_login_refused(struct kube_login *l, int64_t now_ns, unsigned generation)
{
    if (generation != l->generation || l->is_refused) {
        return true; /* another request has noticed it before */
    }
    if (l->was_refused && now_ns - l->refused_ns < KUBE_LOGIN_REFUSED_NS) {
        return false;
    }
    l->was_refused = l->is_refused = true;
    l->refused_ns = now_ns;
    return true;
}

/* ---- documents of kind ExecCredential ---- */

void kube_exec_credential_done(struct kube_exec_credential *c)
{
    free(c->token);
    free(c->cert_pem);
    free(c->key_pem);
    *c = (struct kube_exec_credential){.expires_unix_ms = -1};
}

/* --- what it is given --- */

static json_t *cluster_of(const struct kube_config *config)
{
    _cleanup_(freep) char *ca =
        config->ca_pem == NULL ? NULL : base64_dup(config->ca_pem, strlen(config->ca_pem));
    json_t *extension = config->exec_extension == NULL
                            ? NULL
                            : json_loads(config->exec_extension, JSON_DECODE_ANY, NULL);
    return json_pack("{s:s*, s:s*, s:s*, s:o*, s:o*, s:s*, s:o}", "server", config->server,
                     "tls-server-name", config->tls_server_name, "proxy-url", config->proxy_url,
                     "insecure-skip-tls-verify", config->is_insecure ? json_true() : NULL,
                     "disable-compression", config->is_uncompressed ? json_true() : NULL,
                     "certificate-authority-data", ca, "config",
                     extension == NULL ? json_null() : extension);
}

char *kube_exec_info(const struct kube_config *config, bool is_interactive)
{
    json_auto_t *info =
        json_pack("{s:s, s:s, s:{s:b, s:o*}}", "apiVersion", config->exec->api_version, "kind",
                  "ExecCredential", "spec", "interactive", is_interactive ? 1 : 0, "cluster",
                  config->exec->gets_cluster ? cluster_of(config) : NULL);
    char *text = json_dumps(info, JSON_COMPACT);
    return text != NULL ? text : xstrdup("");
}

/* --- what it answers --- */

static const char *text_of(const json_t *map, const char *key)
{
    const char *text = json_string_value(json_object_get(map, key));
    return text == NULL ? "" : text;
}

static int check_kind(const struct kube_exec *exec, const json_t *document, struct err *err)
{
    if (!str_eq(text_of(document, "kind"), "ExecCredential")) {
        return err_set(err, EINVAL, "its output is not of kind ExecCredential");
    }
    return str_eq(text_of(document, "apiVersion"), exec->api_version)
               ? 0
               : err_set(err, EINVAL,
                         "its output has another apiVersion than the kubeconfig (%s); update the "
                         "command, or write the kubeconfig again",
                         exec->api_version);
}

static int check_pair(const char *cert, const char *key, struct err *err)
{
    if ((cert[0] == '\0') != (key[0] == '\0')) {
        return err_set(err, EINVAL, "its output has a client certificate or a key, but not both");
    }
    const bool is_pem = strstr(cert, "-----BEGIN ") != NULL && strstr(key, "-----BEGIN ") != NULL;
    return cert[0] == '\0' || is_pem
               ? 0
               : err_set(err, EINVAL, "its client certificate or key is not PEM text");
}

static int read_expiry(const json_t *status, int64_t *ret_unix_ms, struct err *err)
{
    const char *text = text_of(status, "expirationTimestamp");
    int64_t unix_ns = 0;
    if (text[0] == '\0') {
        *ret_unix_ms = -1;
        return 0;
    }
    const int r = rfc3339_parse(text, strlen(text), &unix_ns);
    if (r == -EINVAL) {
        return err_set(err, EINVAL, "its expirationTimestamp is not a date");
    }
    *ret_unix_ms = unix_ns == INT64_MAX   ? -1 /* the year 9999 means never */
                   : unix_ns == INT64_MIN ? 0
                                          : unix_ns / 1000000;
    return 0;
}

static char *dup_or_null(const char *s)
{
    return s[0] == '\0' ? NULL : xstrdup(s);
}

static int read_status(const json_t *status, struct kube_exec_credential *ret, struct err *err)
{
    const char *const token = text_of(status, "token");
    const char *const cert = text_of(status, "clientCertificateData");
    const char *const key = text_of(status, "clientKeyData");
    int64_t expires_unix_ms = -1;
    const size_t fault = kube_token_fault(token);
    if (fault > 0) {
        return err_set(err, EINVAL, "byte %zu of its token is not allowed in a token", fault);
    }
    int r = check_pair(cert, key, err);
    r = r < 0 ? r : read_expiry(status, &expires_unix_ms, err);
    if (r < 0) {
        return r;
    }
    if (token[0] == '\0' && cert[0] == '\0') {
        return err_set(err, EINVAL, "its output has neither a token nor a client certificate");
    }
    *ret = (struct kube_exec_credential){.token = dup_or_null(token),
                                         .cert_pem = dup_or_null(cert),
                                         .key_pem = dup_or_null(key),
                                         .expires_unix_ms = expires_unix_ms};
    return 0;
}

int kube_exec_credential_parse(const struct kube_exec *exec, const char *text, size_t len,
                               struct kube_exec_credential *ret, struct err *err)
{
    json_auto_t *document = NULL;
    if (kube_json_load(text, len, &document, NULL) < 0) {
        return err_set(err, EINVAL, "its output is not JSON");
    }
    const int r = check_kind(exec, document, err);
    return r < 0 ? r : read_status(json_object_get(document, "status"), ret, err);
}
