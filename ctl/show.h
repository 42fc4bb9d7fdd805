/* A result on stdout in the form that -o asks for, and what it means for the exit code. */
#pragma once

#include "ctl/cli.h"
#include "result/result.h"

#define SHOW_FORMATS "text|markdown|csv|json"

enum exit_code show_result(const struct cli *cli, const struct result *result);
struct comparison;
enum exit_code show_comparison(const struct cli *cli, const struct comparison *comparison);
/* 1 when the run failed, else 7 when a threshold did, else 0. */
enum exit_code show_exit_code(const struct result *result);
/* Columns of the terminal at `fd`: its width, $COLUMNS, or 80. */
unsigned show_columns(int fd);
