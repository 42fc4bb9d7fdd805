/* See run.h. */
#include "daemon/run/run.h"

#include <uv.h>

#include "base/mem.h"
#include "load/loaded_run.h"
#include "result/threshold.h"

static bool has_mute_trial(const struct result *result)
{
    for (uint32_t p = 0; p < result->def->matrix.n_points; p++) {
        for (size_t t = 0; t < result->points[p].n_trials; t++) {
            if (result->points[p].trials[t].phase == TRIAL_METRICS_UNAVAILABLE) {
                return true;
            }
        }
    }
    return false;
}

static int summarize_rows(struct store *store, const struct run_row *row, const struct run_def *def,
                          struct run_verdict *ret, struct err *err)
{
    struct run_result run;
    const int r = run_result_load(store, row, def, FIGURES_OF_POINTS, &run, err);
    if (r < 0) {
        return r;
    }
    *ret = (struct run_verdict){
        .is_judged = true,
        .has_mute_trials = has_mute_trial(run.result),
        .thresholds = threshold_judge_all(run.result),
        .ttl_s = def->spec->run_policy.ttl_s,
    };
    run_result_done(&run);
    return 0;
}

int summarize_run(struct store *store, const char *uid, struct run_verdict *ret, struct err *err)
{
    _cleanup_(run_row_done) struct run_row row = {0};
    _cleanup_(run_def_freep) struct run_def *def = NULL;
    int r = store->ops->get_run(store, uid, &row, err);
    if (r < 0) {
        return r;
    }
    r = store_load_run_def(&row, &def, err);
    r = r < 0 ? r : summarize_rows(store, &row, def, ret, err);
    return r;
}

struct summarize_run {
    uv_work_t work;
    char *url, *uid;               /* owned */
    summarize_run_done_fn on_done; /* NULL: abandoned */
    void *ctx;
    /* Of the other thread, until on_worked. */
    int r;
    struct run_verdict verdict; /* with r 0 */
    struct err err;
};

static void work(uv_work_t *request)
{
    struct summarize_run *j = request->data;
    struct store *store;
    j->r = store_open_reader(j->url, NULL, NULL, &store, &j->err);
    if (j->r >= 0) {
        j->r = summarize_run(store, j->uid, &j->verdict, &j->err);
        store_close(store);
    }
}

static void on_worked(uv_work_t *request, int status)
{
    struct summarize_run *j = request->data;
    if (j->on_done != NULL &&
        status == 0) { /* else it was cancelled, which summarize_run_abandon does */
        j->on_done(j->ctx, j->r, &j->verdict, &j->err);
    }
    free(j->url);
    free(j->uid);
    free(j);
}

struct summarize_run *summarize_run_start(struct uv_loop_s *loop, const char *store_url,
                                          const char *uid, summarize_run_done_fn on_done, void *ctx)
{
    struct summarize_run *j = xnew(struct summarize_run);
    *j = (struct summarize_run){
        .url = xstrdup(store_url), .uid = xstrdup(uid), .on_done = on_done, .ctx = ctx};
    j->work.data = j;
    (void)uv_queue_work(loop, &j->work, work, on_worked); /* fails without a callback only */
    return j;
}

void summarize_run_abandon(struct summarize_run *j)
{
    j->on_done = NULL;
    (void)uv_cancel((uv_req_t *)&j->work); /* fails while it works: then on_worked frees later */
}
