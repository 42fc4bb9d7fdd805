/* benchctl results --reference SET without a run: figures that others published, with what follows
 * from them and what is wrong in them; see reference_sets.h. */
#include <math.h>

#include "base/str.h"
#include "core/json_field.h"
#include "ctl/runs/reference_sets.h"
#include "ctl/runs/show.h"
#include "reference/shipped_sets.h"
#include "report/table.h"

/* Figures that the source prints itself; ratios are made of them. */
static size_t count_figures(const struct reference *r)
{
    size_t n = 0;
    vec_each (const struct reference_table, t, &r->tables) {
        vec_each (const struct reference_row, row, &t->rows) {
            for (size_t c = 0; row->has_values && c < t->n_columns; c++) {
                n += !isnan(row->figures[REFERENCE_VALUE][c]);
            }
        }
    }
    return n;
}

/* The shipped sets in the sheet's form, one after another. */
static json_t *put_list(struct sheet *s, struct table *t)
{
    json_t *items = json_array();
    for (size_t i = 0; i < reference_shipped_count; i++) {
        struct reference *r = reference_shipped_load(reference_shipped[i].name);
        const size_t n_tables = r->tables.len, n_figures = count_figures(r);
        (void)json_array_append_new(/* grows in memory only */
                                    items, json_pack("{s:s, s:s, s:I, s:I, s:I}", "name", r->name,
                                                     "title", r->title, "year", (json_int_t)r->year,
                                                     "tables", (json_int_t)n_tables, "figures",
                                                     (json_int_t)n_figures));
        sheet_word(s, "name", r->name);
        sheet_count(s, "year", (uint64_t)r->year);
        sheet_count(s, "tables", n_tables);
        sheet_count(s, "figures", n_figures);
        sheet_word(s, "title", r->title);
        sheet_end_row(s);
        table_text(t, "NAME", "%s", r->name);
        table_number(t, "YEAR", "%lld", (long long)r->year);
        table_number(t, "TABLES", "%zu", n_tables);
        table_number(t, "FIGURES", "%zu", n_figures);
        table_text(t, "TITLE", "%s", r->title);
        table_end_row(t);
        reference_free(r);
    }
    return document_list("ReferenceList", items);
}

static enum exit_code list(const struct cli *cli)
{
    struct sheet s;
    struct buf out = BUF_INIT;
    struct table *t = table_new();
    show_begin(cli, &s);
    s.term.wide = show_list_columns() == 0;
    json_t *document = put_list(&s, t);
    if (s.form == SHEET_JSON) {
        s.document = document; /* the sheet frees it */
    } else {
        json_decref(document);
    }
    if (s.form == SHEET_TEXT && cli->no_headers) {
        table_format(t, false, &out);
        table_free(t);
    } else {
        sheet_table(&s, NULL, t, SHEET_PROSE);
    }
    sheet_write(&s, &out);
    return show_text(&out);
}

enum exit_code reference_print(const struct cli *cli, const char *name)
{
    if (str_eq(name, REFERENCE_LIST)) {
        return list(cli);
    }
    struct reference *r = NULL;
    enum exit_code code = reference_open(name, &r);
    code = code == EXIT_OK ? show_sheet(cli, sheet_reference, r) : code;
    reference_free(r);
    return code;
}
