/* At most one error of a replica: the first one that a thread reports. A child writes, because it
 * writes to stdout and stderr. */
#include <errno.h>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/test.h"
#include "worker/report.h"

static void write_errors(int fd)
{
    const struct role_env e = {.role = ROLE_TRAINER, .index = 3};
    struct report r;
    bool is_first, is_second;
    if (dup2(fd, STDOUT_FILENO) < 0 || dup2(fd, STDERR_FILENO) < 0) {
        _exit(99);
    }
    report_init(&r, &e);
    int first = report_error(&r, 11, "pserver/0", "the cause", &is_first);
    int second = report_error(&r, 12, NULL, "a consequence", &is_second);
    _exit(first == 11 && second == 12 && is_first && !is_second ? 0 : 98);
}

TEST(only_the_first_error)
{
    int fds[2], status;
    char said[4096];
    size_t n = 0;
    assert_int_equal(pipe(fds), 0);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        write_errors(fds[1]);
    }
    (void)close(fds[1]);
    for (ssize_t got = 1; got > 0 && n<sizeof(said) - 1; n += got> 0 ? (size_t)got : 0) {
        got = read(fds[0], said + n, sizeof(said) - 1 - n);
    }
    said[n] = '\0';
    (void)close(fds[0]);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(WIFEXITED(status) ? WEXITSTATUS(status) : -1, 0);
    const char *line = strchr(said, '\n');
    assert_non_null(line);
    _cleanup_(record_done) struct record record;
    struct err err = {0};
    assert_int_equal(record_read(said, (size_t)(line - said), &record, &err), 1);
    assert_int_equal(record.type, RECORD_ERROR);
    assert_int_equal(record.who.index, 3);
    assert_int_equal(record.error.code, 11);
    assert_string_equal(record.error.peer, "pserver/0");
    assert_string_equal(record.error.message, "the cause");
    assert_string_equal(line + 1, "benchworker trainer/3: the cause\n");
}

/* Runs `act` with stdout on a full disk; returns what it returns, as an exit code. */
static int on_full_disk(int (*act)(struct report *r, struct err *err))
{
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        const struct role_env e = {.role = ROLE_TRAINER};
        struct report r;
        struct err err = {0};
        int fd = open("/dev/full", O_WRONLY);
        if (fd < 0 || dup2(fd, STDOUT_FILENO) < 0) {
            _exit(99);
        }
        report_init(&r, &e);
        _exit(-act(&r, &err));
    }
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static int write_step(struct report *r, struct err *err)
{
    const struct record_step step = {.samples = 1};
    return report_step(r, &step, err);
}

static int write_summary(struct report *r, struct err *err)
{
    r->summary.steps = 1;
    *vec_push(&r->step_ns) = 1000;
    return report_summary(r, err);
}

TEST(full_disk)
{
    assert_int_equal(on_full_disk(write_step), ENOSPC);
    assert_int_equal(on_full_disk(write_summary), ENOSPC);
}
