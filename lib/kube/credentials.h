/* The bearer token of each request: fixed, or from a file that the kubelet replaces (projected
 * service account tokens live for an hour). Read at most every 60 s, and at once after a 401. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "kube/config.h"

struct kube_credentials {
    const char *fixed, *file; /* borrowed; either may be NULL */
    char *token;              /* as read from the file, NULL before; owned */
    int64_t read_ns;
    bool is_refused; /* since it was read */
};
#define KUBE_TOKEN_AGE_NS (60 * INT64_C(1000000000))

void kube_credentials_done(struct kube_credentials *c);
/* *ret is borrowed until the next call; NULL: send no token. If the file cannot be read any more,
 * the last token stays in use; -Exxx only if there never was one. */
int kube_credentials_get(struct kube_credentials *c, int64_t now_ns, const char **ret,
                         struct err *err);
/* The server refused the token: the next get reads the file. */
void kube_credentials_refused(struct kube_credentials *c);

/* What a credential plugin is given and what it answers: documents of kind ExecCredential. Pure. */

struct kube_exec_credential {
    char *token;              /* owned, NULL: none */
    char *cert_pem, *key_pem; /* both or none, owned */
    int64_t expires_unix_ms;  /* -1: never */
};
void kube_exec_credential_done(struct kube_exec_credential *c);

/* The value of $KUBERNETES_EXEC_INFO. The config has a plugin. Owned. */
char *kube_exec_info(const struct kube_config *config, bool is_interactive);
/* The plugin's output. -EINVAL; the text never quotes the output, which may hold a token. */
int kube_exec_credential_parse(const struct kube_exec *exec, const char *text, size_t len,
                               struct kube_exec_credential *ret, struct err *err);

/* When a credential of a plugin is used, and when the plugin runs. Pure: session.c runs it.
 *
 *   EMPTY --request: START--> RUNNING --answer--> HELD --soon over: RENEW--> HELD and RUNNING
 *     ^                          |                 | refused, or over
 *     |<-----5 s later---- FAILED <-- failure      '--next request: START--> RUNNING
 *
 * A server that refuses what the plugin has just answered is not a reason to run it in a loop:
 * after a refusal it runs once in 10 s at most. */

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
