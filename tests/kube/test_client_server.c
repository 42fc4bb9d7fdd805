/* Where requests go: the base of their URLs, the address to connect to, and whether
 * a proxy may be used. */
#include "cmocka_kube.h"

#include <errno.h>

#include "kube/client_server.h"

TEST(good_ones)
{
    static const struct {
        const char *server, *tls_server_name, *base_url, *connect_to; /* NULL: none */
        bool is_here;
    } rows[] = {
        {"https://h:6443", NULL, "https://h:6443", NULL, false},
        {"https://h/base", NULL, "https://h/base", NULL, false},
        /* The name is checked in the certificate; the connection goes to the address. */
        {"https://10.0.0.1:6443", "kube", "https://kube:6443", "::10.0.0.1:6443", false},
        {"https://10.0.0.1", "kube", "https://kube", "::10.0.0.1:443", false},
        {"https://127.0.0.1:6443", "kube", "https://kube:6443", "::127.0.0.1:6443", true},
        {"https://localhost:6443", NULL, "https://localhost:6443", NULL, true},
        {"https://127.0.0.1:6443", NULL, "https://127.0.0.1:6443", NULL, true},
        {"https://127.1.2.3:6443", NULL, "https://127.1.2.3:6443", NULL, true},
        {"https://[::1]:6443", NULL, "https://[::1]:6443", NULL, true},
        {"https://128.0.0.1:6443", NULL, "https://128.0.0.1:6443", NULL, false},
        {"https://localhost.example.com", NULL, "https://localhost.example.com", NULL, false},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        const struct kube_config config = {.server = (char *)(uintptr_t)rows[i].server,
                                           .tls_server_name =
                                               (char *)(uintptr_t)rows[i].tls_server_name};
        _cleanup_(freep) char *base_url = NULL, *connect_to = NULL;
        bool is_here = false;
        struct err err = {0};
        const int r = client_server(&config, &base_url, &connect_to, &is_here, &err);
        if (r < 0) {
            fail_msg("%s: %s", rows[i].server, err.msg);
        }
        const char *const expected = rows[i].connect_to == NULL ? "none" : rows[i].connect_to;
        const char *const got = connect_to == NULL ? "none" : connect_to;
        if (strcmp(base_url, rows[i].base_url) != 0 || strcmp(got, expected) != 0 ||
            is_here != rows[i].is_here) {
            fail_msg("%s: expected %s, %s, here %d; got %s, %s, here %d", rows[i].server,
                     rows[i].base_url, expected, rows[i].is_here, base_url, got, is_here);
        }
    }
}

TEST(wrong_ones)
{
    static const char *const servers[] = {"https://", "https://h:port", "https://h:70000", ""};
    for (size_t i = 0; i < N_ROWS(servers); i++) {
        const struct kube_config config = {.server = (char *)(uintptr_t)servers[i]};
        char *base_url = NULL, *connect_to = NULL;
        bool is_here = false;
        struct err err = {0};
        const int r = client_server(&config, &base_url, &connect_to, &is_here, &err);
        if (r != -EINVAL || strstr(err.msg, "is not the URL of a server") == NULL) {
            fail_msg("'%s': expected %d, got %d '%s'", servers[i], -EINVAL, r, err.msg);
        }
    }
}
