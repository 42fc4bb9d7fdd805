/* See listen.h. */
#include "daemon/web/listen.h"

#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/parse.h"
#include "base/str.h"

#define BACKLOG 128
#define EVERY_ADDRESS "[::]" /* of IPv4, too */

/* Numbers alone: no name is looked up. */
static int find_address(const char *listen, struct addrinfo **ret, struct err *err)
{
    const char *colon = strrchr(listen, ':');
    const size_t len = colon == NULL ? 0 : (size_t)(colon - listen);
    int64_t port;
    if (colon == NULL || parse_i64_in(colon + 1, 0, 65535, &port) < 0) {
        return err_set(err, EINVAL, "listen address '%.100s': expected host:port", listen);
    }
    _cleanup_(freep) char *host = len == 0 ? xstrdup(EVERY_ADDRESS) : xstrndup(listen, len);
    const bool is_v6 = host[0] == '[' && str_has_suffix(host, "]");
    if (is_v6) {
        host[strlen(host) - 1] = '\0';
    }
    const struct addrinfo hints = {.ai_family = is_v6 ? AF_INET6 : AF_INET,
                                   .ai_socktype = SOCK_STREAM,
                                   .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV};
    const int r =
        getaddrinfo(str_eq(host, "localhost") ? "127.0.0.1" : host + is_v6, colon + 1, &hints, ret);
    return r == 0 ? 0
                  : err_set(err, EINVAL,
                            "listen address '%s': expected an IP address, [IPv6] or "
                            "localhost before the port",
                            listen);
}

static int name_socket(int fd, char ret[static LISTEN_ADDRESS_SIZE], struct err *err)
{
    struct sockaddr_storage address;
    socklen_t len = sizeof(address);
    char host[NI_MAXHOST], port[NI_MAXSERV];
    if (getsockname(fd, (struct sockaddr *)&address, &len) < 0 ||
        getnameinfo((struct sockaddr *)&address, len, host, sizeof(host), port, sizeof(port),
                    NI_NUMERICHOST | NI_NUMERICSERV) != 0) {
        return err_set(err, EINVAL, "name of the listening socket");
    }
    (void)snprintf(ret, LISTEN_ADDRESS_SIZE, address.ss_family == AF_INET6 ? "[%s]:%s" : "%s:%s",
                   host, port);
    return 0;
}

/* -Exxx. */
static int open_socket(const struct addrinfo *at)
{
    const int off = 0, on = 1;
    const int fd = socket(at->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0) {
        return -errno;
    }
    /* bind says what matters, and an IPv4 socket has no such option */
    (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    (void)setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
    if (bind(fd, at->ai_addr, at->ai_addrlen) < 0 || listen(fd, BACKLOG) < 0) {
        const int code = errno;
        (void)close(fd);
        return -code;
    }
    return fd;
}

int listen_open(const char *address, char ret_bound[static LISTEN_ADDRESS_SIZE], struct err *err)
{
    struct addrinfo *at;
    int r = find_address(address, &at, err);
    if (r < 0) {
        return r;
    }
    const int fd = open_socket(at);
    freeaddrinfo(at);
    if (fd == -EAFNOSUPPORT && (address[0] == ':' || str_has_prefix(address, EVERY_ADDRESS))) {
        _cleanup_(freep) char *v4 = xasprintf("0.0.0.0%s", strrchr(address, ':'));
        return listen_open(v4, ret_bound, err); /* a kernel without IPv6 */
    }
    if (fd < 0) {
        return err_set_errno(err, -fd, "listen on '%s'", address);
    }
    r = name_socket(fd, ret_bound, err);
    if (r < 0) {
        (void)close(fd);
        return r;
    }
    return fd;
}
