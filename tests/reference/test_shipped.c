/* The sets that ship. tests/ctl/test_reference.py checks what follows from their figures. */
#include "tests/test.h"
#include "reference/reference.h"

#include <math.h>

#include "base/buf.h"

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
                if (row->figures[REFERENCE_VALUE] != NULL &&
                    (reference_kin_of(r, t, row, task)->n_children == 0 ||
                     reference_kin_of(r, t, row, family)->n_children == 0)) {
                    buf_printf(&problems, "%s: row '%s' of table '%s' has no task or no family\n",
                               r->name, row->name, t->name);
                }
                for (size_t c = 0; row->has_values && c < t->n_columns; c++) {
                    n_figures += !isnan(row->figures[REFERENCE_VALUE][c]);
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
    assert_string_equal(
        embedded_suggest(reference_shipped, reference_shipped_count, "tf-shet-2017"),
        "tf-sheet-2017");
}
