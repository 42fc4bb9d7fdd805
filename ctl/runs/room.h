/* Files for runs (store/run_file.h) in the folder for temporary files. */
#pragma once

#include "base/err.h"

/* Makes an empty file; *ret_path is owned. The caller unlinks it, and so does a signal that ends
 * the program. */
int room_make(char **ret_path, struct err *err);
