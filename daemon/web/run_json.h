/* Parts of a run as JSON that several documents have: the API's and those of live pages. Pure. */
#pragma once

#include <jansson.h>

#include "daemon/web/inspect.h"

/* Point, trial and attempt of the current trial; null where none is. */
json_t *run_json_current(const struct run_status *st);
/* The last step of trainer 0; null where it is not known. */
json_t *run_json_progress(const struct daemon_run *run);
