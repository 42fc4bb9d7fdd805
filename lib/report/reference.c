/* A set of published figures, see sheets.h. */
#include "reference/reference.h"

#include "reference/derive.h"
#include "report/reference_layout.h"
#include "report/sheets.h"

static void put_figure(struct sheet *s, const struct reference *r, const struct reference_table *t,
                       enum reference_figure figure)
{
    struct table *table = reference_layout_table(r, t, figure, false);
    if (s->form == SHEET_TEXT && table_width(table) > s->term.columns) {
        /* numbers do not break: turn it */
        struct table *turned = reference_layout_table(r, t, figure, true);
        const bool is_narrower = table_width(turned) < table_width(table);
        table_free(is_narrower ? table : turned);
        table = is_narrower ? turned : table;
    }
    struct buf caption = BUF_INIT;
    reference_layout_caption(t, figure, &caption);
    sheet_table(s, &caption, table, 1);
}

static void put_people(struct sheet *s, const struct reference *r)
{
    reference_layout_title(s, r, "");
    reference_layout_head(s, r);
    vec_each (const struct reference_table, t, &r->tables) {
        sheet_title(s, t->name, t->title);
        for (int f = 0; f < REFERENCE_FIGURE_COUNT; f++) {
            if (reference_has(r, t, (enum reference_figure)f)) {
                put_figure(s, r, t, (enum reference_figure)f);
            }
        }
        sheet_block(s, NULL);
        reference_layout_lines(s, r, t);
    }
}

void sheet_reference(struct sheet *s, const struct reference *r)
{
    if (s->form == SHEET_JSON) {
        s->document = reference_data_to_json(r);
    } else if (s->form == SHEET_CSV) {
        reference_data_put_rows(s, r);
    } else {
        put_people(s, r);
    }
}
