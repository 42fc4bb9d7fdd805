/* Sets out of YAML: what they become, and every problem with its place. */
#include "tests/test.h"
#include "reference/reference.h"

#include <errno.h>
#include <math.h>

#include "base/buf.h"
#include "doc/openapi.h"

extern const struct embedded reference_form[];

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
        load(HEAD TABLE COLUMNS "  at: {batch_size: 32}\n  baseline: 1 trainer\n" ROW
                                ", published: {digits: 0, efficiency: [100, 95, 91]},"
                                " recomputed: {efficiency: [100, 95, 90]}}\n"
                                "  - {name: b, values: [5, null, 8]}\n");
    assert_int_equal(r->year, 2020);
    assert_int_equal(r->tables.len, 1);
    const struct reference_table *t = r->tables.items;
    const struct reference_row *a = &t->rows.items[0], *b = &t->rows.items[1];
    assert_int_equal(t->measure, REFERENCE_THROUGHPUT);
    assert_int_equal(t->scope, REFERENCE_JOB);
    assert_string_equal(t->at.items[0].name, "batch_size");
    assert_string_equal(t->baseline, "1 trainer");
    assert_true(isnan(reference_figure(b, REFERENCE_VALUE, 1)));
    assert_string_equal(reference_model(r, t, a), "M");
    assert_string_equal(reference_hardware(r, t), "");
    assert_true(reference_figure(a, REFERENCE_EFFICIENCY, 2) == 0.9);
    assert_true(reference_published(a, REFERENCE_EFFICIENCY, 2) == 0.91);
    assert_true(reference_differs(a, REFERENCE_EFFICIENCY, 2));
    assert_false(reference_differs(a, REFERENCE_EFFICIENCY, 1));
    assert_false(reference_differs(b, REFERENCE_EFFICIENCY, 1));
    assert_true(isnan(reference_figure(b, REFERENCE_EFFICIENCY, 2)));
    assert_true(reference_has(t, REFERENCE_EFFICIENCY));
    assert_false(reference_has(t, REFERENCE_COST));
    reference_free(r);
}

/* A row may have no values of its own: a ratio, or a median of speedups. */
TEST(rows_that_are_recomputed_only)
{
    struct reference *r = load(HEAD TABLE COLUMNS "  rows:\n  - {name: a, recomputed: {value: [1, "
                                                  "2, null]}, derivation: {of: b, over: c}}\n");
    const struct reference_row *a = &r->tables.items[0].rows.items[0];
    assert_false(a->has_values);
    assert_true(reference_figure(a, REFERENCE_VALUE, 1) == 2);
    reference_free(r);
}

/* Each word of the form is one of the table that the reader has; another would be read as the
 * default. */
TEST(each_word_is_known)
{
    static const struct {
        const char *path;
        const char *const *names;
        size_t n;
    } rows[] = {
        {"quality", reference_quality_names, REFERENCE_RAW + 1},
        {"measure", reference_measure_names, REFERENCE_OTHER + 1},
        {"scope", reference_scope_names, REFERENCE_THREAD + 1},
        {"quantity", reference_quantity_names, REFERENCE_QUANTITY_COUNT},
        {"errata.items.properties.figure", reference_figure_names, REFERENCE_FIGURE_COUNT},
    };
    struct node *form = schema_parse(reference_form[0].text);
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        _cleanup_(freep) char *path =
            xasprintf("properties.tables.items.properties.%s.enum", rows[i].path);
        const struct node *words = tree_at(form, path);
        assert_int_equal(words->n_children, rows[i].n);
        for (size_t k = 0; k < rows[i].n; k++) {
            assert_string_equal(words->children[k]->s, rows[i].names[k]);
        }
    }
    tree_free(form);
}

TEST(decimals)
{
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
         "tables[0].rows[1].name: duplicate 'a'"},
        {HEAD TABLE COLUMNS ROW "}\n  errata: [{row: x, what: w}]\n", "there is no row 'x'"},
        {HEAD TABLE COLUMNS ROW "}\n  errata: [{column: 3, what: w}]\n", "there is no column 3"},
        {HEAD TABLE COLUMNS "  baseline: {column: 1}\n" ROW "}\n",
         "tables[0].baseline: must be a string, not a map"},
        {HEAD TABLE COLUMNS ROW ", recomputed: {speedup: [1]}}\n",
         "tables[0].rows[0].recomputed.speedup: 1 numbers for 3 columns"},
        {HEAD TABLE COLUMNS "  readingError: 1\n" ROW "}\n", "readingError must say how far off"},
        {HEAD TABLE COLUMNS "  quantity: Speed\n" ROW "}\n", "quantity: "},
        {HEAD TABLE COLUMNS "  family: Paddle\n" ROW "}\n",
         "tables[0].family: must be a list, not a string"},
        {HEAD TABLE COLUMNS ROW ", task: [1]}\n", "task[0]: "},
        {HEAD TABLE COLUMNS ROW ", at: 2}\n", "tables[0].rows[0].at: must be a map"},
        {HEAD TABLE COLUMNS "  at: [1]\n" ROW "}\n", "tables[0].at: must be a map"},
        {HEAD TABLE COLUMNS ROW "}\n" TABLE COLUMNS ROW "}\n", "tables[1].name: duplicate 't'"},
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
