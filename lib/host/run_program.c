/* See run_program.h. */
#include "host/run_program.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"

static int read_all(int fd, const struct run_limits *limits, struct buf *ret)
{
    const int64_t end_ns = clock_monotonic_ns() + (int64_t)limits->timeout_ms * 1000000;
    char chunk[4096];
    for (;;) {
        const int64_t left_ms = (end_ns - clock_monotonic_ns()) / 1000000;
        struct pollfd ready = {.fd = fd, .events = POLLIN};
        const int timeout_ms = limits->timeout_ms < 0 ? -1 : left_ms > 0 ? (int)left_ms : 0;
        if (poll(&ready, 1, timeout_ms) == 0) {
            return -ETIMEDOUT;
        }
        const ssize_t n = read(fd, chunk, sizeof(chunk));
        if (n == 0 || (n < 0 && errno != EINTR)) {
            return n == 0 ? 0 : -errno;
        }
        buf_append(ret, chunk, n < 0 ? 0 : (size_t)n);
        if (ret->len > limits->max_bytes) {
            return -E2BIG;
        }
    }
}

int run_program(char *const *argv, const struct run_limits *limits, struct buf *ret)
{
    int fds[2];
    if (pipe2(fds, O_CLOEXEC) < 0) {
        return -errno;
    }
    posix_spawn_file_actions_t actions;
    pid_t pid = -1;
    (void)posix_spawn_file_actions_init(&actions); /* fails only without memory: spawn says so */
    (void)posix_spawn_file_actions_adddup2(&actions, fds[1], STDOUT_FILENO);
    if (limits->hides_errors) {
        (void)posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    }
    int r = -posix_spawnp(&pid, argv[0], &actions, NULL, argv, environ);
    (void)posix_spawn_file_actions_destroy(&actions);
    (void)close(fds[1]);
    int status = -1;
    if (r == 0) {
        r = read_all(fds[0], limits, ret);
        (void)(r == -ETIMEDOUT && kill(pid, SIGKILL)); /* not reaped: it is there */
    }
    (void)close(fds[0]);
    while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    return r < 0 ? r : WIFEXITED(status) ? WEXITSTATUS(status) : 255;
}
