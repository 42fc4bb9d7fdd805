/* A result as MLPerf log lines, see report.h. Each trial that was tried is a run of its own, from
 * run_start to run_stop, in the order in which they ran. The store keeps when an attempt began and
 * ended, and how long it measured: the measured time is put at the attempt's end, so what run_start
 * and run_stop enclose is what was measured. */
#include <math.h>
#include <stdlib.h>

#include "report/report.h"
#include "report/trial_export.h"
#include "result/number.h"

#define NS_PER_MS INT64_C(1000000)

struct event {
    int64_t unix_ms;
    const char *type, *key;
    const char *value;    /* JSON */
    const char *metadata; /* JSON: ", \"key\": ..."; "" without any */
};

static void put_event(struct buf *out, const struct event *e)
{
    buf_printf(out,
               ":::MLLOG {\"namespace\": \"\", \"time_ms\": %lld, \"event_type\": \"%s\", \"key\": "
               "\"%s\", \"value\": %s, \"metadata\": {\"file\": \"benchctl\", \"lineno\": 0%s}}\n",
               (long long)e->unix_ms, e->type, e->key, e->value, e->metadata);
}

/* Names and values of a definition are UTF-8. */
static void put_string(struct buf *out, const char *text)
{
    json_t *string = json_string(text);
    char *quoted = string == NULL ? NULL : json_dumps(string, JSON_ENCODE_ANY);
    buf_puts(out, quoted == NULL ? "null" : quoted);
    free(quoted);
    json_decref(string);
}

static void put_parameters(struct buf *out, const struct run_def *def, const struct point *point)
{
    buf_puts(out, ", \"system\": ");
    put_string(out, def->spec->systems.items[point->system].name);
    buf_puts(out, ", \"parameters\": {");
    vec_each (struct param, p, &point->params.list) {
        buf_puts(out, p == point->params.list.items ? "" : ", ");
        put_string(out, p->name);
        buf_puts(out, ": ");
        if (p->value.is_int) {
            buf_printf(out, "%lld", (long long)p->value.i);
        } else {
            put_string(out, p->value.s);
        }
    }
    buf_puts(out, "}");
}

/* What one event after the other has in common. */
struct trial_log {
    struct buf *out;
    const char *which; /* metadata of every line of the trial */
};

static void put_point_in_time(const struct trial_log *log, int64_t unix_ms, const char *key,
                              const char *value)
{
    put_event(log->out, &(struct event){unix_ms, "POINT_IN_TIME", key, value, log->which});
}

static void put_whole(const struct trial_log *log, int64_t unix_ms, const char *key, uint64_t value)
{
    _cleanup_(freep) char *text = xasprintf("%llu", (unsigned long long)value);
    put_point_in_time(log, unix_ms, key, text);
}

static void put_real(const struct trial_log *log, int64_t unix_ms, const char *key, double value)
{
    struct buf text = BUF_INIT;
    number_format_exact(value, &text);
    put_point_in_time(log, unix_ms, key, buf_cstr(&text));
    buf_done(&text);
}

static void put_stats(const struct trial_log *log, const struct trial_result *t,
                      const struct trial_work *work)
{
    struct buf value = BUF_INIT, metadata = BUF_INIT;
    buf_puts(&value, "{\"throughput\": ");
    number_format_exact(t->throughput.estimate.value, &value);
    if (!isnan(work->loss_last)) {
        buf_puts(&value, ", \"train_loss\": ");
        number_format_exact(work->loss_last, &value);
    }
    buf_puts(&value, "}");
    buf_printf(&metadata, "%s, \"unit\": \"%s\", \"step\": %u", log->which, t->throughput.unit,
               work->steps);
    put_event(log->out, &(struct event){t->row->ended_unix_ms, "POINT_IN_TIME", "tracked_stats",
                                        buf_cstr(&value), buf_cstr(&metadata)});
    buf_done(&value);
    buf_done(&metadata);
}

static void put_trial(struct buf *out, const struct result *r, const struct point *point,
                      const struct trial_result *t)
{
    const int64_t ended = t->row->ended_unix_ms, started = t->row->started_unix_ms;
    const bool is_success = t->phase == TRIAL_SUCCEEDED;
    const struct trial_work work = trial_work_of(point, t);
    const int64_t measured_ms = (work.duration_ns + NS_PER_MS / 2) / NS_PER_MS;
    /* A clock that was set back would have it begin before the attempt. */
    const int64_t run_start = ended - measured_ms < started ? started : ended - measured_ms;
    _cleanup_(freep) char *which = xasprintf(", \"point\": %u, \"trial\": %u, \"attempt\": %u",
                                             point->index, t->trial, t->attempt);
    const struct trial_log log = {out, which};
    struct buf metadata = BUF_INIT;
    buf_puts(&metadata, which);
    put_parameters(&metadata, r->def, point);
    put_event(
        out, &(struct event){started, "INTERVAL_START", "init_start", "null", buf_cstr(&metadata)});
    put_whole(&log, started, "seed", r->def->spec->workload.seed);
    put_whole(&log, started, "global_batch_size",
              (uint64_t)point->batch_size * point_training_replicas(point));
    put_event(out, &(struct event){run_start, "INTERVAL_END", "init_stop", "null", which});
    put_event(out, &(struct event){run_start, "INTERVAL_START", "run_start", "null", which});
    if (is_success) {
        if (work.samples > 0) {
            put_whole(&log, ended, "train_samples", work.samples);
        }
        put_stats(&log, t, &work);
        if (!isnan(work.accuracy_last)) {
            put_real(&log, ended, "eval_accuracy", work.accuracy_last);
        }
    }
    buf_clear(&metadata);
    buf_printf(&metadata, "%s, \"status\": \"%s\"", which, is_success ? "success" : "aborted");
    put_event(out, &(struct event){ended, "INTERVAL_END", "run_stop", "null", buf_cstr(&metadata)});
    buf_done(&metadata);
}

struct tried {
    const struct point *point;
    const struct trial_result *trial;
};

static int compare_tried(const void *a, const void *b)
{
    const struct attempt_row *x = ((const struct tried *)a)->trial->row;
    const struct attempt_row *y = ((const struct tried *)b)->trial->row;
    if (x->started_unix_ms != y->started_unix_ms) {
        return x->started_unix_ms < y->started_unix_ms ? -1 : 1;
    }
    return attempt_id_compare(&x->id, &y->id);
}

void report_mllog(const struct result *r, struct buf *out)
{
    VEC(struct tried) tried = {0};
    for (uint32_t i = 0; i < r->def->matrix.n_points; i++) {
        for (size_t k = 0; k < r->points[i].n_trials; k++) {
            if (r->points[i].trials[k].row != NULL) {
                *vec_push(&tried) = (struct tried){r->points[i].point, &r->points[i].trials[k]};
            }
        }
    }
    if (tried.len > 1) {
        qsort(tried.items, tried.len, sizeof(*tried.items), compare_tried);
    }
    struct buf text = BUF_INIT;
    put_string(&text, r->def->spec->name);
    _cleanup_(freep) char *run = xasprintf(", \"run\": \"%s\"", r->def->name);
    put_event(out, &(struct event){r->def->created_unix_ms, "POINT_IN_TIME", "submission_benchmark",
                                   buf_cstr(&text), run});
    buf_clear(&text);
    struct buf mode = BUF_INIT;
    trial_put_mode(r, &mode);
    put_string(&text, buf_cstr(&mode));
    buf_done(&mode);
    put_event(out, &(struct event){r->def->created_unix_ms, "POINT_IN_TIME", "benchd_mode",
                                   buf_cstr(&text), run});
    buf_done(&text);
    vec_each (struct tried, t, &tried) {
        put_trial(out, r, t->point, t->trial);
    }
    vec_done(&tried);
}
