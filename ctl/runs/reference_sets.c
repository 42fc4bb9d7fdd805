/* See reference_sets.h. */
#include "ctl/runs/reference_sets.h"

#include <errno.h>
#include <math.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/parse.h"
#include "base/str.h"
#include "core/json_field.h"
#include "ctl/runs/find.h"
#include "ctl/runs/show.h"
#include "reference/reference.h"
#include "report/table.h"

static enum exit_code open_file(const char *path, struct reference **ret)
{
    _cleanup_(definition_file_done) struct definition_file file = {0};
    _cleanup_(diags_done) struct diags diags = {0};
    struct err err;
    const int r = definition_read(path, &file, &err);
    enum exit_code code = EXIT_OK;
    if (r < 0) {
        code = cli_error(r == -ENOENT ? EXIT_NOT_FOUND : EXIT_LOCAL_RESOURCE, NULL, "%s", err.msg);
    } else if (reference_load(file.text, file.len, ret, &diags) < 0) {
        code = cli_print_diags(&diags, file.path, file.text);
    }
    return code;
}

enum exit_code reference_open(const char *name, struct reference **ret)
{
    if (definition_is_file(name)) {
        return open_file(name, ret);
    }
    *ret = reference_shipped_load(name);
    if (*ret != NULL) {
        return EXIT_OK;
    }
    const char *meant = reference_shipped_suggest(name);
    _cleanup_(freep) char *fix =
        meant == NULL ? xstrdup("list them with: benchctl results --reference " REFERENCE_LIST)
                      : xasprintf("did you mean '%s'?", meant);
    return cli_error(EXIT_NOT_FOUND, fix, "there is no reference '%s'", name);
}

enum exit_code reference_take(const struct cli *cli, const char *fix, struct reference **ret)
{
    const char *name = args_get(&cli->args, "reference", NULL);
    if (name == NULL) {
        return EXIT_OK;
    }
    if (cli->output[0] != '\0' && !cli_output_is(cli, "text") && !cli_output_is(cli, "wide") &&
        !cli_output_is(cli, "markdown")) {
        return cli_error(EXIT_USAGE, fix, "--reference has text and markdown (got -o %s)",
                         cli->output);
    }
    return reference_open(name, ret);
}

int reference_year_of(const struct result *result)
{
    char date[CLOCK_RFC3339_SIZE];
    clock_format_rfc3339(result->def->created_unix_ms, date);
    int64_t year = 0;
    date[4] = '\0';                           /* of "2026-11-21T..." */
    (void)parse_i64_in(date, 0, 9999, &year); /* our own text */
    return (int)year;
}

/* ---- sets without a run ---- */

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
