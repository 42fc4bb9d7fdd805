/* Runs a program and keeps what it says. */
#pragma once

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/test.h"

struct child {
    char *const *argv;       /* NULL-terminated; argv[0] is the path */
    const char *stdout_path; /* NULL: kept in `out` */
    rlim_t max_bytes;        /* of address space; 0: no limit */
    int exit_code;           /* -1: killed by a signal */
    char out[65536], err[8192];
};

static inline void child_keep(FILE *f, char *into, size_t size)
{
    (void)fseek(f, 0, SEEK_SET);
    size_t n = fread(into, 1, size - 1, f);
    into[n] = '\0';
    fclose(f);
}

static inline void child_exec(const struct child *c, int out, int err) /* never returns */
{
    if (c->max_bytes != 0) {
        struct rlimit limit = {.rlim_cur = c->max_bytes, .rlim_max = c->max_bytes};
        (void)setrlimit(RLIMIT_AS, &limit);
    }
    if (c->stdout_path != NULL && freopen(c->stdout_path, "w", stdout) == NULL) {
        _exit(126);
    }
    if ((c->stdout_path == NULL && dup2(out, STDOUT_FILENO) < 0) || dup2(err, STDERR_FILENO) < 0) {
        _exit(126);
    }
    execv(c->argv[0], c->argv);
    _exit(127);
}

static inline void child_run(struct child *c)
{
    FILE *out = tmpfile(), *err = tmpfile();
    assert_non_null(out);
    assert_non_null(err);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        child_exec(c, fileno(out), fileno(err));
    }
    int status = 0;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    c->exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    child_keep(out, c->out, sizeof(c->out));
    child_keep(err, c->err, sizeof(c->err));
}
