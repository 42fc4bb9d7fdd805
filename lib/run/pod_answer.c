/* Which failures pass, see pod_answer.h. */
#include "run/pod_answer.h"

#include <errno.h>

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
    case EHOSTUNREACH:
    case ECONNRESET:
    case ETIMEDOUT:
    case EIO:
    case EBUSY:
    case EPROTO: /* TLS: a certificate may be on its way */
        return true;
    default:
        return false;
    }
}

void pod_denial_clear(struct pod_denial *denial)
{
    denial->since_ns = 0;
}
