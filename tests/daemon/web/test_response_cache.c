/* Finished documents: how many are kept, and how long. */
#include "tests/test.h"
#include "daemon/web/response_cache.h"
#include "daemon/web/message.h"

TEST(test_cache)
{
    struct cache c = {0};
    struct buf text = BUF_INIT;
    for (size_t i = 0; i < CACHE_ENTRIES + 2; i++) {
        char key[16];
        (void)snprintf(key, sizeof(key), "%zu", i);
        buf_puts(&text, key);
        struct body *body = body_new(&text, WEB_TEXT);
        cache_put(&c, key, "1", body, (int64_t)i);
        body_unref(body);
    }
    assert_int_equal(c.entries.len, CACHE_ENTRIES);
    assert_null(cache_get(&c, "0", "1", 1)); /* the least recently used went first */
    assert_null(cache_get(&c, "1", "1", 1));
    assert_null(cache_get(&c, "2", "2", 1)); /* another version */
    struct body *two = cache_get(&c, "2", "1", CACHE_IDLE_NS);
    assert_non_null(two);
    cache_drop_idle(&c, CACHE_IDLE_NS * 2);
    assert_int_equal(c.entries.len, 1);
    for (size_t i = 0; i < 3; i++) {
        char *big = xcalloc(1, CACHE_BYTES / 2);
        buf_append(&text, big, CACHE_BYTES / 2);
        free(big);
        struct body *body = body_new(&text, WEB_TEXT);
        cache_put(&c, i == 2 ? "b" : "a", "1", body, CACHE_IDLE_NS * 2);
        body_unref(body);
    }
    assert_int_equal(c.entries.len, 2); /* both fit exactly, without the old one */
    assert_int_equal(c.bytes, CACHE_BYTES);
    cache_done(&c);
    assert_string_equal(two->data, "2"); /* it has a user */
    body_unref(two);
}
