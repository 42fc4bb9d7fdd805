/* A run as the members of an archive (docs/contracts/archive.md). records.json is everything that
 * is stored of the run but its logs; the definition, the environments and the tables follow from
 * it, so that a reader can make them again and compare. Pure. */
#pragma once

#include "load/loaded_run.h"
#include "store/archive.h"

struct replica_ids {
    VEC(struct replica_id) list;
};
/* Without logs. `run` has a result; `near` as for archive_new. Adds the replicas with a log, in the
 * order of archive_run_next_log, to `with_log`, which vec_done frees. */
int archive_run_new(const struct loaded_run *run, const char *near, struct archive *ret,
                    struct replica_ids *with_log, struct err *err);
/* In that order; an empty log is no member. */
int archive_run_add_log(struct archive *a, const struct replica_id *id, const struct buf *log,
                        struct err *err);

/* The run that the records describe, with its result. -EPROTO names the
 * member and what is wrong. */
int archive_run_load(const struct archive *a, struct loaded_run *ret, struct err *err);
/* Whether the archive has the members of that run and no others, and whether what follows from the
 * records is what it holds. -EPROTO names the first member that differs. Figures may differ in the
 * last digits, since machines compute logarithms differently. */
int archive_run_check(const struct archive *a, const struct loaded_run *run, struct err *err);
/* The replica's log; NULL: it has none. `*at` begins as 0, replicas come in the order
 * of the rows. Borrowed. */
const struct buf *archive_run_next_log(const struct archive *a, const struct replica_id *id,
                                       size_t *at);

/* Runs of a store as archives, and archives as runs of a store. The caller's thread must have the
 * store for itself. */

/* The file of a run that has ended, as `benchctl export` writes it. `near` as for archive_new.
 * -ENOENT: it is not there any more; -E2BIG. */
int archive_store_pack(struct store *s, const char *uid, const char *near, struct buf *out,
                       struct err *err);
/* The run of an archive that was checked, whole or not at all, by the name in its row. -EEXIST. */
int archive_store_put(struct store *s, const struct archive *a, const struct loaded_run *run,
                      struct err *err);
