/* The live view on the terminal that stderr is. It redraws in place, at most ten times a second and
 * only when something changed; the clock in it moves once a second. */
#pragma once

#include <stdbool.h>

#include "ctl/live/live_model.h"

struct uv_loop_s;
struct live;

/* `model` is borrowed. */
struct live *live_new(struct uv_loop_s *loop, const struct live_model *model, bool ascii,
                      bool color);
void live_changed(struct live *l);
/* Prints a line above the view; it stays there. */
void live_note(struct live *l, const char *reason, const char *note);
/* Draws the last state and closes the handles; free after the loop has run once more. */
void live_end(struct live *l);
void live_free(struct live *l); /* NULL is fine */
