/* How requests reach the server: its address, the credentials of the moment, the
 * transport. client.c has one, and sends its requests through it. Edge file: the clock
 * that expiry dates count by. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "kube/client.h"
#include "kube/transfer.h"

struct kube_session;

/* Of `params`: all that is not about calls. on_ready: the credentials are there, or will not
 * come; from the loop. */
int kube_session_new(const struct kube_client_params *params, void (*on_ready)(void *ctx),
                     void *ctx, struct kube_session **ret, struct err *err);
/* Only without transfers. on_closed: its handles have closed; it is freed. */
void kube_session_free(struct kube_session *s, void (*on_closed)(void *ctx));
struct kube_transport *kube_session_transport(const struct kube_session *s);

/* True: requests can be sent, or fail at once. False: a plugin is running; on_ready follows. Starts
 * the plugin where it is needed. */
bool kube_session_prepare(struct kube_session *s, int64_t now_ns);
/* A plugin is running, and nothing can be sent before it ends. */
bool kube_session_is_waiting(const struct kube_session *s, int64_t now_ns);
/* Fills endpoint and token of *params. *ret_generation: of the credentials, for
 * kube_session_learn. */
int kube_session_start(struct kube_session *s, int64_t now_ns, struct kube_transfer_params *params,
                       struct kube_transfer **ret, unsigned *ret_generation, struct err *err);
/* Of every answer: passes on its warnings. */
void kube_session_heed(struct kube_session *s, const struct kube_response *res);
/* Renews credentials if the failure was about them. True: there are others, so retry. */
bool kube_session_learn(struct kube_session *s, int64_t now_ns, const struct kube_response *res,
                        unsigned generation);

/* The API server's Warning headers ("299 - \"text\""), each text once. Pure. */

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
