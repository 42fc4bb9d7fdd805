/* One gang of real processes and one fault at one moment (bench/random_faults.py chooses them):
 *
 *   fault_trial family=ring workers=3 fault=kill victim=1 after_ms=120
 *
 * | name | values |
 * | family | pserver, ring: see fault_gang.h |
 * | servers, workers, floats, steps, compute_ms | of the gang |
 * | fault | none; kill, stop: SIGKILL, SIGSTOP; pause: SIGSTOP, for for_ms; |
 * |       | cut: a connection of the victim is shut down; |
 * |       | abandon: it gives up by itself; stick: its main thread gets stuck |
 * | victim | which process: servers are first |
 * | after_ms | since the first fork |
 * | silence_s | after which a peer is lost |
 *
 * A stopped one is woken when all others have ended. Prints how each process ended as JSON; whether
 * that is right is the caller's question. After LIMIT_MS whoever is left is killed, and its code is
 * null. Its gang ends with it, also where it is killed. */
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <dirent.h>
#include <netinet/in.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/parse.h"
#include "fault_gang.h"

#define LIMIT_MS 60000
#define NEVER_MS INT64_MAX

enum fault_kind {
    FAULT_NONE,
    FAULT_KILL,
    FAULT_STOP,
    FAULT_PAUSE,
    FAULT_CUT,
    FAULT_ABANDON,
    FAULT_STICK
};
static const char *const fault_names[] = {"none", "kill",    "stop", "pause",
                                          "cut",  "abandon", "stick"};
static const char *const family_names[] = {"pserver", "ring"};
#define COUNT(names) ((int64_t)(sizeof(names) / sizeof((names)[0])))

struct child {
    pid_t pid;
    bool has_ended;
    int status;
    int64_t ended_ms;
};

struct trial {
    struct fault_gang gang;
    struct child children[FAULT_GANG_MAX];
    int64_t fault, victim, after_ms, for_ms;
    int64_t began_ns, struck_ms, woken_ms; /* struck, woken: NEVER_MS: not yet */
    unsigned struck_at_step;               /* that every worker had ended by then */
    int64_t other;                         /* of a cut connection; -1: none was cut */
    bool is_over_limit;
};

static int64_t now_ms(const struct trial *t)
{
    return (clock_monotonic_ns() - t->began_ns) / 1000000;
}

/* ---- cutting a connection ---- */

struct ends { /* of a connection over IPv4 */
    in_port_t own, peer;
};

/* A copy of another process's descriptor, if it is such a connection; else -1. */
static int take_connection(int pidfd, int number, struct ends *ret)
{
    const int fd = (int)syscall(SYS_pidfd_getfd, pidfd, number, 0);
    struct sockaddr_in own, peer;
    socklen_t own_len = sizeof(own), peer_len = sizeof(peer);
    if (fd >= 0 && getsockname(fd, (struct sockaddr *)&own, &own_len) == 0 &&
        own.sin_family == AF_INET && getpeername(fd, (struct sockaddr *)&peer, &peer_len) == 0) {
        *ret = (struct ends){own.sin_port, peer.sin_port};
        return fd;
    }
    if (fd >= 0) {
        (void)close(fd); /* a copy */
    }
    return -1;
}

/* The first connection of a process that goes to port `to`; 0: any one. Returns
 * a copy of it, or -1. */
static int find_connection(pid_t pid, in_port_t to, struct ends *ret)
{
    char path[64];
    (void)snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
    DIR *dir = opendir(path);
    const int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
    int found = -1;
    const struct dirent *entry;
    int64_t number;
    while (dir != NULL && pidfd >= 0 && found < 0 && (entry = readdir(dir)) != NULL) {
        if (parse_i64_in(entry->d_name, 0, INT32_MAX, &number) == 0) {
            found = take_connection(pidfd, (int)number, ret);
        }
        if (found >= 0 && to != 0 && ret->own != to) {
            (void)close(found); /* a copy */
            found = -1;
        }
    }
    if (pidfd >= 0) {
        (void)close(pidfd);
    }
    if (dir != NULL) {
        (void)closedir(dir);
    }
    return found;
}

static void cut(struct trial *t)
{
    struct ends ends, others;
    const int fd = find_connection(t->children[t->victim].pid, 0, &ends);
    for (uint32_t i = 0; fd >= 0 && t->other < 0 && i < fault_gang_size(&t->gang); i++) {
        const int copy = i == (uint32_t)t->victim || t->children[i].has_ended
                             ? -1
                             : find_connection(t->children[i].pid, ends.peer, &others);
        if (copy >= 0) {
            t->other = i;
            (void)close(copy);
        }
    }
    if (fd >= 0) {
        if (t->other >= 0) {
            (void)shutdown(fd, SHUT_RDWR); /* it may be closed already */
        }
        (void)close(fd);
    }
}

/* ---- what happens when ---- */

static void order(struct trial *t, enum fault_order what)
{
    atomic_store(&t->gang.processes[t->victim].order, (int)what);
}

static void strike(struct trial *t)
{
    t->struck_ms = now_ms(t);
    t->struck_at_step = UINT32_MAX;
    for (uint32_t i = t->gang.n_servers; i < fault_gang_size(&t->gang); i++) {
        const unsigned steps = atomic_load(&t->gang.processes[i].steps);
        t->struck_at_step = steps < t->struck_at_step ? steps : t->struck_at_step;
    }
    const struct child *victim = &t->children[t->victim];
    if (victim->has_ended) {
        return; /* it was quicker */
    }
    switch ((enum fault_kind)t->fault) {
    case FAULT_NONE:
        break;
    case FAULT_KILL:
        (void)kill(victim->pid, SIGKILL); /* it exists: it was not reaped */
        break;
    case FAULT_STOP:
    case FAULT_PAUSE:
        (void)kill(victim->pid, SIGSTOP);
        break;
    case FAULT_CUT:
        cut(t);
        break;
    case FAULT_ABANDON:
        order(t, ORDER_ABANDON);
        break;
    case FAULT_STICK:
        order(t, ORDER_STICK);
        break;
    }
}

static void reap(struct trial *t)
{
    int status;
    pid_t pid;
    while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
        for (uint32_t i = 0; i < fault_gang_size(&t->gang); i++) {
            struct child *c = &t->children[i];
            if (c->pid == pid) {
                c->has_ended = true;
                c->status = status;
                c->ended_ms = now_ms(t);
            }
        }
    }
}

static uint32_t n_left(const struct trial *t)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < fault_gang_size(&t->gang); i++) {
        n += !t->children[i].has_ended;
    }
    return n;
}

/* A stopped one that is left alone, or whose pause is over. */
static bool wakes(const struct trial *t)
{
    if (t->struck_ms == NEVER_MS || t->woken_ms != NEVER_MS || t->children[t->victim].has_ended) {
        return false;
    }
    return t->fault == FAULT_PAUSE ? now_ms(t) >= t->struck_ms + t->for_ms
                                   : t->fault == FAULT_STOP && n_left(t) == 1;
}

static void kill_all(struct trial *t)
{
    t->is_over_limit = true;
    for (uint32_t i = 0; i < fault_gang_size(&t->gang); i++) {
        if (!t->children[i].has_ended) {
            (void)kill(t->children[i].pid, SIGKILL);
        }
    }
}

static void watch(struct trial *t)
{
    sigset_t ends;
    (void)sigemptyset(&ends);
    (void)sigaddset(&ends, SIGCHLD);
    while (n_left(t) > 0) {
        const struct timespec look = {0, 5000000};
        (void)sigtimedwait(&ends, NULL, &look); /* too early is as good */
        reap(t);
        if (t->struck_ms == NEVER_MS && now_ms(t) >= t->after_ms) {
            strike(t);
        }
        if (wakes(t)) {
            t->woken_ms = now_ms(t);
            (void)kill(t->children[t->victim].pid, SIGCONT);
        }
        if (!t->is_over_limit && now_ms(t) >= LIMIT_MS) {
            kill_all(t);
        }
    }
}

/* ---- the beginning, and what came of it ---- */

static int start_all(struct trial *t)
{
    sigset_t ends;
    (void)sigemptyset(&ends);
    (void)sigaddset(&ends, SIGCHLD);
    (void)sigprocmask(SIG_BLOCK, &ends, NULL);
    t->began_ns = clock_monotonic_ns();
    const pid_t own = getpid();
    int armed[2];
    if (pipe2(armed, O_CLOEXEC) < 0) {
        return -1;
    }
    for (uint32_t i = 0; i < fault_gang_size(&t->gang); i++) {
        const pid_t pid = fork();
        if (pid == 0) {
            /* One that is stopped would stay for ever. */
            (void)prctl(PR_SET_PDEATHSIG, SIGKILL); /* cannot fail */
            if (getppid() != own) {
                _exit(EXIT_FAILURE); /* it ended before that */
            }
            if (write(armed[1], "", 1) != 1) {
                _exit(EXIT_FAILURE);
            }
            (void)close(armed[0]);
            (void)close(armed[1]);
            (void)sigprocmask(SIG_UNBLOCK, &ends, NULL);
            _exit(fault_gang_run(&t->gang, i));
        }
        t->children[i].pid = pid;
        if (pid < 0) {
            t->children[i].has_ended = true;
            kill_all(t);
            return -1;
        }
        char byte; /* a fault that stops it may come at once: only when it ends with this process */
        while (read(armed[0], &byte, 1) < 0 && errno == EINTR) {
        }
    }
    (void)close(armed[0]);
    (void)close(armed[1]);
    return 0;
}

static void print_text(const char *name, const char *text)
{
    printf(", \"%s\": \"", name);
    for (const char *p = text; *p != '\0'; p++) {
        (void)putchar(*p == '"' || *p == '\\' || (unsigned char)*p < ' ' ? '\'' : *p);
    }
    (void)putchar('"');
}

static void print_child(const struct trial *t, uint32_t i)
{
    const struct child *c = &t->children[i];
    const struct fault_process *p = &t->gang.processes[i];
    char name[32];
    fault_gang_name(&t->gang, i, name);
    printf("%s{\"name\": \"%s\", \"code\": ", i > 0 ? ", " : "", name);
    if (WIFEXITED(c->status)) {
        printf("%d", WEXITSTATUS(c->status));
    } else if (t->is_over_limit) {
        printf("null");
    } else {
        printf("%d", -WTERMSIG(c->status));
    }
    printf(", \"ended_ms\": %" PRId64 ", \"steps\": %u", c->ended_ms, atomic_load(&p->steps));
    print_text("peer", p->peer);
    print_text("message", p->message);
    (void)putchar('}');
}

static void print_all(const struct trial *t)
{
    char other[32] = "";
    if (t->other >= 0) {
        fault_gang_name(&t->gang, (uint32_t)t->other, other);
    }
    char victim[32];
    fault_gang_name(&t->gang, (uint32_t)t->victim, victim);
    printf("{\"victim\": \"%s\", \"other\": \"%s\", \"struck_ms\": %" PRId64
           ", \"struck_at_step\": %u, \"processes\": [",
           victim, other, t->struck_ms == NEVER_MS ? -1 : t->struck_ms, t->struck_at_step);
    for (uint32_t i = 0; i < fault_gang_size(&t->gang); i++) {
        print_child(t, i);
    }
    printf("]}\n");
}

/* ---- the command line ---- */

struct arg {
    const char *name;
    const char *const *names; /* of its values; NULL: numbers */
    int64_t min, max, value;
};

enum {
    FAMILY,
    FAULT,
    SERVERS,
    WORKERS,
    FLOATS,
    STEPS,
    COMPUTE_MS,
    VICTIM,
    AFTER_MS,
    FOR_MS,
    SILENCE_S,
    ARGS
};

/* 0: its value is set. */
static int read_value(struct arg *a, const char *text)
{
    if (a->names == NULL) {
        return parse_i64_in(text, a->min, a->max, &a->value);
    }
    for (int64_t i = a->min; i <= a->max; i++) {
        if (strcmp(a->names[i], text) == 0) {
            a->value = i;
            return 0;
        }
    }
    return -EINVAL;
}

static int read_args(int argc, char **argv, struct arg args[static ARGS])
{
    for (int k = 1; k < argc; k++) {
        const char *is = strchr(argv[k], '=');
        int i = 0;
        while (i < ARGS &&
               (is == NULL || strncmp(args[i].name, argv[k], (size_t)(is - argv[k])) != 0 ||
                args[i].name[is - argv[k]] != '\0')) {
            i++;
        }
        if (i == ARGS || read_value(&args[i], is + 1) < 0) {
            (void)fprintf(stderr, "fault_trial: '%s': see the top of bench/fault_trial.c\n",
                          argv[k]);
            return -EINVAL;
        }
    }
    const int64_t n = args[SERVERS].value + args[WORKERS].value;
    const bool has_servers = args[FAMILY].value == FAMILY_PSERVER;
    if (has_servers != (args[SERVERS].value > 0) || n > FAULT_GANG_MAX || args[VICTIM].value >= n) {
        (void)fprintf(stderr, "fault_trial: no such gang, or no such victim\n");
        return -EINVAL;
    }
    return 0;
}

static void *shared_memory(size_t bytes)
{
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return p == MAP_FAILED ? NULL : p;
}

int main(int argc, char **argv)
{
    struct arg args[ARGS] = {
        [FAMILY] = {"family", family_names, 0, COUNT(family_names) - 1, FAMILY_RING},
        [FAULT] = {"fault", fault_names, 0, COUNT(fault_names) - 1, FAULT_NONE},
        [SERVERS] = {"servers", NULL, 0, FAULT_GANG_MAX, 0},
        [WORKERS] = {"workers", NULL, 1, FAULT_GANG_MAX, 2},
        [FLOATS] = {"floats", NULL, 1, 1 << 22, 40000},
        [STEPS] = {"steps", NULL, 2, 10000, 40},
        [COMPUTE_MS] = {"compute_ms", NULL, 0, 1000, 5},
        [VICTIM] = {"victim", NULL, 0, FAULT_GANG_MAX - 1, 0},
        [AFTER_MS] = {"after_ms", NULL, 0, 30000, 0},
        [FOR_MS] = {"for_ms", NULL, 0, 30000, 0},
        [SILENCE_S] = {"silence_s", NULL, 3, 30, 6},
    };
    if (read_args(argc, argv, args) < 0) {
        return 2;
    }
    struct trial t = {
        .gang = {.family = (enum fault_family)args[FAMILY].value,
                 .n_servers = (uint32_t)args[SERVERS].value,
                 .n_workers = (uint32_t)args[WORKERS].value,
                 .steps = (uint32_t)args[STEPS].value,
                 .n = (size_t)args[FLOATS].value,
                 .compute_ns = args[COMPUTE_MS].value * 1000000,
                 .silence_ns = args[SILENCE_S].value * 1000000000},
        .fault = args[FAULT].value,
        .victim = args[VICTIM].value,
        .after_ms = args[AFTER_MS].value,
        .for_ms = args[FOR_MS].value,
        .struck_ms = NEVER_MS,
        .woken_ms = NEVER_MS,
        .other = -1,
    };
    struct err err = {0};
    t.gang.processes = shared_memory(FAULT_GANG_MAX * sizeof(struct fault_process));
    if (t.gang.processes == NULL || fault_gang_init(&t.gang, &err) < 0) {
        (void)fprintf(stderr, "fault_trial: %s\n", err.msg[0] != '\0' ? err.msg : "no memory");
        return 1;
    }
    const int r = start_all(&t);
    fault_gang_done(&t.gang);
    watch(&t);
    if (r < 0) {
        (void)fprintf(stderr, "fault_trial: fork failed\n");
        return 1;
    }
    print_all(&t);
    return 0;
}
