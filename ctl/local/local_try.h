/* `benchctl try` on this machine. */
#pragma once

#include "ctl/runs/backend.h"

/* The whole verb, see local_try.c. */
enum exit_code local_try(struct backend *b);
