/* Requests as data, see request.h. */
#include "kube/request.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

#include "base/str.h"
#include "base/buf.h"
#include "base/mem.h"

#define JSON_TYPE "application/json"

const struct kube_resource kube_pods = {"", "v1", "pods", "pod"};
const struct kube_resource kube_services = {"", "v1", "services", "service"};
const struct kube_resource kube_secrets = {"", "v1", "secrets", "secret"};
const struct kube_resource kube_events = {"events.k8s.io", "v1", "events", "event"};
const struct kube_resource kube_leases = {"coordination.k8s.io", "v1", "leases", "lease"};
const struct kube_resource kube_network_policies = {"networking.k8s.io", "v1", "networkpolicies",
                                                    "network policy"};
const struct kube_resource kube_endpoint_slices = {"discovery.k8s.io", "v1", "endpointslices",
                                                   "endpoint slice"};
const struct kube_resource kube_benchmarks = {"benchd.io", "v1alpha1", "benchmarks", "benchmark"};
const struct kube_resource kube_benchmark_runs = {"benchd.io", "v1alpha1", "benchmarkruns",
                                                  "benchmark run"};

#define KUEUE "kueue.x-k8s.io", "v1beta2"
const struct kube_resource kube_workloads = {KUEUE, "workloads", "workload"};
const struct kube_resource kube_resource_flavors = {KUEUE, "resourceflavors", "resource flavor"};
const struct kube_resource kube_workload_priorities = {KUEUE, "workloadpriorityclasses",
                                                       "workload priority class"};

const char *const kube_method_names[] = {"GET", "POST", "PUT", "PATCH", "DELETE"};

void kube_request_done(struct kube_request *req)
{
    free(req->path);
    free(req->body);
    free(req->header);
    free(req->user);
    free(req->what);
    *req = (struct kube_request){0};
}

void kube_request_send_as(struct kube_request *req, const char *ns, const char *account)
{
    free(req->user);
    req->user = xasprintf("system:serviceaccount:%s:%s", ns, account);
}

/* Everything but RFC 3986's unreserved characters is escaped: right in a path and in a query. */
static void put_escaped(struct buf *b, const char *s)
{
    buf_put_percent(b, s, BUF_ALNUM "-._~");
}

/* An empty part would ask for something else, such as a whole collection: a space is the name of
 * nothing. */
static void put_part(struct buf *b, const char *part)
{
    buf_putc(b, '/');
    put_escaped(b, part[0] == '\0' ? " " : part);
}

/* name NULL: the collection; ns NULL: of all namespaces. */
static void put_path(struct buf *b, const struct kube_resource *res, const char *ns,
                     const char *name)
{
    buf_puts(b, res->group[0] == '\0' ? "/api" : "/apis");
    if (res->group[0] != '\0') {
        put_part(b, res->group);
    }
    put_part(b, res->version);
    if (ns != NULL) {
        buf_puts(b, "/namespaces");
        put_part(b, ns);
    }
    put_part(b, res->plural);
    if (name != NULL) {
        put_part(b, name);
    }
}

static void put_query(struct buf *b, const char *key, const char *value)
{
    if (value == NULL) {
        return;
    }
    buf_putc(b, strchr(buf_cstr(b), '?') == NULL ? '?' : '&');
    buf_printf(b, "%s=", key);
    put_escaped(b, value);
}

static void put_query_number(struct buf *b, const char *key, uint64_t value)
{
    if (value > 0) {
        _cleanup_(freep) char *text = xasprintf("%" PRIu64, value);
        put_query(b, key, text);
    }
}

static void set(struct kube_request *ret, enum kube_method method, struct buf *path, char *what)
{
    *ret = (struct kube_request){.method = method, .path = buf_take(path), .what = what};
}

static void set_body(struct kube_request *req, const char *content_type, const json_t *body)
{
    req->content_type = content_type;
    req->body = json_dumps(body, JSON_COMPACT);
    assert(req->body != NULL); /* our own tree */
    req->body_len = strlen(req->body);
}

static const char *name_of(const json_t *object)
{
    const char *name =
        json_string_value(json_object_get(json_object_get(object, "metadata"), "name"));
    assert(name != NULL);
    return name;
}

static void put_selectors(struct buf *b, const struct kube_list_options *options)
{
    put_query(b, "labelSelector", options->label_selector);
    put_query(b, "fieldSelector", options->field_selector);
}

void kube_request_list(const struct kube_resource *res, const char *ns,
                       const struct kube_list_options *options, struct kube_request *ret)
{
    struct buf path = BUF_INIT;
    put_path(&path, res, ns, NULL);
    put_selectors(&path, options);
    put_query_number(&path, "limit", options->limit);
    put_query(&path, "continue", options->continue_token);
    set(ret, KUBE_GET, &path,
        ns == NULL ? xasprintf("list %s in all namespaces", res->plural)
                   : xasprintf("list %s in '%s'", res->plural, ns));
}

void kube_request_watch(const struct kube_resource *res, const char *ns,
                        const struct kube_list_options *options, const char *resource_version,
                        uint32_t timeout_s, struct kube_request *ret)
{
    struct buf path = BUF_INIT;
    put_path(&path, res, ns, NULL);
    put_query(&path, "watch", "1");
    put_query(&path, "allowWatchBookmarks", "true");
    put_selectors(&path, options);
    put_query(&path, "resourceVersion", resource_version);
    put_query_number(&path, "timeoutSeconds", timeout_s);
    set(ret, KUBE_GET, &path, xasprintf("watch %s in '%s'", res->plural, ns));
}

void kube_request_get(const struct kube_resource *res, const char *ns, const char *name,
                      struct kube_request *ret)
{
    struct buf path = BUF_INIT;
    put_path(&path, res, ns, name);
    set(ret, KUBE_GET, &path, xasprintf("get %s '%s'", res->noun, name));
}

void kube_request_create(const struct kube_resource *res, const char *ns, const json_t *object,
                         enum kube_dry_run dry_run, struct kube_request *ret)
{
    struct buf path = BUF_INIT;
    put_path(&path, res, ns, NULL);
    put_query(&path, "fieldValidation", "Strict");
    put_query(&path, "dryRun", dry_run == KUBE_DRY_RUN ? "All" : NULL);
    set(ret, KUBE_POST, &path,
        xasprintf("%s %s '%s'", dry_run == KUBE_DRY_RUN ? "validate" : "create", res->noun,
                  name_of(object)));
    set_body(ret, JSON_TYPE, object);
    ret->priority = res == &kube_events ? KUBE_PROMPT : KUBE_NORMAL;
}

void kube_request_update(const struct kube_resource *res, const char *ns, const json_t *object,
                         struct kube_request *ret)
{
    struct buf path = BUF_INIT;
    put_path(&path, res, ns, name_of(object));
    put_query(&path, "fieldValidation", "Strict");
    set(ret, KUBE_PUT, &path, xasprintf("update %s '%s'", res->noun, name_of(object)));
    set_body(ret, JSON_TYPE, object);
}

static void request_delete(const struct kube_resource *res, const char *ns, const char *name,
                           const char *uid, int64_t grace_s, const char *propagation,
                           struct kube_request *ret)
{
    struct buf path = BUF_INIT;
    put_path(&path, res, ns, name);
    set(ret, KUBE_DELETE, &path, xasprintf("delete %s '%s'", res->noun, name));
    json_auto_t *options =
        json_pack("{s:s, s:s, s:s, s:o*, s:o*}", "kind", "DeleteOptions", "apiVersion", "v1",
                  "propagationPolicy", propagation, "preconditions",
                  uid == NULL ? NULL : json_pack("{s:s}", "uid", uid), "gracePeriodSeconds",
                  grace_s < 0 ? NULL : json_integer(grace_s));
    set_body(ret, JSON_TYPE, options);
}

void kube_request_delete(const struct kube_resource *res, const char *ns, const char *name,
                         const char *uid, int64_t grace_s, struct kube_request *ret)
{
    request_delete(res, ns, name, uid, grace_s, "Background", ret);
}

void kube_request_delete_tree(const struct kube_resource *res, const char *ns, const char *name,
                              const char *uid, struct kube_request *ret)
{
    request_delete(res, ns, name, uid, -1, "Foreground", ret);
}

void kube_request_apply(const struct kube_resource *res, const char *ns, const char *subresource,
                        const char *manager, const json_t *object, struct kube_request *ret)
{
    struct buf path = BUF_INIT;
    put_path(&path, res, ns, name_of(object));
    if (subresource != NULL) {
        buf_printf(&path, "/%s", subresource);
    }
    put_query(&path, "fieldManager", manager);
    put_query(&path, "force", "true");
    put_query(&path, "fieldValidation", "Strict");
    set(ret, KUBE_PATCH, &path,
        xasprintf("apply %s%s%s '%s'", res->noun, subresource == NULL ? "" : " ",
                  subresource == NULL ? "" : subresource, name_of(object)));
    set_body(ret, "application/apply-patch+yaml", object); /* JSON is YAML */
    ret->priority = subresource != NULL ? KUBE_PROMPT : KUBE_NORMAL;
}

void kube_request_merge_patch(const struct kube_resource *res, const char *ns, const char *name,
                              const char *uid, const json_t *patch, struct kube_request *ret)
{
    struct buf path = BUF_INIT;
    put_path(&path, res, ns, name);
    put_query(&path, "fieldValidation", "Strict");
    set(ret, KUBE_PATCH, &path, xasprintf("change %s '%s'", res->noun, name));
    json_auto_t *body = json_deep_copy(patch);
    if (uid != NULL) {
        json_auto_t *metadata = json_pack("{s:{s:s}}", "metadata", "uid", uid);
        (void)json_object_update_recursive(body, metadata); /* fails without memory only */
    }
    set_body(ret, "application/merge-patch+json", body);
}

void kube_request_log(const char *ns, const char *pod, const struct kube_log_options *options,
                      struct kube_request *ret)
{
    struct buf path = BUF_INIT;
    put_path(&path, &kube_pods, ns, pod);
    buf_puts(&path, "/log");
    put_query(&path, "container", options->container);
    put_query(&path, "follow", options->follow ? "true" : NULL);
    put_query(&path, "timestamps", options->timestamps ? "true" : NULL);
    put_query(&path, "sinceTime", options->since_time);
    put_query_number(&path, "limitBytes", options->limit_bytes);
    set(ret, KUBE_GET, &path,
        xasprintf("%s the log of pod '%s'", options->follow ? "follow" : "read", pod));
}

void kube_request_service_proxy(const char *ns, const char *service, const char *port,
                                const char *path, struct kube_request *ret)
{
    assert(path[0] == '/');
    struct buf url = BUF_INIT;
    put_path(&url, &kube_services, ns, service);
    buf_putc(&url, ':');
    put_escaped(&url, port);
    buf_printf(&url, "/proxy%s", path);
    set(ret, KUBE_GET, &url, xasprintf("ask service '%s'", service));
}

void kube_request_raw(const char *path, const char *what, struct kube_request *ret)
{
    struct buf url = BUF_INIT;
    buf_puts(&url, path);
    set(ret, KUBE_GET, &url, xstrdup(what));
}

void kube_resource_of(const json_t *object, struct kube_resource *ret)
{
    const char *kind = json_string_value(json_object_get(object, "kind"));
    const char *version = json_string_value(json_object_get(object, "apiVersion"));
    const char *slash = strchr(version, '/');
    char *plural = xasprintf("%ss", kind);
    for (char *c = plural; *c != '\0'; c++) {
        *c = ascii_lower(*c);
    }
    *ret = (struct kube_resource){
        .group = xstrndup(version, slash == NULL ? 0 : (size_t)(slash - version)),
        .version = xstrdup(slash == NULL ? version : slash + 1),
        .plural = plural,
        .noun = xstrdup(kind),
    };
}

void kube_resource_done(struct kube_resource *res)
{
    free((char *)res->group);
    free((char *)res->version);
    free((char *)res->plural);
    free((char *)res->noun);
}
