/* Other runs of a benchmark, for how far runs of the same thing differ. */
#pragma once

#include "ctl/backend.h"

struct history {
    VEC(struct loaded_run) runs;        /* owned */
    VEC(const struct result *) results; /* of these; borrowed */
};
/* The newest runs of the base's benchmark that may tell, without these two; comparison_new chooses
 * those that are of the base's kind. EXIT_OK, or prints the error. */
enum exit_code history_load(struct backend *b, const struct loaded_run two[static 2],
                            struct history *h);
void history_done(struct history *h);
