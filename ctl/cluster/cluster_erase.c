/* benchctl delete for a run whose object is gone: benchd still has its results. Kubernetes decides
 * which users may delete them: benchctl creates a BenchmarkRun that asks for it, writes the run's
 * uid into its status and deletes it, and benchd acts when it sees the deletion
 * (docs/benchd.md#deleting-results-without-an-object).
 * See cluster_internal.h. */
#include <errno.h>
#include <poll.h>

#include "base/mem.h"
#include "ctl/cluster/cluster_internal.h"
#include "ctl/runs/run_name.h"

#define POLL_MS 200
#define POLLS_MAX 50 /* 10 s and the time of the requests: benchd acts within a second */

char *cluster_kept_uid(struct cluster *c, const char *name, struct err *err)
{
    _cleanup_(freep) char *path = cluster_api_path(name, "%s", "");
    bool is_dead;
    json_auto_t *document = NULL;
    int r = cluster_reach_benchd(c, &is_dead, err);
    r = r < 0 ? r : cluster_api_get(c, path, &document, err);
    const char *uid = json_string_value(json_object_get(document, "uid"));
    char *copy = xstrdup_or_null(uid);
    if (r >= 0 && copy == NULL) {
        (void)err_set(err, EPROTO, "benchd's answer: no uid of run '%s'", name);
    }
    return copy;
}

/* The object that asks: cancelled, so that no benchd runs it, and of no Benchmark that exists. */
static json_t *make_request(const char *name, const char *uid)
{
    return json_pack("{s:s, s:s, s:{s:s, s:{s:s}}, s:{s:{s:s}, s:b}}", "apiVersion",
                     "benchd.io/v1alpha1", "kind", "BenchmarkRun", "metadata", "name", name,
                     "annotations", KUBE_ERASE_RUN_ANNOTATION, uid, "spec", "benchmarkRef", "name",
                     "none", "cancel", 1);
}

/* The right that decides: who creates runs need not have it. */
static int grant(struct cluster *c, const char *name, const char *uid, struct err *err)
{
    struct kube_request req;
    json_auto_t *answer = NULL;
    json_auto_t *body =
        json_pack("{s:s, s:s, s:{s:s}, s:{s:s}}", "apiVersion", "benchd.io/v1alpha1", "kind",
                  "BenchmarkRun", "metadata", "name", name, "status", KUBE_ERASE_RUN, uid);
    kube_request_apply(&kube_benchmark_runs, c->ns, "status", "benchctl", body, &req);
    return cluster_get(c, &req, &answer, err);
}

static int ask(struct cluster *c, const char *uid, struct err *err)
{
    unsigned char random[5];
    char name[RUN_NAME_SIZE];
    int r = run_random(random, sizeof(random), err);
    if (r < 0) {
        return r;
    }
    run_name_make("erase", random, name);
    struct kube_request req;
    json_auto_t *object = make_request(name, uid), *created = NULL, *deleted = NULL;
    kube_request_create(&kube_benchmark_runs, c->ns, object, KUBE_WRITE, &req);
    r = cluster_get(c, &req, &created, err);
    if (r < 0 && r != -EEXIST) { /* it exists: our first answer was lost */
        return err_wrap(err, r, "create a BenchmarkRun that asks for it");
    }
    struct err refusal = {0};
    const int granted = grant(c, name, uid, &refusal);
    kube_request_delete(&kube_benchmark_runs, c->ns, name, NULL, -1, &req);
    r = cluster_get(c, &req, &deleted, err);
    if (granted < 0) { /* the object does nothing, deleted or not */
        *err = refusal;
        return err_wrap(err, granted, "write the status of bmr/%s, which asks for it", name);
    }
    if (r < 0 && r != -ENOENT) {
        return err_wrap(err, r, "delete bmr/%s, which asks for it (it stays, and does nothing)",
                        name);
    }
    return 0;
}

/* True: benchd has nothing of it any more. */
static bool wait_until_gone(struct cluster *c, const char *uid)
{
    for (int i = 0; i < POLLS_MAX; i++) {
        struct err err = {0};
        _cleanup_(freep) char *still = cluster_kept_uid(c, uid, &err);
        if (still == NULL && err.code == ENOENT) {
            return true;
        }
        (void)poll(NULL, 0, POLL_MS); /* nothing else happens in the loop until then */
    }
    return false;
}

enum exit_code cluster_erase_kept(struct cluster *c, const char *name, const char *uid)
{
    struct err err = {0};
    int r = ask(c, uid, &err);
    if (r < 0) {
        return cli_error(cluster_exit_code(r),
                         r == -EACCES ? "deleting results without an object needs the rights to "
                                        "create and delete benchmarkruns and to patch "
                                        "benchmarkruns/status"
                                      : NULL,
                         "run/%s: %s", name, err.msg);
    }
    if (!wait_until_gone(c, uid)) {
        return cli_error(EXIT_TIMEOUT, "look into benchd's log for its reason, and try again",
                         "run/%s: benchd still has its results", name);
    }
    return EXIT_OK;
}
