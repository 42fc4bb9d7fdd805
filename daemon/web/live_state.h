/* What an open page asks for again and again (live.js): the state of a run, or of the list of runs.
 * Made from what the daemon shows, never from the store. Pure. */
#pragma once

#include <jansson.h>

#include "daemon/web/daemon_view.h"

#define LIVE_MAX_LISTED 100 /* runs in the state of the list; the others are in the page */

/* What the figures of a run depend on, as a text: a page that shows those of another text
 * asks for them again. */
#define LIVE_FIGURES_SIZE 96
void live_figures(const struct run_status *st, char ret[static LIVE_FIGURES_SIZE]);

/* The last step of trainer 0, as the API has it, too; null where it is not known. */
json_t *live_progress_to_json(const struct daemon_run *run);
