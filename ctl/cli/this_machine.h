/* What benchctl needs to know about this machine: its CPUs, and where its own programs are. */
#pragma once

#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"

/* CPUs that this process may use: its affinity, and the cgroup's limit rounded down. At least 1. */
int64_t host_cpus(void);
/* Folder of this executable; owned; "." if the kernel does not report it. */
char *host_program_folder(void);
/* A program by path, or by name in PATH. Owned; NULL: not found. */
char *host_find_program(const char *name);
/* benchworker: $BENCHWORKER, else the first of: this program's folder, ../worker (build folder),
 * ../libexec/benchd, PATH. Owned. -ENOENT names the places. */
int host_find_worker(char **ret, struct err *err);
/* The lines of `benchworker --version`, as run_program(). */
int host_worker_version(const char *worker, struct buf *ret);
