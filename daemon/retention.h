/* How long finished runs are kept: benchd --keep, --keep-runs and --keep-bytes. Which run goes next
 * is decided by lib/decide/policy_retention.h; this erases its rows, one run a call. Its object, if
 * it is still there, stays: the life of an object is not the life of its results. */
#pragma once

#include "daemon/run/run_queue.h"
#include "decide/policy_retention.h"

struct retention {
    struct retention_policy policy;
    int64_t used_bytes; /* of the store, as seen last */
};

/* 1: one run was erased, there may be more; 0: none is to be erased now. Runs that the queue holds
 * (for 15 minutes after their end) or another process drives are left alone. */
int retention_erase_next(struct retention *k, const struct run_env *env, const struct run_queue *q,
                         int64_t now_unix_ms, struct err *err);

/* Notices that the disk of the store is full, and that it is not any more. While it is
 * full, benchd is read-only: nothing is accepted or started, drivers wait, results can be
 * read and runs deleted. */

/* For deletions on a full disk. */
#define SPACE_RESERVE_BYTES (INT64_C(16) << 20)

struct space {
    bool is_full;
    int64_t try_ns; /* full: not tried before that */
};

enum space_news { SPACE_NO_NEWS, SPACE_IS_FULL, SPACE_IS_BACK };
/* At each look. What changed is logged. */
enum space_news space_look(struct space *space, struct store *store, int64_t now_ns);
