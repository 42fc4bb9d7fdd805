/* Starting and ending the server: addresses, and a loop that has nothing left in it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <uv.h>

#include "base/str.h"
#include "daemon/web/web.h"
#include "fake_daemon.h"

#define N(array) (sizeof(array) / sizeof((array)[0]))

static void end(uv_loop_t *loop, struct web *web)
{
    web_free(web);
    assert_int_equal(uv_run(loop, UV_RUN_DEFAULT), 0);
    assert_int_equal(uv_loop_close(loop), 0); /* no handle was left */
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
    (void)state;
    for (size_t i = 0; i < N(rows); i++) {
        uv_loop_t loop;
        struct daemon daemon = {0};
        struct web *web = NULL;
        struct err err = {0};
        assert_int_equal(uv_loop_init(&loop), 0);
        const int r = web_new(&loop, &daemon, rows[i].listen, &web, &err);
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
        end(&loop, web);
    }
}

static void test_taken(void **state)
{
    (void)state;
    uv_loop_t loop;
    struct daemon daemon = {0};
    struct web *web = NULL, *second = NULL;
    struct err err = {0};
    assert_int_equal(uv_loop_init(&loop), 0);
    assert_int_equal(web_new(&loop, &daemon, "127.0.0.1:0", &web, &err), 0);
    assert_int_equal(web_new(&loop, &daemon, web_address(web), &second, &err), -EADDRINUSE);
    assert_null(second);
    assert_non_null(strstr(err.msg, web_address(web)));
    end(&loop, web);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_addresses),
        cmocka_unit_test(test_taken),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
