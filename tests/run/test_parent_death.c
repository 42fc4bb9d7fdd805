/* Whatever ends the program, its replicas and all that they have started end. */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/pidfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/test.h"
#include "base/clock.h"
#include "base/parse.h"
#include "base/str.h"

#define N_BELOW 5 /* two workers, a shell, its child, its escaped grandchild */
#define LIMIT_NS (INT64_C(60) * 1000000000) /* nobody who is left to himself ends so soon */

struct family {
    pid_t parent;
    int pids[N_BELOW];
    int fds[N_BELOW]; /* pidfds: readable when that process has ended, whoever reaps it */
};

static pid_t start_parent(FILE **ret_out)
{
    _cleanup_(freep) char *program = xasprintf("%s/tests/run/parent", getenv("BENCHD_BUILD_DIR"));
    _cleanup_(freep) char *worker =
        xasprintf("%s/tests/run/fake_worker", getenv("BENCHD_BUILD_DIR"));
    int out[2];
    assert_int_equal(pipe2(out, O_CLOEXEC), 0);
    pid_t pid = fork();
    if (pid == 0) {
        (void)setpgid(0, 0); /* so that a test can kill its whole group */
        if (dup2(out[1], STDOUT_FILENO) >= 0) {
            (void)execl(program, program, worker, (char *)NULL); /* returns only on failure */
        }
        _exit(127);
    }
    assert_true(pid > 0);
    (void)close(out[1]);
    *ret_out = fdopen(out[0], "r");
    assert_non_null(*ret_out);
    return pid;
}

static void family_start(struct family *f)
{
    FILE *out;
    f->parent = start_parent(&out);
    char line[64];
    int n = 0;
    while (fgets(line, sizeof(line), out) != NULL && !str_eq(line, "ready\n")) {
        int64_t pid = 0;
        assert_true(n < N_BELOW && str_has_prefix(line, "pid "));
        line[strcspn(line, "\n")] = '\0';
        assert_int_equal(parse_i64(line + strlen("pid "), &pid), 0);
        f->pids[n] = (int)pid;
        f->fds[n] = pidfd_open((pid_t)pid, 0);
        assert_true(f->fds[n] >= 0);
        n++;
    }
    assert_int_equal(n, N_BELOW);
    (void)fclose(out);
}

static void assert_all_end(const char *name, struct family *f)
{
    int64_t deadline_ns = clock_monotonic_ns() + LIMIT_NS;
    for (int i = 0; i < N_BELOW; i++) {
        struct pollfd ended = {.fd = f->fds[i], .events = POLLIN};
        int64_t left_ms = (deadline_ns - clock_monotonic_ns()) / 1000000;
        if (poll(&ended, 1, left_ms > 0 ? (int)left_ms : 0) != 1) {
            fail_msg("%s: process %d (%d) still runs", name, i, f->pids[i]);
        }
        (void)close(f->fds[i]);
    }
}

static void kill_parent(const struct family *f)
{
    assert_int_equal(kill(f->parent, SIGKILL), 0);
}

static void terminate_parent(const struct family *f)
{
    assert_int_equal(kill(f->parent, SIGTERM), 0);
}

static void kill_group(const struct family *f)
{
    assert_int_equal(kill(-f->parent, SIGKILL), 0);
}

/* As a terminal's Ctrl-\, when the members are stopped. */
static void quit_while_stopped(const struct family *f)
{
    for (int i = 0; i < N_BELOW; i++) {
        assert_int_equal(kill(f->pids[i], SIGSTOP), 0);
    }
    assert_int_equal(kill(-f->parent, SIGKILL), 0);
}

TEST(nothing_outlives_the_program)
{
    static const struct {
        const char *name;
        void (*end)(const struct family *f);
    } rows[] = {
        {"kill -9", kill_parent},
        {"kill -TERM", terminate_parent},
        {"kill -9 of its process group", kill_group},
        {"kill -9 with stopped replicas", quit_while_stopped},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct family f;
        family_start(&f);
        rows[i].end(&f);
        assert_all_end(rows[i].name, &f);
        assert_int_equal(waitpid(f.parent, NULL, 0), f.parent);
    }
}
