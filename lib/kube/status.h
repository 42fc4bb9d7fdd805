/* Answers of the API server as errors that a person can act on. Pure.
 *
 * Bodies of failures are not always Status objects: fairness answers 429 as plain text, proxies
 * send HTML, an unreachable kubelet gives a Status without reason. The HTTP code decides; the
 * reason only distinguishes causes that share a code. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "kube/request.h"

/* Why there is no HTTP code. */
enum kube_failure {
    KUBE_ANSWERED,    /* there is an HTTP code */
    KUBE_UNREACHABLE, /* no connection: refused, no route, name unknown */
    KUBE_TLS,         /* the certificate, ours or the server's */
    KUBE_TIMED_OUT,
    KUBE_BROKEN,    /* connection lost or garbled; the request may have had its effect */
    KUBE_TOO_LARGE, /* the answer exceeds its limit */
    KUBE_LOCAL,     /* our side: no memory, no descriptor */
};

/* An answer; texts are borrowed for the callback. */
struct kube_response {
    enum kube_failure failure;
    const char *failure_text; /* NULL, or the transport's words */
    int http_code;            /* 0: none received */
    const char *content_type; /* "" if none */
    const char *body;         /* never NULL, NUL-terminated */
    size_t body_len;
    int64_t retry_after_s; /* -1: none given */
    int64_t date_unix_ms;  /* the server's clock, from its Date header; -1: none given */
    const char *warning;   /* the server's Warning headers, one a line; "" if none */
};

/* The parts of a failure, from a Status if the body is one. */
struct kube_status {
    char reason[48];            /* "AlreadyExists"; "" if not a Status, or none given */
    char cause[48];             /* reason of the first cause: "NamespaceTerminating" */
    char message[ERR_MSG_SIZE]; /* one line for people, never empty */
    bool is_status;
};
void kube_status_read(const char *content_type, const char *body, size_t len, int http_code,
                      struct kube_status *ret);
/* The same for the object of an ERROR event; its code, 0 if it has none. */
int kube_status_read_object(const json_t *object, struct kube_status *ret);

/* A 403 of the authoriser: the account lacks a right, whatever was sent.
 * Admission also answers 403. */
bool kube_lacks_right(const struct kube_response *res);

/* 0 for 2xx. Else -Exxx and a text: what was tried, what came back, what to do next.
 *   -EACCES  401, 403      -ENOENT  404              -EEXIST  409 AlreadyExists
 *   -ESTALE  409 Conflict (uid or resourceVersion has changed), 410
 *   -EINVAL  400, 413, 422 and other 4xx              -EBUSY   429
 *   -ETIMEDOUT 408, 504, no answer in time            -EIO     other 5xx, other codes
 *   -EDQUOT  403 "exceeded quota", "status unknown for quota"
 *   -ESHUTDOWN 403 NamespaceTerminating
 *   -EHOSTUNREACH no connection   -EPROTO TLS   -ECONNRESET broken   -E2BIG too large */
int kube_check(const struct kube_request *req, const struct kube_response *res, struct err *err);
