/* See history.h. */
#include "ctl/runs/history.h"

#include "base/mem.h"
#include "base/str.h"

#define HISTORY_MAX_RUNS 20 /* read at most; more say little more, and a cluster sends each */

void history_done(struct history *h)
{
    vec_done_each(&h->runs, loaded_run_done);
    vec_done(&h->results);
}

static bool is_usable(const struct run_row *row, const char *benchmark)
{
    return row->status.phase == RUN_SUCCEEDED && !row->simulated &&
           str_eq(row->benchmark, benchmark);
}

static enum exit_code add_run(struct backend *b, const char *name, struct history *h)
{
    struct loaded_run run = {0};
    const enum exit_code code = b->ops->load_figures(b, name, NULL, &run);
    if (code == EXIT_OK) {
        *vec_push(&h->runs) = run;
    }
    return code;
}

static void collect_results(struct history *h)
{
    vec_each (const struct loaded_run, run, &h->runs) {
        if (run->result != NULL) {
            *vec_push(&h->results) = run->result;
        }
    }
}

/* The newest are listed first. */
enum exit_code history_load(struct backend *b, const struct loaded_run two[static 2],
                            struct history *h)
{
    _cleanup_(listing_done) struct listing list = {0};
    enum exit_code code = b->ops->list(b, &(struct list_wanted){0}, &list);
    for (size_t i = 0; i < list.items.len && h->runs.len < HISTORY_MAX_RUNS && code == EXIT_OK;
         i++) {
        const struct run_row *row = &list.items.items[i].row;
        if (is_usable(row, two[0].row.benchmark) && !str_eq(row->uid, two[0].row.uid) &&
            !str_eq(row->uid, two[1].row.uid)) {
            code = add_run(b, row->name, h);
        }
    }
    collect_results(h);
    return code;
}

enum exit_code history_compare(struct backend *b, const struct loaded_run two[static 2],
                               struct compare_params params, struct comparison **ret)
{
    _cleanup_(history_done) struct history h = {0};
    const enum exit_code code = history_load(b, two, &h);
    if (code != EXIT_OK) {
        return code;
    }
    const char *fix = NULL;
    struct err err = {0};
    params.history = h.results.items;
    params.n_history = h.results.len;
    return comparison_new(two[0].result, two[1].result, &params, ret, &fix, &err) < 0
               ? cli_error(EXIT_USAGE, fix, "%s", err.msg)
               : EXIT_OK;
}

enum exit_code history_list_before(struct backend *b, const char *benchmark, int64_t before_unix_ms,
                                   size_t max, struct texts *ret)
{
    _cleanup_(listing_done) struct listing list = {0};
    const enum exit_code code = b->ops->list(b, &(struct list_wanted){0}, &list);
    for (size_t i = 0; i < list.items.len && ret->list.len < max; i++) {
        const struct run_row *row = &list.items.items[i].row;
        if (is_usable(row, benchmark) && row->created_unix_ms < before_unix_ms) {
            *vec_push(&ret->list) = xstrdup(row->name);
        }
    }
    return code;
}

enum exit_code history_load_before(struct backend *b, const char *benchmark, int64_t before_unix_ms,
                                   size_t max, struct history *h)
{
    _cleanup_(texts_done) struct texts names = {0};
    enum exit_code code = history_list_before(b, benchmark, before_unix_ms, max, &names);
    for (size_t i = names.list.len; i > 0 && code == EXIT_OK; i--) {
        code = add_run(b, names.list.items[i - 1], h);
    }
    collect_results(h);
    return code;
}
