/* What happens between fork and exec, and the guard of a foreign command; see child_exec.h.
 *
 * All signals are blocked on entry. Everything here is async-signal-safe: the parent may have had
 * threads. The guard's life:
 *   watching -- TERM from the launcher --> TERM and CONT to the command's group, watching on
 *   watching -- USR1: launcher's kill, or the launcher's death --> KILL to the group, watching on
 *   watching -- the command ended --> KILL to what is left of its group, then to every orphan that
 *               came to us as their subreaper --> we end as the command did */
#include "run/processes/child_exec.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/str.h"

static void write_report(int fd, int stage)
{
    struct child_report report = {.code = errno, .stage = stage};
    if (write(fd, &report, sizeof(report)) != (ssize_t)sizeof(report)) {
        _exit(126); /* the parent has died: no process reads the report */
    }
}

__attribute__((noreturn)) static void fail(int fd, enum child_stage stage)
{
    write_report(fd, stage);
    _exit(127);
}

/* Asks the kernel to send `signal` when `parent` dies. It may have died already. */
static void die_with(pid_t parent, int signal, int report_fd)
{
    if (prctl(PR_SET_PDEATHSIG, signal) < 0) {
        fail(report_fd, CHILD_STAGE_GROUP);
    }
    if (getppid() != parent) {
        _exit(127);
    }
}

static void reset_signals(void)
{
    struct sigaction dfl = {.sa_handler = SIG_DFL};
    for (int s = 1; s < NSIG; s++) {
        (void)sigaction(s, &dfl, NULL); /* fails for KILL and STOP, which cannot be changed */
    }
}

static void close_from(unsigned first)
{
    if (close_range(first, ~0U, 0) == 0) {
        return;
    }
    for (int fd = (int)first; fd < 65536; fd++) { /* a kernel before 5.9 */
        (void)close(fd);                          /* most are not open */
    }
}

static void place_fds(const struct child_params *params, const struct child_fds *fds)
{
    if (dup3(fds->report, CHILD_FD_REPORT, O_CLOEXEC) < 0) {
        fail(fds->report, CHILD_STAGE_FDS);
    }
    if (dup2(fds->null, STDIN_FILENO) < 0 || dup2(fds->out, STDOUT_FILENO) < 0 ||
        dup2(fds->err, STDERR_FILENO) < 0 || dup2(fds->secret, CHILD_SECRET_FD) < 0) {
        fail(CHILD_FD_REPORT, CHILD_STAGE_FDS);
    }
    if (params->arena_fd < 0) {
        (void)close(CHILD_ARENA_FD); /* of the parent, if it is open */
    } else if (dup2(params->arena_fd, CHILD_ARENA_FD) < 0) {
        fail(CHILD_FD_REPORT, CHILD_STAGE_FDS);
    }
    close_from(CHILD_FD_REPORT + 1);
}

__attribute__((noreturn)) static void exec_program(const struct child_params *params,
                                                   const struct child_fds *fds, pid_t parent)
{
    if (setpgid(0, 0) < 0) {
        fail(fds->report, CHILD_STAGE_GROUP);
    }
    die_with(parent, SIGKILL, fds->report);
    if (params->network_fd >= 0 && setns(params->network_fd, CLONE_NEWNET) < 0) {
        fail(fds->report, CHILD_STAGE_NETWORK);
    }
    if (params->cpus != NULL && sched_setaffinity(0, sizeof(*params->cpus), params->cpus) < 0) {
        fail(fds->report, CHILD_STAGE_CPUS);
    }
    place_fds(params, fds);
    reset_signals();
    sigset_t none;
    (void)sigemptyset(&none);                               /* cannot fail */
    (void)sigprocmask(SIG_SETMASK, &none, NULL);            /* cannot fail with these arguments */
    (void)execve(params->path, params->argv, params->envp); /* returns only on failure */
    fail(CHILD_FD_REPORT, CHILD_STAGE_EXEC);
}

/* Kills every direct child the kernel lists. Returns 0 when it cannot list them. */
static int kill_listed_children(void)
{
    char text[4096];
    int fd = open("/proc/thread-self/children", O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return 0;
    }
    ssize_t n = read(fd, text, sizeof(text));
    (void)close(fd); /* read only */
    pid_t pid = 0;
    for (ssize_t i = 0; i < n; i++) {
        if (ascii_is_digit(text[i])) {
            pid = pid * 10 + (text[i] - '0');
        } else {
            if (pid > 0) {
                (void)kill(pid, SIGKILL); /* ESRCH or a zombie: waitpid follows */
            }
            pid = 0;
        }
    }
    return n > 0;
}

/* This process is the subreaper of the command's orphans; those that left its group are found only
 * this way. */
static void end_orphans(void)
{
    while (kill_listed_children()) {
        if (waitpid(-1, NULL, 0) < 0 && errno != EINTR) {
            return;
        }
    }
}

__attribute__((noreturn)) static void end_as(int status)
{
    if (WIFEXITED(status)) {
        _exit(WEXITSTATUS(status));
    }
    int sig = WTERMSIG(status);
    sigset_t set;
    (void)prctl(PR_SET_DUMPABLE, 0); /* the core dump, if any, is the command's */
    (void)sigemptyset(&set);         /* cannot fail */
    (void)sigaddset(&set, sig);      /* a valid signal: it came from the kernel */
    (void)raise(sig);
    (void)sigprocmask(SIG_UNBLOCK, &set, NULL); /* ends this process */
    _exit(128 + sig);
}

/* Reaps what has ended. If that is the command, ends its orphans and then this process. */
static void reap(pid_t command)
{
    siginfo_t info = {0};
    while (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid != 0) {
        if (info.si_pid == command) {
            /* Not reaped yet, so the group's number is still its own. */
            (void)kill(-command, SIGKILL); /* ESRCH: no process is left */
        }
        int status = 0;
        if (waitpid(info.si_pid, &status, 0) == command) {
            end_orphans();
            end_as(status);
        }
        info = (siginfo_t){0};
    }
}

static void signal_command(pid_t command, int sig)
{
    (void)kill(-command, sig); /* ESRCH: it has ended, SIGCHLD is on its way */
    if (getpgid(command) != command) {
        (void)kill(command, sig); /* it left its group; not reaped, so the pid is still its own */
    }
}

__attribute__((noreturn)) static void guard(pid_t command)
{
    sigset_t set;
    (void)sigemptyset(&set); /* none of these can fail */
    (void)sigaddset(&set, SIGTERM);
    (void)sigaddset(&set, SIGUSR1);
    (void)sigaddset(&set, SIGCHLD);
    close_from(0);
    for (;;) {
        int sig = sigwaitinfo(&set, NULL);
        if (sig == SIGTERM) {
            signal_command(command, SIGTERM);
            signal_command(command, SIGCONT);
        } else if (sig == SIGUSR1) {
            signal_command(command, SIGKILL);
        } else if (sig == SIGCHLD) {
            reap(command);
        }
    }
}

void child_exec_run(const struct child_params *params, const struct child_fds *fds, pid_t parent)
{
    if (!params->is_supervised) {
        exec_program(params, fds, parent);
    }
    reset_signals();
    if (setpgid(0, 0) < 0 || prctl(PR_SET_CHILD_SUBREAPER, 1) < 0) {
        fail(fds->report, CHILD_STAGE_GROUP);
    }
    (void)prctl(PR_SET_NAME, "bench-guard"); /* so that `pkill -9 benchctl` spares the guards */
    die_with(parent, SIGUSR1, fds->report);
    pid_t self = getpid();
    pid_t command = fork();
    if (command < 0) {
        fail(fds->report, CHILD_STAGE_FORK);
    }
    if (command == 0) {
        exec_program(params, fds, self);
    }
    (void)setpgid(command, command); /* the child does it too; whichever is first */
    guard(command);
}
