/* What `benchctl doctor` asks a cluster: see doctor.h, cluster_internal.h. Each question is one
 * request; where the right to ask it is missing, the check is skipped and says so. */
#include <errno.h>
#include <string.h>

#include "base/mem.h"
#include "core/json_field.h"
#include "ctl/cluster/cluster.h"
#include "ctl/cluster/cluster_internal.h"
#include "ctl/doctor/doctor.h"

static void fail_with(struct checks *checks, const char *name, int r, const char *fix,
                      const struct err *err)
{
    checks_fail(checks, name, cluster_exit_code(r), fix, "%s", err->msg);
}

/* Does the API server answer? */
static bool check_server(struct cluster *c, struct checks *checks)
{
    struct kube_request req;
    struct err err = {0};
    json_auto_t *version = NULL;
    kube_request_raw("/version", "get the version", &req);
    const int r = cluster_get(c, &req, &version, &err);
    if (r < 0) {
        fail_with(checks, "server", r,
                  r == -EACCES ? "log in again, or choose another context with --context"
                               : "check whether 'kubectl version' answers, and from which server",
                  &err);
    } else {
        checks_ok(checks, "server", "%s is Kubernetes %s", c->config.server,
                  fact_text(version, "gitVersion"));
    }
    return r >= 0;
}

static void check_kinds(struct cluster *c, struct checks *checks)
{
    struct kube_request req;
    struct err err = {0};
    json_auto_t *list = NULL;
    kube_request_raw("/apis/benchd.io/v1alpha1", "list the kinds of benchd.io", &req);
    const int r = cluster_get(c, &req, &list, &err);
    const json_t *kinds = json_object_get(list, "resources");
    if (r < 0 && r != -ENOENT) {
        fail_with(checks, "kinds", r, NULL, &err);
    } else if (fact_find(kinds, "name", "benchmarks") == NULL ||
               fact_find(kinds, "name", "benchmarkruns") == NULL) {
        checks_fail(checks, "kinds", EXIT_NOT_FOUND, "kubectl apply -k manifests/",
                    "the cluster does not have the kinds Benchmark and BenchmarkRun");
    } else {
        checks_ok(checks, "kinds", "Benchmark and BenchmarkRun of benchd.io/v1alpha1");
    }
}

/* ---- rights ---- */

static const struct right {
    const char *group, *resource, *subresource, *verb;
} rights[] = {
    {"benchd.io", "benchmarkruns", "", "get"},
    {"benchd.io", "benchmarkruns", "", "list"},
    {"benchd.io", "benchmarkruns", "", "watch"},
    {"benchd.io", "benchmarkruns", "", "create"},
    {"benchd.io", "benchmarkruns", "", "patch"},
    {"benchd.io", "benchmarkruns", "", "delete"},
    {"benchd.io", "benchmarks", "", "get"},
    {"benchd.io", "benchmarks", "", "list"},
    {"benchd.io", "benchmarks", "", "create"},
    {"coordination.k8s.io", "leases", "", "get"},
    {"", "services", "proxy", "get"},
};

static json_t *review_of(const struct cluster *c, const struct right *right)
{
    return json_pack("{s:s, s:s, s:{s:{s:s, s:s, s:s, s:s, s:s}}}", "apiVersion",
                     "authorization.k8s.io/v1", "kind", "SelfSubjectAccessReview", "spec",
                     "resourceAttributes", "namespace", c->ns, "group", right->group, "resource",
                     right->resource, "subresource", right->subresource, "verb", right->verb);
}

/* Returns 1 if the user has the right, else 0 or -Exxx. */
static int has_right(struct cluster *c, const struct right *right, struct err *err)
{
    json_auto_t *review = review_of(c, right), *answer = NULL;
    struct kube_request req = {
        .method = KUBE_POST,
        .path = xstrdup("/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"),
        .content_type = "application/json",
        .body = json_dumps(review, JSON_COMPACT),
        .what = xstrdup("ask for rights"),
    };
    req.body_len = strlen(req.body);
    const int r = cluster_get(c, &req, &answer, err);
    return r < 0 ? r : json_is_true(json_object_get(json_object_get(answer, "status"), "allowed"));
}

static void check_rights(struct cluster *c, struct checks *checks)
{
    _cleanup_(buf_done) struct buf missing = BUF_INIT;
    struct err err = {0};
    int r = 1;
    for (size_t i = 0; i < COUNT_OF(rights) && r >= 0; i++) {
        const struct right *it = &rights[i];
        r = has_right(c, it, &err);
        if (r == 0) {
            buf_printf(&missing, "%s%s %s%s%s", missing.len == 0 ? "" : ", ", it->verb,
                       it->resource, it->subresource[0] == '\0' ? "" : "/", it->subresource);
        }
    }
    if (r < 0) {
        checks_skip(checks, "rights", "%s", err.msg);
    } else if (missing.len > 0) {
        _cleanup_(freep) char *fix =
            xasprintf("have these added to a Role that is bound to you in namespace '%s'", c->ns);
        checks_fail(checks, "rights", EXIT_NOT_AUTHORISED, fix, "missing in '%s': %s", c->ns,
                    buf_cstr(&missing));
    } else {
        checks_ok(checks, "rights", "all %zu that benchctl uses in '%s'", COUNT_OF(rights), c->ns);
    }
}

/* ---- benchd ---- */

static void check_benchd(struct cluster *c, struct checks *checks)
{
    struct err err = {0};
    bool is_dead = false;
    json_auto_t *runs = NULL;
    int r = cluster_reach_benchd(c, &is_dead, &err);
    if (r < 0 && is_dead) {
        _cleanup_(freep) char *fix =
            xasprintf("see kubectl -n %s get lease,pods,pvc; install it with kubectl apply -k "
                      "manifests/",
                      c->ns);
        checks_fail(checks, "benchd", EXIT_UNREACHABLE, fix, "it is not running in '%s': %s", c->ns,
                    err.msg);
    } else if (r < 0) {
        fail_with(checks, "benchd", r, NULL, &err);
    } else if ((r = cluster_api_get(c, "", &runs, &err)) < 0) {
        fail_with(checks, "benchd", r, "see docs/troubleshooting.md, \"benchd does not answer\"",
                  &err);
    } else {
        checks_ok(checks, "benchd", "it runs in '%s' and answers by %s", c->ns,
                  cluster_is_service(c->address) ? "its Service" : c->address);
    }
}

void doctor_cluster(const struct cli *cli, struct checks *checks)
{
    struct cluster_problem p;
    struct cluster *c = NULL;
    const enum exit_code code = cluster_open(cli, &c, &p);
    if (p.is_unconfigured) {
        checks_skip(checks, "kubeconfig", "%s; runs on this machine need none", p.err.msg);
        return;
    }
    if (code != EXIT_OK) {
        checks_fail(checks, "kubeconfig", code, p.fix, "%s", p.err.msg);
        return;
    }
    checks_ok(checks, "kubeconfig", "context '%s', namespace '%s'", c->config.context, c->ns);
    if (check_server(c, checks)) {
        check_kinds(c, checks);
        check_rights(c, checks);
        check_benchd(c, checks);
    }
    backend_free(&c->backend);
}

enum exit_code doctor_points(const struct cli *cli, const struct run_def *def, const char *queue,
                             struct checks *checks)
{
    _cleanup_(backend_freep) struct backend *b = NULL;
    const enum exit_code code = cluster_backend_open(cli, &b);
    for (int i = 0; code == EXIT_OK && i < (queue == NULL ? 1 : 2); i++) {
        _cleanup_(buf_done) struct buf lacking = BUF_INIT;
        json_auto_t *parts = json_array();
        struct err err;
        const char *name = i == 0 ? "nodes" : "queue";
        const int r = i == 0 ? cluster_read_nodes((struct cluster *)b, parts, &err)
                             : cluster_read_quota((struct cluster *)b, queue, parts, &err);
        for (uint32_t k = 0; r == 0 && k < def->matrix.n_points; k++) {
            cluster_put_lack(def, &def->matrix.points[k], parts, &lacking);
        }
        if (r < 0) {
            checks_skip(checks, name, "unknown: %s", err.msg);
        } else if (lacking.len > 0) {
            checks_fail(checks, name, EXIT_RUN_FAILED,
                        "request less, or leave these points out with --set",
                        "never fit what there is: %.*s", (int)lacking.len - 2, buf_cstr(&lacking));
        } else {
            checks_ok(checks, name,
                      "no point asks for more than there is; what others use, labels, taints and "
                      "loans are not looked at");
        }
    }
    return code;
}
