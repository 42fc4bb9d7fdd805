/* See tls.h. Edge file: GnuTLS. */
#include "daemon/web/tls.h"

#include <errno.h>
#include <string.h>

#include <gnutls/abstract.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/whole_file.h"

#define FILE_MAX ((size_t)1 << 20)
#define CHAIN_MAX 16
/* More than a connection may be silent (http.c), so no handshake outlives two changes. */
#define LOOK_EVERY_NS (15 * INT64_C(1000000000))

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
