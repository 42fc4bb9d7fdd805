/* See listen.h. */
#include "daemon/web/listen.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <uv.h>

#include "base/parse.h"
#include "base/str.h"

#define BACKLOG 128

union address {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
};

static int parse_address(const char *listen, union address *ret, struct err *err)
{
    const char *colon = strrchr(listen, ':');
    int64_t port = 0;
    const size_t host_len = colon == NULL ? 0 : (size_t)(colon - listen);
    if (colon == NULL || parse_i64_in(colon + 1, 0, 65535, &port) < 0 ||
        host_len >= INET6_ADDRSTRLEN + 2) {
        return err_set(err, EINVAL, "listen address '%.100s': expected host:port", listen);
    }
    char host[INET6_ADDRSTRLEN + 2];
    memcpy(host, listen, host_len);
    host[host_len] = '\0';
    const char *name = str_eq(host, "localhost") ? "127.0.0.1" : host;
    memset(ret, 0, sizeof(*ret));
    int r;
    if (host_len == 0) {
        r = uv_ip6_addr("::", (int)port, &ret->v6);
    } else if (host[0] == '[' && host[host_len - 1] == ']') {
        host[host_len - 1] = '\0';
        r = uv_ip6_addr(host + 1, (int)port, &ret->v6);
    } else {
        r = uv_ip4_addr(name, (int)port, &ret->v4);
    }
    return r == 0 ? 0
                  : err_set(err, EINVAL,
                            "listen address '%s': expected an IP address, [IPv6] or "
                            "localhost before the port",
                            listen);
}

/* [::] is every address, of IPv4 too, also where the kernel has no IPv6. */
static int new_socket(union address *address)
{
    const int off = 0, on = 1;
    int fd = socket(address->any.sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0 && errno == EAFNOSUPPORT && address->any.sa_family == AF_INET6 &&
        IN6_IS_ADDR_UNSPECIFIED(&address->v6.sin6_addr)) {
        address->v4 =
            (struct sockaddr_in){.sin_family = AF_INET, .sin_port = address->v6.sin6_port};
        fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    }
    /* bind says what matters */
    (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    if (address->any.sa_family == AF_INET6) {
        (void)setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
    }
    return fd;
}

static int open_socket(const char *listen_on, union address *address, struct err *err)
{
    const int fd = new_socket(address);
    if (fd < 0) {
        return err_set_errno(err, errno, "listen on '%s'", listen_on);
    }
    const socklen_t size =
        address->any.sa_family == AF_INET6 ? sizeof(address->v6) : sizeof(address->v4);
    if (bind(fd, &address->any, size) < 0 || listen(fd, BACKLOG) < 0) {
        const int code = errno;
        close(fd);
        return err_set_errno(err, code, "listen on '%s'", listen_on);
    }
    return fd;
}

static int name_socket(int fd, char *ret, size_t size, struct err *err)
{
    union address address;
    socklen_t len = sizeof(address);
    char host[INET6_ADDRSTRLEN] = "";
    if (getsockname(fd, &address.any, &len) < 0) {
        return err_set_errno(err, errno, "name of the listening socket");
    }
    const bool is_v6 = address.any.sa_family == AF_INET6;
    const int r = is_v6 ? uv_ip6_name(&address.v6, host, sizeof(host))
                        : uv_ip4_name(&address.v4, host, sizeof(host));
    (void)snprintf(ret, size, is_v6 ? "[%s]:%u" : "%s:%u", host,
                   ntohs(is_v6 ? address.v6.sin6_port : address.v4.sin_port));
    return r == 0 ? 0 : err_set(err, EINVAL, "name of the listening socket: %s", uv_strerror(r));
}

int listen_open(const char *address, char ret_bound[static LISTEN_ADDRESS_SIZE], struct err *err)
{
    union address parsed;
    int fd = parse_address(address, &parsed, err);
    fd = fd < 0 ? fd : open_socket(address, &parsed, err);
    if (fd < 0) {
        return fd;
    }
    const int r = name_socket(fd, ret_bound, LISTEN_ADDRESS_SIZE, err);
    if (r < 0) {
        (void)close(fd);
        return r;
    }
    return fd;
}
