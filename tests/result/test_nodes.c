/* Figures by node, result/nodes.h. */
#include "tests/test.h"
#include "result/nodes.h"

#include <math.h>

#include "base/vec_walk.h"
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

/* ---- pairs of nodes ---- */

#define PAIR_NODES 5

static void put_on(struct attempt_row *row, size_t i, const char *node)
{
    struct replica_row *replica = &row->replicas.items[i];
    char *placed = environment_add(replica->environment_json, node, NULL);
    free(replica->environment_json);
    replica->environment_json = placed;
}

/* Two trials of each point, of two workers on the nodes that it names. Pairs with "e" have `slow`
 * of the throughput of the others. */
static void measure_pairs(struct fixture *f, double slow, uint32_t n_sizes)
{
    _cleanup_(freep) char *sweep = xasprintf(
        "{grid: {node: [a, b, c, d, e], peer: [a, b, c, d, e], size: [%s], pservers: [1], "
        "trainers: [2]}, require: [node < peer]}",
        n_sizes == 1 ? "1" : "1, 2");
    fixture_init(f, sweep,
                 "  parameters: [{name: node, targets: [{roles: [trainer], env: [A]}]}, {name: "
                 "peer, targets: [{roles: [trainer], env: [B]}]}, {name: size, targets: [{roles: "
                 "[trainer], env: [C]}]}]\n"
                 "  baseline: {kind: Point, where: {pservers: 1}}\n",
                 16);
    fixture_make_workers(f);
    assert_int_equal(f->def->matrix.n_swept, 10 * n_sizes);
    for (uint32_t p = 0; p < f->def->matrix.n_swept; p++) {
        const struct params *params = &f->def->matrix.points[p].params;
        const char *node = params_get(params, "node")->s, *peer = params_get(params, "peer")->s;
        const double size = (double)params_get(params, "size")->i;
        for (uint32_t t = 0; t < 2; t++) {
            /* What a pair deviates by does not follow from its nodes. */
            const double own = 1 + 0.01 * ((p / n_sizes * 7 + t) % 5);
            struct attempt_row *row =
                fixture_throughput(f, p, t, 100 * size * own * (str_eq(peer, "e") ? slow : 1));
            put_on(row, 0, t == 0 ? node : peer);
            put_on(row, 1, t == 0 ? peer : node);
        }
    }
}

TEST(pairs_name_the_slow_node)
{
    static const struct {
        const char *name, *want;
        double slow;
        uint32_t n_sizes;
        size_t n_pairs; /* of node e; 0: points that differ in more are not compared */
    } rows[] = {
        {"10% slow", "node 'e' is slow: its 4 pairs have ", 0.9, 1, 4},
        {"not slow", "", 1, 1, 4},
        {"faster is not slow", "", 1.5, 1, 4},
        {"two sizes", "", 0.8, 2, 0},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        print_message("# row '%s'\n", rows[i].name);
        _cleanup_(fixture_done) struct fixture f;
        measure_pairs(&f, rows[i].slow, rows[i].n_sizes);
        const struct result *r = fixture_build(&f, RUN_SUCCEEDED);
        const char *warning = warning_of(r);
        if (strncmp(warning, rows[i].want, strlen(rows[i].want)) != 0 ||
            (warning[0] == '\0') != (rows[i].want[0] == '\0')) {
            fail_msg("expected %s, got %s", rows[i].want, warning);
        }
        assert_int_equal(r->nodes.len, PAIR_NODES);
        assert_int_equal(r->nodes.items[4].pairs.n_pairs, rows[i].n_pairs);
        assert_true(nodes_have_pairs(r) == (rows[i].n_pairs > 0));
        assert_true(rows[i].n_pairs == 0 ||
                    fabs(r->nodes.items[4].pairs.ratio.value / rows[i].slow - 1) < 0.03);
        for (size_t k = 0; k < 4; k++) {
            assert_false(node_result_is_slow(&r->nodes.items[k]));
        }
        _cleanup_(json_decrefp) json_t *json = result_to_json(r);
        const json_t *node = json_array_get(json_object_get(json, "nodes"), 4);
        const json_t *pairs = json_object_get(node, "pairs");
        assert_int_equal(json_integer_value(json_object_get(pairs, "pairs")), rows[i].n_pairs);
        assert_true(json_is_true(json_object_get(node, "slow")) == (rows[i].want[0] != '\0'));
    }
}

/* Three workers, or one node for both, are no pair. */
TEST(no_pairs)
{
    for (uint32_t n = 2; n < 4; n++) {
        _cleanup_(fixture_done) struct fixture f;
        _cleanup_(freep) char *sweep =
            xasprintf("{grid: {pservers: [1, 2, 3, 4, 5, 6], trainers: [%u]}}", n);
        fixture_init(&f, sweep, "  baseline: {kind: Point, where: {pservers: 1}}\n", 16);
        fixture_make_workers(&f);
        for (uint32_t p = 0; p < 6; p++) {
            struct attempt_row *row = fixture_throughput(&f, p, 0, 100 + p);
            for (uint32_t i = 0; i < n; i++) {
                put_on(row, i, n == 2 || i == 0 ? "a" : "b");
            }
        }
        assert_false(nodes_have_pairs(fixture_build(&f, RUN_SUCCEEDED)));
    }
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
        struct replica_row *row = &f.rows.items[t].replicas.items[1];
        *strrchr(row->summary_json, '}') = '\0';
        char *with = xasprintf("%s,\"metrics\":{\"a_ratio\":%g,\"a_s\":%g}}", row->summary_json,
                               0.2 + 0.3 * t, 0.2 + 0.3 * t);
        free(row->summary_json);
        row->summary_json = with;
    }
    const struct result *r = fixture_build(&f, RUN_SUCCEEDED);
    assert_true(r->points[0].metrics.items[0].figure.estimate.high == 1);
    assert_true(r->points[0].metrics.items[1].figure.estimate.high > 1);
}
