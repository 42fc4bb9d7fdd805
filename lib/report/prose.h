/* What a result says, in sentences. Pure. */
#pragma once

#include "base/texts.h"
#include "report/layout.h"
#include "report/sheet.h"

/* ---- what a result speaks for: prose_verdict.c ---- */

/* Adds terms to the box of a page: how well the run scales, which point to choose, and the highest
 * throughput. */
void prose_verdict_put(struct sheet *s, const struct layout *l);

/* ---- what the curves of a result say about scaling: prose_scaling.c ---- */

#define SCALING_LINES_MAX 4 /* curves that have a line; the others are counted */

/* Adds one line a curve: "pservers 2, 4 trainers: 2.87x (72.0%; 95%: 68.1..75.2%); ...": what its
 * widest point reaches, the peak or why there is no model, and between which numbers of trainers
 * each loses most, and by what. With `is_full` all curves have a line, which says why a model is
 * missing even for two numbers of trainers; else the last line counts the other curves. */
void prose_scaling_add(struct texts *lines, const struct layout *l, bool is_full);

/* ---- what the systems of a run are, for readers who do not know its definition:
 * prose_systems.c ---- */

/* "PyTorch on the CPU, ...; command: mpirun python train.py; gradients by all-reduce; fp32 in this
 * run". */
void prose_systems_put(const struct layout *l, uint32_t system, struct buf *out);
