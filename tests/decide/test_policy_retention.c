/* Which finished run goes next: by age, count and size, and whatever a clock says. */
#include "tests/test.h"
#include "base/splitmix.h"
#include "decide/policy_retention.h"

#define DAY_MS INT64_C(86400000)
#define NOW INT64_C(1800000000000) /* 2027 */

TEST(one_decision)
{
    /* Three finished runs, which ended 100, 50 and 1 days ago; `used`: bits of those in use. */
    static const struct {
        const char *name;
        struct retention_policy policy;
        unsigned used;
        int64_t store_bytes, now_unix_ms;
        enum retention_reason reason;
        size_t run;
    } rows[] = {
        {"no limits", {0, 0, 0}, 0, 1000, NOW, RETENTION_ALL, 0},
        {"old", {90 * DAY_MS, 0, 0}, 0, 0, NOW, RETENTION_PAST_AGE, 0},
        {"not old enough", {100 * DAY_MS, 0, 0}, 0, 0, NOW, RETENTION_ALL, 0},
        {"a millisecond later", {100 * DAY_MS, 0, 0}, 0, 0, NOW + 1, RETENTION_PAST_AGE, 0},
        {"the old one is in use", {90 * DAY_MS, 0, 0}, 1, 0, NOW, RETENTION_ALL, 0},
        {"the next one is old, too", {30 * DAY_MS, 0, 0}, 1, 0, NOW, RETENTION_PAST_AGE, 1},
        {"too many", {0, 2, 0}, 0, 0, NOW, RETENTION_PAST_COUNT, 0},
        {"as many as allowed", {0, 3, 0}, 0, 0, NOW, RETENTION_ALL, 0},
        {"too many, the oldest in use", {0, 2, 0}, 1, 0, NOW, RETENTION_PAST_COUNT, 1},
        {"too many, all in use", {0, 1, 0}, 7, 0, NOW, RETENTION_ALL, 0},
        {"too large", {0, 0, 999}, 0, 1000, NOW, RETENTION_PAST_SIZE, 0},
        {"as large as allowed", {0, 0, 1000}, 0, 1000, NOW, RETENTION_ALL, 0},
        {"all three: the age is told", {DAY_MS, 1, 1}, 0, 1000, NOW, RETENTION_PAST_AGE, 0},
        {"the clock says 1970", {DAY_MS, 0, 0}, 0, 0, 1000, RETENTION_ALL, 0},
        {"the clock says 1970, but too many", {DAY_MS, 2, 0}, 0, 0, 1000, RETENTION_PAST_COUNT, 0},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        print_message("# row '%s'\n", rows[i].name);
        struct retention_run runs[] = {
            {NOW - 100 * DAY_MS, false}, {NOW - 50 * DAY_MS, false}, {NOW - DAY_MS, false}};
        for (size_t k = 0; k < 3; k++) {
            runs[k].is_in_use = (rows[i].used >> k & 1) != 0;
        }
        const struct retention_facts facts = {runs, 3, 3, rows[i].store_bytes, rows[i].now_unix_ms};
        const struct retention_verdict got = retention_decide(&rows[i].policy, &facts);
        assert_int_equal(got.reason, rows[i].reason);
        assert_int_equal(got.run, rows[i].run);
    }
}

TEST(dates_that_are_none)
{
    const struct retention_policy policy = {.age_ms = DAY_MS};
    static const struct {
        const char *name;
        int64_t ended_unix_ms;
        enum retention_reason reason;
    } rows[] = {
        {"1970: the clock was not set when it ended", 1000, RETENTION_ALL},
        {"the last moment that is no date", RETENTION_FIRST_DATE_MS - 1, RETENTION_ALL},
        {"the first date", RETENTION_FIRST_DATE_MS, RETENTION_PAST_AGE},
        {"2100: not yet", INT64_C(4102444800000), RETENTION_ALL},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        print_message("# row '%s'\n", rows[i].name);
        const struct retention_run run = {rows[i].ended_unix_ms, false};
        const struct retention_facts facts = {&run, 1, 1, 0, NOW};
        assert_int_equal(retention_decide(&policy, &facts).reason, rows[i].reason);
    }
    const struct retention_facts none = {NULL, 0, 0, INT64_MAX, NOW};
    const struct retention_policy all = {1, 1, 1};
    assert_int_equal(retention_decide(&all, &none).reason, RETENTION_ALL);
}

/* Erasing what it says until it says nothing more ends, keeps the limits, and
 * takes only the oldest. */
TEST(until_nothing_more)
{
    for (uint64_t seed = 1; seed <= 300; seed++) {
        struct retention_run runs[40];
        uint64_t random = seed;
        const size_t n = splitmix_below(&random, 40);
        int64_t end = RETENTION_FIRST_DATE_MS;
        for (size_t i = 0; i < n; i++) {
            end += splitmix_below(&random, (uint32_t)(30 * DAY_MS));
            runs[i] = (struct retention_run){end, false};
        }
        const struct retention_policy policy = {splitmix_below(&random, 400) * DAY_MS,
                                                splitmix_below(&random, 40),
                                                splitmix_below(&random, 4000)};
        const int64_t now = end + DAY_MS;
        size_t gone = 0;
        for (;;) {
            const struct retention_facts facts = {runs + gone, n - gone, n - gone,
                                                  (int64_t)(n - gone) * 100, now};
            const struct retention_verdict v = retention_decide(&policy, &facts);
            if (v.reason == RETENTION_ALL) {
                break;
            }
            assert_int_equal(v.run, 0);
            gone++;
            assert_in_range(gone, 0, n);
        }
        const size_t left = n - gone;
        print_message("# seed %llu: %zu of %zu are left\n", (unsigned long long)seed, left, n);
        assert_true(policy.n_runs == 0 || left <= (size_t)policy.n_runs);
        assert_true(policy.store_bytes == 0 || (int64_t)left * 100 <= policy.store_bytes);
        assert_true(policy.age_ms == 0 || left == 0 ||
                    now - runs[gone].ended_unix_ms <= policy.age_ms);
    }
}
