/* What the systems of a run are, for readers who do not know its definition. Pure. */
#pragma once

#include "report/prose_verdict.h"
#include "report/layout.h"

/* A line a system, its name the label: "PyTorch on the CPU, ...; command: mpirun python train.py;
 * gradients by all-reduce; 1 thread a worker; PyTorch 2.15.0". What a system before it runs, too,
 * is "the same program as NAME". prose_verdict_done frees them. */
void prose_systems_init(struct prose_verdict *lines, const struct layout *l);

/* "tensorflow-ps, tensorflow-mwms": the systems whose replicas ran on this entry of
 * the result's hardware. */
void prose_systems_put_users(const struct layout *l, size_t hardware, struct buf *out);
/* How many replicas of succeeded trials said nothing of where they ran, and their system,
 * "pytorch-open-mpi". */
size_t prose_systems_put_silent(const struct layout *l, struct buf *out);

/* "pytorch-open-mpi": the systems whose commands name files by absolute paths, outside the folders
 * of an operating system. Such a definition does not run on another machine as it is. Nothing
 * where no system does. */
void prose_systems_put_local(const struct spec *spec, struct buf *out);
