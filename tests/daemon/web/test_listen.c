/* Starting and ending the server: addresses, its threads. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/str.h"
#include "daemon/web/web.h"
#include "store/store.h"

#define N(array) (sizeof(array) / sizeof((array)[0]))

/* A server over an empty store. */
struct rig {
    char folder[64], url[96];
    struct store *store;
    struct daemon_view *view;
};

static int setup(void **state)
{
    struct rig *rig = xnew(struct rig);
    (void)snprintf(rig->folder, sizeof(rig->folder), "/tmp/benchd-listen-XXXXXX");
    assert_non_null(mkdtemp(rig->folder));
    (void)snprintf(rig->url, sizeof(rig->url), "sqlite:%s/r.db", rig->folder);
    assert_int_equal(store_open(rig->url, true, &rig->store, NULL), 0);
    rig->view = daemon_view_new();
    *state = rig;
    return 0;
}

static int teardown(void **state)
{
    struct rig *rig = *state;
    static const char *const names[] = {"r.db", "r.db-wal", "r.db-shm"};
    daemon_view_free(rig->view);
    store_close(rig->store);
    for (size_t i = 0; i < N(names); i++) {
        char path[96];
        (void)snprintf(path, sizeof(path), "%s/%s", rig->folder, names[i]);
        (void)unlink(path); /* not all of them are left */
    }
    assert_int_equal(rmdir(rig->folder), 0);
    free(rig);
    return 0;
}

static int start(const struct rig *rig, const char *listen, struct web **ret, struct err *err)
{
    const struct web_params params = {rig->view, rig->url, listen, NULL};
    return web_new(&params, ret, err);
}

static void test_addresses(void **state)
{
    static const struct {
        const char *listen, *prefix; /* of the bound one; NULL: refused */
    } rows[] = {
        {"127.0.0.1:0", "127.0.0.1:"},
        {"localhost:0", "127.0.0.1:"},
        {":0", "0.0.0.0:"},
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
    for (size_t i = 0; i < N(rows); i++) {
        struct web *web = NULL;
        struct err err = {0};
        const int r = start(*state, rows[i].listen, &web, &err);
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

static void test_taken(void **state)
{
    struct web *web = NULL, *second = NULL;
    struct err err = {0};
    assert_int_equal(start(*state, "127.0.0.1:0", &web, &err), 0);
    assert_int_equal(start(*state, web_address(web), &second, &err), -EADDRINUSE);
    assert_null(second);
    assert_non_null(strstr(err.msg, web_address(web)));
    web_free(web);
}

static void test_no_store(void **state)
{
    struct rig *rig = *state;
    struct web *web = NULL;
    struct err err = {0};
    const struct web_params params = {rig->view, "sqlite:/nowhere/r.db", "127.0.0.1:0", NULL};
    assert_int_equal(web_new(&params, &web, &err), -ENXIO);
    assert_null(web);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_addresses, setup, teardown),
        cmocka_unit_test_setup_teardown(test_taken, setup, teardown),
        cmocka_unit_test_setup_teardown(test_no_store, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
