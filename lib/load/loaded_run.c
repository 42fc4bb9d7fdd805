/* See loaded_run.h. */
#include "load/loaded_run.h"

#include <errno.h>

#include "base/mem.h"
#include "result/catalogue.h"
#include "result/result_build.h"
#include "result/trial_figures.h"

void run_result_done(struct run_result *r)
{
    result_free(r->result);
    free_each(r->rows, r->n_rows, attempt_row_done);
    *r = (struct run_result){0};
}

static int add_rows(struct store *s, const char *uid, struct run_result *run, struct err *err)
{
    struct run_walk walk = {.store = s, .uid = uid, .rows = run->rows, .n_rows = run->n_rows};
    int r = 0;
    for (uint32_t p = 0; p < run->result->def->matrix.n_points && r >= 0; p++) {
        if ((r = run_walk_to(&walk, p, err)) >= 0) {
            result_add_point(run->result, p, walk.list, walk.n);
        }
    }
    run_walk_done(&walk);
    return r;
}

/* By figures: -ENOENT: an attempt has none; -EBADMSG: they are damaged. */
static int load(struct store *s, const struct run_row *row, const struct run_def *def,
                bool by_figures, struct run_result *run, struct err *err)
{
    const int r = s->ops->list_outcomes(s, row->uid, &run->rows, &run->n_rows, err);
    run->result = result_begin(def, row->status.phase);
    result_assign_rows(run->result, run->rows, run->n_rows);
    struct figures_reader reader = {.result = run->result};
    return r < 0 ? r
           : by_figures
               ? figures_end(&reader, s->ops->list_figures(s, row->uid, figures_read, &reader, err))
               : add_rows(s, row->uid, run, err);
}

int run_result_load(struct store *s, const struct run_row *row, const struct run_def *def,
                    enum figures_of of, struct run_result *ret, struct err *err)
{
    struct run_result run = {0};
    const bool by_figures = of == FIGURES_OF_POINTS && !figures_judge_replicas(def->spec);
    int r = load(s, row, def, by_figures, &run, err);
    if (by_figures && (r == -ENOENT || r == -EBADMSG)) { /* the rows have them, too */
        run_result_done(&run);
        r = load(s, row, def, false, &run, err);
    }
    if (r < 0) {
        run_result_done(&run);
        return r;
    }
    if (of == FIGURES_OF_REPLICAS) {
        result_end(run.result);
    } else {
        result_end_points(run.result);
        result_forget_replicas(run.result);
        free_each(run.rows, run.n_rows, attempt_row_done);
        run.rows = NULL;
        run.n_rows = 0;
    }
    *ret = run;
    return 0;
}

int run_file_read(struct store *file, size_t *ret_n_lost, struct err *err)
{
    _cleanup_(run_row_done) struct run_row row = {0};
    struct run_result figures = {0};
    struct run_def *def = NULL;
    int r = run_file_run(file, &row, err);
    r = r < 0 ? r : store_load_run_def(&row, &def, err);
    r = r < 0 ? r : run_file_check(file, &row, def, ret_n_lost, err);
    r = r < 0 ? r : load(file, &row, def, true, &figures, err);
    if (r == -EBADMSG && err->code == 0) {
        r = err_set(err, EBADMSG, "the figures of an attempt are damaged");
    } else if (r == -ENOENT) {
        r = err_set(err, EBADMSG, "an attempt has no figures");
    }
    run_result_done(&figures);
    run_def_free(def); /* NULL is fine */
    return r;
}

/* ---- a run with all that is known ---- */

void loaded_run_done(struct loaded_run *run)
{
    result_free(run->result);
    free_each(run->rows, run->n_rows, attempt_row_done);
    free_each(run->events, run->n_events, event_row_done);
    run_def_free(run->def);
    run_row_done(&run->row);
    json_decref(run->object);
    store_close(run->file);
    *run = (struct loaded_run){0};
}

struct run_walk loaded_run_walk(const struct loaded_run *run)
{
    return (struct run_walk){
        .store = run->store, .uid = run->row.uid, .rows = run->rows, .n_rows = run->n_rows};
}

int loaded_run_put_json(const struct loaded_run *run, struct buf *out, struct err *err)
{
    struct run_walk walk = loaded_run_walk(run);
    const int r = run_walk_put_json(&walk, run->result, out, err);
    run_walk_done(&walk);
    return r;
}

int loaded_run_read(struct store *s, struct run_row *row_take, struct loaded_run *ret,
                    struct err *err)
{
    struct loaded_run run = {.row = *row_take, .store = s};
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
