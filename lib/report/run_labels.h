/* What a run is other than measured: rehearsal, simulated, imported, parallel. Every
 * output carries the words. */
#pragma once

#include "base/buf.h"
#include "result/result.h"

/* "rehearsal, simulated"; nothing for a run that was measured. */
void run_labels_put(const struct result *r, struct buf *out);
/* "measured", or what it is instead: "rehearsal", "rehearsal, emulated", ... */
void run_labels_put_mode(const struct result *r, struct buf *out);
#define MARK_COUNT 4
/* The i-th mark, "rehearsal"; static; NULL: the run does not have it. */
const char *mark_of(const struct result *r, int i);
