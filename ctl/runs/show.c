/* See show.h. Edge file: asks the terminal. */
#include "ctl/runs/show.h"

#include <unistd.h>

#include "compare/comparison.h"
#include "result/pivot.h"
#include "result/threshold.h"

unsigned show_list_columns(void)
{
    return isatty(STDOUT_FILENO) == 1 ? terminal_columns(STDOUT_FILENO) : 0;
}

void show_begin(const struct cli *cli, struct sheet *sheet)
{
    const struct terminal term = {
        .columns = terminal_columns(STDOUT_FILENO),
        .color = cli->color_stdout,
        .ascii = cli->ascii,
        .wide = cli_output_is(cli, "wide"),
    };
    sheet_init(sheet,
               cli_output_is(cli, "json")       ? SHEET_JSON
               : cli_output_is(cli, "csv")      ? SHEET_CSV
               : cli_output_is(cli, "markdown") ? SHEET_MARKDOWN
               : cli_output_is(cli, "junit")    ? SHEET_JUNIT
                                                : SHEET_TEXT,
               &term);
    sheet->term.brief = sheet->form == SHEET_TEXT && !term.wide && !args_has(&cli->args, "explain");
}

enum exit_code show_text(struct buf *out_take)
{
    const enum exit_code code = cli_print(out_take);
    buf_done(out_take);
    return code;
}

enum exit_code show_end(struct sheet *sheet_take)
{
    struct buf out = cli_stream();
    sheet_write(sheet_take, &out);
    return show_text(&out);
}

enum exit_code show_unread(const struct loaded_run *run, const struct err *err)
{
    return cli_error(EXIT_LOCAL_RESOURCE, NULL, "run '%s': %s", run->row.name, err->msg);
}

enum exit_code show_points(const struct cli *cli, const struct loaded_run *run)
{
    if (!cli_output_is(cli, "json")) {
        return show_sheet(cli, sheet_points, run->result);
    }
    struct err err = {0};
    struct buf out = cli_stream();
    if (loaded_run_put_json(run, &out, &err) < 0) {
        buf_done(&out);
        return show_unread(run, &err);
    }
    return show_text(&out);
}

void show_note_more(const struct cli *cli, const char *run, const char *where)
{
    const char *blank = where[0] == '\0' ? "" : " ";
    if (cli->output[0] == '\0') {
        cli_note(cli,
                 "the columns: benchctl results %s%s%s --explain\n"
                 "charts: benchctl report %s%s%s",
                 run, blank, where, run, blank, where);
    }
}

/* A run that succeeded has a throughput of every trial. An older benchd may report this for a trial
 * whose summaries cannot be used. */
static bool lacks_a_result(const struct result *r)
{
    return r->phase == RUN_SUCCEEDED &&
           !array_all(r->points, r->def->matrix.n_points, p, point_result_is_complete(p));
}

enum exit_code show_exit_code(const struct result *result)
{
    if (result->phase == RUN_FAILED || result->phase == RUN_PARTIALLY_FAILED ||
        lacks_a_result(result)) {
        return EXIT_RUN_FAILED;
    }
    if (threshold_skips_all(result)) {
        return EXIT_OK; /* the user chose the points; the tables say what was not judged */
    }
    return threshold_judge_all(result) == THRESHOLD_PASSED ? EXIT_OK : EXIT_THRESHOLD;
}

enum exit_code show_comparison(const struct cli *cli, const struct comparison *c)
{
    const enum exit_code code = show_sheet(cli, sheet_comparison, c);
    if (code != EXIT_OK) {
        return code;
    }
    if (c->whole_margin != MARGIN_NOT_ASKED) {
        return c->whole_margin == MARGIN_NOT_SLOWER ? EXIT_OK
               : c->whole_margin == MARGIN_SLOWER   ? EXIT_REGRESSION
                                                    : EXIT_INCONCLUSIVE;
    }
    return c->change == CHANGE_SLOWER         ? EXIT_REGRESSION
           : c->change == CHANGE_INCONCLUSIVE ? EXIT_INCONCLUSIVE
                                              : EXIT_OK;
}

enum exit_code show_set_price(const struct cli *cli, struct result *r)
{
    const char *price = args_get(&cli->args, "price", NULL);
    if (price != NULL && (r->def->spec->goal.kind == GOAL_NONE || pivot_set_price(r, price) < 0)) {
        return cli_error(
            EXIT_USAGE, PIVOT_PRICE_FIX,
            "--price needs an amount a CPU hour, a pod hour or a GPU hour (got '%s'), and a run "
            "with measure.timeToAccuracy",
            price);
    }
    return EXIT_OK;
}
