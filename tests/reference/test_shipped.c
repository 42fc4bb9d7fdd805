/* The sets that ship: each is read, and what the sources derived follows from their figures. */
#include "tests/test.h"
#include "reference/shipped_sets.h"

#include <math.h>

#include "base/buf.h"
#include "reference/check.h"
#include "reference/derive.h"
#include "stats/stats.h"

FREEP(reference_free, struct reference)

static const struct reference_table *table_of(const struct reference *r, const char *name)
{
    vec_each (const struct reference_table, t, &r->tables) {
        if (strcmp(t->name, name) == 0) {
            return t;
        }
    }
    fail_msg("no table '%s'", name);
    return NULL;
}

TEST(each_is_read)
{
    size_t n_figures = 0;
    struct buf problems = BUF_INIT;
    assert_true(reference_shipped_count >= 10);
    for (size_t i = 0; i < reference_shipped_count; i++) {
        struct reference *r = NULL;
        struct diags diags = {0};
        const char *text = reference_shipped[i].text;
        if (reference_load(text, strlen(text), &r, &diags) < 0) {
            diags_format(&diags, reference_shipped[i].name, text, &problems);
            diags_done(&diags);
            continue;
        }
        assert_string_equal(r->name,
                            reference_shipped[i].name); /* the file is called like its set */
        vec_each (const struct reference_table, t, &r->tables) {
            if (reference_model(r, t, &t->rows.items[0])[0] == '\0') {
                buf_printf(&problems, "%s: table '%s' has no model\n", r->name, t->name);
            }
            vec_each (const struct reference_row, row, &t->rows) {
                if (reference_kin_of(r, t, row, task)->n_children == 0 ||
                    reference_kin_of(r, t, row, family)->n_children == 0) {
                    buf_printf(&problems, "%s: row '%s' of table '%s' has no task or no family\n",
                               r->name, row->name, t->name);
                }
                for (size_t c = 0; row->values != NULL && c < t->n_columns; c++) {
                    n_figures += !isnan(row->values[c]);
                }
            }
        }
        reference_free(r);
        diags_done(&diags);
    }
    if (problems.len > 0) {
        fail_msg("%s", buf_cstr(&problems));
    }
    assert_true(n_figures > 700);
    assert_null(reference_shipped_load("tf-sheet"));
    assert_string_equal(reference_shipped_suggest("tf-shet-2017"), "tf-sheet-2017");
}

TEST(eight_percentages_of_vgg16)
{
    static const double printed[2][4] = {{78.64, 77.47, 62.44, 60.89},
                                         {92.85, 75.93, 60.60, 59.20}};
    struct reference *r = reference_shipped_load("paddle-vgg16-cpu-2018");
    const struct reference_table *t = table_of(r, "acceleration");
    for (size_t row = 0; row < 2; row++) {
        for (size_t c = 0; c < 4; c++) {
            const struct reference_span s = reference_derive(r, t, REFERENCE_EFFICIENCY, row, c);
            assert_true(s.known);
            assert_true(fabs(100 * s.value - printed[row][c]) < 0.01);
            assert_true(
                fabs(100 * reference_published(&t->rows.items[row], REFERENCE_EFFICIENCY, c) -
                     printed[row][c]) < 1e-9);
        }
    }
    assert_true(reference_differs(r, t, REFERENCE_EFFICIENCY, 0, 1)); /* cut off, not rounded */
    assert_false(reference_differs(r, t, REFERENCE_EFFICIENCY, 0, 0));
    const struct reference_table *batch = table_of(r, "batch-size");
    const struct reference_span s = reference_derive(r, batch, REFERENCE_EFFICIENCY, 0, 2);
    assert_true(fabs(s.value - 247.40 / (20 * 16.74)) < 1e-12); /* its own batch's baseline */
    reference_free(r);
}

static double median_of_cells(const struct reference *r, const struct reference_table *t)
{
    double values[64];
    size_t n = 0;
    for (size_t row = 0; row < t->rows.len; row++) {
        for (size_t c = 0; c < t->n_columns; c++) {
            values[n++] = reference_derive(r, t, REFERENCE_VALUE, row, c).value;
        }
    }
    return stats_middle(values, n);
}

TEST(medians_of_the_sheet)
{
    static const double right[] = {100, 96.36, 96.04, 93.03};
    _cleanup_(reference_freep) struct reference *r = reference_shipped_load("tf-sheet-2017");
    const struct reference_table *t = table_of(r, "throughput");
    for (size_t c = 0; c < 4; c++) {
        const struct reference_span s =
            reference_derive(r, t, REFERENCE_EFFICIENCY, t->rows.len, c);
        assert_true(fabs(100 * s.value - right[c]) < 0.005);
        /* The sheet has no median of images/s over two models and two machines. */
        assert_false(reference_derive(r, t, REFERENCE_VALUE, t->rows.len, c).known);
    }
    assert_true(
        reference_differs(r, t, REFERENCE_EFFICIENCY, t->rows.len, 2)); /* 96.84 is printed */
    assert_true(fabs(reference_derive(r, t, REFERENCE_SPEEDUP, 0, 2).value - 569.0 / 142) < 1e-12);
    const double of_all[] = {median_of_cells(r, table_of(r, "p100-over-k80")),
                             median_of_cells(r, table_of(r, "resnet-50-over-inception-v3"))};
    assert_true(fabs(of_all[0] - 4.40) < 0.005); /* as the notes of these tables say */
    assert_true(fabs(of_all[1] - 1.61) < 0.005);
    const struct reference_table *batches = table_of(r, "batch-64-over-32"); /* of speedups */
    assert_true(fabs(reference_derive(r, batches, REFERENCE_VALUE, 2, 1).value -
                     (422.0 / 219) / (368.0 / 195)) < 1e-12);
}

TEST(a_cost_is_60_times_too_high)
{
    _cleanup_(reference_freep) struct reference *r = reference_shipped_load("mlbench-charts-2019");
    const struct reference_table *t = table_of(r, "1a-baselines");
    assert_true(fabs(reference_derive(r, t, REFERENCE_COST, 0, 0).value - 0.0655) < 5e-5);
    assert_true(fabs(reference_derive(r, t, REFERENCE_COST, 1, 0).value - 0.0198) < 5e-5);
    assert_true(fabs(reference_derive(r, t, REFERENCE_COST, 2, 1).value - 0.116) < 5e-4);
    assert_int_equal(t->errata.len, 1);
}

TEST(price_indices)
{
    _cleanup_(reference_freep) struct reference *r = reference_shipped_load("mlbench-raw-2021");
    const struct reference_table *t = table_of(r, "tasks-4");
    static const double right[2][5] = {{1, 0.66, 0.78, 1.16, 2.08}, {1, 0.93, 0.73, 1.00, 1.83}};
    for (size_t row = 0; row < 2; row++) {
        for (size_t c = 0; c < 5; c++) {
            const double index = reference_derive(r, t, REFERENCE_PRICE_INDEX, row, c).value;
            assert_true(fabs(index - right[row][c]) < 0.0051);
        }
    }
}
