/* See loaded_run.h. */
#include "load/loaded_run.h"

#include "base/mem.h"
#include "load/run_result.h"
#include "result/result_build.h"

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

const struct attempt_row *loaded_run_row(const struct loaded_run *run, size_t i)
{
    result_open_row(run->result, &run->rows[i]);
    return &run->rows[i];
}

int loaded_run_check_read(const struct loaded_run *run, struct err *err)
{
    const struct result_source *source = run->result == NULL ? NULL : run->result->source;
    if (source == NULL || source->fault.code == 0) {
        return 0;
    }
    return err_set(err, source->fault.code, "run '%s': %s", run->row.name, source->fault.msg);
}

struct loaded_run loaded_run_of_document(const struct run_document *d_take)
{
    return (struct loaded_run){
        .row = d_take->row,
        .rows = d_take->attempts.items,
        .n_rows = d_take->attempts.len,
        .events = d_take->events,
        .n_events = d_take->n_events,
    };
}

int loaded_run_read(struct store *s, struct run_row *row_take, struct loaded_run *ret,
                    struct err *err)
{
    struct loaded_run run = {.row = *row_take};
    *row_take = (struct run_row){0};
    struct run_result figures = {0};
    int r = store_load_run_def(&run.row, &run.def, err);
    r = r < 0 ? r : run_result_load(s, &run.row, run.def, FIGURES_OF_REPLICAS, &figures, err);
    run.result = figures.result;
    run.rows = figures.rows;
    run.n_rows = figures.n_rows;
    r = r < 0 ? r : s->ops->list_events(s, run.row.uid, &run.events, &run.n_events, err);
    if (r < 0) {
        loaded_run_done(&run);
        return r;
    }
    *ret = run;
    return 0;
}
