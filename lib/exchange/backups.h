/* Sync with backup trainers (Chen et al. 2016): which gradients are in the next update of a slice,
 * and which come too late. Each slice of the parameters has a version, the number of its updates.
 * An update has the gradients of n_trainers - n_backups trainers, the first that come; all were
 * computed with the version that it replaces. Each slice decides for itself. Pure.
 *
 * A slice, for one trainer:
 *
 *              sent                arrived with the          the update
 *      DUE -------------> THEIRS -- newest version --> IN_SUM ----------> DUE
 *       ^                    |                           |
 *       '--------------------+---------------------------'
 *          with an older one: dropped     too few still send: dropped
 *
 * A trainer may get the parameters of two slices before and after an update, so it says one
 * version for all of its gradients: the least of those that it computed with, over all servers.
 * This is why the others go on while at most n_backups trainers are stuck or have left: let m be
 * the least version of all slices. What was computed with an older one is dropped everywhere, so a
 * trainer that waits has m, and is in the sum of a slice that has version m; that sum is complete
 * when all trainers that continue wait.
 *
 * If more than n_backups trainers have left or wait at the barrier, no sum can be completed: what
 * is in one is dropped, and so is all that still comes, until all go on again. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum backups_state { BACKUPS_THEIRS, BACKUPS_IN_SUM, BACKUPS_DUE };

struct backups {
    uint32_t n_trainers, n_wanted; /* gradients in an update */
    uint32_t n_away;               /* trainers that have left or wait at the barrier */
    size_t n_slices;
    uint8_t *states;     /* (n_trainers, n_slices) owned; enum backups_state */
    uint32_t *n_in_sum;  /* (n_slices) owned */
    uint32_t *versions;  /* (n_slices) owned */
    uint64_t *n_answers; /* (n_trainers) owned: how often the trainer's slices became DUE */
    uint64_t *n_dropped; /* (n_trainers) owned: slices, since backups_all_go_on */
    uint64_t n_arrived;  /* slices of all trainers, since then */
};

/* n_backups < n_trainers. All trainers have version 0. */
void backups_init(struct backups *b, uint32_t n_trainers, uint32_t n_backups, size_t n_slices);
void backups_done(struct backups *b);

/* A trainer's gradient of a slice has arrived; it was computed with `version`, at most the
 * slice's. True: it belongs into the sum, as the first one if n_in_sum is 1 now;
 * false: it is dropped. */
bool backups_arrived(struct backups *b, uint32_t trainer, size_t slice, uint32_t version);
bool backups_is_complete(const struct backups *b, size_t slice);
/* The complete sum was applied. Returns the slice's new version. */
uint32_t backups_updated(struct backups *b, size_t slice);
/* Of the slices that are DUE to the trainer the last one, which is the first in the arena: it is
 * sent. There must be one. */
size_t backups_send(struct backups *b, uint32_t trainer);

/* One more trainer has left or waits at the barrier; none of its gradients is in a sum. */
void backups_one_stays(struct backups *b);
/* The barrier's release: all go on, and the counts begin anew. */
void backups_all_go_on(struct backups *b);
