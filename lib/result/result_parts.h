/* Steps of result_build.c and trial_result.c, in these and in the files that it names;
 * trial_figures.c takes some, too. No other file includes it. */
#pragma once

#include "result/result.h"

extern const char *const result_units[SUMMARY_UNIT_COUNT]; /* "samples/s", ...; trial_result.c */
/* A trial of which nothing is known yet. */
void result_begin_trial(struct trial_result *t);
/* The row decides it, if none does yet that goes before (docs/contracts/result.md). */
void trial_assign_row(struct trial_result *t, const struct attempt_row *row);
/* Everything that its row says. */
void trial_build(struct trial_result *t, const struct trial_terms *terms, enum run_phase run_phase);
/* What its row says without its replicas: the phase, and of one that did not succeed the error. */
void trial_take_outcome(struct trial_result *t, enum run_phase run_phase);
void trial_done(struct trial_result *t);
/* What follows for a point from its trials, of which each has what its own rows say. Takes the
 * machines, which are empty then. */
void result_conclude_point(struct result *r, uint32_t point, struct machines *machines_take);

/* In collect.c: what is kept of a point's replicas. */
void result_collect_point(struct result *r, uint32_t point);

/* In machines.c. Counts every replica of a point's succeeded trials in r->hardware, of which a run
 * has few kinds, unless it has no start record, and in r->nodes. Adds to `machines`. */
void hardware_collect(struct result *r, const struct point_result *p, struct machines *machines);
void hardware_done(struct hardware *h);
/* Adds what the start records and the summaries of its replicas say. */
void machines_add_trial(struct machines *m, const struct trial_result *t);

/* In lint.c: takes what it needs of a point's replicas; and, when every figure is there, appends to
 * r->warnings, in the order of enum warning_code. */
void result_lint_point(struct result *r, struct point_result *p);
void result_lint(struct result *r);
