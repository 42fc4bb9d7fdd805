/* Spans and sizes as people read them; names of runs. */
#include <math.h>

#include "tests/test.h"
#include "ctl/cli/human.h"
#include "ctl/runs/run_name.h"

TEST(test_durations)
{
    static const struct {
        int64_t s;
        const char *text;
    } rows[] = {
        {-5, "0s"},      {0, "0s"},          {119, "119s"},   {120, "2m"},     {192, "3m12s"},
        {599, "9m59s"},  {600, "10m"},       {630, "10m"},    {10799, "179m"}, {10800, "3h"},
        {18300, "5h5m"}, {28800, "8h"},      {172799, "47h"}, {172800, "2d"},  {273600, "3d4h"},
        {691200, "8d"},  {31536000, "365d"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char text[HUMAN_SIZE];
        human_duration(rows[i].s * 1000, text);
        if (strcmp(text, rows[i].text) != 0) {
            fail_msg("%lld s: expected %s, got %s", (long long)rows[i].s, rows[i].text, text);
        }
    }
}

TEST(test_sizes)
{
    static const struct {
        int64_t value;
        const char *bytes, *cpus;
    } rows[] = {
        {0, "0", "0"},
        {400, "400", "400m"},
        {10000, "9.8Ki", "10"},
        {1500, "1.5Ki", "1500m"},
        {INT64_C(5) << 30, "5Gi", "5368709120m"},
        {INT64_C(800) << 30, "800Gi", "858993459200m"},
        {INT64_C(3) << 49, "1.5Pi", "1688849860263936m"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char bytes[HUMAN_SIZE], cpus[HUMAN_SIZE];
        human_bytes(rows[i].value, bytes);
        human_millicores(rows[i].value, cpus);
        if (i < 4) {
            assert_string_equal(cpus, rows[i].cpus);
        }
        if (strcmp(bytes, rows[i].bytes) != 0) {
            fail_msg("%lld: expected %s, got %s", (long long)rows[i].value, rows[i].bytes, bytes);
        }
    }
}

TEST(test_durations_are_read)
{
    static const struct {
        const char *text;
        int64_t s; /* -1: refused */
    } rows[] = {
        {"90s", 90},       {"10m", 600},
        {"1h30m", 5400},   {"2h5s", 7205},
        {"", -1},          {"0s", -1},
        {"10", -1},        {"m", -1},
        {"-5s", -1},       {"1.5h", -1},
        {"5s ", -1},       {"1d", -1},
        {"99999999s", -1}, {"876000h", INT64_C(876000) * 3600},
        {"876000h1s", -1}, {"9999999h", -1}, /* in nanoseconds it is no int64_t */
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        int64_t ms = -1000;
        int r = human_parse_duration(rows[i].text, &ms);
        if ((r < 0) != (rows[i].s < 0) || ms != rows[i].s * 1000) {
            fail_msg("'%s': expected %lld s, got %d, %lld ms", rows[i].text, (long long)rows[i].s,
                     r, (long long)ms);
        }
    }
}

TEST(test_shares_are_read)
{
    static const struct {
        const char *text;
        double share; /* -1: refused */
    } rows[] = {
        {"2%", 0.02}, {"0.02", 0.02}, {"0", 0},     {"0%", 0},   {"12.5%", 0.125}, {"99.9%", 0.999},
        {"2", -1},    {"1", -1},      {"100%", -1}, {"-1%", -1}, {"", -1},         {"%", -1},
        {"2 %", -1},  {"2%%", -1},    {"nan", -1},  {"x", -1},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        double share = -1;
        const int r = human_parse_share(rows[i].text, &share);
        if ((r < 0) != (rows[i].share < 0) || fabs(share - rows[i].share) > 1e-12) {
            fail_msg("'%s': expected %g, got %d, %g", rows[i].text, rows[i].share, r, share);
        }
    }
}

TEST(test_run_names)
{
    static const struct {
        const char *benchmark;
        unsigned char random[5];
        const char *name;
    } rows[] = {
        {"a", {0, 1, 2, 3, 4}, "a-bcdfg"},
        {"vgg16-pserver-sweep", {26, 27, 255, 52, 53}, "vgg16-pserver-sweep-9bq89"},
        {"abcdefghijklmnopqrstuvwxyz", {0}, "abcdefghijklmnopqrstuvwxyz-bbbbb"},
        {"abcdefghijklmnopqrstuvwxyz-12345", {0}, "abcdefghijklmnopqrstuvwxyz-bbbbb"},
        {"abcdefghijklmnopqrstuvwxy-123456", {0}, "abcdefghijklmnopqrstuvwxy-bbbbb"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char name[RUN_NAME_SIZE];
        run_name_make(rows[i].benchmark, rows[i].random, name);
        assert_string_equal(name, rows[i].name);
    }
}

TEST(test_uids_are_uuids_of_version_4)
{
    unsigned char ones[16], zeros[16] = {0};
    memset(ones, 0xff, sizeof(ones));
    char uid[RUN_UID_SIZE];
    run_uid_make(ones, uid);
    assert_string_equal(uid, "ffffffff-ffff-4fff-bfff-ffffffffffff");
    run_uid_make(zeros, uid);
    assert_string_equal(uid, "00000000-0000-4000-8000-000000000000");
}
