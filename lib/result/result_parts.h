/* Steps of result.c that figures_unpack.c takes, too; no other file includes it. */
#pragma once

#include "result/result.h"

const char *result_unit_name(enum summary_unit unit); /* "samples/s", ...; static */
/* Gives each trial the row that decides it. */
void result_assign_rows(struct result *r, const struct attempt_row *rows, size_t n_rows);
/* A trial and a replica of which nothing is known yet. */
void result_begin_trial(struct trial_result *t);
void result_begin_replica(struct replica_result *r, const struct replica_row *row);
/* Its throughput, from its summary. */
void result_rate_replica(struct replica_result *r);
/* What follows for a point from its trials, of which each has what its own rows say. */
void result_conclude_point(struct result *r, uint32_t point);
