/* reconcile(observed) -> plan: the one place that decides what a run does next. Pure: no I/O, no
 * clock, no random numbers, no log; the same input gives the same bytes. It knows replicas, not
 * pods.
 *
 * It decides from three things: the frozen run, the live replicas, and the attempt rows that the
 * store has acknowledged. It remembers nothing between calls, so a crash at any point is harmless.
 *
 * Life of a trial (reconcile.c has the functions that make each step):
 *   (no row, no replica) -- CREATE_REPLICA all members of attempt a --> gang alive
 *   gang alive -- every trainer succeeded, pservers ended or stayed 10 s --> SAVE_RESULT Succeeded
 *   gang alive -- a member failed, or is missing after it was seen --> SAVE_RESULT Void | Failed
 *   row saved -- DELETE_REPLICA every live member --> next attempt (Void), next trial, or the end
 * One trial runs at a time. A finished run creates nothing. An ended replica is deleted only after
 * the row of its attempt is stored; the exception is an attempt that a cancellation, a suspension
 * or the deadline interrupts, or that finds no room: it never ended and gets no row. Of a
 * suspension and of one without room the status says so before anything is deleted.
 *
 * One plan goes as far as can be decided: it saves an ended attempt, deletes its gang and creates
 * the next one. Where points stop early (spec/stop_rule.h), a plan that saves a throughput ends
 * there: what runs next depends on it, and the row that the store has is the only word on it. The
 * driver must keep two promises:
 *   - It applies the actions in order and stops at the first that is not done yet (above all a row
 *     that the store has not acknowledged). The next call plans the rest again.
 *   - A replica is observed, once, from the return of its creation until it was deleted. A member
 *     that is missing although the status names its attempt is lost. */
#pragma once

#include "decide/observed.h"
#include "decide/plan.h"

/* Fills an empty plan. Never fails: if something cannot be decided yet, the plan ends with a
 * REQUEUE_AFTER. */
void reconcile(const struct observed *observed, struct plan *plan);
