/* What `benchctl plan` prints: what a definition would do. Pure: a frozen definition in, text
 * out. */
#pragma once

#include <jansson.h>

#include "base/buf.h"
#include "base/err.h"
#include "spec/run_def.h"

struct preview_opts {
    bool is_local;
    bool no_headers;
    /* The terminal's: lines break between words, tables between columns. 0 fits any width. */
    size_t columns;
};
int preview_text(const struct run_def *def, const struct preview_opts *opts, struct buf *out,
                 struct err *err);
/* kind BenchmarkPlan; owned. */
int preview_json(const struct run_def *def, bool is_local, json_t **ret, struct err *err);

/* "rehearsal: point 3 needs 4 busy threads, but this machine has 2 CPUs ..."; appends nothing for
 * any other run. */
void preview_rehearsal(const struct run_def *def, struct buf *out);
