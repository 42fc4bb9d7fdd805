/* Which failures pass, see pod_answer.h. */
#include "run/pods/pod_answer.h"

#include <errno.h>

#include "base/mem.h"
#include "kube/retry.h"

static bool is_denied_for_now(struct pod_denial *denial, const struct kube_response *res,
                              int64_t now_ns)
{
    if (!kube_lacks_right(res)) {
        return false;
    }
    if (denial->since_ns == 0) {
        denial->since_ns = now_ns;
    }
    return now_ns - denial->since_ns < denial->wait_ms * INT64_C(1000000);
}

bool pod_answer_is_transient(struct pod_denial *denial, int r, const struct kube_response *res,
                             int64_t now_ns)
{
    if (r < 0 && res != NULL &&
        (kube_is_unauthenticated(res) || is_denied_for_now(denial, res, now_ns))) {
        return true; /* about our credentials, not about the object */
    }
    switch (-r) {
    case EDQUOT:                  /* others end, or somebody raises it */
        pod_denial_clear(denial); /* quotas are counted after rights are checked */
        return true;
    case EHOSTUNREACH:
    case ECONNRESET:
    case ETIMEDOUT:
    case EIO:
    case EBUSY:
    case EPROTO: /* TLS: a certificate may be on its way */
        return true;
    case ESTALE: /* of a quota that was counted for another pod at the same moment */
        return res != NULL && res->http_code == 409;
    default:
        return false;
    }
}

#define DOUBLINGS_MAX 4      /* 2 s to 32 s */
#define DOUBLINGS_MAX_AWAY 2 /* 2 s to 8 s */
#define RETRY_AFTER_MAX_S 300

int64_t pod_answer_wait_ns(unsigned n_before, int r, const struct kube_response *res)
{
    unsigned max = 0;
    switch (-r) {
    case EDQUOT:
    case EIO:
    case EBUSY:
        max = DOUBLINGS_MAX;
        break;
    case EHOSTUNREACH:
    case ECONNRESET:
    case ETIMEDOUT:
    case EPROTO:
        max = DOUBLINGS_MAX_AWAY;
        break;
    default:
        break;
    }
    const int64_t wait_ns = POD_RETRY_NS << (n_before < max ? n_before : max);
    int64_t asked_s = res != NULL && res->retry_after_s > 0 ? res->retry_after_s : 0;
    asked_s = asked_s < RETRY_AFTER_MAX_S ? asked_s : RETRY_AFTER_MAX_S;
    return asked_s * INT64_C(1000000000) > wait_ns ? asked_s * INT64_C(1000000000) : wait_ns;
}

const char *pod_answer_reason(int r)
{
    return r == -EDQUOT ? "QuotaExceeded" : "CreationFails";
}

void pod_denial_clear(struct pod_denial *denial)
{
    denial->since_ns = 0;
}

int64_t pod_trouble_note(struct pod_trouble *t, int r, const struct kube_response *res,
                         const char *words)
{
    const int64_t wait_ns = pod_answer_wait_ns(t->n_times, r, res);
    t->code = r;
    free(t->words);
    t->words = xstrdup(words);
    t->n_times++;
    return wait_ns;
}

void pod_trouble_clear(struct pod_trouble *t)
{
    free(t->words);
    *t = (struct pod_trouble){0};
}
