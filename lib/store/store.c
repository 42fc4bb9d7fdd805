/* What all stores have in common, see store.h; sqlite.c opens one by its URL. */
#include "store/store.h"

#include "base/mem.h"

void store_close(struct store *s)
{
    if (s != NULL) {
        s->ops->close(s);
    }
}

void run_row_done(struct run_row *row)
{
    free(row->uid);
    free(row->name);
    free(row->benchmark);
    free(row->definition_json);
    free(row->object_ns);
    *row = (struct run_row){0};
}

void event_row_done(struct event_row *row)
{
    free(row->reason);
    free(row->note);
    *row = (struct event_row){0};
}

void finished_runs_done(struct finished_runs *runs)
{
    vec_each (struct finished_run, run, &runs->oldest) {
        free(run->uid);
        free(run->name);
    }
    vec_done(&runs->oldest);
    *runs = (struct finished_runs){0};
}
