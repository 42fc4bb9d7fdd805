/* Every request that is built, as text. */
#include "cmocka_kube.h"

#include "kube/request.h"

#include "base/mem.h"

static void assert_request(struct kube_request *req, const char *line, const char *type,
                           const char *body, const char *what)
{
    _cleanup_(freep) char *got = xasprintf("%s %s", kube_method_names[req->method], req->path);
    assert_string_equal(got, line);
    assert_string_equal(req->content_type == NULL ? "" : req->content_type, type);
    assert_string_equal(req->body == NULL ? "" : req->body, body);
    assert_string_equal(req->what, what);
    kube_request_done(req);
    assert_null(req->path);
}

TEST(reading)
{
    struct kube_request req;
    kube_request_list(&kube_pods, "benchd", &(struct kube_list_options){0}, &req);
    assert_request(&req, "GET /api/v1/namespaces/benchd/pods", "", "", "list pods in 'benchd'");
    kube_request_list(&kube_benchmarks, NULL, &(struct kube_list_options){.limit = 5}, &req);
    assert_request(&req, "GET /apis/benchd.io/v1alpha1/benchmarks?limit=5", "", "",
                   "list benchmarks in all namespaces");

    const struct kube_list_options options = {.label_selector = "benchd.io/run=a,b!=c d",
                                              .field_selector = "metadata.name=x",
                                              .limit = 500,
                                              .continue_token = "eyJ+/="};
    kube_request_list(&kube_benchmark_runs, "n", &options, &req);
    assert_request(&req,
                   "GET /apis/benchd.io/v1alpha1/namespaces/n/benchmarkruns"
                   "?labelSelector=benchd.io%2Frun%3Da%2Cb%21%3Dc%20d"
                   "&fieldSelector=metadata.name%3Dx&limit=500&continue=eyJ%2B%2F%3D",
                   "", "", "list benchmarkruns in 'n'");

    kube_request_watch(&kube_pods, "n", &(struct kube_list_options){.label_selector = "a=b"}, "17",
                       300, &req);
    assert_request(&req,
                   "GET /api/v1/namespaces/n/pods?watch=1&allowWatchBookmarks=true"
                   "&labelSelector=a%3Db&resourceVersion=17&timeoutSeconds=300",
                   "", "", "watch pods in 'n'");

    kube_request_get(&kube_leases, "n", "benchd", &req);
    assert_request(&req, "GET /apis/coordination.k8s.io/v1/namespaces/n/leases/benchd", "", "",
                   "get lease 'benchd'");

    kube_request_get(&kube_pods, "../x", "a/b?c", &req);
    assert_request(&req, "GET /api/v1/namespaces/..%2Fx/pods/a%2Fb%3Fc", "", "", "get pod 'a/b?c'");
}

TEST(logs_and_others)
{
    struct kube_request req;
    kube_request_log("n", "p", &(struct kube_log_options){0}, &req);
    assert_request(&req, "GET /api/v1/namespaces/n/pods/p/log", "", "", "read the log of pod 'p'");

    const struct kube_log_options options = {.container = "main",
                                             .follow = true,
                                             .timestamps = true,
                                             .limit_bytes = 1024,
                                             .since_time = "2026-11-20T08:52:51Z"};
    kube_request_log("n", "p", &options, &req);
    assert_request(&req,
                   "GET /api/v1/namespaces/n/pods/p/log?container=main&follow=true"
                   "&timestamps=true&sinceTime=2026-11-20T08%3A52%3A51Z&limitBytes=1024",
                   "", "", "follow the log of pod 'p'");

    kube_request_service_proxy("n", "benchd", "http", "/api/v1/runs?x=1", &req);
    assert_request(&req, "GET /api/v1/namespaces/n/services/benchd:http/proxy/api/v1/runs?x=1", "",
                   "", "ask service 'benchd'");

    kube_request_raw("/version", "get the version", &req);
    assert_request(&req, "GET /version", "", "", "get the version");
}

TEST(writing)
{
    struct kube_request req;
    json_t *object = json_pack("{s:s, s:{s:s}}", "kind", "Pod", "metadata", "name", "a");
    static const char body[] = "{\"kind\":\"Pod\",\"metadata\":{\"name\":\"a\"}}";

    kube_request_create(&kube_pods, "n", object, KUBE_WRITE, &req);
    assert_request(&req, "POST /api/v1/namespaces/n/pods?fieldValidation=Strict",
                   "application/json", body, "create pod 'a'");
    kube_request_create(&kube_pods, "n", object, KUBE_DRY_RUN, &req);
    assert_request(&req, "POST /api/v1/namespaces/n/pods?fieldValidation=Strict&dryRun=All",
                   "application/json", body, "validate pod 'a'");
    kube_request_update(&kube_secrets, "n", object, &req);
    assert_request(&req, "PUT /api/v1/namespaces/n/secrets/a?fieldValidation=Strict",
                   "application/json", body, "update secret 'a'");
    kube_request_apply(&kube_benchmark_runs, "n", "status", "benchd", object, &req);
    assert_request(&req,
                   "PATCH /apis/benchd.io/v1alpha1/namespaces/n/benchmarkruns/a/status"
                   "?fieldManager=benchd&force=true&fieldValidation=Strict",
                   "application/apply-patch+yaml", body, "apply benchmark run status 'a'");
    kube_request_apply(&kube_services, "n", NULL, "benchd", object, &req);
    assert_request(&req,
                   "PATCH /api/v1/namespaces/n/services/a"
                   "?fieldManager=benchd&force=true&fieldValidation=Strict",
                   "application/apply-patch+yaml", body, "apply service 'a'");
    kube_request_merge_patch(&kube_benchmark_runs, "n", "a", NULL, object, &req);
    assert_request(&req,
                   "PATCH /apis/benchd.io/v1alpha1/namespaces/n/benchmarkruns/a"
                   "?fieldValidation=Strict",
                   "application/merge-patch+json", body, "change benchmark run 'a'");
    json_decref(object);
}

TEST(deleting)
{
    struct kube_request req;
    kube_request_delete(&kube_pods, "n", "a", "u-1", 5, &req);
    assert_request(&req, "DELETE /api/v1/namespaces/n/pods/a", "application/json",
                   "{\"kind\":\"DeleteOptions\",\"apiVersion\":\"v1\","
                   "\"propagationPolicy\":\"Background\",\"preconditions\":{\"uid\":\"u-1\"},"
                   "\"gracePeriodSeconds\":5}",
                   "delete pod 'a'");
    kube_request_delete(&kube_pods, "n", "a", NULL, 0, &req); /* at once */
    assert_request(&req, "DELETE /api/v1/namespaces/n/pods/a", "application/json",
                   "{\"kind\":\"DeleteOptions\",\"apiVersion\":\"v1\","
                   "\"propagationPolicy\":\"Background\",\"gracePeriodSeconds\":0}",
                   "delete pod 'a'");
    kube_request_delete(&kube_pods, "n", "a", NULL, -1, &req);
    assert_request(&req, "DELETE /api/v1/namespaces/n/pods/a", "application/json",
                   "{\"kind\":\"DeleteOptions\",\"apiVersion\":\"v1\","
                   "\"propagationPolicy\":\"Background\"}",
                   "delete pod 'a'");
    kube_request_delete_tree(&kube_pods, "n", "a", "u-1", &req);
    assert_request(&req, "DELETE /api/v1/namespaces/n/pods/a", "application/json",
                   "{\"kind\":\"DeleteOptions\",\"apiVersion\":\"v1\","
                   "\"propagationPolicy\":\"Foreground\",\"preconditions\":{\"uid\":\"u-1\"}}",
                   "delete pod 'a'");
}

TEST(kinds)
{
    static const struct {
        const char *version, *kind, *path;
    } rows[] = {
        {"v1", "ConfigMap", "GET /api/v1/namespaces/n/configmaps/a"},
        {"batch/v1", "Job", "GET /apis/batch/v1/namespaces/n/jobs/a"},
        {"trainer.kubeflow.org/v1alpha1", "TrainJob",
         "GET /apis/trainer.kubeflow.org/v1alpha1/namespaces/n/trainjobs/a"},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        struct kube_resource resource;
        struct kube_request req;
        json_t *object =
            json_pack("{s:s, s:s}", "apiVersion", rows[i].version, "kind", rows[i].kind);
        kube_resource_of(object, &resource);
        kube_request_get(&resource, "n", "a", &req);
        _cleanup_(freep) char *what = xasprintf("get %s 'a'", rows[i].kind);
        assert_request(&req, rows[i].path, "", "", what);
        kube_resource_done(&resource);
        json_decref(object);
    }
}

/* A definition may have written any part: none of them may become another path, or a URL that no
 * client sends. */
TEST(every_part_of_a_path_is_escaped)
{
    static const struct {
        const char *version, *kind, *name, *path;
    } rows[] = {
        {"a b/v1", "Job", "a", "GET /apis/a%20b/v1/namespaces/n/jobs/a"},
        {"../x/v1/y", "Job", "a", "GET /apis/../x%2Fv1%2Fy/namespaces/n/jobs/a"},
        {"v1?x=1", "Pod", "a", "GET /api/v1%3Fx%3D1/namespaces/n/pods/a"},
        {"v1", "Pod/log#", "a", "GET /api/v1/namespaces/n/pod%2Flog%23s/a"},
        {"v1", "Pod", "", "GET /api/v1/namespaces/n/pods/%20"}, /* not the collection */
        {"", "Pod", "a", "GET /api/%20/namespaces/n/pods/a"},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        _cleanup_(kube_resource_done) struct kube_resource resource;
        struct kube_request req;
        json_auto_t *object =
            json_pack("{s:s, s:s}", "apiVersion", rows[i].version, "kind", rows[i].kind);
        kube_resource_of(object, &resource);
        kube_request_get(&resource, "n", rows[i].name, &req);
        _cleanup_(freep) char *what = xasprintf("get %s '%s'", rows[i].kind, rows[i].name);
        assert_request(&req, rows[i].path, "", "", what);
    }
}
