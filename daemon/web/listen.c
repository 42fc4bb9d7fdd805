/* See listen.h. */
#include "daemon/web/listen.h"

#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <gnutls/abstract.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/parse.h"
#include "base/str.h"
#include "base/whole_file.h"

#define BACKLOG 128
#define EVERY_ADDRESS "[::]" /* of IPv4, too */
#define FILE_MAX ((size_t)1 << 20)
#define CHAIN_MAX 16
/* More than a connection may be silent (http.c), so no handshake outlives two changes. */
#define LOOK_EVERY_NS (15 * INT64_C(1000000000))

/* ---- the socket ---- */

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

/* ---- the certificate ---- */

static struct {
    char *cert, *key; /* paths */
    struct buf used;  /* the certificate's text */
    int64_t look_ns;
    struct pair {
        gnutls_pcert_st chain[CHAIN_MAX];
        unsigned n;
        gnutls_privkey_t key;
    } pairs[2]; /* of the one before `now`, handshakes may still use it */
    int now;
} tls;

/* GnuTLS compares certificate and key only where it is to use them itself. */
static int parse(const gnutls_datum_t *cert, const gnutls_datum_t *key, struct pair *p)
{
    gnutls_certificate_credentials_t both;
    int r = gnutls_certificate_allocate_credentials(&both);
    if (r >= 0) {
        r = gnutls_certificate_set_x509_key_mem(both, cert, key, GNUTLS_X509_FMT_PEM);
        gnutls_certificate_free_credentials(both);
    }
    for (; p->n > 0; p->n--) {
        gnutls_pcert_deinit(&p->chain[p->n - 1]);
    }
    gnutls_privkey_deinit(p->key); /* NULL is fine */
    p->key = NULL;
    unsigned n = CHAIN_MAX;
    if (r >= 0 &&
        (r = gnutls_pcert_list_import_x509_raw(p->chain, &n, cert, GNUTLS_X509_FMT_PEM, 0)) >= 0) {
        p->n = n;
        r = gnutls_privkey_init(&p->key);
    }
    return r < 0 ? r : gnutls_privkey_import_x509_raw(p->key, key, GNUTLS_X509_FMT_PEM, NULL, 0);
}

/* 1: they are others than those in use; 0: they are the same. */
static int load(struct err *err)
{
    _cleanup_(buf_done) struct buf cert = BUF_INIT, key = BUF_INIT;
    int r = file_read(tls.cert, FILE_MAX, &cert, err);
    if (r < 0 ||
        (cert.len == tls.used.len && memcmp(buf_cstr(&cert), buf_cstr(&tls.used), cert.len) == 0) ||
        (r = file_read(tls.key, FILE_MAX, &key, err)) < 0) {
        return r;
    }
    r = parse(&(gnutls_datum_t){(unsigned char *)cert.data, (unsigned)cert.len},
              &(gnutls_datum_t){(unsigned char *)key.data, (unsigned)key.len},
              &tls.pairs[1 - tls.now]);
    explicit_bzero(key.data, key.len);
    if (r < 0) {
        return err_set(err, EBADMSG, "certificate '%s' with key '%s': %s", tls.cert, tls.key,
                       gnutls_strerror(r));
    }
    tls.now = 1 - tls.now;
    buf_done(&tls.used);
    tls.used = cert;
    cert = BUF_INIT;
    return 1;
}

int tls_use_files(const char *cert, const char *key, struct err *err)
{
    tls.cert = xstrdup(cert);
    tls.key = xstrdup(key);
    tls.look_ns = clock_monotonic_ns() + LOOK_EVERY_NS;
    const int r = load(err);
    return r == 0 ? err_set(err, EBADMSG, "certificate '%s' is empty", cert) : r;
}

static int pick(gnutls_session_t session, const gnutls_datum_t *authorities, int n_authorities,
                const gnutls_pk_algorithm_t *algorithms, int n_algorithms, gnutls_pcert_st **ret,
                unsigned *ret_n, gnutls_privkey_t *ret_key)
{
    const int64_t now_ns = clock_monotonic_ns();
    struct err err = {0};
    (void)session, (void)authorities, (void)n_authorities, (void)algorithms, (void)n_algorithms;
    const int r = now_ns < tls.look_ns ? 0 : load(&err);
    tls.look_ns = now_ns < tls.look_ns ? tls.look_ns : now_ns + LOOK_EVERY_NS;
    if (r != 0) {
        log_event(r < 0 ? LOG_LEVEL_WARN : LOG_LEVEL_INFO,
                  r < 0 ? "the new certificate cannot be used, the last one stays"
                        : "a new certificate is used",
                  "file", tls.cert, "err", err.msg, NULL);
    }
    struct pair *p = &tls.pairs[tls.now];
    *ret = p->chain;
    *ret_n = p->n;
    *ret_key = p->key;
    return 0;
}

void *tls_callback(void)
{
    return (void *)pick;
}
