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
            for (size_t c = 0; row->values != NULL && c < t->n_columns; c++) {
                n += !isnan(row->values[c]);
            }
        }
    }
    return n;
}

static json_t *list_to_json(struct reference *const *sets, size_t n)
{
    json_t *items = json_array();
    for (size_t i = 0; i < n; i++) {
        (void)json_array_append_new(/* grows in memory only */
                                    items, json_pack("{s:s, s:s, s:I, s:I, s:I}", "name",
                                                     sets[i]->name, "title", sets[i]->title, "year",
                                                     (json_int_t)sets[i]->year, "tables",
                                                     (json_int_t)sets[i]->tables.len, "figures",
                                                     (json_int_t)count_figures(sets[i])));
    }
    return document_list("ReferenceList", items);
}

static void put_rows(struct sheet *s, struct reference *const *sets, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        sheet_word(s, "name", sets[i]->name);
        sheet_count(s, "year", (uint64_t)sets[i]->year);
        sheet_count(s, "tables", sets[i]->tables.len);
        sheet_count(s, "figures", count_figures(sets[i]));
        sheet_word(s, "title", sets[i]->title);
        sheet_end_row(s);
    }
}

static struct table *table_of(struct reference *const *sets, size_t n)
{
    struct table *t = table_new();
    for (size_t i = 0; i < n; i++) {
        table_text(t, "NAME", "%s", sets[i]->name);
        table_number(t, "YEAR", "%lld", (long long)sets[i]->year);
        table_number(t, "TABLES", "%zu", sets[i]->tables.len);
        table_number(t, "FIGURES", "%zu", count_figures(sets[i]));
        table_text(t, "TITLE", "%s", sets[i]->title);
        table_end_row(t);
    }
    return t;
}

static enum exit_code show_list(const struct cli *cli, struct reference *const *sets, size_t n)
{
    struct sheet s;
    show_begin(cli, &s);
    s.term.wide = show_list_columns() == 0;
    if (s.form == SHEET_JSON) {
        s.document = list_to_json(sets, n);
    } else if (s.form == SHEET_CSV) {
        put_rows(&s, sets, n);
    } else {
        struct table *t = table_of(sets, n);
        if (s.form == SHEET_TEXT && cli->no_headers) {
            struct buf out = BUF_INIT;
            table_format(t, false, &out);
            table_free(t);
            return show_text(cli, &out);
        }
        sheet_table(&s, NULL, t, SHEET_PROSE);
    }
    return show_end(cli, &s);
}

static enum exit_code list(const struct cli *cli)
{
    const size_t n = reference_shipped_count;
    _cleanup_(freep) struct reference **sets = xnew_array(struct reference *, n);
    for (size_t i = 0; i < n; i++) {
        sets[i] = reference_shipped_load(reference_shipped[i].name);
    }
    const enum exit_code code = show_list(cli, sets, n);
    for (size_t i = 0; i < n; i++) {
        reference_free(sets[i]);
    }
    return code;
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
