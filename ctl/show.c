/* See show.h. Edge file: asks the terminal. */
#include "ctl/show.h"

#include <unistd.h>

#include "ctl/terminal.h"
#include "report/report.h"
#include "report/sheets.h"
#include "result/compare.h"
#include "result/result_json.h"
#include "result/threshold.h"

unsigned show_list_columns(void)
{
    return isatty(STDOUT_FILENO) == 1 ? terminal_columns(STDOUT_FILENO) : 0;
}

struct report_opts show_opts(const struct cli *cli)
{
    return (struct report_opts){
        .columns = terminal_columns(STDOUT_FILENO),
        .color = cli->color_stdout,
        .ascii = cli->ascii,
        .wide = cli_output_is(cli, "wide"),
    };
}

void show_begin(const struct cli *cli, struct sheet *sheet)
{
    const struct report_opts opts = show_opts(cli);
    sheet_init(sheet,
               cli_output_is(cli, "json")       ? SHEET_JSON
               : cli_output_is(cli, "csv")      ? SHEET_CSV
               : cli_output_is(cli, "markdown") ? SHEET_MARKDOWN
                                                : SHEET_TEXT,
               &opts);
}

enum exit_code show_text(const struct cli *cli, struct buf *out_take)
{
    const enum exit_code code = cli_show(cli, out_take);
    buf_done(out_take);
    return code;
}

enum exit_code show_end(const struct cli *cli, struct sheet *sheet_take)
{
    struct buf out = BUF_INIT;
    sheet_write(sheet_take, &out);
    return show_text(cli, &out);
}

static enum exit_code show_by(const struct cli *cli, const struct result *result,
                              void (*build)(struct sheet *s, const struct result *r))
{
    struct sheet sheet;
    show_begin(cli, &sheet);
    if (sheet.form == SHEET_JSON) {
        sheet.document = result_to_json(result);
    } else {
        build(&sheet, result);
    }
    return show_end(cli, &sheet);
}

enum exit_code show_result(const struct cli *cli, const struct result *result)
{
    static const struct {
        const char *format;
        void (*write)(const struct result *r, struct buf *out);
    } programs[] = {
        {"gobench", report_gobench}, {"openmetrics", report_openmetrics}, {"mllog", report_mllog}};
    for (size_t i = 0; i < sizeof(programs) / sizeof(programs[0]); i++) {
        if (cli_output_is(cli, programs[i].format)) {
            struct buf out = BUF_INIT;
            programs[i].write(result, &out);
            return show_text(cli, &out);
        }
    }
    return show_by(cli, result, sheet_points);
}

enum exit_code show_nodes(const struct cli *cli, const struct result *result)
{
    return show_by(cli, result, sheet_nodes);
}

enum exit_code show_replicas(const struct cli *cli, const struct result *result)
{
    return show_by(cli, result, sheet_replicas);
}

enum exit_code show_curves(const struct cli *cli, const struct result *result)
{
    return show_by(cli, result, sheet_curves);
}

enum exit_code show_pivot(const struct cli *cli, const struct pivot *pivot)
{
    struct sheet sheet;
    show_begin(cli, &sheet);
    sheet_pivot(&sheet, pivot);
    return show_end(cli, &sheet);
}

enum exit_code show_phases(const struct cli *cli, const struct result *result)
{
    return show_by(cli, result, sheet_phases);
}

enum exit_code show_comparison(const struct cli *cli, const struct comparison *comparison)
{
    struct sheet sheet;
    show_begin(cli, &sheet);
    sheet_comparison(&sheet, comparison);
    return show_end(cli, &sheet);
}

enum exit_code show_history(const struct cli *cli, const struct run_history *history)
{
    struct sheet sheet;
    show_begin(cli, &sheet);
    sheet_history(&sheet, history);
    return show_end(cli, &sheet);
}

enum exit_code show_gate(const struct cli *cli, const struct gate *gate)
{
    if (cli_output_is(cli, "junit")) {
        struct buf out = BUF_INIT;
        report_junit(gate, &out);
        return show_text(cli, &out);
    }
    struct sheet sheet;
    show_begin(cli, &sheet);
    sheet_gate(&sheet, gate);
    return show_end(cli, &sheet);
}

/* A run that succeeded has a throughput of every trial. An older benchd may report this for a trial
 * whose summaries cannot be used. */
static bool lacks_a_result(const struct result *r)
{
    for (uint32_t i = 0; i < r->def->matrix.n_points; i++) {
        if (r->phase == RUN_SUCCEEDED && !point_result_is_complete(&r->points[i])) {
            return true;
        }
    }
    return false;
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

enum exit_code show_comparison_code(const struct comparison *c)
{
    if (c->margin != MARGIN_NOT_ASKED) {
        return c->margin == MARGIN_NOT_SLOWER ? EXIT_OK
               : c->margin == MARGIN_SLOWER   ? EXIT_REGRESSION
                                              : EXIT_INCONCLUSIVE;
    }
    return c->change == CHANGE_SLOWER         ? EXIT_REGRESSION
           : c->change == CHANGE_INCONCLUSIVE ? EXIT_INCONCLUSIVE
                                              : EXIT_OK;
}
