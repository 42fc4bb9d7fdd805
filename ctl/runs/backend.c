/* See backend.h. */
#include "ctl/runs/backend.h"

#include <stdlib.h>

void backend_free(struct backend *b)
{
    if (b != NULL) {
        free(b->where);
        free(b->place);
        b->where = b->place = NULL;
        b->ops->free(b);
    }
}
