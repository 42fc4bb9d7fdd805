/* Dialling: an address that never answers, and a name that moves meanwhile. The time is the test's;
 * look-up and connect are the test's own where the network would have to be at fault. */
#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/test.h"
#include "tests/worker/exchange_rig.h"
#include "worker/comm/link/net.h"

#define S INT64_C(1000000000)
#define MS INT64_C(1000000)
#define BLACK_HOLE 1 /* a port whose connections are never answered */
#define MAX_PORTS 2

static struct { /* what the name means now, and how it was used */
    uint16_t ports[MAX_PORTS];
    size_t n_ports;
    int n_lookups, n_black_holes;
} name;

/* Takes the place of libc's. */
int getaddrinfo(const char *node, const char *service, const struct addrinfo *hints,
                struct addrinfo **ret)
{
    (void)node;
    (void)service;
    name.n_lookups++;
    *ret = NULL;
    for (size_t i = name.n_ports; i-- > 0;) {
        struct addrinfo *ai = calloc(1, sizeof(*ai));
        struct sockaddr_in *in = calloc(1, sizeof(*in));
        *in = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons(name.ports[i])};
        in->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        *ai = (struct addrinfo){.ai_family = AF_INET,
                                .ai_socktype = hints->ai_socktype,
                                .ai_addr = (struct sockaddr *)in,
                                .ai_addrlen = sizeof(*in),
                                .ai_next = *ret};
        *ret = ai;
    }
    return 0;
}

void freeaddrinfo(struct addrinfo *list)
{
    while (list != NULL) {
        struct addrinfo *next = list->ai_next;
        free(list->ai_addr);
        free(list);
        list = next;
    }
}

int connect(int fd, const struct sockaddr *addr, socklen_t len)
{
    if (((const struct sockaddr_in *)(const void *)addr)->sin_port == htons(BLACK_HOLE)) {
        name.n_black_holes++;
        errno = EINPROGRESS;
        return -1;
    }
    return (int)syscall(SYS_connect, fd, addr, len);
}

static int listen_at(uint16_t *ret_port)
{
    struct sockaddr_in addr = {.sin_family = AF_INET};
    addr.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&addr, sizeof(addr)), 0);
    assert_int_equal(listen(fd, 4), 0);
    *ret_port = rig_port(fd);
    return fd;
}

/* Steps until the dial waits for the network, or is connected; on loopback that is at once. */
static int step(struct dial *d, int64_t now_ns)
{
    int fd = -EAGAIN;
    for (int i = 0; i < 4 && fd < 0; i++) {
        fd = dial_step(d, now_ns);
    }
    return fd;
}

static void begin(struct dial *d, uint16_t first, uint16_t second)
{
    static const struct net_addr addr = {"pserver-0", "7164", "pserver-0:7164"};
    memset(&name, 0, sizeof(name));
    name.ports[0] = first;
    name.ports[1] = second;
    name.n_ports = second == 0 ? 1 : 2;
    dial_init(d, &addr);
}

TEST(name_moves)
{
    _cleanup_(dial_done) struct dial d;
    uint16_t port;
    int listener = listen_at(&port);
    begin(&d, BLACK_HOLE, 0);
    assert_int_equal(step(&d, 10 * S), -EAGAIN);
    name.ports[0] = port;
    assert_int_equal(step(&d, 13 * S - 1), -EAGAIN);
    assert_int_equal(name.n_lookups, 1);
    assert_int_equal(name.n_black_holes, 1); /* one attempt, which has its time */
    assert_int_equal(step(&d, 13 * S), -EAGAIN);
    print_message("# %s\n", d.why);
    assert_string_equal(d.why, "connect: no answer within 3 s");
    assert_int_equal(d.fd, -1);
    int fd = step(&d, 13 * S + 200 * MS);
    assert_true(fd >= 0);
    assert_int_equal(name.n_lookups, 2);
    (void)close(fd);
    (void)close(listener);
}

/* Each address has its time. */
TEST(second_address)
{
    struct dial d;
    uint16_t port;
    int listener = listen_at(&port);
    begin(&d, BLACK_HOLE, port);
    assert_int_equal(step(&d, 10 * S), -EAGAIN);
    int fd = step(&d, 13 * S);
    assert_true(fd >= 0);
    assert_int_equal(name.n_lookups, 1);
    (void)close(fd);
    (void)close(listener);
    dial_done(&d);

    begin(&d, BLACK_HOLE, BLACK_HOLE);
    assert_int_equal(step(&d, 10 * S), -EAGAIN);
    assert_int_equal(step(&d, 13 * S), -EAGAIN);
    assert_int_equal(step(&d, 16 * S - 1), -EAGAIN);
    assert_int_equal(name.n_black_holes, 2);
    assert_true(d.fd >= 0);
    assert_int_equal(step(&d, 16 * S), -EAGAIN);
    assert_int_equal(d.fd, -1);
    dial_done(&d);
}

/* Without a descriptor for the connection that waits, a listener is not polled for a while. */
TEST(a_listener_rests_without_descriptors)
{
    struct sockaddr_in in = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof(in);
    struct net_listener l = {.fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0)};
    const int client = socket(AF_INET, SOCK_STREAM, 0);
    struct err err = {0};
    assert_int_equal(bind(l.fd, (struct sockaddr *)&in, sizeof(in)) | listen(l.fd, 1), 0);
    assert_int_equal(getsockname(l.fd, (struct sockaddr *)&in, &len), 0);
    assert_int_equal(syscall(SYS_connect, client, &in, sizeof(in)), 0);

    const int next = dup(client); /* the descriptor that accept would get */
    struct rlimit was, few;
    assert_int_equal(close(next) | getrlimit(RLIMIT_NOFILE, &was), 0);
    few = (struct rlimit){(rlim_t)next, was.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
    assert_int_equal(net_accept(&l, 5 * S, &err), -EMFILE);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &was), 0);
    assert_non_null(strstr(err.msg, "accept a connection: "));
    assert_int_equal(net_listener_poll(&l, 5 * S), -1);
    assert_int_equal(net_accept(&l, 5 * S + NET_REST_NS - 1, &err), -EAGAIN);

    assert_int_equal(net_listener_poll(&l, 5 * S + NET_REST_NS), l.fd);
    const int fd = net_accept(&l, 5 * S + NET_REST_NS, &err);
    assert_true(fd >= 0);
    assert_int_equal(net_accept(&l, 5 * S + NET_REST_NS, &err), -EAGAIN);
    assert_int_equal(net_listener_poll(&l, 5 * S + NET_REST_NS), l.fd);
    assert_int_equal(close(fd) | close(client) | close(l.fd), 0);
}
