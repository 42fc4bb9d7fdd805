/* Published figures on the command line: the sets that ship, and files of the same form. */
#pragma once

#include "base/exit_code.h"
#include "ctl/cli/cli.h"
#include "reference/reference.h"
#include "result/result.h"

/* NAME: a file (as definition_is_file says), or a shipped set. Owned; or prints what is wrong. */
enum exit_code reference_open(const char *name, struct reference **ret);
/* --reference NAME next to a run or bounds; *ret stays NULL without it. `fix`: for formats
 * other than text and markdown. */
enum exit_code reference_take(const struct cli *cli, const char *fix, struct reference **ret);
/* Prints the set alone, as `-o` asks: text, markdown, csv or json. */
enum exit_code reference_print(const struct cli *cli, const char *name);
/* The year in which a run was made. */
int reference_year_of(const struct result *result);
