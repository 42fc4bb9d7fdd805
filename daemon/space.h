/* Notices that the disk of the store is full, and that it is not any more. While it is
 * full, benchd is read-only: nothing is accepted or started, drivers wait, results can be
 * read and runs deleted. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "store/store.h"

/* For deletions on a full disk. */
#define SPACE_RESERVE_BYTES (INT64_C(16) << 20)

struct space {
    bool is_full;
    int64_t try_ns; /* full: not tried before that */
};

enum space_news { SPACE_NO_NEWS, SPACE_IS_FULL, SPACE_IS_BACK };
/* At each look. What changed is logged. */
enum space_news space_look(struct space *space, struct store *store, int64_t now_ns);
