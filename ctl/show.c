/* See show.h. Edge file: asks the terminal. */
#include "ctl/show.h"

#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/parse.h"
#include "report/report.h"

unsigned show_columns(int fd)
{
    struct winsize size;
    if (ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) {
        return size.ws_col;
    }
    const char *columns = getenv("COLUMNS");
    int64_t n;
    return columns != NULL && parse_i64_in(columns, 20, 1000, &n) == 0 ? (unsigned)n : 80;
}

static struct report_opts terminal_opts(const struct cli *cli)
{
    return (struct report_opts){
        .columns = show_columns(STDOUT_FILENO),
        .color = cli->color_stdout,
        .ascii = cli->ascii,
    };
}

enum exit_code show_result(const struct cli *cli, const struct result *result)
{
    struct buf out = BUF_INIT;
    if (cli_output_is(cli, "json")) {
        report_json(result, &out);
    } else if (cli_output_is(cli, "csv")) {
        report_csv(result, &out);
    } else if (cli_output_is(cli, "markdown")) {
        report_markdown(result, &out);
    } else {
        const struct report_opts opts = terminal_opts(cli);
        report_text(result, &opts, &out);
    }
    enum exit_code code = cli_print(&out);
    buf_done(&out);
    return code;
}

enum exit_code show_comparison(const struct cli *cli, const struct comparison *comparison)
{
    struct buf out = BUF_INIT;
    if (cli_output_is(cli, "json")) {
        report_compare_json(comparison, &out);
    } else if (cli_output_is(cli, "csv")) {
        report_compare_csv(comparison, &out);
    } else if (cli_output_is(cli, "markdown")) {
        report_compare_markdown(comparison, &out);
    } else {
        const struct report_opts opts = terminal_opts(cli);
        report_compare_text(comparison, &opts, &out);
    }
    enum exit_code code = cli_print(&out);
    buf_done(&out);
    return code;
}

enum exit_code show_exit_code(const struct result *result)
{
    if (result->phase == RUN_FAILED || result->phase == RUN_PARTIALLY_FAILED) {
        return EXIT_RUN_FAILED;
    }
    vec_each (const struct threshold_result, t, &result->thresholds) {
        if (t->verdict == THRESHOLD_FAILED) {
            return EXIT_THRESHOLD;
        }
    }
    return EXIT_OK;
}
