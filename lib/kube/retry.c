/* When to send again, see retry.h. */
#include "kube/retry.h"

#include <string.h>

#include "base/splitmix.h"

#define MS_NS INT64_C(1000000)
#define S_NS (1000 * MS_NS)
#define BACKOFF_MIN_NS (250 * MS_NS)
#define BACKOFF_MAX_NS (10 * S_NS)
#define RETRY_AFTER_MAX_S 300
#define RETRY_AFTER_SPREAD 0.25

/* 0 <= x < 1 */
static double next_fraction(uint64_t *state)
{
    return (double)(splitmix_next(state) >> 11) * 0x1p-53;
}

void kube_backoff_init(struct kube_backoff *b, int64_t min_ns, int64_t max_ns, uint64_t seed)
{
    *b = (struct kube_backoff){.min_ns = min_ns, .max_ns = max_ns, .state = seed};
}

int64_t kube_backoff_next(struct kube_backoff *b)
{
    int64_t wait_ns = b->min_ns;
    for (unsigned i = 0; i < b->failures && wait_ns < b->max_ns; i++) {
        wait_ns *= 2;
    }
    if (wait_ns > b->max_ns) {
        wait_ns = b->max_ns;
    }
    b->failures++;
    return wait_ns / 2 + (int64_t)(next_fraction(&b->state) * (double)(wait_ns / 2));
}

void kube_backoff_reset(struct kube_backoff *b)
{
    b->failures = 0;
}

int64_t kube_jitter(uint64_t *state, int64_t value, double spread)
{
    return value + (int64_t)(next_fraction(state) * spread * (double)value);
}

void kube_retry_init(struct kube_retry *r, unsigned max_tries, uint64_t seed)
{
    *r = (struct kube_retry){.max_tries = max_tries};
    kube_backoff_init(&r->backoff, BACKOFF_MIN_NS, BACKOFF_MAX_NS, seed);
}

bool kube_is_unauthenticated(const struct kube_response *res)
{
    return res->http_code == 401 ||
           (res->http_code == 403 && strstr(res->body, "system:anonymous") != NULL);
}

/* What the answer alone says. */
static enum kube_verdict read_answer(const struct kube_response *res)
{
    switch (res->failure) {
    case KUBE_UNREACHABLE:
    case KUBE_TIMED_OUT:
    case KUBE_BROKEN:
        return KUBE_RETRY_WAIT;
    case KUBE_TLS:
        return KUBE_RETRY_REFRESH;
    case KUBE_TOO_LARGE:
    case KUBE_LOCAL:
        return KUBE_RETRY_NO;
    case KUBE_ANSWERED:
        break;
    }
    if (kube_is_unauthenticated(res)) {
        return KUBE_RETRY_REFRESH;
    }
    switch (res->http_code) {
    case 408:
    case 429:
    case 500:
    case 502:
    case 503:
    case 504:
        return KUBE_RETRY_WAIT;
    default:
        return res->http_code >= 500 && res->retry_after_s >= 0 ? KUBE_RETRY_WAIT : KUBE_RETRY_NO;
    }
}

enum kube_verdict kube_retry_decide(struct kube_retry *r, const struct kube_response *res,
                                    int64_t *ret_wait_ns)
{
    const enum kube_verdict answer = read_answer(res);
    if (answer == KUBE_RETRY_REFRESH) {
        const bool was_refreshed = r->is_refreshed;
        r->is_refreshed = true;
        return was_refreshed ? KUBE_RETRY_NO : KUBE_RETRY_REFRESH;
    }
    r->tries++;
    if (answer == KUBE_RETRY_NO || r->tries >= r->max_tries) {
        return KUBE_RETRY_NO;
    }
    const int64_t backoff_ns = kube_backoff_next(&r->backoff);
    if (res->retry_after_s < 0) {
        *ret_wait_ns = backoff_ns;
        return KUBE_RETRY_WAIT;
    }
    const int64_t asked_s =
        res->retry_after_s < RETRY_AFTER_MAX_S ? res->retry_after_s : RETRY_AFTER_MAX_S;
    /* "0" would mean at once, and many clients would retry together. */
    *ret_wait_ns = asked_s == 0
                       ? backoff_ns
                       : kube_jitter(&r->backoff.state, asked_s * S_NS, RETRY_AFTER_SPREAD);
    return KUBE_RETRY_WAIT;
}
