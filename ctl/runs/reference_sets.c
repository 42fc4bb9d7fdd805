/* See reference_sets.h. */
#include "ctl/runs/reference_sets.h"

#include <errno.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/parse.h"
#include "ctl/runs/find.h"
#include "ctl/runs/show.h"
#include "reference/reference.h"

static enum exit_code open_file(const char *path, struct reference **ret)
{
    _cleanup_(definition_file_done) struct definition_file file = {0};
    _cleanup_(diags_done) struct diags diags = {0};
    struct err err;
    const int r = definition_read(path, &file, &err);
    return r < 0 ? file_error(r, path, NULL, &err)
           : reference_load(file.text, file.len, ret, &diags) < 0
               ? cli_print_diags(&diags, file.path, file.text)
               : EXIT_OK;
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
    _cleanup_(freep) char *fix =
        embedded_fix(reference_shipped, reference_shipped_count, name, "a file, or one of ");
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

enum exit_code reference_print(const struct cli *cli, const char *name)
{
    struct reference *r = NULL;
    enum exit_code code = reference_open(name, &r);
    code = code == EXIT_OK ? show_sheet(cli, sheet_reference, r) : code;
    reference_free(r);
    return code;
}
