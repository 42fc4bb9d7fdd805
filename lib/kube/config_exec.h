/* The exec section of a kubeconfig's user. For config.c and config_user.c only. Pure. */
#pragma once

#include "kube/config_read.h"

/* *ret: owned, NULL if the user has none. -EINVAL. */
int config_read_exec(const struct config_reader *r, const struct node *user,
                     struct kube_exec **ret);
void config_exec_free(struct kube_exec *exec); /* NULL is fine */
struct kube_exec *config_exec_copy(const struct kube_exec *exec);

/* Of lists that NULL ends; NULL is fine. */
