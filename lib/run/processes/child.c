/* Starts and signals a child; the parent's side, see child.h. */
#include "run/processes/child.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/str.h"
#include "base/texts.h"
#include "base/vec.h"
#include "run/processes/child_exec.h"

/* Everything open during a start; -1: not open. */
struct start {
    int out[2], err[2], report[2]; /* pipes: read end, write end */
    int null, secret;
};
#define START_CLOSED ((struct start){{-1, -1}, {-1, -1}, {-1, -1}, -1, -1})

static void start_close(struct start *s)
{
    int *const all[] = {&s->out[0],    &s->out[1],    &s->err[0], &s->err[1],
                        &s->report[0], &s->report[1], &s->null,   &s->secret};
    for (size_t i = 0; i < COUNT_OF(all); i++) {
        fd_close(all[i]);
    }
}

int child_raise_fd(int *fd)
{
    int high = fcntl(*fd, F_DUPFD_CLOEXEC, CHILD_FD_MIN);
    int code = errno;
    fd_close(fd);
    *fd = high;
    return high < 0 ? -code : 0;
}

static int open_pipe(int fds[2])
{
    if (pipe2(fds, O_CLOEXEC) < 0) {
        return -errno;
    }
    int r = child_raise_fd(&fds[0]);
    return r < 0 ? r : child_raise_fd(&fds[1]);
}

/* An immutable file in memory. Each child gets its own, with its own read position. */
static int open_secret(const unsigned char *secret, int *ret)
{
    *ret = memfd_create("benchd-secret", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    int r = *ret < 0 ? -errno : child_raise_fd(ret);
    if (r < 0) {
        return r;
    }
    if (write(*ret, secret, CHILD_SECRET_SIZE) != CHILD_SECRET_SIZE ||
        lseek(*ret, 0, SEEK_SET) < 0 ||
        fcntl(*ret, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) < 0) {
        return -errno;
    }
    return 0;
}

static int start_open(struct start *s, const unsigned char *secret)
{
    int r = open_pipe(s->out);
    r = r < 0 ? r : open_pipe(s->err);
    r = r < 0 ? r : open_pipe(s->report);
    r = r < 0 ? r : open_secret(secret, &s->secret);
    if (r >= 0) {
        s->null = open("/dev/null", O_RDONLY | O_CLOEXEC);
        r = s->null < 0 ? -errno : child_raise_fd(&s->null);
    }
    if (r >= 0 &&
        (fcntl(s->out[0], F_SETFL, O_NONBLOCK) < 0 || fcntl(s->err[0], F_SETFL, O_NONBLOCK) < 0)) {
        r = -errno;
    }
    return r;
}

/* Signals stay blocked over the fork: no handler of ours may run in the child. */
static pid_t fork_child(const struct child_params *params, const struct start *s)
{
    struct child_fds fds = {.null = s->null,
                            .out = s->out[1],
                            .err = s->err[1],
                            .secret = s->secret,
                            .report = s->report[1]};
    pid_t parent = getpid();
    sigset_t all, before;
    (void)sigfillset(&all);                            /* cannot fail */
    (void)pthread_sigmask(SIG_SETMASK, &all, &before); /* cannot fail with these arguments */
    pid_t pid = fork();
    if (pid == 0) {
        child_exec_run(params, &fds, parent);
    }
    int code = errno;
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL); /* as above */
    errno = code;
    return pid;
}

static int start_error(const struct child_params *params, const struct child_report *report,
                       struct err *err)
{
    static const char *const stages[] = {
        [CHILD_STAGE_GROUP] = "create the process group",
        [CHILD_STAGE_NETWORK] = "enter its network namespace",
        [CHILD_STAGE_CPUS] = "pin to CPUs",
        [CHILD_STAGE_FDS] = "set up file descriptors",
        [CHILD_STAGE_FORK] = "fork under the guard",
        [CHILD_STAGE_EXEC] = "exec",
    };
    return err_set_errno(err, report->code, "start '%s': %s", params->path, stages[report->stage]);
}

static ssize_t read_report(int fd, struct child_report *ret)
{
    ssize_t n;
    do {
        n = read(fd, ret, sizeof(*ret)); /* waits for the exec, or for the report of its failure */
    } while (n < 0 && errno == EINTR);
    return n;
}

int child_spawn(const struct child_params *params, struct child *ret, struct err *err)
{
    struct start s = START_CLOSED;
    int r = start_open(&s, params->secret);
    if (r < 0) {
        start_close(&s);
        return err_set_errno(err, -r, "start '%s': open pipes", params->path);
    }
    pid_t pid = fork_child(params, &s);
    if (pid < 0) {
        r = err_set_errno(err, errno, "start '%s': fork", params->path);
        start_close(&s);
        return r;
    }
    fd_close(&s.report[1]);
    struct child_report report;
    if (read_report(s.report[0], &report) == (ssize_t)sizeof(report)) {
        (void)waitpid(pid, NULL, 0); /* it is on its way to _exit */
        start_close(&s);
        return start_error(params, &report, err);
    }
    *ret = (struct child){
        .pid = pid, .is_supervised = params->is_supervised, .out_fd = s.out[0], .err_fd = s.err[0]};
    s.out[0] = s.err[0] = -1;
    start_close(&s);
    return 0;
}

void child_signal(const struct child *c, enum child_signal signal)
{
    if (c->is_supervised) {
        (void)kill(c->pid, signal == CHILD_TERM ? SIGTERM : SIGUSR1); /* not reaped: it is there */
        return;
    }
    (void)kill(-c->pid, signal == CHILD_TERM ? SIGTERM : SIGKILL); /* as above */
    if (signal == CHILD_TERM) {
        (void)kill(-c->pid, SIGCONT); /* as above */
    }
}

int child_find_program(const char *name, const char *path, char **ret, struct err *err)
{
    if (strchr(name, '/') != NULL) {
        *ret = xstrdup(name);
        return 0;
    }
    int code = ENOENT;
    while (path != NULL && *path != '\0') {
        size_t len = strcspn(path, ":");
        _cleanup_(freep) char *file = xasprintf("%.*s/%s", (int)len, path, name);
        if (len > 0 && access(file, X_OK) == 0) {
            *ret = take_ptr(file);
            return 0;
        }
        code = len > 0 && errno == EACCES ? EACCES : code;
        path += len + (path[len] == ':');
    }
    return err_set_errno(err, code, "find program '%s' in PATH", name);
}

/* ---- its environment ---- */

static const char *const handed_down[] = {
    "PATH",         "HOME",         "USER",         "LOGNAME",       "SHELL",
    "LANG",         "LC_ALL",       "TZ",           "TMPDIR",        "LD_LIBRARY_PATH",
    "ASAN_OPTIONS", "LSAN_OPTIONS", "TSAN_OPTIONS", "UBSAN_OPTIONS", "BENCHD_PEER_TIMEOUT_S",
};
/* Which devices a program sees, and how it talks to them. */
static const char *const prefixes[] = {"CUDA_", "NCCL_", "RCCL_", "HIP_", "ROCR_"};

const char *child_env_get(char *const *list, const char *name)
{
    const char *value = NULL;
    for (; *list != NULL; list++) {
        if (str_has_prefix(*list, name) && (*list)[strlen(name)] == '=') {
            value = *list + strlen(name) + 1;
        }
    }
    return value;
}

char **child_env_build(char *const *contract, char *const *extra)
{
    VEC(char *) list = {0};
    for (size_t i = 0; i < COUNT_OF(handed_down); i++) {
        const char *value = getenv(handed_down[i]);
        if (value != NULL && child_env_get(contract, handed_down[i]) == NULL) {
            *vec_push(&list) = xasprintf("%s=%s", handed_down[i], value);
        }
    }
    for (char **entry = environ; *entry != NULL; entry++) {
        if (array_any(prefixes, COUNT_OF(prefixes), it, str_has_prefix(*entry, *it)) &&
            !str_list_sets(contract, *entry)) {
            *vec_push(&list) = xstrdup(*entry);
        }
    }
    for (char *const *entry = contract; *entry != NULL; entry++) {
        if (!str_list_sets(entry + 1, *entry) && !str_list_sets(extra, *entry)) {
            *vec_push(&list) = xstrdup(*entry);
        }
    }
    for (; *extra != NULL; extra++) {
        *vec_push(&list) = xstrdup(*extra);
    }
    *vec_push(&list) = NULL;
    return list.items;
}
