/* See template_check.h. */
#include "daemon/cluster/template_check.h"

#include <errno.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/vec_walk.h"
#include "kube/retry.h"
#include "pod/job_body.h"

/* The dry run of one role's pod, or of one system's job object. */
struct dry_run {
    struct template_check *check;
    char *what;             /* "template of worker", owned */
    const char *kind;       /* of a job object: its plural, owned; NULL: a pod */
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

static enum template_verdict read_answer(int r, const struct kube_response *res)
{
    const bool is_about_us =
        r < 0 && (kube_is_unauthenticated(res) || kube_lacks_right(res) || res->http_code == 0);
    if (!is_about_us && (r == -EINVAL || r == -EACCES)) {
        return TEMPLATES_REFUSED;
    }
    return is_no_answer(r) ? TEMPLATES_NO_ANSWER : TEMPLATES_GOOD;
}

/* The cluster lacks the kind of a job object, or benchd the right to create it. */
static void read_missing(struct dry_run *run, int r, const struct kube_response *res,
                         const struct err *err)
{
    if (run->kind == NULL || r >= 0 || (r != -ENOENT && !kube_lacks_right(res))) {
        return;
    }
    run->verdict = TEMPLATES_REFUSED;
    run->text = r == -ENOENT
                    ? xasprintf("%s: the cluster has no %s; install them", run->what, run->kind)
                    : xasprintf("%s: apply its Role of manifests/jobs: %s", run->what, err->msg);
}

static void on_answer(void *ctx, int r, const struct kube_response *res, const struct err *err)
{
    struct dry_run *run = ctx;
    const struct template_check *check = run->check;
    run->call = NULL;
    run->verdict = read_answer(r, res);
    if (run->verdict == TEMPLATES_REFUSED) {
        run->text = xasprintf("%s: %s", run->what, err->msg);
    } else if (run->verdict == TEMPLATES_NO_ANSWER) {
        run->text = xstrdup(err->msg);
    } else {
        read_missing(run, r, res, err);
    }
    check->wake(check->ctx);
}

/* The server's answer is passed to the run at once, which tries again itself. */
static const struct kube_call_options once = {.max_tries = 1};

static void send(struct dry_run *run, const struct template_check_params *params,
                 const struct kube_resource *resource, const json_t *body)
{
    struct kube_request req;
    kube_request_create(resource, params->ns, body, KUBE_DRY_RUN, &req);
    run->verdict = TEMPLATES_CHECKING;
    run->call = kube_call(params->client, &req, &once, on_answer, run);
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
    static const enum template_verdict by_weight[] = {TEMPLATES_CHECKING, TEMPLATES_REFUSED,
                                                      TEMPLATES_NO_ANSWER};
    for (size_t i = 0; i < COUNT_OF(by_weight); i++) {
        for (size_t k = 0; k < check->n_runs; k++) {
            const struct dry_run *c = &check->runs[k];
            if (c->verdict == by_weight[i]) {
                *ret_text = c->text == NULL ? "" : c->text;
                return c->verdict;
            }
        }
    }
    *ret_text = "";
    return TEMPLATES_GOOD;
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
        free((char *)check->runs[i].kind);
        free(check->runs[i].text);
    }
    free(check->runs);
    free(check);
}
