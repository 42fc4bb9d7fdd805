/* See loaded_run.h. */
#include "load/loaded_run.h"

#include "base/mem.h"
#include "result/result_build.h"
#include "store/run_document.h"

void loaded_run_done(struct loaded_run *run)
{
    if (run->result != NULL) {
        result_free(run->result);
    }
    free_each(run->rows, run->n_rows, attempt_row_done);
    free_each(run->events, run->n_events, event_row_done);
    run_def_free(run->def);
    run_row_done(&run->row);
    json_decref(run->object);
    *run = (struct loaded_run){0};
}

int loaded_run_from_document(const json_t *document, struct loaded_run *ret, struct err *err)
{
    struct run_document d = {0};
    const int r = run_document_from_json(document, &d, err);
    *ret = (struct loaded_run){
        .row = d.row,
        .rows = d.attempts,
        .n_rows = d.n_attempts,
        .events = d.events,
        .n_events = d.n_events,
    };
    return r;
}

int loaded_run_read(struct store *s, struct run_row *row_take, struct loaded_run *ret,
                    struct err *err)
{
    struct loaded_run run = {.row = *row_take};
    *row_take = (struct run_row){0};
    int r = store_load_run_def(&run.row, &run.def, err);
    r = r < 0 ? r : s->ops->list_attempts(s, run.row.uid, &run.rows, &run.n_rows, err);
    r = r < 0 ? r : s->ops->list_events(s, run.row.uid, &run.events, &run.n_events, err);
    if (r < 0) {
        loaded_run_done(&run);
        return r;
    }
    run.result = result_build(run.def, run.row.status.phase, run.rows, run.n_rows);
    *ret = run;
    return 0;
}
