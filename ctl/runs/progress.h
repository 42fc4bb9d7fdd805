/* How a run in progress is shown on stderr: a live view, dated lines, or nothing. */
#pragma once

#include "ctl/cli/cli.h"
#include "core/phase.h"
#include "load/loaded_run.h"
#include "spec/run_def.h"

struct uv_loop_s;

enum progress_mode { PROGRESS_NONE, PROGRESS_PLAIN, PROGRESS_LIVE };

#define PROGRESS_MODES "auto|live|plain|none"

/* One of PROGRESS_MODES. auto: live on a terminal that supports it, else plain. -EINVAL
 * for an unknown word. */
int progress_mode_choose(const struct cli *cli, const char *word, enum progress_mode *ret);

struct progress_params {
    enum progress_mode mode;
    const struct run_def *def;    /* borrowed */
    const struct loaded_run *run; /* with attempts that are stored already; NULL: none */
    struct uv_loop_s *loop;
    bool ascii, color;
};

struct progress;
int progress_new(const struct progress_params *params, struct progress **ret, struct err *err);
void progress_status(struct progress *p, const struct run_status *status);
void progress_event(struct progress *p, enum event_type type, const char *reason, const char *note);
/* A line of text where no view has a clock. */
void progress_note(struct progress *p, const char *text);
void progress_attempt(struct progress *p, const struct attempt_row *row);
void progress_record(struct progress *p, const struct replica_id *id, const struct record *record);
/* Draws the last state and closes its handles (run the loop once more). */
void progress_end(struct progress *p);
void progress_free(struct progress *p);
