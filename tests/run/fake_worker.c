/* A worker that behaves as its words say, in order; stands in for benchworker in tests of lib/run.
 *   records | damaged | foreign | blame PEER | say TEXT | warn TEXT | env NAME | secret | fds |
 * arena | cpus | pid | listen | spam KIB | spin self|child | block | leave | exit CODE | signal N |
 * hang
 * Identity comes from the environment, as for the real one. */
#include <arpa/inet.h>
#include <fcntl.h>
#include <glob.h>
#include <inttypes.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <jansson.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/parse.h"
#include "base/str.h"
#include "core/record.h"

static int64_t number(const char *s)
{
    int64_t n = 0;
    if (s == NULL || parse_i64(s, &n) < 0) {
        abort();
    }
    return n;
}

static struct record_who who(void)
{
    return (struct record_who){
        .role = (enum role)role_from_string(getenv("BENCHD_ROLE")),
        .index = (uint32_t)number(getenv("BENCHD_INDEX")),
        .attempt = (uint32_t)number(getenv("BENCHD_ATTEMPT")),
    };
}

static void print(struct buf *b)
{
    if (fwrite(b->data, 1, b->len, stdout) != b->len || fflush(stdout) != 0) {
        abort();
    }
    buf_done(b);
}

static void records(void)
{
    struct buf out = BUF_INIT;
    struct record_who me = who();
    _cleanup_(json_decrefp) json_t *environment = json_pack("{s:s}", "host", "test");
    record_write_start(&out, &me, environment);
    int64_t step_ns[2] = {1000000, 3000000};
    for (uint32_t i = 0; i < 2; i++) {
        record_write_step(
            &out, &me,
            &(struct record_step){.step = i, .step_ns = step_ns[i], .samples = 16, .loss = 1.0});
    }
    struct summary s = {
        .samples = 32, .duration_ns = 4000000, .steps = 2, .loss_first = 1.0, .loss_last = 1.0};
    char digest[65] = "";
    s.environment_digest = memset(digest, '0', sizeof(digest) - 1);
    summary_set_series(&s, step_ns, 2);
    record_write_summary(&out, &me, &s);
    free(s.series.data);
    print(&out);
}

static void blame(const char *peer)
{
    struct buf out = BUF_INIT;
    struct record_who me = who();
    record_write_error(&out, &me, 11, peer, "silent for 6 s");
    print(&out);
}

static void foreign(void) /* a record of somebody else */
{
    struct buf out = BUF_INIT;
    struct record_who me = who();
    me.index += 7;
    record_write_error(&out, &me, 11, "trainer/1", "not mine");
    print(&out);
}

static void secret(void)
{
    unsigned char bytes[64];
    int fd = (int)number(getenv("BENCHD_SECRET_FD"));
    ssize_t n = read(fd, bytes, sizeof(bytes));
    struct buf out = BUF_INIT;
    buf_printf(&out, "secret %zd ", n);
    for (ssize_t i = 0; i < n; i++) {
        buf_printf(&out, "%02x", bytes[i]);
    }
    buf_printf(&out, " %s\n", pwrite(fd, "x", 1, 0) < 0 ? "sealed" : "writable");
    print(&out);
}

static void fds(void)
{
    struct buf out = BUF_INIT;
    buf_puts(&out, "fds");
    for (int fd = 0; fd < 1024; fd++) {
        if (fcntl(fd, F_GETFD) >= 0) {
            buf_printf(&out, " %d", fd);
        }
    }
    buf_putc(&out, '\n');
    print(&out);
}

static void arena(void) /* which file it is */
{
    struct buf out = BUF_INIT;
    const char *fd = getenv("BENCHD_ARENA_FD");
    struct stat is;
    if (fd == NULL) {
        buf_puts(&out, "arena (none)\n");
    } else if (fstat((int)number(fd), &is) < 0) {
        abort();
    } else {
        buf_printf(&out, "arena %lld, %lld bytes\n", (long long)is.st_ino, (long long)is.st_size);
    }
    print(&out);
}

static void cpus(void)
{
    struct buf out = BUF_INIT;
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof(set), &set) < 0) {
        abort();
    }
    buf_puts(&out, "cpus");
    for (int i = 0; i < CPU_SETSIZE; i++) {
        if (CPU_ISSET(i, &set)) {
            buf_printf(&out, " %d", i);
        }
    }
    buf_putc(&out, '\n');
    print(&out);
}

static void bind_or_exit_13(void)
{
    const char *colon = strrchr(getenv("BENCHD_LISTEN"), ':');
    struct sockaddr_in sa = {.sin_family = AF_INET,
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
                             .sin_port = htons((uint16_t)number(colon + 1))};
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    if (fd < 0 || bind(fd, (struct sockaddr *)&sa, sizeof(sa)) < 0 || listen(fd, 8) < 0) {
        perror(getenv("BENCHD_LISTEN"));
        exit(13);
    }
}

static void spam(int64_t kib)
{
    for (int64_t line = 0; line < kib * 16; line++) { /* 64 bytes each */
        if (printf("%063lld\n", (long long)line) < 0) {
            abort();
        }
    }
    (void)fflush(stdout); /* a closed pipe would have killed us */
}

static void use_cpu(void)
{
    while (clock_process_cpu_ns() < 400000000) {
    }
}

/* How long the threads of this process have waited for CPUs since they began, as the kernel counts
 * it. A sanitizer has a thread of its own. */
static int64_t own_wait_ns(void)
{
    int64_t sum = 0, ran, waited;
    glob_t tasks;
    if (glob("/proc/self/task/*/schedstat", 0, NULL, &tasks) != 0) {
        abort();
    }
    for (size_t i = 0; i < tasks.gl_pathc; i++) {
        FILE *f = fopen(tasks.gl_pathv[i], "re");
        if (f != NULL && fscanf(f, "%" SCNd64 " %" SCNd64, &ran, &waited) == 2) {
            sum += waited;
        }
        (void)(f == NULL || fclose(f));
    }
    globfree(&tasks);
    return sum;
}

/* Never sleeps, by itself or in a child, says how long that took, and stays as it is until SIGUSR1;
 * then how long all has taken and what of it the kernel calls waiting, and a summary of it. The
 * kernel does not tell how long the child waited while it exited: all of that time counts. */
static void spin(bool in_child)
{
    const int64_t begin_ns = clock_monotonic_ns();
    struct {
        int64_t wait_ns, end_ns;
    } *of_child =
        mmap(NULL, sizeof(*of_child), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    sigset_t held;
    siginfo_t ended;
    int signum;
    (void)sigemptyset(&held); /* neither can fail */
    (void)sigaddset(&held, SIGUSR1);
    if (of_child == MAP_FAILED || sigprocmask(SIG_BLOCK, &held, NULL) < 0) {
        abort();
    }
    const pid_t child = in_child ? fork() : -1;
    if (child <= 0) {
        use_cpu();
    }
    if (child == 0) {
        of_child->wait_ns = own_wait_ns();
        of_child->end_ns = clock_monotonic_ns();
        _exit(0);
    }
    (void)(in_child &&
           waitid(P_PID, (id_t)child, &ended, WEXITED | WNOWAIT)); /* still to be seen */
    const int64_t spun_ns = clock_monotonic_ns();
    printf("spun %" PRId64 "\n", spun_ns - begin_ns);
    if (fflush(stdout) != 0 || sigwait(&held, &signum) != 0) {
        abort();
    }
    (void)(in_child && waitpid(child, NULL, 0));
    const int64_t all_ns = clock_monotonic_ns() - begin_ns;
    const int64_t child_ns = in_child ? of_child->wait_ns + spun_ns - of_child->end_ns : 0;
    printf("in all %" PRId64 " %" PRId64 "\n", all_ns, own_wait_ns() + child_ns);
    (void)munmap(of_child, sizeof(*of_child));
    struct buf out = BUF_INIT;
    struct record_who me = who();
    record_write_summary(&out, &me,
                         &(struct summary){.samples = 32, .duration_ns = all_ns, .steps = 2});
    print(&out);
}

static volatile sig_atomic_t is_leaving;

static void on_term(int signum)
{
    (void)signum; /* the only one asked for */
    is_leaving = 1;
}

/* Until a signal ends us; one may come just before pause(), so it is waited for in one step. */
static int hang(void)
{
    sigset_t blocked, before;
    (void)sigemptyset(&blocked); /* none of these can fail */
    (void)sigaddset(&blocked, SIGTERM);
    (void)sigprocmask(SIG_BLOCK, &blocked, &before);
    while (!is_leaving) {
        (void)sigsuspend(&before);
    }
    records();
    return 0;
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        const char *word = argv[i], *arg = argv[i + 1]; /* argv[argc] is NULL */
        if (str_eq(word, "records")) {
            records();
        } else if (str_eq(word, "damaged")) {
            puts("{\"benchd\":1,\"type\":\"summary\"}");
        } else if (str_eq(word, "foreign")) {
            foreign();
        } else if (str_eq(word, "secret")) {
            secret();
        } else if (str_eq(word, "fds")) {
            fds();
        } else if (str_eq(word, "arena")) {
            arena();
        } else if (str_eq(word, "cpus")) {
            cpus();
        } else if (str_eq(word, "listen")) {
            bind_or_exit_13();
        } else if (str_eq(word, "pid")) {
            printf("pid %d\n", getpid());
        } else if (str_eq(word, "block")) {
            (void)signal(SIGTERM, SIG_IGN); /* cannot fail */
        } else if (str_eq(word, "leave")) { /* at TERM: with a record and a code of its own */
            (void)signal(SIGTERM, on_term); /* cannot fail */
        } else if (str_eq(word, "hang")) {
            (void)fflush(stdout); /* the last word */
            return hang();
        } else {
            i++;
            if (str_eq(word, "blame")) {
                blame(arg);
            } else if (str_eq(word, "say")) {
                puts(arg);
            } else if (str_eq(word, "warn")) {
                (void)fflush(stdout); /* keeps the order */
                fprintf(stderr, "%s\n", arg);
            } else if (str_eq(word, "env")) {
                printf("env %s=%s\n", arg, getenv(arg) == NULL ? "(none)" : getenv(arg));
            } else if (str_eq(word, "spam")) {
                spam(number(arg));
            } else if (str_eq(word, "spin")) {
                spin(str_eq(arg, "child"));
            } else if (str_eq(word, "signal")) {
                (void)fflush(stdout);          /* the last word */
                (void)raise((int)number(arg)); /* does not return */
            } else if (str_eq(word, "exit")) {
                return (int)number(arg);
            } else {
                return 2;
            }
        }
        (void)fflush(stdout); /* each word is seen at once; a closed pipe would have killed us */
    }
    return 0;
}
