/* Starting and ending the server: addresses, its threads. */
#include <arpa/inet.h>
#include <errno.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/test.h"
#include "base/str.h"
#include "daemon/web/web.h"
#include "tests/store/store_folder.h"

/* A server over an empty store. */
struct rig {
    char folder[64], url[96];
    struct store *store;
    struct daemon_view *view;
};

static struct rig *rig_new(void)
{
    struct rig *rig = xnew(struct rig);
    rig->store = store_in_folder(rig->folder, rig->url);
    rig->view = daemon_view_new();
    return rig;
}

static void rig_freep(struct rig **p)
{
    struct rig *rig = *p;
    daemon_view_free(rig->view);
    store_close(rig->store);
    store_folder_remove(rig->folder);
    free(rig);
}

static int start(const struct rig *rig, const char *listen, struct web **ret, struct err *err)
{
    const struct web_params params = {rig->view, rig->url, listen, NULL};
    return web_new(&params, ret, err);
}

TEST(test_addresses)
{
    _cleanup_(rig_freep) struct rig *rig = rig_new();
    static const struct {
        const char *listen, *prefix; /* of the bound one; NULL: refused */
    } rows[] = {
        {"127.0.0.1:0", "127.0.0.1:"},
        {"localhost:0", "127.0.0.1:"},
        {":0", "[::]:"},
        {"[::]:0", "[::]:"},
        {"0.0.0.0:0", "0.0.0.0:"},
        {"", NULL},
        {"8080", NULL},
        {"127.0.0.1", NULL},
        {"127.0.0.1:", NULL},
        {"127.0.0.1:65536", NULL},
        {"127.0.0.1:-1", NULL},
        {"127.0.0.1:http", NULL},
        {"example.org:80", NULL},
        {"[::1:80", NULL},
        {"[]:80", NULL},
        {"::1:80", NULL},
        {"1.2.3.4.5:80", NULL},
        {"a-name-that-is-longer-than-any-address-can-be-in-the-whole-world:80", NULL},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        struct web *web = NULL;
        struct err err = {0};
        const int r = start(rig, rows[i].listen, &web, &err);
        if (rows[i].prefix == NULL) {
            if (r != -EINVAL || web != NULL || strstr(err.msg, rows[i].listen) == NULL) {
                fail_msg("'%s': expected -EINVAL that names it, got %d: %s", rows[i].listen, r,
                         err.msg);
            }
        } else if (r < 0 || !str_has_prefix(web_address(web), rows[i].prefix) ||
                   str_has_suffix(web_address(web), ":0")) {
            fail_msg("'%s': expected %s<port>, got %d: %s", rows[i].listen, rows[i].prefix, r,
                     r < 0 ? err.msg : web_address(web));
        }
        web_free(web);
    }
}

/* Takes the place of libc's. */
static bool lacks_v6;
int socket(int domain, int type, int protocol)
{
    if (domain == AF_INET6 && lacks_v6) {
        errno = EAFNOSUPPORT;
        return -1;
    }
    return (int)syscall(SYS_socket, domain, type, protocol);
}

/* [::] is every address: of IPv4, too, and on a machine without IPv6. */
TEST(test_every_address)
{
    _cleanup_(rig_freep) struct rig *rig = rig_new();
    for (int i = 0; i <= 1; i++) {
        struct web *web = NULL;
        lacks_v6 = i == 1;
        assert_int_equal(start(rig, "[::]:0", &web, NULL), 0);
        lacks_v6 = false;
        assert_true(str_has_prefix(web_address(web), i == 0 ? "[::]:" : "0.0.0.0:"));
        const long port = strtol(strrchr(web_address(web), ':') + 1, NULL, 10);
        const struct sockaddr_in v4 = {.sin_family = AF_INET,
                                       .sin_port = htons((uint16_t)port),
                                       .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
        const struct sockaddr_in6 v6 = {.sin6_family = AF_INET6,
                                        .sin6_port = htons((uint16_t)port),
                                        .sin6_addr = IN6ADDR_LOOPBACK_INIT};
        const int fd4 = socket(AF_INET, SOCK_STREAM, 0), fd6 = socket(AF_INET6, SOCK_STREAM, 0);
        assert_int_equal(connect(fd4, (const struct sockaddr *)&v4, sizeof(v4)), 0);
        assert_int_equal(connect(fd6, (const struct sockaddr *)&v6, sizeof(v6)), -i);
        close(fd4);
        close(fd6);
        web_free(web);
    }
}

TEST(test_taken)
{
    _cleanup_(rig_freep) struct rig *rig = rig_new();
    struct web *web = NULL, *second = NULL;
    struct err err = {0};
    assert_int_equal(start(rig, "127.0.0.1:0", &web, &err), 0);
    assert_int_equal(start(rig, web_address(web), &second, &err), -EADDRINUSE);
    assert_null(second);
    assert_non_null(strstr(err.msg, web_address(web)));
    web_free(web);
}

TEST(test_no_store)
{
    _cleanup_(rig_freep) struct rig *rig = rig_new();
    struct web *web = NULL;
    struct err err = {0};
    const struct web_params params = {rig->view, "sqlite:/nowhere/r.db", "127.0.0.1:0", NULL};
    assert_int_equal(web_new(&params, &web, &err), -ENXIO);
    assert_null(web);
}
