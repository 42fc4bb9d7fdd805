/* The API server's Warning headers ("299 - \"text\""), each text once. Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct kube_warnings {
    char *
        *seen; /* owned texts, the oldest at `next` once the list is full; NULL before the first */
    size_t n, next;
};
#define KUBE_WARNINGS_MAX 256 /* texts that are remembered */

void kube_warnings_done(struct kube_warnings *w);
/* The text of the next warning of code 299 in *at, which is moved after it. *at: values of headers,
 * one a line. Owned; NULL: no more. What is not a warning is passed over. */
char *kube_warning_next(const char **at);
/* Remembers it. True: it is new. */
bool kube_warnings_add(struct kube_warnings *w, const char *text);
