/* The bearer token of each request: fixed, or from a file that the kubelet replaces (projected
 * service account tokens live for an hour). Read at most every 60 s, and at once after a 401. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

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
