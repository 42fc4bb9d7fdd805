/* The runs of a namespace, by its objects and the API of its benchd. */
#pragma once

#include "ctl/runs/backend.h"

/* EXIT_OK, or prints the error. */
enum exit_code cluster_backend_open(const struct cli *cli, struct backend **ret);
