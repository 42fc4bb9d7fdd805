/* Builds a result (result.h) of a run's definition and its stored attempts, or of their figures
 * (trial_figures.h). Pure. */
#pragma once

#include "result/result.h"

/* `rows` (borrowed for the result's life) in any order, every attempt of the run that has ended.
 * Rows of points or trials that the definition does not have are passed over. */
struct result *result_build(const struct run_def *def, enum run_phase phase,
                            const struct attempt_row *rows, size_t n_rows);
/* The same in parts, for callers that do not have all rows with their replicas at a time:
 * result_assign_rows, for each point its rows with their replicas, then the end. A result has no
 * replicas afterwards, and looks at none. */
struct result *result_begin(const struct run_def *def, enum run_phase phase);
/* Gives each trial the row that decides it; borrowed for the result's life. */
void result_assign_rows(struct result *r, const struct attempt_row *rows, size_t n_rows);
/* Rows that the result does not have are passed over. */
void result_add_point(struct result *r, uint32_t point, const struct attempt_row *rows,
                      size_t n_rows);
void result_end(struct result *r);
/* The end for callers that look at points alone, as comparisons and histories do: no nodes,
 * curves and warnings. */
void result_end_points(struct result *r);
/* A copy of the point that has the replicas of its trials, by these rows, or by its own where these
 * have none of an attempt. It borrows them and the result. */
struct point_result point_open(const struct point_result *p, const struct attempt_row *rows,
                               size_t n_rows);
void point_close(struct point_result *p);
/* Drops what is known of single replicas, and what follows from them: the rows are not borrowed any
 * more, and result_end must not be called. For callers that compare many runs. */
void result_forget_replicas(struct result *r);
/* Drops the trials, too: the figures of points are left, which tables of comparisons show. */
void result_forget_trials(struct result *r);
void result_free(struct result *r); /* NULL is fine */
