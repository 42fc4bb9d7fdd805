/* Runs of a store as archives, and archives as runs of a store. The caller's thread must have the
 * store for itself. */
#pragma once

#include "load/loaded_run.h"
#include "store/archive.h"

/* The file of a run that has ended, as `benchctl export` writes it. `near` as for archive_new.
 * -ENOENT: it is not there any more; -E2BIG. */
int archive_store_pack(struct store *s, const char *uid, const char *near, struct buf *out,
                       struct err *err);
/* The run of an archive that was checked, whole or not at all, by the name in its row. -EEXIST. */
int archive_store_put(struct store *s, const struct archive *a, const struct loaded_run *run,
                      struct err *err);
