/* benchctl results --reference SET without a run: figures that others published, with what follows
 * from them and what is wrong in them; see reference.h. */
#include <math.h>

#include "base/str.h"
#include "ctl/reference.h"
#include "ctl/show.h"
#include "reference/derive.h"
#include "reference/shipped.h"
#include "report/csv.h"
#include "report/json_text.h"
#include "report/reference.h"
#include "report/table.h"
#include "report/terminal.h"

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

static void list_csv(struct reference *const *sets, size_t n, struct buf *out)
{
    buf_puts(out, "name,year,tables,figures,title\n");
    for (size_t i = 0; i < n; i++) {
        buf_printf(out, "%s,%lld,%zu,%zu,", sets[i]->name, (long long)sets[i]->year,
                   sets[i]->tables.len, count_figures(sets[i]));
        csv_text(out, sets[i]->title);
        buf_putc(out, '\n');
    }
}

static void list_json(struct reference *const *sets, size_t n, struct buf *out)
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
    json_text_put(json_pack("{s:s, s:s, s:o}", "apiVersion", "benchd.io/v1alpha1", "kind",
                            "ReferenceList", "items", items),
                  out);
}

/* On a narrow terminal a title has lines of its own: its numbers are not broken there. */
static void list_narrow(unsigned columns, struct reference *const *sets, size_t n, struct buf *out)
{
    const struct terminal t = {.columns = columns};
    for (size_t i = 0; i < n; i++) {
        buf_printf(out, "%s  %lld  %zu tables, %zu figures\n  ", sets[i]->name,
                   (long long)sets[i]->year, sets[i]->tables.len, count_figures(sets[i]));
        terminal_wrapped(out, &t, sets[i]->title, 2, 2);
    }
}

static void list_table(const struct cli *cli, struct reference *const *sets, size_t n,
                       struct buf *out)
{
    struct table *t = table_new();
    table_column(t, "NAME", TABLE_LEFT);
    table_column(t, "YEAR", TABLE_RIGHT);
    table_column(t, "TABLES", TABLE_RIGHT);
    table_column(t, "FIGURES", TABLE_RIGHT);
    table_column(t, "TITLE", TABLE_LEFT);
    for (size_t i = 0; i < n; i++) {
        table_cell(t, "%s", sets[i]->name);
        table_cell(t, "%lld", (long long)sets[i]->year);
        table_cell(t, "%zu", sets[i]->tables.len);
        table_cell(t, "%zu", count_figures(sets[i]));
        table_cell(t, "%s", sets[i]->title);
    }
    const unsigned columns = show_list_columns();
    if (cli_output_is(cli, "markdown")) {
        table_format_markdown(t, out);
    } else if (columns > 0 && !cli->no_headers && table_width(t) > columns) {
        list_narrow(columns, sets, n, out);
    } else {
        table_format(t, !cli->no_headers, out);
    }
    table_free(t);
}

static void list(const struct cli *cli, struct buf *out)
{
    const size_t n = reference_shipped_count;
    struct reference **sets = xnew_array(struct reference *, n);
    for (size_t i = 0; i < n; i++) {
        sets[i] = reference_shipped_load(reference_shipped[i].name);
    }
    if (cli_output_is(cli, "json")) {
        list_json(sets, n, out);
    } else if (cli_output_is(cli, "csv")) {
        list_csv(sets, n, out);
    } else {
        list_table(cli, sets, n, out);
    }
    for (size_t i = 0; i < n; i++) {
        reference_free(sets[i]);
    }
    free(sets);
}

static void show(const struct cli *cli, const struct reference *r, struct buf *out)
{
    if (cli_output_is(cli, "json")) {
        report_reference_json(r, out);
    } else if (cli_output_is(cli, "csv")) {
        report_reference_csv(r, out);
    } else if (cli_output_is(cli, "markdown")) {
        report_reference_markdown(r, out);
    } else {
        const struct report_opts opts = show_opts(cli);
        report_reference_text(r, &opts, out);
    }
}

enum exit_code reference_print(const struct cli *cli, const char *name)
{
    struct buf out = BUF_INIT;
    struct reference *r = NULL;
    enum exit_code code = EXIT_OK;
    if (str_eq(name, REFERENCE_LIST)) {
        list(cli, &out);
    } else {
        code = reference_open(name, &r);
        if (code == EXIT_OK) {
            show(cli, r, &out);
        }
    }
    if (code == EXIT_OK) {
        code = cli_show(cli, &out);
    }
    reference_free(r);
    buf_done(&out);
    return code;
}
