/* Shaped links between processes of this machine, run/processes/links.h. They need root, which the
 * test says where it is not. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/test.h"
#include "base/clock.h"
#include "run/processes/links.h"

#define BYTES ((size_t)5000000)
#define PATIENCE_MS 60000

static bool is_root(void)
{
    if (geteuid() != 0) {
        print_message("# skipped: not root\n");
    }
    return geteuid() == 0;
}

/* In a child that has entered namespace i: a socket at its address, or to
 * that of namespace `to`. */
static int open_socket(const struct links *l, uint32_t i, int to)
{
    const int fd = setns(links_fd(l, i), CLONE_NEWNET) < 0 ? -1 : socket(AF_INET, SOCK_STREAM, 0);
    _cleanup_(freep) char *address = links_address(to < 0 ? i : (uint32_t)to);
    *strchr(address, ':') = '\0';
    struct sockaddr_in sa = {.sin_family = AF_INET, .sin_port = htons(LINKS_PORT)};
    if (fd < 0 || inet_pton(AF_INET, address, &sa.sin_addr) != 1) {
        _exit(10);
    }
    if (to < 0 && (bind(fd, (struct sockaddr *)&sa, sizeof(sa)) < 0 || listen(fd, 1) < 0)) {
        _exit(11);
    }
    if (to >= 0 && connect(fd, (struct sockaddr *)&sa, sizeof(sa)) < 0) {
        _exit(12);
    }
    return fd;
}

/* Receives until the end of the stream; exits 0 if all bytes came. */
static pid_t start_receiver(const struct links *l, int *ret_ready)
{
    int fds[2];
    assert_int_equal(pipe(fds), 0);
    const pid_t pid = fork();
    if (pid == 0) {
        const int fd = open_socket(l, 0, -1);
        (void)close(fds[1]); /* it listens */
        struct pollfd p = {.fd = fd, .events = POLLIN};
        const int from = poll(&p, 1, PATIENCE_MS) == 1 ? accept(fd, NULL, NULL) : -1;
        size_t got = 0;
        static char buffer[65536];
        for (ssize_t n; (n = recv(from, buffer, sizeof(buffer), 0)) > 0;) {
            got += (size_t)n;
        }
        _exit(got == BYTES ? 0 : 13);
    }
    (void)close(fds[1]);
    *ret_ready = fds[0];
    return pid;
}

static void wait_for(pid_t pid)
{
    int status = 0;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

/* 5 MB over 100 Mbit/s take 0.38 s at least: 4.7 MB behind the burst. Without the
 * shaper they take 5 ms. */
TEST(carries_no_more_than_its_rate)
{
    if (!is_root()) {
        return;
    }
    const struct link link = {.bits_per_s = 100000000};
    struct links *l;
    struct err err = {0};
    const int r = links_new(&link, 2, &l, &err);
    print_message("# %s\n", r < 0 ? err.msg : "made");
    assert_int_equal(r, 0);
    int ready;
    char byte;
    const pid_t receiver = start_receiver(l, &ready);
    assert_int_equal(read(ready, &byte, 1), 0); /* until it listens */
    const int64_t begin_ns = clock_monotonic_ns();
    const pid_t sender = fork();
    if (sender == 0) {
        const int fd = open_socket(l, 1, 0);
        static char zeros[BYTES];
        _exit(send(fd, zeros, BYTES, 0) == (ssize_t)BYTES ? 0 : 14);
    }
    wait_for(sender);
    wait_for(receiver);
    const double s = (double)(clock_monotonic_ns() - begin_ns) / 1e9;
    print_message("# %.3f s\n", s);
    assert_true(s > 0.37);
    (void)close(ready);
    links_free(l);
}

/* In namespace i, at its address. */
static int open_datagram_socket(const struct links *l, uint32_t i, int own_ns)
{
    _cleanup_(freep) char *address = links_address(i);
    struct sockaddr_in sa = {.sin_family = AF_INET, .sin_port = htons(LINKS_PORT)};
    *strchr(address, ':') = '\0';
    assert_int_equal(inet_pton(AF_INET, address, &sa.sin_addr), 1);
    assert_int_equal(setns(links_fd(l, i), CLONE_NEWNET), 0);
    const int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    assert_int_equal(setns(own_ns, CLONE_NEWNET), 0);
    assert_true(fd >= 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&sa, sizeof(sa)), 0);
    return fd;
}

/* One datagram: does it arrive within that time? */
static bool arrives(int from, int to, int patience_ms)
{
    struct sockaddr_in sa = {0};
    socklen_t len = sizeof(sa);
    char byte;
    struct pollfd p = {.fd = to, .events = POLLIN};
    assert_int_equal(getsockname(to, (struct sockaddr *)&sa, &len), 0);
    assert_int_equal(sendto(from, "x", 1, 0, (struct sockaddr *)&sa, len), 1);
    return poll(&p, 1, patience_ms) == 1 && recv(to, &byte, 1, 0) == 1;
}

/* A port of a bridge forwards some time after it is up, when the kernel has seen its carrier; what
 * is sent before that is lost. TCP sends it again, and so does this. */
static void wait_for_port(int from, int to)
{
    const int64_t end_ns = clock_monotonic_ns() + PATIENCE_MS * INT64_C(1000000);
    while (!arrives(from, to, 20) && clock_monotonic_ns() < end_ns) {
    }
    char byte;
    while (recv(to, &byte, 1, MSG_DONTWAIT) == 1) { /* those that were late */
    }
}

/* All namespaces of a machine share one table of neighbours that were asked for: 1,024 is the
 * default, and 34 replicas have 1,122 pairs. */
TEST(each_of_34_reaches_all_others)
{
    enum { N = 34 };
    const struct link link = {.bits_per_s = 1000000000};
    struct links *l = NULL;
    struct err err = {0};
    int fds[N];
    if (!is_root()) {
        return;
    }
    const int own_ns = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
    assert_int_equal(links_new(&link, N, &l, &err), 0);
    for (uint32_t i = 0; i < N; i++) {
        fds[i] = open_datagram_socket(l, i, own_ns);
    }
    for (uint32_t i = 0; i < N; i++) {
        wait_for_port(fds[(i + 1) % N], fds[i]);
    }
    for (uint32_t pair = 0; pair < N * N; pair++) {
        const uint32_t from = pair / N, to = pair % N;
        if (!arrives(fds[from], fds[to], PATIENCE_MS)) {
            fail_msg("%u does not reach %u", from, to);
        }
    }
    for (uint32_t i = 0; i < N; i++) {
        (void)close(fds[i]);
    }
    (void)close(own_ns);
    links_free(l);
}

/* The namespaces live as long as somebody holds them: this process alone. */
TEST(this_namespace_stays)
{
    struct stat before, after;
    const struct link link = {.bits_per_s = 1000000000};
    struct links *l = NULL;
    struct err err = {0};
    assert_int_equal(stat("/proc/thread-self/ns/net", &before), 0);
    const int r = links_new(&link, 3, &l, &err);
    assert_int_equal(stat("/proc/thread-self/ns/net", &after), 0);
    assert_true(before.st_ino == after.st_ino);
    if (geteuid() != 0) {
        assert_int_equal(r, -EPERM);
        assert_non_null(strstr(err.msg, "needs root"));
        return;
    }
    assert_int_equal(r, 0);
    for (uint32_t i = 0; i < 3; i++) {
        assert_int_equal(fstat(links_fd(l, i), &after), 0);
        assert_true(before.st_ino != after.st_ino);
        assert_true(fcntl(links_fd(l, i), F_GETFD) & FD_CLOEXEC);
    }
    links_free(l);
}

/* A kernel without netem says so; one that has it delays. */
TEST(delay_is_netem)
{
    if (!is_root()) {
        return;
    }
    const struct link link = {.bits_per_s = 1000000000, .delay_ns = 1000000};
    struct err err = {0};
    const int r = links_try(&link, &err);
    print_message("# %d %s\n", r, r < 0 ? err.msg : "");
    assert_true(r == 0 || (r == -EOPNOTSUPP && strstr(err.msg, "no netem") != NULL));
}

TEST(addresses)
{
    static const struct {
        uint32_t i;
        const char *want;
    } rows[] = {{0, "10.77.0.1:7164"}, {254, "10.77.0.255:7164"}, {255, "10.77.1.0:7164"}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        _cleanup_(freep) char *address = links_address(rows[i].i);
        assert_string_equal(address, rows[i].want);
    }
}
