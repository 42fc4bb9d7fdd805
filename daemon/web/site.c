/* Joins the runs that the daemon shows with the runs of its store; see site.h. */
#include "daemon/web/site.h"

#include "base/str.h"
#include "load/loaded_run.h"
#include "result/result_build.h"

/* What the daemon knows of a run is newer than what it wrote into the store. */
static void take_live(struct site_item *item, const struct daemon_run *live)
{
    item->row.status = live->status;
    item->is_interrupted = false;
    if (live->frozen.is_known) {
        item->row.rehearsal = live->frozen.is_rehearsal;
    }
}

static struct site_item stored_item(const struct site *site, const struct run_row *row_take)
{
    struct site_item item = {
        .row = *row_take,
        .is_stored = true,
        .is_interrupted = !run_phase_is_final(row_take->status.phase),
    };
    const struct daemon_run *live = daemon_runs_find(site->now.runs, item.row.uid);
    if (live != NULL && live->is_stored) {
        take_live(&item, live);
    } else if (live != NULL) { /* a start: benchd has yet to read the row */
        item.is_interrupted = false;
    }
    return item;
}

static struct site_item live_item(const struct daemon_run *live)
{
    struct site_item item = {
        .row = {.uid = xstrdup(live->uid),
                .name = xstrdup(live->name),
                .benchmark = xstrdup(live->benchmark),
                .created_unix_ms = live->created_unix_ms,
                .cpus = live->frozen.cpus},
    };
    take_live(&item, live);
    return item;
}

int site_list_runs(const struct site *site, struct site_list *ret, struct err *err)
{
    struct store *s = site->store;
    _cleanup_(freep) struct run_row *rows = NULL; /* its items are taken */
    size_t n = 0;
    int r = s->ops->list_runs(s, &rows, &n, err);
    if (r < 0) {
        return r;
    }
    *ret = (struct site_list){0};
    for (size_t i = site->now.runs->list.len; i-- > 0;) {
        const struct daemon_run *live = site->now.runs->list.items[i];
        if (!live->is_stored && !array_any(rows, n, row, str_eq(row->uid, live->uid))) {
            *vec_push(&ret->items) = live_item(live);
        }
    }
    for (size_t i = 0; i < n; i++) {
        *vec_push(&ret->items) = stored_item(site, &rows[i]);
    }
    return 0;
}

void site_list_done(struct site_list *list)
{
    vec_each (struct site_item, item, &list->items) {
        run_row_done(&item->row);
    }
    vec_done(&list->items);
}

static int load_result(const struct site *site, struct site_run *run, struct err *err)
{
    struct run_result loaded;
    const int r =
        run_result_load(site->store, &run->item.row, run->def, FIGURES_OF_REPLICAS, &loaded, err);
    if (r >= 0) {
        run->result = loaded.result;
        run->rows = loaded.rows;
        run->n_rows = loaded.n_rows;
        run->item.row.simulated = run->item.row.simulated || run->result->simulated;
    }
    return r;
}

/* Loads the definition of a run that exists and, if asked for, its result. */
static int load_parts(const struct site *site, enum site_depth depth, struct site_run *run,
                      struct err *err)
{
    int r = 0;
    if (run->item.row.definition_json != NULL) {
        r = store_load_run_def(&run->item.row, &run->def, err);
    }
    if (r < 0 || depth == SITE_DEFINITION || run->def == NULL) {
        return r;
    }
    return load_result(site, run, err);
}

int site_run_load(const struct site *site, const char *name, enum site_depth depth,
                  struct site_run *ret, struct err *err)
{
    struct store *s = site->store;
    struct run_row row = {0};
    struct site_run run = {.live = daemon_runs_find(site->now.runs, name)};
    int r = s->ops->get_run(s, run.live != NULL ? run.live->uid : name, &row, err);
    if (r >= 0) {
        run.item = stored_item(site, &row);
    } else if (r == -ENOENT && run.live != NULL) {
        run.item = live_item(run.live);
        r = 0;
    } else if (r == -ENOENT) {
        return err_set(err, ENOENT, "there is no run '%.*s'", SITE_MAX_NAME, name);
    }
    if (r >= 0 && depth != SITE_ITEM) {
        r = load_parts(site, depth, &run, err);
    }
    if (r < 0) {
        site_run_done(&run);
        return r;
    }
    *ret = run;
    return 0;
}

bool site_run_open(const struct site *site, const char *name, enum site_depth depth,
                   struct site_run *ret, struct web_response *res)
{
    struct err err = {0};
    const int r = site_run_load(site, name, depth, ret, &err);
    if (r < 0) {
        site_fail(res, r, &err);
    }
    return r >= 0;
}

struct run_walk site_run_walk(const struct site *site, const struct site_run *run)
{
    return (struct run_walk){
        .store = site->store, .uid = run->item.row.uid, .rows = run->rows, .n_rows = run->n_rows};
}

void site_run_done(struct site_run *run)
{
    result_free(run->result);
    free_each(run->rows, run->n_rows, attempt_row_done);
    run_def_free(run->def);
    run_row_done(&run->item.row);
    *run = (struct site_run){0};
}

void site_fail(struct web_response *res, int r, const struct err *err)
{
    if (r == -ECANCELED) {
        web_fail_busy(res, err->msg);
    } else {
        web_fail(res, r == -ENOENT ? 404 : 500, "%s", err->msg);
    }
}
