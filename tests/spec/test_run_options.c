/* The options of a run: what the schema of a BenchmarkRun refuses, and the rules between fields. */
#include <errno.h>

#include "tests/test.h"
#include "base/str.h"
#include "doc/tree.h"
#include "spec/run_options.h"

static struct node *parse(const char *options)
{
    _cleanup_(freep) char *text = xasprintf("{\"spec\":%s}", options);
    _cleanup_(diags_done) struct diags diags = {0};
    struct node *root;
    if (tree_parse(text, strlen(text), &TREE_LIMITS_DEFAULT, &root, &diags) < 0) {
        fail_msg("%s: %s", options, diags.list.items[0].message);
    }
    return root;
}

/* Where nothing else guards the bounds, as without the CRD. */
TEST(what_is_out_of_range_is_an_error)
{
    static const struct {
        const char *options, *path, *message;
    } rows[] = {
        {"{\"parallelism\":{\"trials\":99}}", "spec.parallelism.trials",
         "99 is out of range: must be 1 to 16"},
        {"{\"parallelism\":{\"trials\":0}}", "spec.parallelism.trials", "0 is out of range"},
        {"{\"parallelism\":{\"trials\":17}}", "spec.parallelism.trials", "17 is out of range"},
        {"{\"parallelism\":{\"trials\":\"4\"}}", "spec.parallelism.trials", "not the string '4'"},
        {"{\"parallelism\":{\"trials\":2.5}}", "spec.parallelism.trials", "must be a whole number"},
        {"{\"parallelism\":4}", "spec.parallelism", "must be a map"},
        {"{\"parallelism\":{\"trails\":4}}", "spec.parallelism.trails", "unknown field 'trails'"},
        {"{\"paralelism\":{\"trials\":4}}", "spec.paralelism", "unknown field 'paralelism'"},
        {"{\"scheduling\":7}", "spec.scheduling", "must be a map"},
        {"{\"scheduling\":{\"waitSeconds\":0}}", "spec.scheduling.waitSeconds", "out of range"},
        {"{\"scheduling\":{\"gang\":\"Volcano\"}}", "spec.scheduling.gang", "'Volcano'"},
        {"{\"scheduling\":{\"queueName\":\"A b\"}}", "spec.scheduling.queueName", "'A b'"},
        {"{\"scheduling\":{\"topology\":{}}}", "spec.scheduling.topology.key", "missing"},
        {"{\"scheduling\":{\"exclusiveNodes\":\"yes\"}}", "spec.scheduling.exclusiveNodes",
         "must be true or false, not a string"},
        {"{\"parallelism\":{\"trials\":4},\"scheduling\":{\"exclusiveNodes\":false}}",
         "spec.scheduling", "with parallelism.trials above 1 each trial has nodes of its own"},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        struct node *root = parse(rows[i].options);
        _cleanup_(diags_done) struct diags diags = {0};
        struct run_options o;
        const int r = run_options_read(root, "spec", &o, &diags);
        tree_free(root);
        if (r != -EINVAL || diags.list.len != 1) {
            fail_msg("%s: %d, %zu problems", rows[i].options, r, diags.list.len);
        }
        const struct diag *d = &diags.list.items[0];
        if (!str_eq(d->path, rows[i].path) || strstr(d->message, rows[i].message) == NULL) {
            fail_msg("%s: expected %s: %s, got %s: %s", rows[i].options, rows[i].path,
                     rows[i].message, d->path, d->message);
        }
    }
}

/* What is asked of a run, and what the store has of it: both are read alike. */
TEST(lanes_have_nodes_of_their_own)
{
    static const struct {
        const char *options;
        uint32_t n_lanes;
        bool is_exclusive;
    } rows[] = {
        {"{}", 1, false},
        {"{\"parallelism\":{\"trials\":1},\"scheduling\":{\"waitSeconds\":60}}", 1, false},
        {"{\"parallelism\":{\"trials\":16}}", 16, true},
        {"{\"scheduling\":{\"exclusiveNodes\":true}}", 1, true},
        {"{\"parallelism\":{\"trials\":4},\"scheduling\":{\"exclusiveNodes\":true}}", 4, true},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        _cleanup_(freep) char *stored = xstrdup(rows[i].options);
        for (int again = 0; again < 2; again++) {
            struct node *root = parse(stored);
            _cleanup_(diags_done) struct diags diags = {0};
            struct run_options o;
            assert_int_equal(run_options_read(root, "spec", &o, &diags), 0);
            assert_int_equal(run_options_lanes(&o), rows[i].n_lanes);
            assert_int_equal(o.exclusive_nodes, rows[i].is_exclusive);
            free(stored);
            stored = json_dumps(o.document, JSON_COMPACT);
            assert_string_equal(stored, rows[i].options);
            run_options_done(&o);
            tree_free(root);
        }
    }
}
