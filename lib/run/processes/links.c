/* See links.h. Namespaces are made here, all in them by ip and tc, which run in the bridge's
 * namespace and read their commands from a pipe. */
#include "run/processes/links.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/mem.h"
#include "run/processes/child.h"

#define MTU 1500
/* tbf sends this much at full speed before it shapes: what the link carries in 2 ms, and one
 * segment that the kernel has not cut yet at least. */
#define BURST_S 0.002
#define OUTPUT_MAX 400 /* kept of what ip or tc says */

struct links {
    int bridge_fd;
    int *fds; /* (n) owned */
    uint32_t n;
};

/* A namespace of this thread for a moment, kept open. */
static int new_namespace(int *ret_fd, struct err *err)
{
    _cleanup_(fd_close) int own = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
    if (own < 0) {
        return err_set_errno(err, errno, "open this thread's network namespace");
    }
    if (unshare(CLONE_NEWNET) < 0) {
        return errno == EPERM
                   ? err_set(err, EPERM, "a shaped link needs root: run as root, or remove link")
                   : err_set_errno(err, errno, "create a network namespace");
    }
    *ret_fd = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
    const int r = *ret_fd < 0 ? -errno : child_raise_fd(ret_fd);
    if (setns(own, CLONE_NEWNET) < 0) {
        abort(); /* this process would be cut off; it was there before, so it may go back */
    }
    return r < 0 ? err_set_errno(err, -r, "open a network namespace") : 0;
}

/* In the child: async-signal-safe calls only. */
__attribute__((noreturn)) static void exec_in(int namespace_fd, int in, int out, char *const *argv)
{
    if (setns(namespace_fd, CLONE_NEWNET) == 0 && dup2(in, STDIN_FILENO) >= 0 &&
        dup2(out, STDOUT_FILENO) >= 0 && dup2(out, STDERR_FILENO) >= 0) {
        (void)execv(argv[0], argv);
    }
    _exit(127);
}

static int wait_for(pid_t pid)
{
    int status;
    while (waitpid(pid, &status, 0) < 0) {
        if (errno != EINTR) {
            return -1;
        }
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static int find(const char *name, char **ret, struct err *err)
{
    const int r = child_find_program(name, "/usr/sbin:/sbin:/usr/bin:/bin", ret, err);
    return r < 0 ? err_set(err, ENOENT, "a shaped link needs the program '%s': install iproute2",
                           name)
                 : 0;
}

static void write_all(int fd, const struct buf *text)
{
    for (size_t at = 0; at < text->len;) {
        const ssize_t n = write(fd, text->data + at, text->len - at);
        if (n < 0 && errno != EINTR) {
            return; /* it has ended, and says why */
        }
        at += n > 0 ? (size_t)n : 0;
    }
}

/* Runs `name -batch -` in the namespace. What it said is in `said` when it failed. */
static int run_batch(int namespace_fd, const char *name, const struct buf *commands,
                     struct buf *said, struct err *err)
{
    _cleanup_(freep) char *path = NULL;
    int r = find(name, &path, err);
    char *const argv[] = {path, (char *)"-batch", (char *)"-", NULL};
    /* Commands come from a file in memory: a full pipe cannot block the writer. */
    _cleanup_(fd_close) int in = r < 0 ? -1 : memfd_create("benchd-links", MFD_CLOEXEC);
    _cleanup_(fd_close) int out = r < 0 ? -1 : memfd_create("benchd-links", MFD_CLOEXEC);
    pid_t pid = -1;
    if (r == 0 && in >= 0 && out >= 0) {
        write_all(in, commands);
        (void)lseek(in, 0, SEEK_SET); /* cannot fail in memory */
        pid = fork();
        if (pid == 0) {
            exec_in(namespace_fd, in, out, argv);
        }
    }
    if (r == 0 && pid < 0) {
        r = err_set_errno(err, errno, "start %s", name);
    } else if (r == 0 && wait_for(pid) != 0) {
        char text[OUTPUT_MAX];
        const ssize_t n = pread(out, text, sizeof(text) - 1, 0);
        buf_printf(said, "%.*s", n < 0 ? 0 : (int)n, text);
        r = err_set(err, EIO, "%s failed: %.300s", name, buf_cstr(said));
    }
    return r;
}

static void add_address(uint32_t i, struct buf *ip)
{
    buf_printf(ip, "10.77.%u.%u", (i + 1) >> 8, (i + 1) & 255);
}

static void add_hardware_address(uint32_t i, struct buf *ip)
{
    buf_printf(ip, "02:4d:00:00:%02x:%02x", (i + 1) >> 8, (i + 1) & 255);
}

/* One replica's link, as commands of ip in the bridge's namespace. */
static void connect_replica(const struct links *l, uint32_t i, struct buf *ip)
{
    buf_printf(ip, "link add l%u type veth peer name eth0 address ", i);
    add_hardware_address(i, ip);
    buf_printf(ip, " netns /proc/%ld/fd/%d\n", (long)getpid(), l->fds[i]);
    buf_printf(ip, "link set l%u master bridge up\n", i);
}

/* A replica's end, in its namespace. It has the hardware addresses of all others: those that the
 * kernel asks for are in one table of the machine, which has room for 1,024 pairs. */
static void address_replica(uint32_t i, uint32_t n, struct buf *ip)
{
    buf_puts(ip, "link set lo up\naddr add ");
    add_address(i, ip);
    buf_puts(ip, "/16 dev eth0\nlink set eth0 up\n");
    for (uint32_t other = 0; other < n; other++) {
        if (other != i) {
            buf_puts(ip, "neigh add ");
            add_address(other, ip);
            buf_puts(ip, " dev eth0 nud permanent lladdr ");
            add_hardware_address(other, ip);
            buf_puts(ip, "\n");
        }
    }
}

static void shape(const struct link *link, const char *device, struct buf *tc)
{
    const double burst = (double)link->bits_per_s / 8 * BURST_S;
    buf_printf(tc, "qdisc add dev %s root handle 1: tbf rate %llubit burst %.0f limit %.0f\n",
               device, (unsigned long long)link->bits_per_s,
               burst < LINK_SEGMENT_BYTES ? LINK_SEGMENT_BYTES : burst, link_queue_bytes(link));
}

/* Before the shaper of the replica's end, so that a packet is late once in each direction. */
static void delay(const struct link *link, struct buf *tc)
{
    if (link->delay_ns > 0) {
        const double packets = (double)link->bits_per_s / 8 / MTU * ((double)link->delay_ns / 1e9);
        buf_printf(tc, "qdisc add dev eth0 parent 1:1 handle 10: netem delay %.3fms limit %.0f\n",
                   (double)link->delay_ns / 1e6, 1000 + 2 * packets);
    }
}

static int run_tc(int fd, const struct link *link, struct buf *commands, struct err *err)
{
    _cleanup_(buf_done) struct buf said = BUF_INIT;
    int r = run_batch(fd, "tc", commands, &said, err);
    if (r == -EIO && strstr(buf_cstr(&said), "kind is unknown") != NULL) {
        r = link->delay_ns > 0
                ? err_set(err, EOPNOTSUPP,
                          "this kernel cannot delay packets: it has no netem (module sch_netem); "
                          "leave delay out of link")
                : err_set(err, EOPNOTSUPP,
                          "this kernel cannot shape a link: it has no tbf (module sch_tbf)");
    }
    return r;
}

static int set_up_replica(const struct links *l, const struct link *link, uint32_t i,
                          struct err *err)
{
    _cleanup_(buf_done) struct buf ip = BUF_INIT, tc = BUF_INIT, said = BUF_INIT;
    address_replica(i, l->n, &ip);
    shape(link, "eth0", &tc);
    delay(link, &tc);
    int r = run_batch(l->fds[i], "ip", &ip, &said, err);
    r = r < 0 ? r : run_tc(l->fds[i], link, &tc, err);
    return r;
}

static int set_up_bridge(const struct links *l, const struct link *link, struct err *err)
{
    _cleanup_(buf_done) struct buf ip = BUF_INIT, tc = BUF_INIT, said = BUF_INIT;
    const struct link undelayed = {.bits_per_s = link->bits_per_s};
    buf_puts(&ip, "link add bridge type bridge\nlink set bridge up\n");
    for (uint32_t i = 0; i < l->n; i++) {
        char device[16];
        (void)snprintf(device, sizeof(device), "l%u", i);
        connect_replica(l, i, &ip);
        shape(link, device, &tc);
    }
    int r = run_batch(l->bridge_fd, "ip", &ip, &said, err);
    r = r < 0 ? r : run_tc(l->bridge_fd, &undelayed, &tc, err);
    return r;
}

int links_new(const struct link *link, uint32_t n, struct links **ret, struct err *err)
{
    if (n > LINKS_MAX) {
        return err_set(err, EINVAL, "at most %d replicas can have shaped links", LINKS_MAX);
    }
    struct links *l = xnew(struct links);
    *l = (struct links){.bridge_fd = -1, .fds = xnew_array(int, n)};
    int r = new_namespace(&l->bridge_fd, err);
    while (r == 0 && l->n < n) {
        r = new_namespace(&l->fds[l->n], err);
        l->n += r == 0;
    }
    r = r < 0 ? r : set_up_bridge(l, link, err);
    for (uint32_t i = 0; r == 0 && i < n; i++) {
        r = set_up_replica(l, link, i, err);
    }
    if (r < 0) {
        links_free(l);
        return r;
    }
    *ret = l;
    return 0;
}

void links_free(struct links *l)
{
    if (l == NULL) {
        return;
    }
    for (uint32_t i = 0; i < l->n; i++) {
        fd_close(&l->fds[i]);
    }
    fd_close(&l->bridge_fd);
    free(l->fds);
    free(l);
}

int links_try(const struct link *link, struct err *err)
{
    struct links *l = NULL;
    const int r = links_new(link, 1, &l, err);
    links_free(l);
    return r;
}

int links_fd(const struct links *l, uint32_t i)
{
    return l->fds[i];
}

char *links_address(uint32_t i)
{
    _cleanup_(buf_done) struct buf address = BUF_INIT;
    add_address(i, &address);
    return xasprintf("%s:%d", buf_cstr(&address), LINKS_PORT);
}
