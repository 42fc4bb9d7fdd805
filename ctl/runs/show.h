/* Prints a sheet in the format that -o asks for, and derives exit codes from what it says. */
#pragma once

#include "ctl/cli/cli.h"
#include "report/sheets.h"
#include "load/loaded_run.h"

#define SHOW_FORMATS "text|markdown|csv|json"

/* Without it text is brief: an answer, one table, at most three warnings. */
#define EXPLAIN_OPT                                                                                \
    {                                                                                              \
        "explain", 0, NULL, "Print all tables and warnings, and what the columns mean"             \
    }

/* Prints what a builder of report/sheets.h makes, as -o asks: show_sheet(cli, sheet_nodes, result).
 * Evaluates to the exit code. */
#define show_sheet(cli, build, of)                                                                 \
    ({                                                                                             \
        struct sheet sheet_;                                                                       \
        show_begin(cli, &sheet_);                                                                  \
        build(&sheet_, of);                                                                        \
        show_end(&sheet_);                                                                         \
    })
void show_begin(const struct cli *cli, struct sheet *sheet);
enum exit_code show_end(struct sheet *sheet_take);
/* The tables of a run by point, or its document. */
enum exit_code show_points(const struct cli *cli, const struct loaded_run *run);
/* Replicas could not be read. */
enum exit_code show_unread(const struct loaded_run *run, const struct err *err);
/* After the tables of a run that ended: the commands that show more of it. */
void show_note_more(const struct cli *cli, const char *run, const char *where);
/* Prints and frees a text that is no sheet. */
enum exit_code show_text(struct buf *out_take);
struct comparison;
/* The exit code: what was asked for decides, the margin, or else whether there is a change. */
enum exit_code show_comparison(const struct cli *cli, const struct comparison *comparison);
/* EXIT_RUN_FAILED if the run or a trial failed, else EXIT_THRESHOLD if a threshold was missed or
 * could not be judged, else EXIT_OK. */
enum exit_code show_exit_code(const struct result *result);
/* Gives the times of a result the costs that --price asks for. */
enum exit_code show_set_price(const struct cli *cli, struct result *r);
/* The columns that a list on stdout may have; 0: stdout is no terminal, so any number. */
unsigned show_list_columns(void);
