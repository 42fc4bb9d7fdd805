/* Builds a result (result.h) of a run's definition and its stored attempts, or of their figures
 * (trial_figures.h). Pure. */
#pragma once

#include "result/result.h"

/* `rows` (borrowed for the result's life) in any order, every attempt of the run that has ended.
 * Rows of points or trials that the definition does not have are passed over. */
struct result *result_build(const struct run_def *def, enum run_phase phase,
                            const struct attempt_row *rows, size_t n_rows);
/* The same in parts, for callers that do not have all rows with their replicas at a time: for
 * each point once the rows that it has, then the end. After result_add_point nothing here looks
 * at these rows' replicas again; who else does, calls point_open first. */
struct result *result_begin(const struct run_def *def, enum run_phase phase);
/* Gives each trial the row that decides it (result_add_point does it for its rows). */
void result_assign_rows(struct result *r, const struct attempt_row *rows, size_t n_rows);
void result_add_point(struct result *r, uint32_t point, const struct attempt_row *rows,
                      size_t n_rows);
/* What is kept of a point's replicas: result_add_point does it; of figures, after their
 * figures_end_point. */
void result_collect_point(struct result *r, uint32_t point);
void result_end(struct result *r);
/* The end for callers that look at points alone, as comparisons and histories do: no nodes,
 * curves and warnings. */
void result_end_points(struct result *r);
/* Drops the replicas of a point, those in its rows not; and makes them again, when its rows have
 * them with their texts. */
void result_forget_point(struct result *r, uint32_t point);
void result_recall_point(struct result *r, uint32_t point);
/* Drops what is known of single replicas, and what follows from them: the rows are not borrowed any
 * more, and result_end must not be called. For callers that compare many runs. */
void result_forget_replicas(struct result *r);
/* Drops the trials, too: what is left are the figures of points, which tables of comparisons
 * show. */
void result_forget_trials(struct result *r);
void result_free(struct result *r); /* NULL is fine */
