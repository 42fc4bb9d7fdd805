/* Addresses and sockets, see net.h. A name is looked up in a thread of its own, because a name
 * server that does not answer must not keep the communication thread from sending heartbeats.
 * (glibc's getaddrinfo_a is not used: ThreadSanitizer does not know its threads and crashes.) */
#include "worker/comm/link/net.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/parse.h"

#define BACKLOG 512
#define RETRY_NS INT64_C(200000000)

int net_addr_parse(const char *text, struct net_addr *ret, struct err *err)
{
    const char *colon = strrchr(text, ':');
    size_t host_len = colon == NULL ? 0 : (size_t)(colon - text);
    const char *host = text;
    if (host_len >= 2 && text[0] == '[' && text[host_len - 1] == ']') {
        host++;
        host_len -= 2;
    }
    int64_t port = 0;
    if (colon == NULL || host_len == 0 || host_len >= sizeof(ret->host) ||
        parse_i64_in(colon + 1, 0, 65535, &port) < 0) {
        return err_set(err, EINVAL, "address '%.100s': expected host:port, such as 127.0.0.1:7164",
                       text);
    }
    memcpy(ret->host, host, host_len);
    ret->host[host_len] = '\0';
    (void)snprintf(ret->port, sizeof(ret->port), "%d", (int)port);
    (void)snprintf(ret->text, sizeof(ret->text), "%.*s", NET_ADDR_SIZE - 1, text);
    return 0;
}

int net_tune(int fd, struct err *err)
{
    const int on = 1;
    int flags = fcntl(fd, F_GETFL);
    if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0 ||
        fcntl(fd, F_SETFD, FD_CLOEXEC) < 0 ||
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)) < 0) {
        return err_set_errno(err, errno, "set socket options");
    }
    return 0; /* no buffer sizes: setting them would turn off the kernel's tuning */
}

static int listen_on(const struct addrinfo *ai)
{
    const int on = 1, off = 0;
    int fd = socket(ai->ai_family, ai->ai_socktype | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0) {
        return -errno;
    }
    const bool is_v6 = ai->ai_family == AF_INET6; /* [::] is every address, of IPv4 too */
    /* SO_REUSEADDR ignores old connections to the port, but not a process that listens on it. */
    if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) < 0 ||
        (is_v6 && setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off)) < 0) ||
        bind(fd, ai->ai_addr, ai->ai_addrlen) < 0 || listen(fd, BACKLOG) < 0) {
        int code = errno;
        (void)close(fd); /* the first error counts */
        return -code;
    }
    return fd;
}

static int listen_at(const char *host, const struct net_addr *addr, struct err *err)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE};
    struct addrinfo *list;
    int e = getaddrinfo(host, addr->port, &hints, &list);
    if (e != 0) {
        return err_set(err, EADDRNOTAVAIL, "bind %s: %s", addr->text, gai_strerror(e));
    }
    int r = -EADDRNOTAVAIL;
    for (const struct addrinfo *ai = list; ai != NULL && r < 0; ai = ai->ai_next) {
        r = listen_on(ai);
    }
    freeaddrinfo(list);
    return r;
}

int net_listen(const struct net_addr *addr, struct err *err)
{
    int r = listen_at(addr->host, addr, err);
    if (r == -EAFNOSUPPORT && strcmp(addr->host, "::") == 0) { /* a kernel without IPv6 */
        r = listen_at("0.0.0.0", addr, err);
    }
    if (r == -EADDRINUSE) {
        return err_set(err, EADDRINUSE,
                       "bind %s: Address already in use (another process listens "
                       "there; choose another --listen)",
                       addr->text);
    }
    return r < 0 ? err_set_errno(err, -r, "bind %s", addr->text) : r;
}

int net_accept(struct net_listener *l, int64_t now_ns, struct err *err)
{
    while (net_listener_poll(l, now_ns) >= 0) {
        int fd = accept4(l->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
        const int code = fd < 0 ? errno : 0;
        if (code == EMFILE || code == ENFILE || code == ENOMEM || code == ENOBUFS) {
            (void)err_set_errno(err, code, "accept a connection");
            l->rests_until_ns = now_ns + NET_REST_NS;
            if (!l->is_logged) {
                l->is_logged = true;
                log_event(LOG_LEVEL_WARN, "no room for another connection", "err", err->msg, NULL);
            }
            return -code;
        }
        if (code == ECONNABORTED || code == EINTR) {
            continue; /* it has closed again */
        }
        if (fd < 0) {
            return -EAGAIN;
        }
        l->is_logged = false;
        return fd;
    }
    return -EAGAIN;
}

int net_listener_poll(const struct net_listener *l, int64_t now_ns)
{
    return now_ns < l->rests_until_ns ? -1 : l->fd;
}

enum { LOOKUP_RUNNING, LOOKUP_DONE, LOOKUP_ABANDONED };

/* Shared by the dial and the look-up's thread; the one that is done last frees it. */
struct dial_lookup {
    struct net_addr addr;
    struct addrinfo *list;
    int result; /* of getaddrinfo */
    atomic_int state;
};

void dial_init(struct dial *d, const struct net_addr *addr)
{
    *d = (struct dial){.addr = *addr, .state = DIAL_WAIT, .fd = -1};
}

static void free_lookup(struct dial_lookup *l)
{
    if (l->list != NULL) {
        freeaddrinfo(l->list);
    }
    free(l);
}

static int resolve(struct dial_lookup *l, int flags)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = flags};
    l->result = getaddrinfo(l->addr.host, l->addr.port, &hints, &l->list);
    return l->result;
}

static void *lookup_main(void *lookup)
{
    struct dial_lookup *l = lookup;
    (void)resolve(l, 0); /* kept in l->result */
    if (atomic_exchange(&l->state, LOOKUP_DONE) == LOOKUP_ABANDONED) {
        free_lookup(l);
    }
    return NULL;
}

static void forget_lookup(struct dial *d)
{
    struct dial_lookup *l = take_ptr(d->lookup);
    if (l != NULL && atomic_exchange(&l->state, LOOKUP_ABANDONED) == LOOKUP_DONE) {
        free_lookup(l);
    }
}

void dial_done(struct dial *d)
{
    fd_close(&d->fd); /* nothing was sent on it */
    forget_lookup(d);
    d->state = DIAL_WAIT;
}

void dial_again(struct dial *d, int64_t now_ns, const char *why)
{
    dial_done(d);
    d->again_ns = now_ns + RETRY_NS;
    (void)snprintf(d->why, sizeof(d->why), "%.*s", (int)sizeof(d->why) - 1, why);
}

static void start_lookup(struct dial *d, int64_t now_ns)
{
    struct dial_lookup *l = d->lookup = xnew(struct dial_lookup);
    l->addr = d->addr;
    d->state = DIAL_RESOLVE;
    if (resolve(l, AI_NUMERICHOST) != EAI_NONAME) {
        atomic_store(&l->state, LOOKUP_DONE);
        return;
    }
    pthread_t thread;
    int code = pthread_create(&thread, NULL, lookup_main, l);
    if (code != 0) {
        atomic_store(&l->state, LOOKUP_DONE); /* there is no thread, so dial_again frees it */
        dial_again(d, now_ns, strerrordesc_np(code));
        return;
    }
    (void)pthread_detach(thread); /* joinable until here */
}

/* Starts connecting to the next address of the list. */
static void start_connect(struct dial *d, int64_t now_ns)
{
    const struct addrinfo *ai = d->next;
    if (ai == NULL) {
        char why[sizeof(d->why)];
        memcpy(why, d->why, sizeof(why));
        dial_again(d, now_ns, why);
        return;
    }
    d->next = ai->ai_next;
    d->state = DIAL_CONNECT;
    d->connect_by_ns = now_ns + DIAL_ATTEMPT_NS;
    d->fd = socket(ai->ai_family, ai->ai_socktype | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (d->fd < 0 || (connect(d->fd, ai->ai_addr, ai->ai_addrlen) < 0 && errno != EINPROGRESS)) {
        (void)snprintf(d->why, sizeof(d->why), "connect: %s", strerrordesc_np(errno));
        fd_close(&d->fd);
    }
}

static void check_lookup(struct dial *d, int64_t now_ns)
{
    if (atomic_load(&d->lookup->state) != LOOKUP_DONE) {
        return;
    }
    if (d->lookup->result != 0) {
        dial_again(d, now_ns, gai_strerror(d->lookup->result));
        return;
    }
    d->next = d->lookup->list;
    start_connect(d, now_ns);
}

/* While no process listens on a port of the ephemeral range, connect can choose that very port for
 * its own side, and the socket is connected to itself. */
static bool is_own_echo(int fd, const struct sockaddr_storage *peer, socklen_t len)
{
    struct sockaddr_storage own = {0};
    socklen_t own_len = sizeof(own);
    return getsockname(fd, (struct sockaddr *)&own, &own_len) == 0 && own_len == len &&
           memcmp(&own, peer, len) == 0;
}

static void fail_connect(struct dial *d, const char *why, int64_t now_ns)
{
    (void)snprintf(d->why, sizeof(d->why), "connect: %s", why);
    fd_close(&d->fd);
    start_connect(d, now_ns);
}

/* Returns the connected socket or -EAGAIN. */
static int check_connect(struct dial *d, int64_t now_ns)
{
    if (d->fd < 0) {
        start_connect(d, now_ns);
        return -EAGAIN;
    }
    struct sockaddr_storage peer = {0};
    socklen_t len = sizeof(peer);
    if (getpeername(d->fd, (struct sockaddr *)&peer, &len) == 0) {
        if (is_own_echo(d->fd, &peer, len)) {
            fail_connect(d, strerrordesc_np(ECONNREFUSED), now_ns);
            return -EAGAIN;
        }
        int fd = d->fd;
        d->fd = -1;
        dial_done(d);
        d->answer_by_ns = now_ns + DIAL_ANSWER_NS;
        return fd;
    }
    int code = 0;
    len = sizeof(code);
    if (getsockopt(d->fd, SOL_SOCKET, SO_ERROR, &code, &len) < 0) {
        code = errno;
    }
    if (code != 0) {
        fail_connect(d, strerrordesc_np(code), now_ns);
    } else if (now_ns >= d->connect_by_ns) {
        char why[64];
        (void)snprintf(why, sizeof(why), "no answer within %g s", (double)DIAL_ATTEMPT_NS / 1e9);
        fail_connect(d, why, now_ns);
    }
    return -EAGAIN;
}

int dial_step(struct dial *d, int64_t now_ns)
{
    if (d->state == DIAL_WAIT && now_ns >= d->again_ns) {
        start_lookup(d, now_ns);
    }
    if (d->state == DIAL_RESOLVE) {
        check_lookup(d, now_ns);
    }
    return d->state == DIAL_CONNECT ? check_connect(d, now_ns) : -EAGAIN;
}
