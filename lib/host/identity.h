/* What a program is, so that runs of an edited one are not taken for runs of the same: the facts
 * `program`, `program_files`, `program_folder` and `program_commit` of docs/contracts/record.md.
 * Edge file: reads files, runs git. */
#pragma once

#include <jansson.h>

#define IDENTITY_MAX_BYTES ((size_t)256 << 20) /* of all files of a command together */
#define IDENTITY_GIT_MS 2000                   /* of each call of git */

/* `path` is that of the program, `argv` its command. Owned. */
json_t *identity_of(const char *path, char *const *argv);
