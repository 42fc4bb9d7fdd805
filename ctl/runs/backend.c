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

void run_list_done(struct run_list *list)
{
    vec_each (struct listed_run, l, &list->items) {
        run_row_done(&l->row);
        free(l->ns);
    }
    vec_done(&list->items);
}

void benchmark_list_done(struct benchmark_list *list)
{
    vec_each (struct listed_benchmark, l, &list->items) {
        json_decref(l->object);
        free(l->ns);
    }
    vec_done(&list->items);
}
