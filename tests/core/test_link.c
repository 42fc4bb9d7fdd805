/* The texts of links, core/link.h. */
#include <errno.h>

#include "tests/test.h"
#include "core/link.h"

TEST(texts)
{
    static const struct {
        const char *text;
        struct link link;
        const char *canonical;
    } rows[] = {
        {"none", {0}, "none"},
        {"1gbit", {1000000000, 0}, "1gbit"},
        {"1000mbit", {1000000000, 0}, "1gbit"},
        {"2.5gbit", {2500000000, 0}, "2.5gbit"},
        {"500000kbit", {500000000, 0}, "500mbit"},
        {"100gbit", {100000000000, 0}, "100gbit"},
        {"1mbit 1s", {1000000, 1000000000}, "1mbit 1000ms"},
        {"1gbit 1ms", {1000000000, 1000000}, "1gbit 1ms"},
        {"1gbit 250us", {1000000000, 250000}, "1gbit 0.25ms"},
        {"1gbit 0ms", {1000000000, 0}, "1gbit"},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        struct link link = {7, 7};
        char text[LINK_TEXT_MAX];
        assert_int_equal(link_parse(rows[i].text, &link), 0);
        assert_true(link_eq(&link, &rows[i].link));
        link_text(&link, text);
        assert_string_equal(text, rows[i].canonical);
        for (size_t k = 0; k < N_ROWS(rows); k++) {
            const bool is_same = rows[k].link.bits_per_s == link.bits_per_s &&
                                 rows[k].link.delay_ns == link.delay_ns;
            assert_int_equal(link_eq(&link, &rows[k].link), is_same);
        }
    }
}

TEST(what_waits_for_a_link)
{
    const struct link link = {.bits_per_s = 80000000}; /* 10 MB/s */
    assert_true(link_queue_bytes(&link) == 500000 + 2 * 65536);
}

TEST(no_links)
{
    static const char *const rows[] = {
        "",
        "1",
        "gbit",
        "1 gbit",
        "1gbit ",
        "1gbit 1",
        "1gbit1ms",
        "999kbit",
        "0gbit",
        "-1gbit",
        "101gbit",
        "1tbit",
        "1gbit 2s",
        "1gbit -1ms",
        "nan gbit",
        "nangbit",
        "1gbit nanms",
        "None",
        "1gbit 1ms x",
        "1.1.1gbit",
        "100000000000000000000000000gbit",
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        struct link link = {7, 7};
        print_message("# '%s'\n", rows[i]);
        assert_int_equal(link_parse(rows[i], &link), -EINVAL);
        assert_int_equal(link.bits_per_s, 7);
    }
}
