/* One child process: how it is started and signalled. Edge file: forks. Used by process.c and
 * processes.c. links.c and local_gang.c, which open what a child is handed, use child_find_program
 * and child_raise_fd.
 *
 * A trusted child (benchworker) is our direct child, leads its own process group and is killed by
 * the kernel when we die (PR_SET_PDEATHSIG). A supervised one, any other command, is the child of a
 * guard: a fork of us that never execs, in a group of its own, that outlives us just long enough to
 * kill the command's whole group and every orphan of it. `pid` is then the guard's; it ends as the
 * command ended, with the same exit code or by the same signal.
 *
 *     benchctl --PDEATHSIG KILL--> benchworker
 *     benchctl --PDEATHSIG USR1--> guard --PDEATHSIG KILL--> command -> its own children
 *
 * PDEATHSIG fires when the thread that forked ends: fork from a thread that lives as long as the
 * program. The caller reaps: waitpid(pid). */
#pragma once

#include <sched.h>
#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"

#define CHILD_SECRET_SIZE 32
#define CHILD_SECRET_FD 3 /* the secret in the child: a sealed memfd, read from 0 */
#define CHILD_ARENA_FD 4  /* what the trainers of a gang share; see local_gang.h */
#define CHILD_FD_MIN 10   /* descriptors that are handed to a child are above those that it uses */

struct child_params {
    const char *path; /* of the program, see child_find_program */
    char *const *argv;
    char *const *envp;
    bool is_supervised;
    const cpu_set_t *cpus;       /* NULL: not pinned */
    const unsigned char *secret; /* CHILD_SECRET_SIZE bytes */
    int arena_fd;                /* at least CHILD_FD_MIN, borrowed; -1: none */
    int network_fd; /* the network namespace of its own that it gets, as arena_fd; -1: ours */
};

struct child {
    pid_t pid;
    bool is_supervised;
    int out_fd, err_fd; /* read ends of stdout and stderr, non-blocking; closed by the caller */
};

/* Moves an open descriptor above those that the child uses. -errno: it is closed and -1 then. */
int child_raise_fd(int *fd);

/* Returns when the program runs, or with the errno of the step that failed; then no process is
 * left. */
int child_spawn(const struct child_params *params, struct child *ret, struct err *err);

enum child_signal { CHILD_TERM, CHILD_KILL };
/* Signals the child's whole process group; only before it is reaped. TERM also continues a stopped
 * group, so that it can act on it. */
void child_signal(const struct child *c, enum child_signal signal);

/* `name` itself if it holds a slash, else the first executable in `path` (a PATH variable). Owned.
 * -ENOENT, -EACCES. */
int child_find_program(const char *name, const char *path, char **ret, struct err *err);

/* The environment of a child: a few variables that programs need on this machine (PATH, HOME, ...:
 * docs/run.md), then the variables of `contract` ("NAME=value"; they override the former, and the
 * last of equal names counts), then the variables of `extra`. Nothing else is inherited, so that a
 * run does not depend on the process that started it. Owned list. */
char **child_env_build(char *const *contract, char *const *extra);
/* The value of `name` in such a list, borrowed; NULL if it is not set. */
const char *child_env_get(char *const *list, const char *name);
