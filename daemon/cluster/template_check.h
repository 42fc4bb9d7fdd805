/* Shows a run's pod templates to the API server before anything is made of the run: one pod of each
 * role, and one object of each system that is a job object, as dry runs. What schema, admission or
 * Pod Security refuse then ends the run with the server's words, and not trial by trial.
 *
 * Only a refusal of the pod itself counts as one of the template. Anything else (an
 * exhausted quota, a missing right, a pod's name) may have changed when the pods are made,
 * so it is left to them. */
#pragma once

#include "base/err.h"
#include "kube/client.h"
#include "pod/body.h"
#include "spec/run_def.h"

/* Of several, the first in this list is that of all. */
enum template_verdict {
    TEMPLATES_CHECKING,
    TEMPLATES_REFUSED,   /* the text has the server's words on the first role that it refuses */
    TEMPLATES_NO_ANSWER, /* the text says why; to be checked again later */
    TEMPLATES_GOOD,
};

struct template_check_params {
    struct kube_client *client; /* borrowed; lives longer */
    const char *ns;             /* read by template_check_new only, like the next three */
    const struct run_def *def;
    enum pod_naming naming;
    const char *account;     /* ServiceAccount of the pods; NULL: the default one */
    const char *registry;    /* of images of this tree; NULL: as they are */
    void (*wake)(void *ctx); /* an answer has come; the check may be freed later, not from inside */
    void *ctx;
};

struct template_check;
/* Sends the dry runs. An error: a template that cannot become a pod at all. */
int template_check_new(const struct template_check_params *params, struct template_check **ret,
                       struct err *err);
/* `*ret_text` is borrowed; "" where the verdict has none. */
enum template_verdict template_check_verdict(const struct template_check *check,
                                             const char **ret_text);
/* When it was sent, monotonic. */
int64_t template_check_began_ns(const struct template_check *check);
void template_check_free(struct template_check *check); /* cancels what is open */
