/* Steps of result.c and trial_result.c, of which figures_unpack.c takes some, too; no other file
 * includes it. */
#pragma once

#include "result/result.h"

const char *result_unit_name(enum summary_unit unit); /* "samples/s", ...; static */
/* Gives each trial the row that decides it. */
void result_assign_rows(struct result *r, const struct attempt_row *rows, size_t n_rows);
/* A trial and a replica of which nothing is known yet. */
void result_begin_trial(struct trial_result *t);
void result_begin_replica(struct replica_result *r, const struct replica_row *row);
/* The row decides it, if none does yet that goes before (docs/contracts/result.md). */
void trial_assign_row(struct trial_result *t, const struct attempt_row *row);
/* Everything that its row says. */
void trial_build(struct trial_result *t, const struct point *point, const struct spec *spec,
                 enum run_phase run_phase);
/* Its row, too. */
void trial_forget_replicas(struct trial_result *t);
/* From its row, with its texts. */
void trial_recall_replicas(struct trial_result *t, const struct spec *spec);
void trial_done(struct trial_result *t);
/* What follows for a point from its trials, of which each has what its own rows say. */
void result_conclude_point(struct result *r, uint32_t point);
