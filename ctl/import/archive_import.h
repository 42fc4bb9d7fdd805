/* `benchctl import FILE`, where FILE is an archive (docs/contracts/archive.md). */
#pragma once

#include "ctl/cli/cli.h"

/* One file without --rules, and compressed as archives are. */
bool archive_import_is_meant(const struct cli *cli);
/* Stores its run on this machine, and prints the tables. Nothing is stored unless all
 * of the file is right. */
enum exit_code archive_import(const struct cli *cli);
