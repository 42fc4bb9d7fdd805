/* Lists of runs as `benchctl get runs` prints them. Pure but for memory. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "ctl/runs/backend.h"
#include "ctl/runs/list_order.h"

extern const struct list_order runs_order; /* of struct listed_run */

struct runs_format {
    bool with_ns;     /* the namespace of each */
    unsigned columns; /* of the terminal; 0: any number */
    int64_t now_unix_ms;
};
/* In the format of -o; nothing for an empty list as a table. */
void runs_format(const struct cli *cli, const struct run_list *list, const struct runs_format *how,
                 struct buf *out);

/* What has changed where the text of a run has: phase, counts, cause. Owned. */
char *runs_state_text(const struct listed_run *l);
