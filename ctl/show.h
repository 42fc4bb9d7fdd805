/* Prints a result in the format that -o asks for, and derives the exit code from it. */
#pragma once

#include "ctl/cli.h"
#include "report/sheets.h"
#include "result/result.h"

#define SHOW_FORMATS "text|markdown|csv|json"

/* A sheet in the form that -o asks for. A builder of report/sheets.h fills it; show_end prints and
 * frees it. */
void show_begin(const struct cli *cli, struct sheet *sheet);
enum exit_code show_end(const struct cli *cli, struct sheet *sheet_take);
/* Prints and frees a text that is no sheet. */
enum exit_code show_text(const struct cli *cli, struct buf *out_take);
enum exit_code show_result(const struct cli *cli, const struct result *result);
/* The same by node, by replica, and by curve; `-o json` has all in one document. */
enum exit_code show_nodes(const struct cli *cli, const struct result *result);
enum exit_code show_replicas(const struct cli *cli, const struct result *result);
enum exit_code show_curves(const struct cli *cli, const struct result *result);
struct pivot;
enum exit_code show_pivot(const struct cli *cli, const struct pivot *pivot);
/* The same by phase. */
enum exit_code show_phases(const struct cli *cli, const struct result *result);
struct comparison;
enum exit_code show_comparison(const struct cli *cli, const struct comparison *comparison);
struct run_history;
enum exit_code show_history(const struct cli *cli, const struct run_history *history);
struct gate;
enum exit_code show_gate(const struct cli *cli, const struct gate *gate);
/* What was asked for decides: the margin, or else whether there is a change. */
enum exit_code show_comparison_code(const struct comparison *comparison);
/* EXIT_RUN_FAILED if the run or a trial failed, else EXIT_THRESHOLD if a threshold was missed or
 * could not be judged, else EXIT_OK. */
enum exit_code show_exit_code(const struct result *result);
/* How stdout is: its width, colour and characters. */
struct report_opts show_opts(const struct cli *cli);
/* The columns that a list on stdout may have; 0: stdout is no terminal, so any number. */
unsigned show_list_columns(void);
