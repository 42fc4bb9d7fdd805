/* What a credential plugin is given and what it answers: documents of kind ExecCredential. Pure. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "kube/config.h"

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
/* A token, whoever gives it, becomes part of a header. 0: it may; else the first byte that may not,
 * counted from 1. */
size_t kube_token_fault(const char *token);
