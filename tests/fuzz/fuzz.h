/* What every fuzz target has: its entry, and how it says that a property is broken. */
#pragma once

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static inline void must(bool holds, const char *what)
{
    if (!holds) {
        (void)fprintf(stderr, "%s: %s\n", program_invocation_short_name, what);
        abort();
    }
}

#define require(holds) must(holds, #holds)
