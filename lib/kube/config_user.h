/* The user of a kubeconfig: certificate, token, impersonation. For config.c only. Pure. */
#pragma once

#include "kube/config_read.h"

/* Fills r->config. -EINVAL. */
int config_read_user(const struct config_reader *r, const struct node *user);
