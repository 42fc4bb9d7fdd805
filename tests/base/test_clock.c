/* The date that nobody can set. The clocks of the machine are the test's (-Wl,--wrap). */
#include <time.h>

#include "tests/test.h"
#include "base/clock.h"

static int64_t wall_s, boot_s;

int __wrap_clock_gettime(clockid_t id, struct timespec *ret);
int __wrap_clock_gettime(clockid_t id, struct timespec *ret)
{
    *ret = (struct timespec){.tv_sec = id == CLOCK_REALTIME ? wall_s : boot_s};
    return 0;
}

TEST(test_a_step_of_the_clock)
{
    static const struct {
        const char *name;
        int64_t wall_s, boot_s, steady_ms, unix_ms;
    } rows[] = {
        {"at the start", 1700000000, 50, 1700000000000, 1700000000000},
        {"10 s later", 1700000010, 60, 1700000010000, 1700000010000},
        {"set back by an hour", 1699996411, 61, 1700000011000, 1699996411000},
        {"set to 1970", 1, 62, 1700000012000, 1000},
        {"set forward by a year", 1731536013, 63, 1700000013000, 1731536013000},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        wall_s = rows[i].wall_s;
        boot_s = rows[i].boot_s;
        if (clock_steady_unix_ms() != rows[i].steady_ms || clock_unix_ms() != rows[i].unix_ms) {
            fail_msg("%s: got %lld and %lld", rows[i].name, (long long)clock_steady_unix_ms(),
                     (long long)clock_unix_ms());
        }
    }
}
