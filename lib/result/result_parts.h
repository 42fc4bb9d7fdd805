/* Steps of result_build.c and trial_result.c, of which trial_figures.c takes some, too; no other
 * file includes it. */
#pragma once

#include "result/result.h"

const char *result_unit_name(enum summary_unit unit); /* "samples/s", ...; static */
/* A trial and a replica of which nothing is known yet. */
void result_begin_trial(struct trial_result *t);
void result_begin_replica(struct replica_result *r, const struct replica_row *row);
/* The row decides it, if none does yet that goes before (docs/contracts/result.md). */
void trial_assign_row(struct trial_result *t, const struct attempt_row *row);
/* Everything that its row says; with the environments, if it succeeded. */
void trial_build(struct trial_result *t, const struct trial_terms *terms, enum run_phase run_phase);
void trial_forget_environments(struct trial_result *t);
/* What its row says without its replicas: the phase, and of one that did not succeed the error. */
void trial_take_outcome(struct trial_result *t, enum run_phase run_phase);
/* Its row, too. */
void trial_forget_replicas(struct trial_result *t);
/* From its row, with its texts. */
void trial_recall_replicas(struct trial_result *t);
void trial_done(struct trial_result *t);
/* What follows for a point from its trials, of which each has what its own rows say. */
void result_conclude_point(struct result *r, uint32_t point);
