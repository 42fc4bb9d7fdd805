/* Follows one container's log over as many connections as it takes. A stream may end before its
 * container does, so the owner, which watches pods, reports when the container has ended.
 *
 * Whether a log is whole. A kubelet renames a log file of containerLogMaxSize and begins another;
 * it returns the newest file only, and a stream that is open then may lose lines. No answer says
 * so. What may be unseen is the time from the container's start to its first line, without the
 * time that an owner who had seen the container wait was waiting for that line. A log is known to
 * be whole if
 * - at most 10 s may be unseen, and at most 3 s or the time that was seen, whichever is more;
 * - in its first 2 s came less than a fifth of a file, so that those 10 s cannot have filled one;
 * - at its end the newest file begins with that line, so that no file was replaced;
 * - each later stream repeated the last line of the one before it. */
#pragma once

#include "base/err.h"
#include "kube/client.h"
#include "kube/log_cursor.h"

struct kube_follow_params {
    const char *ns, *pod;
    const char *container; /* NULL: the only one */
    kube_line_fn on_line;
    /* A stream ended too early, or could not be opened, and another follows: lines may have been
     * written in between. May be NULL. */
    void (*on_break)(void *ctx);
    /* Last callback: the log is complete or cannot be read any more. 0: the container and then the
     * stream have ended; -ENOENT the pod is gone; -EACCES no right; -ETIMEDOUT nothing came for
     * 10 s after the end of its container. Other failures are retried until then.
     * file_bytes: -ENODATA if the log is not known to be whole. */
    void (*on_end)(void *ctx, int r, const struct err *err);
    void *ctx;
    uint64_t seed;
    uint64_t file_bytes;     /* containerLogMaxSize of the node; 0: a log need not be whole */
    bool saw_wait;           /* the owner has seen that the container had not started */
    int64_t started_unix_ms; /* the container, by its node's clock to the second; 0: not known */
};
struct kube_follow;
struct kube_follow *kube_follow_new(struct kube_client *client,
                                    const struct kube_follow_params *params);
/* Reports that the container has ended: the next end of the stream is the end of the log. */
void kube_follow_container_ended(struct kube_follow *f);
/* In on_line: the node's time of that line, unix time; INT64_MIN: no line has one yet. */
int64_t kube_follow_line_ns(const struct kube_follow *f);
/* No callback follows. May be called from on_end, not from on_line. Free it before its client. */
void kube_follow_free(struct kube_follow *f);
