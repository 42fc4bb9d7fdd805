/* benchctl reference [NAME]: figures that others published, with what follows from them and
 * what is wrong in them. */
#include <math.h>

#include "base/str.h"
#include "ctl/reference.h"
#include "ctl/show.h"
#include "ctl/verbs.h"
#include "reference/derive.h"
#include "reference/shipped.h"
#include "report/csv.h"
#include "report/json_text.h"
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

static enum exit_code list(const struct cli *cli)
{
    struct buf out = BUF_INIT;
    const size_t n = reference_shipped_count;
    struct reference **sets = xnew_array(struct reference *, n);
    for (size_t i = 0; i < n; i++) {
        sets[i] = reference_shipped_load(reference_shipped[i].name);
    }
    if (cli_output_is(cli, "json")) {
        list_json(sets, n, &out);
    } else if (cli_output_is(cli, "csv")) {
        list_csv(sets, n, &out);
    } else {
        list_table(cli, sets, n, &out);
    }
    for (size_t i = 0; i < n; i++) {
        reference_free(sets[i]);
    }
    free(sets);
    return show_text(cli, &out);
}

static enum exit_code run(struct cli *cli)
{
    if (cli->args.n_words == 0) {
        return list(cli);
    }
    struct reference *r = NULL;
    enum exit_code code = reference_open(cli->args.words[0], &r);
    if (code == EXIT_OK) {
        code = show_sheet(cli, sheet_reference, r);
    }
    reference_free(r);
    return code;
}

const struct verb verb_reference = {
    .name = "reference",
    .args = "[NAME|FILE]",
    .summary = "Print figures that others published, or list their sets",
    .examples = "  benchctl reference\n"
                "  benchctl reference paddle-vgg16-cpu-2018\n"
                "  benchctl reference tf-sheet-2017 -o csv > sheet.csv\n"
                "  benchctl reference ./my-figures.yaml -o markdown\n",
    .details = "Speedups, efficiencies, price indices and costs are recomputed from the\n"
               "published figures. A '*' marks a cell where the source prints another number;\n"
               "the errata under the table say why. '~' marks what was read off a chart.\n"
               "benchctl results RUN --reference NAME prints a set beside a run.",
    .formats = SHOW_FORMATS,
    .max_words = 1,
    .run = run,
};
