/* See loaded_run.h. */
#include "load/loaded_run.h"

#include <errno.h>

#include "base/mem.h"
#include "result/result_build.h"
#include "result/trial_figures.h"

void run_result_done(struct run_result *r)
{
    result_free(r->result);
    free_each(r->rows, r->n_rows, attempt_row_done);
    *r = (struct run_result){0};
}

/* ---- the replicas of one point ---- */

/* The first row of that point or a later one. */
static size_t first_row(const struct run_result *run, uint32_t point)
{
    size_t from = 0;
    for (size_t to = run->n_rows; from < to;) {
        const size_t middle = from + (to - from) / 2;
        const bool is_before = run->rows[middle].id.point < point;
        from = is_before ? middle + 1 : from;
        to = is_before ? to : middle;
    }
    return from;
}

/* The replicas of one point's attempts, into rows that were read without. An attempt that has ended
 * since is left out, as if it had not. */
static int read_point(struct store *s, const char *uid, uint32_t point,
                      const struct run_result *run, struct err *err)
{
    struct attempt_row *full = NULL;
    size_t n = 0, at = first_row(run, point);
    const struct attempt_wanted wanted = {point, -1, -1};
    int r = s->ops->list_wanted(s, uid, &wanted, &full, &n, err);
    for (size_t i = 0; r >= 0 && i < n; i++) {
        while (at < run->n_rows && attempt_id_compare(&run->rows[at].id, &full[i].id) < 0) {
            at++;
        }
        if (at < run->n_rows && attempt_id_eq(&run->rows[at].id, &full[i].id)) {
            attempt_row_done(&run->rows[at]);
            run->rows[at] = full[i];
            full[i] = (struct attempt_row){0};
        }
        attempt_row_done(&full[i]);
    }
    free(full);
    return r;
}

static void close_point(const struct run_result *run, uint32_t point)
{
    result_forget_point(run->result, point);
    for (size_t i = first_row(run, point); i < run->n_rows && run->rows[i].id.point == point; i++) {
        attempt_row_drop_replicas(&run->rows[i]);
    }
}

struct source {
    struct result_source base;
    struct store *store;
    char *uid;
    struct run_result run; /* borrowed: it owns the source */
    uint32_t open;         /* the point that has its replicas in the rows, + 1; 0: none */
    bool is_recalled;      /* its result has them, too */
};

static void turn_to(struct result_source *base, uint32_t point, bool of_rows)
{
    struct source *s = (struct source *)base;
    if (s->open != point + 1 && s->open > 0) {
        close_point(&s->run, s->open - 1);
    }
    if (s->open != point + 1 && base->fault.code == 0) {
        (void)read_point(s->store, s->uid, point, &s->run, &base->fault); /* who reads on checks */
        s->is_recalled = false;
    }
    s->open = point + 1;
    if (!of_rows && !s->is_recalled) {
        result_recall_point(s->run.result, point);
        s->is_recalled = true;
    }
}

static void free_source(struct result_source *base)
{
    struct source *s = (struct source *)base;
    free(s->uid);
    free(s);
}

static struct result_source *new_source(struct store *store, const char *uid,
                                        const struct run_result *run)
{
    struct source *s = xnew(struct source);
    *s = (struct source){.base = {.turn_to = turn_to, .free = free_source},
                         .store = store,
                         .uid = xstrdup(uid),
                         .run = *run};
    return &s->base;
}

/* ---- from rows ---- */

static int load_rows(struct store *s, const struct run_row *row, const struct run_def *def,
                     struct run_result *run, struct err *err)
{
    int r = s->ops->list_outcomes(s, row->uid, &run->rows, &run->n_rows, err);
    run->result = result_begin(def, row->status.phase);
    for (uint32_t p = 0; p < def->matrix.n_points && r >= 0; p++) {
        if ((r = read_point(s, row->uid, p, run, err)) >= 0) {
            const size_t from = first_row(run, p);
            result_add_point(run->result, p, run->rows + from, first_row(run, p + 1) - from);
        }
        close_point(run, p);
    }
    return r;
}

/* ---- from figures ---- */

struct reading {
    struct figures_reader reader;
    struct run_result *run;
    enum figures_of of;
    size_t at;      /* both lists have the same order */
    uint32_t point; /* those before it are complete */
};

static bool end_points(struct reading *r, uint32_t point)
{
    bool is_good = true;
    for (; is_good && r->point < point; r->point++) {
        is_good = figures_end_point(&r->reader, r->point);
        if (is_good && r->of == FIGURES_OF_REPLICAS) {
            result_collect_point(r->run->result, r->point);
        }
        close_point(r->run, r->point);
    }
    return is_good;
}

/* Those of an attempt that has ended since are passed over. */
static int on_figures(void *ctx, const struct attempt_id *id, const struct trial_figures *figures)
{
    struct reading *r = ctx;
    size_t at = r->at;
    while (at < r->run->n_rows && !attempt_id_eq(&r->run->rows[at].id, id)) {
        at++;
    }
    if (at == r->run->n_rows) {
        return 0;
    }
    r->at = at + 1;
    const uint32_t n_points = r->run->result->def->matrix.n_points;
    if (!end_points(r, id->point < n_points ? id->point : n_points)) {
        return -ENOENT;
    }
    return figures_read(&r->reader, &r->run->rows[at], figures) ? 0 : -EBADMSG;
}

/* -ENOENT: an attempt has no figures; -EBADMSG: they are damaged. */
static int load_figures(struct store *s, const struct run_row *row, const struct run_def *def,
                        enum figures_of of, struct run_result *run, struct err *err)
{
    int r = s->ops->list_outcomes(s, row->uid, &run->rows, &run->n_rows, err);
    run->result = result_begin(def, row->status.phase);
    struct reading reading = {.reader.result = run->result, .run = run, .of = of};
    if (r >= 0) {
        result_assign_rows(run->result, run->rows, run->n_rows);
        r = s->ops->list_figures(s, row->uid, of == FIGURES_OF_REPLICAS, on_figures, &reading, err);
    }
    if (r >= 0) {
        r = end_points(&reading, def->matrix.n_points) ? 0 : -ENOENT;
    }
    figures_reader_done(&reading.reader);
    return r;
}

int run_result_load(struct store *s, const struct run_row *row, const struct run_def *def,
                    enum figures_of of, struct run_result *ret, struct err *err)
{
    struct run_result run = {0};
    int r = load_figures(s, row, def, of, &run, err);
    if (r == -ENOENT || r == -EBADMSG) { /* the rows are still there, or are damaged, too */
        run_result_done(&run);
        r = load_rows(s, row, def, &run, err);
    }
    if (r < 0) {
        run_result_done(&run);
        return r;
    }
    if (of == FIGURES_OF_REPLICAS) {
        result_end(run.result);
        run.result->source = new_source(s, row->uid, &run);
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

/* ---- a run with all that is known ---- */

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
