/* Lists and patterns of addresses, core/address_list.h. */
#include <errno.h>

#include "tests/test.h"
#include "core/address_list.h"

#include "base/vec.h"

static int put(void *ctx, const char *address, struct err *err)
{
    struct buf *out = ctx;
    if (strcmp(address, "bad") == 0) {
        return err_set(err, EINVAL, "bad");
    }
    buf_printf(out, "%s%s", out->len == 0 ? "" : " ", address);
    return 0;
}

TEST(patterns)
{
    static const struct {
        const char *name, *addresses[8], *pattern;
    } rows[] = {
        {"none", {NULL}, ""},
        {"one", {"a-0.s:7164"}, "a-0.s:7164"},
        {"two", {"a-0.s:7164", "a-1.s:7164"}, "a-{0..1}.s:7164"},
        {"numbers of several lengths",
         {"p0t1a2-x-8.s:7164", "p0t1a2-x-9.s:7164", "p0t1a2-x-10.s:7164", "p0t1a2-x-11.s:7164"},
         "p0t1a2-x-{8..11}.s:7164"},
        {"a common first digit", {"a-10.s:1", "a-11.s:1", "a-12.s:1"}, "a-{10..12}.s:1"},
        {"ports with a common end",
         {"127.0.0.1:40112", "127.0.0.1:50112"},
         "127.0.0.1:40112,127.0.0.1:50112"},
        {"addresses", {"10.0.0.7:7164", "10.0.0.9:7164"}, "10.0.0.7:7164,10.0.0.9:7164"},
        {"addresses of two networks",
         {"10.0.0.7:7164", "10.0.1.9:7164"},
         "10.0.0.7:7164,10.0.1.9:7164"},
        {"IPv6", {"[fd00::a]:7164", "[fd00::b]:7164"}, "[fd00::a]:7164,[fd00::b]:7164"},
        {"two runs of digits", {"p0t1-3.s:1", "p0t1-4.s:1", "p0t1-5.s:1"}, "p0t1-{3..5}.s:1"},
        {"beyond it", {"a-4294967295:1", "a-4294967296:1"}, "a-4294967295:1,a-4294967296:1"},
        {"leading zeros", {"a-08:1", "a-09:1"}, "a-08:1,a-09:1"},
        {"out of order", {"a-1:1", "a-0:1"}, "a-1:1,a-0:1"},
        {"the same twice", {"a-1:1", "a-1:1"}, "a-1:1,a-1:1"},
        {"one is the beginning of the other", {"a-1", "a-12"}, "a-1,a-12"},
        {"no number at one place", {"a-:1", "a-2:1"}, "a-:1,a-2:1"},
        {"no way round the largest number", {"a-4294967295:1", "a-0:1"}, "a-4294967295:1,a-0:1"},
        {"too large for a number", {"a-1:1", "a-4294967296:1"}, "a-1:1,a-4294967296:1"},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        print_message("# row '%s'\n", rows[i].name);
        _cleanup_(buf_done) struct buf got = BUF_INIT, plain = BUF_INIT, read = BUF_INIT;
        char *list[8];
        uint32_t n = 0;
        for (; rows[i].addresses[n] != NULL; n++) {
            list[n] = (char *)(uintptr_t)rows[i].addresses[n];
            buf_printf(&plain, "%s%s", n == 0 ? "" : " ", list[n]);
        }
        address_list_write_pattern(list, n, &got);
        assert_string_equal(buf_cstr(&got), rows[i].pattern);
        struct err err;
        assert_int_equal(address_list_read(buf_cstr(&got), 8, put, &read, &err), 0);
        assert_string_equal(buf_cstr(&read), buf_cstr(&plain)); /* there and back */
    }
}

TEST(what_people_write)
{
    static const struct {
        const char *text;
        const char *want; /* NULL: refused, because of `why` */
        const char *why;
    } rows[] = {
        {"a:1,b:2", "a:1 b:2", NULL},
        {"a:1,", "a:1 ", NULL}, /* an empty address, which the reader refuses */
        {"a-{0..2}:1,b:2", "a-0:1 a-1:1 a-2:1 b:2", NULL},
        {"a:{1..2},b-{3..4}:7", "a:1 a:2 b-3:7 b-4:7", NULL},
        {"a:{1,2}:1", NULL, "'a:{1' is not HOST:PORT, and not a pattern"},
        {"a-{7..7}:1", "a-7:1", NULL},
        {"a-{2..1}:1", NULL, "'a-{2..1}:1' is not HOST:PORT, and not a pattern"},
        {"a-{0..}:1", NULL, "pattern"},
        {"a-{..3}:1", NULL, "pattern"},
        {"a-{0..x}:1", NULL, "pattern"},
        {"a-{}:1", NULL, "pattern"},
        {"a-{1,2:1", NULL, "pattern"},
        {"a-1}:1", NULL, "pattern"},
        {"a-}1{:1", NULL, "pattern"},
        {"a-{0..1}-{0..1}:1", NULL, "pattern"},
        {"a-{0..4294967295}:1", NULL, "'a-{0..4294967295}:1': more than 8 addresses"},
        {"a-{0..7}:1,b:1", NULL, "more than 8 addresses"},
        {"a-{0..7}:1", "a-0:1 a-1:1 a-2:1 a-3:1 a-4:1 a-5:1 a-6:1 a-7:1", NULL},
        {"a:1,bad", NULL, "bad"},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        print_message("# row '%s'\n", rows[i].text);
        _cleanup_(buf_done) struct buf got = BUF_INIT;
        struct err err = {0};
        const int r = address_list_read(rows[i].text, 8, put, &got, &err);
        if (rows[i].want == NULL) {
            assert_int_equal(r, -EINVAL);
            assert_non_null(strstr(err.msg, rows[i].why));
        } else {
            assert_int_equal(r, 0);
            assert_string_equal(buf_cstr(&got), rows[i].want);
        }
    }
}
