/* Repeats a look at a list until Ctrl-C, for `benchctl get --watch`. */
#pragma once

#include <stdint.h>

#include "base/exit_code.h"

/* Calls `look` at once, and then every `period_ms` until it fails (its code) or Ctrl-C
 * (EXIT_INTERRUPTED). */
enum exit_code list_watch(enum exit_code (*look)(void *ctx), void *ctx, uint64_t period_ms);
