/* `benchctl import`: archives (archive_import.c, docs/contracts/archive.md) and old logs
 * (import_logs.c), rounds of MLPerf Training (import_mlperf.c). */
#pragma once

#include "ctl/cli/cli.h"

/* One file without --rules that is compressed as archives are; or --dry-run. */
bool archive_import_is_meant(const struct cli *cli);
/* Stores its run on this machine, and prints the tables. Nothing is stored unless all
 * of the file is right. --dry-run stores nothing, and prints what the file is. */
enum exit_code archive_import(const struct cli *cli);
/* Old logs become a run in the store, all of them or none. */
enum exit_code import_logs(const struct cli *cli);
/* A round of MLPerf Training becomes a run for each of its series (docs/import.md). */
enum exit_code import_mlperf(const struct cli *cli);
