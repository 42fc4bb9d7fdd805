/* See template_check.h. */
#include "daemon/cluster/template_check.h"

#include <errno.h>

#include "base/clock.h"
#include "base/mem.h"
#include "kube/retry.h"

/* The dry run of one role's pod. */
struct role_check {
    struct template_check *check;
    enum role role;
    struct kube_call *call; /* NULL: answered, or no point has the role */
    enum template_verdict verdict;
    char *text; /* owned; NULL: none */
};

struct template_check {
    struct role_check roles[ROLE_COUNT];
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

static void on_answer(void *ctx, int r, const struct kube_response *res, const struct err *err)
{
    struct role_check *role = ctx;
    const struct template_check *check = role->check;
    role->call = NULL;
    role->verdict = read_answer(r, res);
    if (role->verdict == TEMPLATES_REFUSED) {
        role->text = xasprintf("template of %s: %s", role_to_string(role->role), err->msg);
    } else if (role->verdict == TEMPLATES_NO_ANSWER) {
        role->text = xstrdup(err->msg);
    }
    check->wake(check->ctx);
}

/* The server's answer is passed to the run at once, which tries again itself. */
static const struct kube_call_options once = {.max_tries = 1};

static int check_role(struct role_check *ret, const struct template_check_params *params,
                      struct err *err)
{
    const struct run_def *def = params->def;
    uint32_t p = 0;
    while (p < def->matrix.n_points && def->matrix.points[p].replicas[ret->role] == 0) {
        p++;
    }
    if (p == def->matrix.n_points) {
        return 0; /* no point has it */
    }
    const struct replica_id id = {.attempt.point = p, .role = ret->role};
    const struct gang_addresses addresses = {.is_pods = true};
    json_auto_t *body = NULL;
    int r = pod_body(def, &id, &addresses, params->naming, &body, err);
    if (r < 0) {
        return r;
    }
    pod_body_set_account(body, params->account);
    struct kube_request req;
    kube_request_create(&kube_pods, params->ns, body, KUBE_DRY_RUN, &req);
    ret->verdict = TEMPLATES_CHECKING;
    ret->call = kube_call(params->client, &req, &once, on_answer, ret);
    return 0;
}

int template_check_new(const struct template_check_params *params, struct template_check **ret,
                       struct err *err)
{
    struct template_check *check = xnew(struct template_check);
    check->began_ns = clock_monotonic_ns();
    check->wake = params->wake;
    check->ctx = params->ctx;
    int r = pod_check_systems(params->def->spec, err);
    for (enum role role = 0; role < ROLE_COUNT && r == 0; role++) {
        check->roles[role] =
            (struct role_check){.check = check, .role = role, .verdict = TEMPLATES_GOOD};
        r = check_role(&check->roles[role], params, err);
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
    /* The first role's words, whichever answer came first: the same run, the same words. */
    static const enum template_verdict by_weight[] = {TEMPLATES_CHECKING, TEMPLATES_REFUSED,
                                                      TEMPLATES_NO_ANSWER};
    for (size_t i = 0; i < COUNT_OF(by_weight); i++) {
        for (enum role role = 0; role < ROLE_COUNT; role++) {
            const struct role_check *c = &check->roles[role];
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
    for (enum role role = 0; role < ROLE_COUNT; role++) {
        kube_call_cancel(check->roles[role].call);
        free(check->roles[role].text);
    }
    free(check);
}
