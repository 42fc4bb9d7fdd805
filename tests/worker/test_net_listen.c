/* [::] is every address: of IPv6 and of IPv4, also on a machine that lacks one of them. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/test.h"
#include "tests/worker/exchange_rig.h"
#include "worker/comm/link/net.h"

static bool lacks_v6;

/* Takes the place of libc's. */
int socket(int domain, int type, int protocol)
{
    if (domain == AF_INET6 && lacks_v6) {
        errno = EAFNOSUPPORT;
        return -1;
    }
    return (int)syscall(SYS_socket, domain, type, protocol);
}

static bool answers(const struct sockaddr *address, socklen_t len)
{
    const int fd = socket(address->sa_family, SOCK_STREAM, 0);
    const bool is_connected = fd >= 0 && connect(fd, address, len) == 0;
    if (fd >= 0) {
        close(fd);
    }
    return is_connected;
}

TEST(both_families)
{
    for (int i = 0; i <= 1; i++) {
        lacks_v6 = i == 1;
        struct net_addr addr;
        struct err err;
        assert_int_equal(net_addr_parse("[::]:0", &addr, &err), 0);
        const int fd = net_listen(&addr, &err);
        assert_true(fd >= 0);
        const uint16_t port = rig_port(fd);
        const struct sockaddr_in v4 = {.sin_family = AF_INET,
                                       .sin_port = htons(port),
                                       .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
        const struct sockaddr_in6 v6 = {
            .sin6_family = AF_INET6, .sin6_port = htons(port), .sin6_addr = IN6ADDR_LOOPBACK_INIT};
        assert_true(answers((const struct sockaddr *)&v4, sizeof(v4)));
        lacks_v6 = false;
        assert_int_equal(answers((const struct sockaddr *)&v6, sizeof(v6)), i == 0);
        close(fd);
    }
}

/* Only the wildcard: whoever asks for an address of IPv6 hears that there is none. */
TEST(an_address_that_is_not_there)
{
    lacks_v6 = true;
    struct net_addr addr;
    struct err err;
    assert_int_equal(net_addr_parse("[::1]:0", &addr, &err), 0);
    assert_int_equal(net_listen(&addr, &err), -EAFNOSUPPORT);
    assert_non_null(strstr(err.msg, "bind [::1]:0"));
    lacks_v6 = false;
}
