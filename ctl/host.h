/* This machine as benchctl needs it: its CPUs, and where its own parts lie. */
#pragma once

#include <stdint.h>

#include "base/err.h"

/* CPUs that this process may use: its affinity, and the cgroup's limit rounded down. At least 1. */
int64_t host_cpus(void);
/* Folder of this executable; owned; "." if the kernel does not tell. */
char *host_program_folder(void);
/* A program by path, or by name in PATH. Owned; NULL: there is none. */
char *host_find_program(const char *name);
/* benchworker: $BENCHWORKER, beside this program, ../worker of the build folder, libexec, PATH.
 * Owned. -ENOENT names the places. */
int host_find_worker(char **ret, struct err *err);
