/* What a run is other than measured: rehearsal, simulated, imported. Every
 * output carries the words. */
#pragma once

#include "base/buf.h"
#include "report/terminal.h"
#include "result/result.h"

/* "rehearsal, simulated"; nothing for a run that was measured. */
void marks_put(const struct result *r, struct buf *out);
/* "   REHEARSAL   SIMULATED", after a phase. */
void marks_put_text(const struct result *r, const struct terminal *term, struct buf *out);
/* ", **rehearsal**, **simulated**" */
void marks_put_markdown(const struct result *r, struct buf *out);
