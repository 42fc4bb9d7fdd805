/* The end of a run's object. */
#pragma once

#include "base/err.h"
#include "daemon/run/run.h"

/* Removes the object of a final run whose time to live is over; not before all objects are known,
 * because a list that still has it would bring it back in the store; and never one that asks to
 * erase the results, which the person who deletes it decides. */
void run_expire(struct run *run);
/* The object is gone: what the store has of the run becomes a tombstone, or is erased if who
 * deleted the object asked for that; it stays if only the time to live was over. Its pods go with
 * the object. 0: the caller frees the run; an error: it stays, and is not driven. */
int run_drop_deleted(struct run *run, struct err *err);
/* Erases the results of one run whose object was deleted longer ago than the time to restore them.
 * A tombstone of before RETENTION_FIRST_DATE_MS has no date: it gets `now`. 1: there may be more;
 * 0: nothing was erased. */
int run_purge(const struct run_env *env, int64_t now_unix_ms, struct err *err);
