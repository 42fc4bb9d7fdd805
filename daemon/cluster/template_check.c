/* See template_check.h. */
#include "daemon/cluster/template_check.h"

#include <errno.h>

#include "base/clock.h"
#include "base/mem.h"
#include "kube/retry.h"
#include "pod/job_body.h"

/* The dry run of one role's pod, or of one system's job object. */
struct dry_run {
    struct template_check *check;
    char *what;             /* "template of worker", owned */
    char *kind;             /* of a job object: its plural, owned; NULL: a pod */
    struct kube_call *call; /* NULL: answered, or no point has the role */
    enum template_verdict verdict;
    char *text; /* owned; NULL: none */
};

struct template_check {
    struct dry_run *runs; /* owned: of each role, then of each system */
    size_t n_runs;
    int64_t began_ns;
    void (*wake)(void *ctx);
    void *ctx;
};

/* A server that is away, or breaks off: it has said nothing about the pod. */
static bool is_no_answer(int r)
{
    return r == -EHOSTUNREACH || r == -ECONNRESET || r == -ETIMEDOUT || r == -EIO || r == -EBUSY ||
           r == -EPROTO;
}

static void on_answer(void *ctx, int r, const struct kube_response *res, const struct err *err)
{
    struct dry_run *run = ctx;
    const struct template_check *check = run->check;
    const bool lacks_right = r < 0 && kube_lacks_right(res);
    const bool is_about_us =
        lacks_right || (r < 0 && (kube_is_unauthenticated(res) || res->http_code == 0));
    run->call = NULL;
    run->verdict = TEMPLATES_REFUSED;
    if (run->kind != NULL && r == -ENOENT) {
        run->text = xasprintf("%s: the cluster has no %s; install them", run->what, run->kind);
    } else if (run->kind != NULL && lacks_right) {
        run->text = xasprintf("%s: " JOB_RIGHTS_ADVICE ": %s", run->what, err->msg);
    } else if (!is_about_us && (r == -EINVAL || r == -EACCES)) {
        run->text = xasprintf("%s: %s", run->what, err->msg);
    } else if (is_no_answer(r)) {
        run->verdict = TEMPLATES_NO_ANSWER;
        run->text = xstrdup(err->msg);
    } else {
        run->verdict = TEMPLATES_GOOD;
    }
    check->wake(check->ctx);
}

static void send(struct dry_run *run, const struct template_check_params *params,
                 const struct kube_resource *resource, json_t *body)
{
    struct kube_request req;
    pod_set_registry(body, params->registry);
    kube_request_create(resource, params->ns, body, KUBE_DRY_RUN, &req);
    if (run->kind != NULL) {
        kube_request_send_as(&req, params->ns, JOB_ACCOUNT);
    }
    run->verdict = TEMPLATES_CHECKING;
    run->call = kube_call(params->client, &req, KUBE_ONCE, on_answer, run);
}

static int check_pod(struct dry_run *run, enum role role,
                     const struct template_check_params *params, struct err *err)
{
    const struct run_def *def = params->def;
    uint32_t p = 0;
    while (p < def->matrix.n_points &&
           (def->matrix.points[p].replicas[role] == 0 || job_of_point(def, p) != NULL)) {
        p++;
    }
    if (p == def->matrix.n_points) {
        return 0; /* no point has it */
    }
    const struct replica_id id = {.attempt.point = p, .role = role};
    const struct gang_addresses addresses = {.is_pods = true};
    json_auto_t *body = NULL;
    int r = pod_body(def, &id, &addresses, params->naming, &body, err);
    if (r == 0) {
        pod_body_set_account(body, params->account);
        send(run, params, &kube_pods, body);
    }
    return r;
}

static int check_job(struct dry_run *run, size_t system, const struct template_check_params *params,
                     struct err *err)
{
    const struct run_def *def = params->def;
    const struct point *first =
        array_find(def->matrix.points, def->matrix.n_points, p, p->system == system);
    if (first == NULL || def->spec->systems.items[system].job == NULL) {
        return 0;
    }
    const struct attempt_id id = {.point = (uint32_t)(first - def->matrix.points)};
    struct kube_resource resource;
    json_auto_t *body = NULL;
    int r = job_body(def, &id, params->account, &body, err);
    if (r == 0) {
        kube_resource_of(body, &resource);
        run->kind = xstrdup(resource.plural);
        send(run, params, &resource, body);
        kube_resource_done(&resource);
    }
    return r;
}

int template_check_new(const struct template_check_params *params, struct template_check **ret,
                       struct err *err)
{
    const struct spec *spec = params->def->spec;
    struct template_check *check = xnew(struct template_check);
    check->n_runs = ROLE_COUNT + spec->systems.len;
    check->runs = xnew_array(struct dry_run, check->n_runs);
    check->began_ns = clock_monotonic_ns();
    check->wake = params->wake;
    check->ctx = params->ctx;
    int r = pod_check_systems(spec, err);
    for (size_t i = 0; i < check->n_runs && r == 0; i++) {
        const size_t system = i - ROLE_COUNT;
        check->runs[i] = (struct dry_run){.check = check, .verdict = TEMPLATES_GOOD};
        check->runs[i].what =
            i < ROLE_COUNT ? xasprintf("template of %s", role_to_string((enum role)i))
                           : xasprintf("job of system '%s'", spec->systems.items[system].name);
        r = i < ROLE_COUNT ? check_pod(&check->runs[i], (enum role)i, params, err)
                           : check_job(&check->runs[i], system, params, err);
    }
    if (r < 0) {
        template_check_free(check);
        return r;
    }
    *ret = check;
    return 0;
}

enum template_verdict template_check_verdict(const struct template_check *check,
                                             const char **ret_text)
{
    /* The first one's words, whichever answer came first: the same run, the same words. */
    const struct dry_run *worst = &check->runs[0];
    for (size_t i = 1; i < check->n_runs; i++) {
        worst = check->runs[i].verdict < worst->verdict ? &check->runs[i] : worst;
    }
    *ret_text = worst->text == NULL ? "" : worst->text;
    return worst->verdict;
}

int64_t template_check_began_ns(const struct template_check *check)
{
    return check->began_ns;
}

void template_check_free(struct template_check *check)
{
    if (check == NULL) {
        return;
    }
    for (size_t i = 0; i < check->n_runs; i++) {
        kube_call_cancel(check->runs[i].call);
        free(check->runs[i].what);
        free(check->runs[i].kind);
        free(check->runs[i].text);
    }
    free(check->runs);
    free(check);
}
