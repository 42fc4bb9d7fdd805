/* Finds benchd and sends requests to its API. See cluster_internal.h. */
#include <errno.h>
#include <stdarg.h>

#include "base/mem.h"
#include "base/str.h"
#include "config.h"
#include "ctl/cluster/cluster_internal.h"
#include "kube/json.h"
#include "kube/lease.h"

#define LEASE "benchd"
#define SERVICE "benchd"
#define PORT "8080"
#define API "/api/v1/runs"
#define READ_KEY_HEADER "X-Benchd-Read-Key"

static enum exit_code no_benchd(const struct cluster *c, const struct err *why)
{
    _cleanup_(freep) char *fix = xasprintf(
        "install benchd with kubectl apply -k manifests/, or start it outside the cluster with "
        "benchd --kubeconfig FILE; if it is installed, see kubectl -n %s get "
        "lease,pods,pvc",
        c->ns);
    return cli_error(EXIT_UNREACHABLE, fix, "benchd is not running in namespace '%s': %s", c->ns,
                     why->msg);
}

bool cluster_is_service(const char *address)
{
    return str_eq(address, "service") || str_eq(address, KUBE_TLS_SERVICE);
}

/* For an address that is a URL: the API server's credentials are not sent there. */
static int connect_directly(struct cluster *c, struct err *err)
{
    const struct kube_config config = {.server = c->address, .context = (char *)"benchd"};
    const struct kube_client_params params = {
        .loop = &c->loop, .config = &config, .user_agent = "benchctl/" BENCHD_VERSION};
    return kube_client_new(&params, &c->direct, err);
}

/* Takes the read key, too. */
static int read_lease(struct cluster *c, const char *body, size_t len, int64_t date_unix_ms,
                      char **ret_address, struct err *err)
{
    json_auto_t *lease = NULL;
    int r = kube_json_load(body, len, &lease, err);
    r = r < 0 ? r : kube_lease_read(lease, date_unix_ms, ret_address, err);
    if (r >= 0) {
        const char *key = kube_lease_read_key(lease);
        free(c->read_key);
        c->read_key = xstrdup_or_null(key);
    }
    return r;
}

/* benchd's address from its Lease. 0, or -Exxx; is_dead: the API server says that no benchd is
 * alive. */
static int ask_lease(struct cluster *c, char **ret_address, bool *ret_is_dead, struct err *err)
{
    struct kube_request req;
    _cleanup_(cluster_answer_done) struct cluster_answer a = {0};
    kube_request_get(&kube_leases, c->ns, LEASE, &req);
    int r = cluster_call(c, c->client, &req, &a);
    *ret_is_dead = r >= 0 || r == -ENOENT;
    if (r == -ENOENT) {
        (void)err_set(err, ENOENT, "there is no lease '" LEASE "'");
    } else if (r < 0) {
        *err = a.err;
    } else {
        r = read_lease(c, buf_cstr(&a.body), a.body.len, a.date_unix_ms, ret_address, err);
    }
    return r;
}

int cluster_reach_benchd(struct cluster *c, bool *ret_is_dead, struct err *err)
{
    *ret_is_dead = false;
    if (c->address != NULL) {
        return 0;
    }
    _cleanup_(freep) char *address = NULL;
    int r = ask_lease(c, &address, ret_is_dead, err);
    if (r < 0) {
        return r;
    }
    *ret_is_dead = false;
    c->address = take_ptr(address);
    if (!cluster_is_service(c->address) && connect_directly(c, err) < 0) {
        free(take_ptr(c->address)); /* else the next call would use it */
        return err_wrap(err, -EHOSTUNREACH, "benchd's address");
    }
    return 0;
}

enum exit_code cluster_find_benchd(struct cluster *c)
{
    struct err err = {0};
    bool is_dead;
    int r = cluster_reach_benchd(c, &is_dead, &err);
    if (r < 0) {
        return is_dead ? no_benchd(c, &err) : cluster_error(r, &err);
    }
    return EXIT_OK;
}

bool cluster_benchd_is_dead(struct cluster *c, struct err *why)
{
    _cleanup_(freep) char *address = NULL;
    bool is_dead;
    return ask_lease(c, &address, &is_dead, why) < 0 && is_dead;
}

void cluster_api_request(struct cluster *c, const char *rest, struct kube_client **ret_client,
                         struct kube_request *ret)
{
    _cleanup_(freep) char *path = xasprintf(API "%s", rest);
    if (c->direct != NULL) {
        kube_request_raw(path, "ask benchd", ret);
    } else {
        const bool is_tls = str_eq(c->address, KUBE_TLS_SERVICE);
        kube_request_service_proxy(c->ns, is_tls ? "https:" SERVICE : SERVICE, PORT, path, ret);
    }
    if (c->read_key != NULL) {
        ret->header = xasprintf(READ_KEY_HEADER ": %s", c->read_key);
    }
    *ret_client = c->direct != NULL ? c->direct : c->client;
}

void cluster_api_error(const struct cluster_answer *a, struct err *ret)
{
    json_auto_t *document = NULL;
    *ret = a->err;
    if (!a->is_status && a->body.len > 0 &&
        kube_json_load(buf_cstr(&a->body), a->body.len, &document, NULL) >= 0) {
        const char *message = json_string_value(json_object_get(document, "message"));
        if (message != NULL) {
            (void)err_set(ret, a->err.code > 0 ? a->err.code : EIO, "benchd: %s", message);
        }
    }
}

int cluster_api_call(struct cluster *c, const char *rest, struct cluster_answer *ret,
                     struct err *err)
{
    struct kube_client *client;
    struct kube_request req;
    cluster_api_request(c, rest, &client, &req);
    const int r = cluster_call(c, client, &req, ret);
    if (r < 0) {
        cluster_api_error(ret, err);
    }
    return r;
}

int cluster_api_get(struct cluster *c, const char *rest, json_t **ret, struct err *err)
{
    _cleanup_(cluster_answer_done) struct cluster_answer a = {0};
    int r = cluster_api_call(c, rest, &a, err);
    if (r >= 0 && (r = kube_json_load(buf_cstr(&a.body), a.body.len, ret, err)) < 0) {
        (void)err_wrap(err, r, "benchd's answer");
    }
    return r;
}

char *cluster_api_path(const char *name, const char *fmt, ...)
{
    struct buf path = BUF_INIT;
    buf_putc(&path, '/');
    /* names need no escape, other text that users type may */
    buf_put_percent(&path, name, "abcdefghijklmnopqrstuvwxyz0123456789-");
    va_list ap;
    va_start(ap, fmt);
    _cleanup_(freep) char *rest = xvasprintf(fmt, ap);
    va_end(ap);
    buf_puts(&path, rest);
    return buf_take(&path);
}
