/* A file that a command of a run or its definition names: it travels with the run
 * (docs/export.md). Pure. */
#pragma once

#include <stdbool.h>

#include "base/buf.h"

#define PROGRAM_FILES_MAX_BYTES ((size_t)1 << 20) /* of a run together */

struct program_file {
    char *name; /* relative to the folder where the run was started; owned */
    bool is_executable;
    struct buf content;
};
void program_file_done(struct program_file *file);
/* A relative path of printable ASCII that stays in its folder; no part of it is hidden. */
bool program_file_may_travel(const char *name);
