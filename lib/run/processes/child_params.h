/* What a child process is started with: see child.h. */
#pragma once

#include <sched.h>
#include <stdbool.h>

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
