/* Warnings that follow from the metrics of trials (core/metric_set.h). */
#include "tests/test.h"
#include "result_fixture.h"

#include "base/mem.h"

/* The metrics of one more trial, and the warning of a run with all trials so far; NULL: none. */
struct row {
    const char *metrics, *text;
};

static void check(const struct row *rows, size_t n, enum warning_code code)
{
    _cleanup_(fixture_done) struct fixture f;
    fixture_init(&f, "{grid: {pservers: [1], trainers: [2, 4]}}",
                 "  baseline: {kind: SingleNode}\n  repeats: {min: 3}\n", 8);
    for (uint32_t t = 0; t < n; t++) {
        fixture_throughput(&f, t / 3, t % 3, 80 + t);
        struct replica_row *row = &f.rows.items[t].replicas.items[1];
        _cleanup_(freep) char *line = summary_write(row->summary, &row->id);
        *strrchr(line, '}') = '\0';
        _cleanup_(freep) char *with = xasprintf("%s,\"metrics\":{%s}}", line, rows[t].metrics);
        replica_set_line(row, with);
        const struct result *r = fixture_build(&f, RUN_SUCCEEDED);
        const struct warning *got = vec_find(&r->warnings, it, it->code == code);
        assert_string_equal(got == NULL ? "" : got->message,
                            rows[t].text == NULL ? "" : rows[t].text);
    }
}

/* A trainer's GPU; below 1% it is no throttled trial. */
TEST(throttled_gpus)
{
    static const struct row rows[] = {
        {"\"throttled_ratio\":0,\"clock_mhz\":1980", NULL},
        {"\"throttled_ratio\":0.009,\"power_cap_ratio\":0.009", NULL},
        {"\"throttled_ratio\":0.8,\"power_cap_ratio\":0.5,\"thermal_ratio\":0.6,\"hw_slow_ratio\":"
         "0.6",
         "1 trial ran on a GPU that was slowed; the worst is trial 2 of point 0: 80% of its time, "
         "mostly by its temperature; it counts in the figures"},
        {"\"throttled_ratio\":0.012",
         "2 trials ran on a GPU that was slowed; the worst is trial 2 of point 0: 80% of its time, "
         "mostly by its temperature; they count in the figures"},
    };
    check(rows, N_ROWS(rows), WARNING_GPU_THROTTLED);
}

TEST(gangs_that_were_whole_for_a_part)
{
    static const struct row rows[] = {
        {"\"shared_ratio\":1,\"start_spread_s\":30", NULL}, /* they waited for each other */
        {"\"shared_ratio\":0.91,\"start_spread_s\":30", NULL},
        {"\"start_spread_s\":30", NULL}, /* nothing is known */
        {"\"shared_ratio\":0.45,\"start_spread_s\":30",
         "replicas measured together only for a part of 1 trial; the worst is trial 0 of point 1: "
         "for 45%, starts 30.0 s apart; it counts in the figures"},
        {"\"shared_ratio\":0.89,\"start_spread_s\":2",
         "replicas measured together only for a part of 2 trials; the worst is trial 0 of point 1: "
         "for 45%, starts 30.0 s apart; they count in the figures"},
    };
    check(rows, N_ROWS(rows), WARNING_PARTIAL_GANG);
}
