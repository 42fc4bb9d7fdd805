/* A run's pod templates are shown to the API server before anything is made of the run: one pod of
 * each role, as a dry run. So what schema, admission and Pod Security refuse ends the run with the
 * server's words, and not trial by trial. See run.h.
 *
 * Only a refusal of the pod itself is one of the template. All else (a quota that is used up, a
 * right that is missing, the name of a pod) may be another when the pods are made: that tells. */
#include <errno.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "daemon/run.h"
#include "kube/retry.h"

static bool is_checking(const struct run *run)
{
    for (enum role role = 0; role < ROLE_COUNT; role++) {
        if (run->checks[role].call != NULL) {
            return true;
        }
    }
    return false;
}

/* Of several refusals the first role's, whichever answer came first: the same run, the same words. */
static void refuse_first(struct run *run)
{
    for (enum role role = 0; role < ROLE_COUNT && !run->is_refused; role++) {
        if (run->checks[role].refusal != NULL) {
            _cleanup_(freep) char *text =
                xasprintf("template of %s: %s", role_to_string(role), run->checks[role].refusal);
            run_refuse(run, "InvalidTemplate", true, text);
        }
    }
}

static void on_answer(void *ctx, int r, const struct kube_response *res, const struct err *err)
{
    struct template_check *check = ctx;
    struct run *run = check->run;
    check->call = NULL;
    const bool is_about_us =
        r < 0 && (kube_is_unauthenticated(res) || kube_lacks_right(res) || res->http_code == 0);
    if (!is_about_us && (r == -EINVAL || r == -EACCES)) {
        check->refusal = xstrdup(err->msg);
    } else if (r == -EHOSTUNREACH || r == -ECONNRESET || r == -ETIMEDOUT || r == -EIO ||
               r == -EBUSY || r == -EPROTO) {
        run->checked = CHECK_NOT_BEGUN; /* the server is away: later again */
        run->retry_ns = clock_monotonic_ns() + RUN_RETRY_NS;
        log_event(LOG_LEVEL_WARN, "a template could not be checked, retrying", "run", run->name,
                  "err", err->msg, NULL);
    }
    if (!is_checking(run)) {
        refuse_first(run);
    }
    daemon_wake(run->d);
}

static int check_role(struct run *run, const struct run_def *def, enum role role, struct err *err)
{
    uint32_t p = 0;
    while (p < def->matrix.n_points && def->matrix.points[p].replicas[role] == 0) {
        p++;
    }
    if (p == def->matrix.n_points) {
        return 0; /* no point has it */
    }
    const struct replica_id id = {.attempt.point = p, .role = role};
    const struct gang_addresses addresses = {.is_pods = true};
    json_t *body;
    int r = pod_body(def, &id, &addresses, run_naming(run, def), &body, err);
    if (r < 0) {
        return r;
    }
    struct kube_request req;
    kube_request_create(&kube_pods, run->d->ns, body, KUBE_DRY_RUN, &req);
    json_decref(body);
    struct template_check *check = &run->checks[role];
    *check = (struct template_check){.run = run, .role = role};
    check->call = kube_call(run->d->client, &req, NULL, on_answer, check);
    return 0;
}

void run_drop_checks(struct run *run)
{
    for (enum role role = 0; role < ROLE_COUNT; role++) {
        if (run->checks[role].call != NULL) {
            kube_call_cancel(run->checks[role].call);
            run->checks[role].call = NULL;
        }
        free(run->checks[role].refusal);
        run->checks[role].refusal = NULL;
    }
}

bool run_check_templates(struct run *run, const struct run_def *def)
{
    struct err err;
    if (run->checked == CHECK_BEGUN) {
        return !is_checking(run);
    }
    run_drop_checks(run); /* of a try that is given up */
    run->checked = CHECK_BEGUN;
    int r = pod_check_systems(def->spec, &err);
    for (enum role role = 0; role < ROLE_COUNT && r == 0; role++) {
        r = check_role(run, def, role, &err);
    }
    if (r < 0) {
        run_refuse(run, "InvalidTemplate", true, err.msg);
    }
    return false;
}
