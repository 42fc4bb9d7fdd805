/* When a plugin's credential is used, see login.h. */
#include "kube/login.h"

void kube_login_done(struct kube_login *l)
{
    kube_exec_credential_done(&l->held);
}

enum kube_login_advice kube_login_look(const struct kube_login *l, int64_t now_ns)
{
    const bool is_good = !l->is_refused && now_ns < l->expires_ns;
    const bool is_resting = l->failure.code != 0 && now_ns - l->failed_ns < KUBE_LOGIN_REST_NS;
    if (is_good) {
        return now_ns < l->renew_ns || l->is_running || is_resting ? KUBE_LOGIN_USE
                                                                   : KUBE_LOGIN_RENEW;
    }
    if (l->is_running) {
        return KUBE_LOGIN_WAIT;
    }
    return is_resting ? KUBE_LOGIN_FAIL : KUBE_LOGIN_START;
}

void kube_login_answered(struct kube_login *l, int64_t now_ns, int64_t wall_unix_ms,
                         struct kube_exec_credential *answer)
{
    kube_exec_credential_done(&l->held);
    l->held = *answer;
    *answer = (struct kube_exec_credential){.expires_unix_ms = -1};
    l->generation++;
    l->is_running = l->is_refused = false;
    l->failure.code = 0;
    l->renew_ns = l->expires_ns = INT64_MAX;
    if (l->held.expires_unix_ms >= 0) {
        /* Even where our clock or the plugin is wrong, a new credential is tried. */
        const int64_t said_ns = (l->held.expires_unix_ms - wall_unix_ms) * 1000000;
        const int64_t lifetime_ns =
            said_ns < KUBE_LOGIN_REFUSED_NS ? KUBE_LOGIN_REFUSED_NS : said_ns;
        const int64_t quarter_ns = lifetime_ns / 4;
        l->expires_ns = now_ns + lifetime_ns;
        l->renew_ns =
            l->expires_ns - (quarter_ns < KUBE_LOGIN_MARGIN_NS ? quarter_ns : KUBE_LOGIN_MARGIN_NS);
    }
}

void kube_login_failed(struct kube_login *l, int64_t now_ns, const struct err *err)
{
    l->is_running = false;
    l->failure = *err;
    l->failed_ns = now_ns;
}

bool kube_login_refused(struct kube_login *l, int64_t now_ns, unsigned generation)
{
    if (generation != l->generation || l->is_refused) {
        return true; /* another request has noticed it before */
    }
    if (l->was_refused && now_ns - l->refused_ns < KUBE_LOGIN_REFUSED_NS) {
        return false;
    }
    l->was_refused = l->is_refused = true;
    l->refused_ns = now_ns;
    return true;
}
