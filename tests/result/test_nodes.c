/* Figures by node, result/nodes.h. */
#include "tests/test.h"
#include "result/nodes.h"

#include <math.h>

#include "base/str.h"
#include "core/environment.h"
#include "result_fixture.h"

#define MAX_POINTS 6

/* Points of two trainers, of which the first ran on "fast" for 100 ms, the second on "n4". */
struct row {
    const char *name;
    size_t n_points;
    double ms[MAX_POINTS];
    const char *other; /* the second's node */
    const char *want;  /* of node n4 */
    const char *warning;
};

static const char *warning_of(const struct result *r)
{
    vec_each (struct warning, w, &r->warnings) {
        if (w->code == WARNING_SLOW_NODE) {
            return w->message;
        }
    }
    return "";
}

static void describe(const struct result *r, struct buf *out)
{
    vec_each (struct node_result, n, &r->nodes) {
        if (str_eq(n->name, "n4")) {
            buf_printf(out, "%zu replicas, %u points, %u of %u slower, %+.1f%%", n->n_replicas,
                       n->n_points, n->n_slower, n->n_compared, 100 * n->excess);
        }
    }
}

static void build(struct fixture *f, const struct row *row)
{
    _cleanup_(freep) char *sweep = xstrdup("{grid: {pservers: [1, 2, 3, 4, 5, 6], trainers: [2]}}");
    fixture_init(f, sweep, "  baseline: {kind: Point, where: {pservers: 1}}\n", 16);
    for (uint32_t p = 0; p < row->n_points; p++) {
        struct attempt_row *attempt = fixture_throughput(f, p, 0, 100);
        const size_t first = attempt->replicas.len - 2;
        fixture_place(attempt, first, "fast", 100);
        fixture_place(attempt, first + 1, row->other, row->ms[p]);
    }
}

TEST(slow_nodes)
{
    /* clang-format off */
    static const struct row rows[] = {
        {"12% in 5 of 6 points", 6, {113, 112, 114, 113, 117, 104}, "n4",
         "6 replicas, 6 points, 5 of 6 slower, +12.1%", "node 'n4' is 12% slower than the "
         "others, in 5 of 6 points by 5% or more: its replicas need that much more time a step"},
        {"as fast as the other", 6, {100, 101, 99, 100, 100, 101}, "n4",
         "6 replicas, 6 points, 0 of 6 slower, +0.2%", ""},
        {"slower once", 6, {100, 100, 100, 100, 100, 170}, "n4",
         "6 replicas, 6 points, 1 of 6 slower, +9.2%", ""},
        {"two points are too few", 2, {120, 121}, "n4",
         "2 replicas, 2 points, 2 of 2 slower, +20.5%", ""},
        {"nothing to compare with", 6, {120, 120, 120, 120, 120, 120}, "fast", "", ""},
    };
    /* clang-format on */
    for (size_t k = 0; k < N_ROWS(rows); k++) {
        print_message("# row '%s'\n", rows[k].name);
        _cleanup_(fixture_done) struct fixture f;
        build(&f, &rows[k]);
        const struct result *r = fixture_build(&f, RUN_SUCCEEDED);
        _cleanup_(buf_done) struct buf got = BUF_INIT;
        describe(r, &got);
        assert_string_equal(buf_cstr(&got), rows[k].want);
        assert_string_equal(warning_of(r), rows[k].warning);
        if (k == 0) { /* t = 7.0505 of 5 degrees, p = 0.00088692, of two nodes */
            assert_true(fabs(r->nodes.items[1].p / (2 * 0.00088692) - 1) < 1e-4);
        }
    }
}

TEST(a_node_alone_is_not_compared)
{
    const struct row row = {"", 3, {120, 120, 120}, "fast", "", ""};
    _cleanup_(fixture_done) struct fixture f;
    build(&f, &row);
    const struct result *r = fixture_build(&f, RUN_SUCCEEDED);
    assert_int_equal(r->nodes.len, 1);
    assert_int_equal(r->nodes.items[0].n_replicas, 6);
    assert_int_equal(r->nodes.items[0].n_compared, 0);
    assert_true(isnan(r->nodes.items[0].excess));
    assert_false(node_result_is_slow(&r->nodes.items[0]));
    assert_true(fabs(node_result_throttled_ratio(&r->nodes.items[0]) - 0.1) < 1e-12);
    assert_string_equal(r->nodes.items[0].cpu_model, "Intel(R) Xeon(R) CPU E5-2620 v4 @ 2.10GHz");
}

/* The pservers of the fixture say no node. */
TEST(unknown_nodes)
{
    _cleanup_(fixture_done) struct fixture f;
    fixture_init(&f, "{grid: {pservers: [1], trainers: [2]}}",
                 "  baseline: {kind: Point, where: {trainers: 2}}\n", 16);
    fixture_throughput(&f, 0, 0, 100);
    assert_int_equal(fixture_build(&f, RUN_SUCCEEDED)->nodes.len, 0);
}

/* Efficiency counts devices; and pods of one device each on a node are a slower node. */
TEST(devices_are_what_is_counted)
{
    static const struct {
        const char *devices;
        int64_t cpus;
        bool is_one_node, is_said;
        double efficiency; /* of two threads, as fast as one */
    } rows[] = {
        {"{from: threads}", 0, true, true, 0.5}, {"{value: 1}", 0, true, true, 1},
        {"{value: 1}", 0, false, false, 1},      {"{value: 1}", 4, true, false, 1},
        {"{value: 2}", 0, true, false, 1},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        print_message("# row %zu\n", i);
        _cleanup_(fixture_done) struct fixture f;
        _cleanup_(freep) char *more =
            xasprintf("  baseline: {kind: Point, where: {threads: 1}}\n"
                      "  roles: {trainer: {replicas: {from: trainers}, devices: %s}, "
                      "pserver: {replicas: {from: pservers}}}\n",
                      rows[i].devices);
        fixture_init(&f, "{grid: {pservers: [1], trainers: [2], threads: [1, 2]}}", more,
                     rows[i].cpus);
        for (uint32_t point = 0; point < 2; point++) {
            struct attempt_row *row = fixture_throughput(&f, point, 0, 100);
            for (size_t k = 0; k < row->replicas.len; k++) {
                fixture_place(row, k, k > 1 && !rows[i].is_one_node ? "b" : "a", 1);
            }
        }
        const struct result *r = fixture_build(&f, RUN_SUCCEEDED);
        const struct warning *w = vec_find(&r->warnings, it, it->code == WARNING_SPLIT_NODE);
        assert_true((w != NULL) == rows[i].is_said);
        if (w != NULL) {
            assert_string_equal(w->message,
                                "node 'a' had several pods of one device each at point 0: between "
                                "pods NCCL cannot use NVLink, so the figures are lower than the "
                                "node's; run one pod a node, with all of its devices");
        }
        assert_true(fabs(r->points[1].efficiency.estimate.value - rows[i].efficiency) < 0.01);
    }
}

TEST(no_interval_of_a_share_goes_above_one)
{
    _cleanup_(fixture_done) struct fixture f;
    fixture_init(&f, "{grid: {pservers: [1], trainers: [2]}}",
                 "  baseline: {kind: SingleNode}\n  repeats: {min: 3}\n", 8);
    for (uint32_t t = 0; t < 3; t++) {
        fixture_throughput(&f, 0, t, 80);
        struct metrics *metrics = &f.rows.items[t].replicas.items[1].summary->metrics;
        metrics_set(metrics, "a_ratio", 0.2 + 0.3 * t);
        metrics_set(metrics, "a_s", 0.2 + 0.3 * t);
    }
    const struct result *r = fixture_build(&f, RUN_SUCCEEDED);
    assert_true(r->points[0].metrics.items[0].figure.estimate.high == 1);
    assert_true(r->points[0].metrics.items[1].figure.estimate.high > 1);
}
