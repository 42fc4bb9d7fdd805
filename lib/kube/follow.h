/* Follows one container's log over as many connections as it takes. The end of a stream does not
 * mean the end of the container, so the owner, who watches pods, says when it is over. */
#pragma once

#include "base/err.h"
#include "kube/client.h"
#include "kube/log_cursor.h"

struct kube_follow_params {
    const char *ns, *pod;
    const char *container; /* NULL: the only one */
    kube_line_fn on_line;
    /* The log is over: 0 after the owner's word and the stream's end, -ENOENT the pod is gone,
     * -EACCES we may not, -ETIMEDOUT the stream outlived its container by 10 s. Anything else is
     * tried again until then. Last callback. */
    void (*on_end)(void *ctx, int r, const struct err *err);
    void *ctx;
    uint64_t seed;
};
struct kube_follow;
struct kube_follow *kube_follow_new(struct kube_client *client,
                                    const struct kube_follow_params *params);
/* The container has terminated: the next end of the stream is the end of the log. */
void kube_follow_container_ended(struct kube_follow *f);
/* No callback any more. Also from on_end, but not from on_line; before the client. */
void kube_follow_free(struct kube_follow *f);
