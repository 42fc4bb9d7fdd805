/* What a result says, in sentences. Pure. */
#pragma once

#include "report/layout.h"

struct choice_line {
    char *label;         /* "Scaling"; "" for a sentence without one; owned */
    char *text;          /* owned */
    bool is_caveat;      /* it limits what all figures say: "Too few CPUs" */
    const char *meaning; /* what a word in the text means; static; NULL: none needs it */
};
struct prose_verdict {
    VEC(struct choice_line) list;
};

/* ---- what a result speaks for: prose_verdict.c ---- */

/* For the box of a page: what makes all figures something else (simulated, imported), how well the
 * run scales, which point to choose, how far that holds, then figures. */
void prose_verdict_init(struct prose_verdict *lines, const struct layout *l);
/* Does a caveat say this warning? Then the page does not say it again. */
bool prose_verdict_say(const struct warning *w);
void prose_verdict_done(struct prose_verdict *lines);

/* ---- what the curves of a result say about scaling: prose_scaling.c ---- */

#define SCALING_LINES_MAX 4 /* curves that have a line; the others are counted */

/* Adds one line a curve: "pservers 2, 4 trainers: 2.87x (72.0%; 95%: 68.1..75.2%); ...": what its
 * widest point reaches, the peak or why there is no model, and between which numbers of trainers
 * each loses most, and by what. `is_full`: of all curves, and of too few numbers of trainers, too,
 * why no model exists; else the last line counts the other curves. */
void prose_scaling_add(struct prose_verdict *lines, const struct layout *l, const char *label,
                       bool is_full);

/* ---- points of a rehearsal with fewer CPUs than they keep busy: prose_cpus.c ---- */

/* Has a swept point more threads that compute than the run had CPUs? */
bool prose_cpus_any(const struct run_def *def);
/* What that means for the verdict: some sentences, each with its end. Call it for a rehearsal of
 * real trainers. `fastest` is the point with the highest throughput; NULL: none was measured. */
void prose_cpus_describe(const struct layout *l, const struct point_result *fastest,
                         struct buf *out);

/* ---- what the systems of a run are, for readers who do not know its definition:
 * prose_systems.c ---- */

/* "PyTorch on the CPU, ...; command: mpirun python train.py; gradients by all-reduce; 1 thread a
 * worker; PyTorch 2.15.0". What a system before it runs, too, is "the same program as NAME". */
void prose_systems_put(const struct layout *l, uint32_t system, struct buf *out);
/* "tensorflow-ps, tensorflow-mwms": the systems whose replicas ran on this entry of the result's
 * hardware. Returns the number of these replicas; of NO_HARDWARE, those of succeeded trials that
 * said nothing of where they ran. */
size_t prose_systems_put_users(const struct layout *l, size_t hardware, struct buf *out);
/* "pytorch-open-mpi": the systems whose commands name files by absolute paths, outside the folders
 * of an operating system. Such a definition does not run on another machine as it is. Nothing
 * where no system does. */
void prose_systems_put_local(const struct spec *spec, struct buf *out);
