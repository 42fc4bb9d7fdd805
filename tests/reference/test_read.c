/* Sets out of YAML: what they become, and every problem with its place. */
#include "tests/test.h"
#include "reference/reference.h"

#include <errno.h>
#include <math.h>

#include "base/buf.h"
#include "reference/derive.h"

#define HEAD "name: mine\ntitle: T\nyear: 2020\nmodel: M\nsources:\n- {id: s, title: S}\ntables:\n"
#define TABLE                                                                                      \
    "- name: t\n  title: T\n  source: s\n  quality: Table\n  unit: samples/s\n  axis: trainers\n"
#define COLUMNS "  columns: [1, 2, 4]\n"
#define ROW "  rows:\n  - {name: a, values: [10.0, 19.0, 36.0]"

static struct reference *load(const char *text)
{
    struct reference *r = NULL;
    struct diags diags = {0};
    if (reference_load(text, strlen(text), &r, &diags) < 0) {
        struct buf out = BUF_INIT;
        diags_format(&diags, "f", text, &out);
        fail_msg("%s", buf_cstr(&out));
    }
    return r;
}

TEST(a_set_and_its_defaults)
{
    struct reference *r =
        load(HEAD TABLE COLUMNS "  at: {batch_size: 32}\n  baseline: {column: 1}\n"
                                "  efficiency: Columns\n" ROW
                                "}\n  - {name: b, values: [5, null, 8]}\n");
    assert_int_equal(r->year, 2020);
    assert_int_equal(r->tables.len, 1);
    const struct reference_table *t = r->tables.items;
    assert_int_equal(t->measure, REFERENCE_THROUGHPUT);
    assert_int_equal(t->scope, REFERENCE_JOB);
    assert_string_equal(t->at.items[0].name, "batch_size");
    assert_true(isnan(t->rows.items[1].values[1]));
    assert_string_equal(reference_model(r, t, &t->rows.items[0]), "M");
    assert_string_equal(reference_hardware(r, t), "");
    assert_true(fabs(reference_derive(r, t, REFERENCE_EFFICIENCY, 0, 2).value - 0.9) < 1e-12);
    assert_false(reference_derive(r, t, REFERENCE_SPEEDUP, 1, 1).known);
    assert_false(reference_derive(r, t, REFERENCE_SPEEDUP, t->rows.len, 0).known); /* no median */
    assert_true(reference_has(r, t, REFERENCE_SPEEDUP));
    assert_false(reference_has(r, t, REFERENCE_COST));
    reference_free(r);
}

TEST(times_divide_the_other_way)
{
    struct reference *r =
        load(HEAD TABLE COLUMNS
             "  measure: Time\n  baseline: {column: 1}\n  efficiency: Columns\n"
             "  priceIndex: Columns\n  median: {published: {digits: 0, speedup: [1, 2, 2]}}\n"
             "  rows:\n  - {name: a, values: [40, 25, 20], price: 0.9}\n");
    const struct reference_table *t = r->tables.items;
    assert_true(reference_derive(r, t, REFERENCE_SPEEDUP, 0, 2).value == 2);
    assert_true(reference_derive(r, t, REFERENCE_EFFICIENCY, 0, 2).value == 0.5);
    assert_true(reference_derive(r, t, REFERENCE_PRICE_INDEX, 0, 2).value == 1);
    assert_true(fabs(reference_derive(r, t, REFERENCE_COST, 0, 2).value - 20.0 / 3600 * 0.9 * 4) <
                1e-12);
    assert_true(reference_derive(r, t, REFERENCE_SPEEDUP, 1, 2).value == 2); /* the median of one */
    reference_free(r);
}

/* A figure stands for all that round to it. */
TEST(what_rounds_to_it_is_right)
{
    reference_free(load(HEAD TABLE COLUMNS
                        "  measure: Ratio\n  priceIndex: Columns\n  rows:\n"
                        "  - {name: a, digits: 2, values: [1, 0.66, 0.98],"
                        " published: {digits: 2, priceIndex: [1, 4.57, 4.18]}}\n"));
    reference_free(load(HEAD TABLE COLUMNS
                        "  baseline: {column: 1}\n" ROW
                        ", published: {digits: 2, speedup: [1, 1.90, 3.60]}}\n"));
    assert_int_equal(reference_decimals(190.2, -1), 1);
    assert_int_equal(reference_decimals(190.2, 2), 2);
    assert_int_equal(reference_decimals(7, -1), 0);
}

TEST(every_problem_has_its_place)
{
    static const struct {
        const char *text, *said;
    } rows[] = {
        {"name: Mine\n", "f:1:7: error: name: 'Mine' is not a name"},
        {HEAD TABLE COLUMNS "  rows:\n  - {name: a, values: [1, 2]}\n",
         "f:16:23: error: tables[0].rows[0].values: 2 numbers for 3 columns"},
        {HEAD TABLE "  columns: [1, 4, 2]\n" ROW "}\n",
         "tables[0].columns[2]: columns must ascend"},
        {HEAD TABLE COLUMNS ROW "}\n  - {name: a, values: [1, 2, 3]}\n",
         "a row is named 'a' already"},
        {HEAD TABLE COLUMNS ROW ", published: {efficiency: [100, 95, 90]}}\n",
         "row 'a' prints the efficiency 100 at 1, and the set has no figures that it follows "
         "from"},
        {HEAD TABLE COLUMNS "  baseline: {column: 1}\n  efficiency: Columns\n" ROW
                            ", published: {digits: 0, efficiency: [100, 95, 104]}}\n",
         "f:18:5: error: t: row 'a' prints the efficiency 104 at 4, but its own figures give 90"},
        {HEAD TABLE COLUMNS
         "  baseline: {column: 1}\n  efficiency: Columns\n" ROW
         ", published: {digits: 0, efficiency: [100, 95, 104]}}\n"
         "  errata: [{row: a, column: 2, figure: efficiency, printed: 90, what: w}]\n",
         "prints the efficiency 104"}, /* it excuses another cell */
        {HEAD TABLE COLUMNS ROW "}\n  errata: [{row: a, column: 2, printed: 19, what: w}]\n",
         "the erratum names nothing that is printed otherwise than it is"},
        {HEAD TABLE COLUMNS ROW "}\n  errata: [{row: x, what: w}]\n", "there is no row 'x'"},
        {HEAD TABLE COLUMNS ROW "}\n  errata: [{column: 3, what: w}]\n", "there is no column 3"},
        {HEAD TABLE COLUMNS "  baseline: {}\n" ROW "}\n", "the baseline must be said"},
        {HEAD TABLE COLUMNS "  baseline: {column: 3}\n" ROW "}\n", "table 't' has no column 3"},
        {HEAD TABLE COLUMNS "  baseline: {table: u}\n" ROW "}\n", "there is no table 'u'"},
        {HEAD TABLE COLUMNS "  efficiency: Columns\n" ROW "}\n",
         "without a speedup there is no efficiency"},
        {HEAD TABLE COLUMNS "  readingError: 1\n" ROW "}\n", "readingError must say how far off"},
        {HEAD TABLE COLUMNS "  priceIndex: Rows\n" ROW "}\n", "priceIndex: "},
        {HEAD TABLE COLUMNS "  quantity: Speed\n" ROW "}\n", "quantity: "},
        {HEAD TABLE COLUMNS "  family: Paddle\n" ROW "}\n",
         "tables[0].family: must be a list, not a string"},
        {HEAD TABLE COLUMNS ROW ", task: [1]}\n", "task[0]: "},
        {HEAD TABLE COLUMNS ROW ", at: 2}\n", "tables[0].rows[0].at: it must be a map"},
        {HEAD TABLE COLUMNS "  at: [1]\n" ROW "}\n", "tables[0].at: it must be a map"},
        {HEAD TABLE COLUMNS "  ratioOf: u\n  rows:\n  - {name: a, of: v, over: w}\n",
         "there is no such table 'u'"},
        {HEAD TABLE COLUMNS ROW "}\n" TABLE COLUMNS ROW "}\n", "a table is named 't' already"},
        {HEAD TABLE COLUMNS ROW "}\n  kind: x\n", "kind: unknown field 'kind'"},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        _cleanup_(diags_done) struct diags diags = {0};
        struct reference *r = NULL;
        assert_int_equal(reference_load(rows[i].text, strlen(rows[i].text), &r, &diags), -EINVAL);
        _cleanup_(buf_done) struct buf out = BUF_INIT;
        diags_format(&diags, "f", rows[i].text, &out);
        if (strstr(buf_cstr(&out), rows[i].said) == NULL) {
            fail_msg("expected: %s\ngot: %s", rows[i].said, buf_cstr(&out));
        }
    }
}
