/* The runs of a store on this machine. */
#pragma once

#include "ctl/runs/backend.h"

/* The store is opened on first use, since `run` creates it. Always EXIT_OK. */
enum exit_code local_backend_open(const struct cli *cli, struct backend **ret);
