/* What makes a trial invalid: on either side of each bound. */
#include "tests/test.h"
#include "core/summary.h"

TEST(rule)
{
    /* clang-format off */
    static const struct {
        const char *name;
        struct noise noise;
        const char *why; /* NULL: valid */
    } rows[] = {
        {"nothing is known", {{0, 0}, {0, 0}, 0, 0}, NULL},
        {"quiet", {{1000, 500}, {1000, 500}, 2000000000, 0}, NULL},
        {"within each bound", {{1000, 500}, {900, 300}, 2000000000, 100000000}, NULL},
        {"a slower clock", {{1000, 500}, {899, 500}, 0, 0},
         "clock 10% lower after the measured steps than before"},
        {"a faster clock", {{800, 500}, {1000, 500}, 0, 0},
         "clock 25% higher after the measured steps than before"},
        {"less memory", {{1000, 500}, {1000, 299}, 0, 0},
         "memory copies 40% lower after the measured steps than before"},
        {"more memory", {{1000, 250}, {1000, 500}, 0, 0},
         "memory copies 100% higher after the measured steps than before"},
        {"too busy after", {{1000, 500}, {1000, 0}, 0, 0},
         "the machine was too busy for one copy after the measured steps"},
        {"too busy before", {{1000, 0}, {1000, 500}, 0, 0},
         "the machine was too busy for one copy before the measured steps"},
        {"too small for a copy, both times", {{1000, 0}, {1000, 0}, 0, 0}, NULL},
        {"one probe alone", {{1000, 500}, {0, 0}, 0, 0}, NULL},
        {"steal", {{0, 0}, {0, 0}, 2000000000, 110000000},
         "the hypervisor took 6% of the time in which its CPUs had work"},
        {"steal of too short a time", {{0, 0}, {0, 0}, 900000000, 900000000}, NULL},
        {"a slower clock, seen by the launcher",
         {{1000, 500}, {800, 500}, 0, 0, .by_launcher = true},
         "clock 20% lower after the attempt than before"},
        {"too busy before the attempt", {{1000, 0}, {1000, 500}, 0, 0, .by_launcher = true},
         "the machine was too busy for one copy before the attempt"},
        {"the largest numbers", {{INT64_MAX, INT64_MAX}, {INT64_MAX, INT64_MAX}, INT64_MAX, 0},
         NULL},
    };
    /* clang-format on */
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char why[200] = "";
        print_message("# row '%s'\n", rows[i].name);
        assert_int_equal(noise_is_invalid(&rows[i].noise, why, sizeof(why)), rows[i].why != NULL);
        assert_string_equal(why, rows[i].why == NULL ? "" : rows[i].why);
    }
}

/* Where trainer 0 would measure its own gang it does not look. */
TEST(who_looks)
{
    static const struct {
        const char *name;
        enum exchange_kind exchange;
        bool has_warmup;
        struct exchange_mode mode;
        bool worker_looks;
    } rows[] = {
        {"Sync with servers", EXCHANGE_PSERVER, true, {0}, true},
        {"workers", EXCHANGE_ALL_REDUCE, true, {0}, true},
        {"alone, without warm-up", EXCHANGE_NONE, false, {0}, true},
        {"others may still start", EXCHANGE_PSERVER, false, {0}, false},
        {"others may still train", EXCHANGE_PSERVER, true, {.kind = EXCHANGE_ASYNC}, false},
        {"local steps", EXCHANGE_PSERVER, true, {.local_steps = 4}, true},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        print_message("# row '%s'\n", rows[i].name);
        assert_int_equal(noise_worker_looks(rows[i].exchange, rows[i].has_warmup, &rows[i].mode),
                         rows[i].worker_looks);
    }
}

/* A replica that looked itself knows better. */
TEST(what_is_added)
{
    static const struct noise probes = {{1, 2}, {3, 4}};
    static const struct noise counts = {
        .busy_ns = 500, .steal_ns = 6, .cpu_run_ns = 300, .cpu_wait_ns = 20};
    static const struct {
        const char *name;
        struct noise before, after;
    } rows[] = {
        {"nobody looked", {{0, 0}}, {{1, 2}, {3, 4}, 500, 6, 300, 20, true}},
        {"it counted its busy time",
         {.busy_ns = 70, .steal_ns = 7, .cpu_run_ns = 8, .cpu_wait_ns = 9},
         {{1, 2}, {3, 4}, 70, 7, 8, 9, true}},
        {"it looked and counted", {{10, 0}, {11, 0}, 70, 7, 8, 9}, {{10, 0}, {11, 0}, 70, 7, 8, 9}},
        {"it looked afterwards alone",
         {.after = {11, 0}},
         {{0, 0}, {11, 0}, 500, 6, 300, 20, true}},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        print_message("# row '%s'\n", rows[i].name);
        struct summary s = {.cpu_ns = 5, .noise = rows[i].before};
        noise_add_seen(&s.noise, &probes);
        summary_add_counts(&s, &counts, 1);
        const struct noise n = s.noise, *want = &rows[i].after;
        const bool is_counted = rows[i].before.cpu_run_ns == 0;
        assert_int_equal(s.cpu_ns, is_counted ? 300 : 5);
        assert_int_equal(s.throttled_ns, is_counted);
        assert_int_equal(n.before.spins_per_s, want->before.spins_per_s);
        assert_int_equal(n.before.copy_bytes_per_s, want->before.copy_bytes_per_s);
        assert_int_equal(n.after.spins_per_s, want->after.spins_per_s);
        assert_int_equal(n.after.copy_bytes_per_s, want->after.copy_bytes_per_s);
        assert_int_equal(n.busy_ns, want->busy_ns);
        assert_int_equal(n.steal_ns, want->steal_ns);
        assert_int_equal(n.cpu_run_ns, want->cpu_run_ns);
        assert_int_equal(n.cpu_wait_ns, want->cpu_wait_ns);
        assert_int_equal(n.by_launcher, want->by_launcher);
    }
}
