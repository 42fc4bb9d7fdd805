/* What those who follow a run, or the list of runs, are sent: an event of text/event-stream that
 * has the whole state, so that earlier events are not needed, and a slow reader may skip some. Made
 * from what the daemon shows, never from the store. Pure. */
#pragma once

#include <jansson.h>

#include "base/buf.h"
#include "daemon/web/daemon_view.h"

#define LIVE_TYPE "text/event-stream; charset=utf-8"
#define LIVE_ID_SIZE 17 /* 16 hexadecimal digits of the state: the same after a restart of benchd */
#define LIVE_MAX_LISTED 100 /* runs in an event of the list; the others are in the page */

/* What the figures of a run depend on, as a text: a page that shows those of another text
 * asks for them again. */
#define LIVE_FIGURES_SIZE 96
void live_figures(const struct run_status *st, char ret[static LIVE_FIGURES_SIZE]);

/* The last step of trainer 0, as the API has it, too; null where it is not known. */
json_t *live_progress_to_json(const struct daemon_run *run);

struct live_event {
    char id[LIVE_ID_SIZE];
    bool is_last;    /* the run has ended: no other event follows */
    struct buf text; /* owned: id, event and data, with the empty line at the end */
};
void live_event_done(struct live_event *e);

/* `run` is a name or uid; "": the list. -ENOENT: the daemon does not show it, so there is nothing
 * to follow. `ret` is an empty event. */
int live_event_make(const struct daemon_runs *runs, const char *run, struct live_event *ret,
                    struct err *err);
