/* When a credential of a plugin is used, and when the plugin runs. Pure: session.c runs it.
 *
 *   EMPTY --request: START--> RUNNING --answer--> HELD --soon over: RENEW--> HELD and RUNNING
 *     ^                          |                 | refused, or over
 *     |<-----5 s later---- FAILED <-- failure      '--next request: START--> RUNNING
 *
 * A server that refuses what the plugin has just answered is not a reason to run it in a loop:
 * after a refusal it runs once in 10 s at most. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "kube/exec_credential.h"

struct kube_login {
    struct kube_exec_credential held;
    unsigned generation;          /* of `held`; 0: nothing was ever held */
    bool is_refused;              /* `held` */
    bool is_running;              /* the plugin; set by its caller */
    bool was_refused;             /* ever */
    int64_t renew_ns, expires_ns; /* of `held`; 0 before the first one */
    int64_t refused_ns, failed_ns;
    struct err failure; /* of the last run; code 0: it did not fail */
};
#define KUBE_LOGIN_MARGIN_NS (60 * INT64_C(1000000000)) /* a credential is renewed so early */
#define KUBE_LOGIN_REST_NS (5 * INT64_C(1000000000))    /* after a failure */
#define KUBE_LOGIN_REFUSED_NS (10 * INT64_C(1000000000))

void kube_login_done(struct kube_login *l);

enum kube_login_advice {
    KUBE_LOGIN_USE,   /* `held` is good */
    KUBE_LOGIN_RENEW, /* the same, and start the plugin */
    KUBE_LOGIN_START, /* start the plugin; requests wait */
    KUBE_LOGIN_WAIT,  /* it runs; requests wait */
    KUBE_LOGIN_FAIL,  /* requests fail with `failure` */
};
enum kube_login_advice kube_login_look(const struct kube_login *l, int64_t now_ns);
/* Takes *answer. wall_unix_ms: the time at which expirationTimestamp counts. */
void kube_login_answered(struct kube_login *l, int64_t now_ns, int64_t wall_unix_ms,
                         struct kube_exec_credential *answer);
void kube_login_failed(struct kube_login *l, int64_t now_ns, const struct err *err);
/* The server refused a request with the credential of `generation`. True: send it again. */
bool kube_login_refused(struct kube_login *l, int64_t now_ns, unsigned generation);
