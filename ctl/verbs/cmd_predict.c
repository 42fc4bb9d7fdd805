/* benchctl predict RUN --at N: what more workers would give, by the sizes that a run measured. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/parse.h"
#include "core/json_field.h"
#include "ctl/runs/show.h"
#include "ctl/verbs/verbs.h"
#include "report/prose.h"
#include "report/words.h"
#include "result/curves.h"
#include "spec/spec.h"

#define BATCH_MAX (INT64_C(1) << 40)
#define ASSUMED                                                                                    \
    "the law goes on as these sizes show it; network, software and parallelism stay; without "     \
    "--batch a batch that all sizes share stays, too, else that of each worker"

struct predictions {
    const struct result *result;
    struct layout layout;
    VEC(struct forecast) list; /* by curve: of its largest size by the others, then of each N */
};

static enum exit_code take_number(const char *option, const char *text, int64_t max, int64_t *ret)
{
    return parse_i64_in(text, 1, max, ret) == 0
               ? EXIT_OK
               : cli_error(EXIT_USAGE, "for example --at 4096,8192 --batch 1536",
                           "--%s '%s': expected a whole number from 1 to %lld", option, text,
                           (long long)max);
}

static enum exit_code predict(const struct cli *cli, struct predictions *ret)
{
    const char *at = args_get(&cli->args, "at", NULL), *batch = args_get(&cli->args, "batch", NULL);
    int64_t n, job = 0;
    if (batch != NULL && at == NULL) {
        return cli_error(EXIT_USAGE, "add --at N", "--batch is that of the N of --at");
    }
    enum exit_code code = batch == NULL ? EXIT_OK : take_number("batch", batch, BATCH_MAX, &job);
    vec_each (const struct curve, c, &ret->result->curves.list) {
        _cleanup_(freep) char *sizes = at == NULL ? NULL : xstrdup(at);
        char *rest = sizes;
        const struct point_result *widest = curve_widest(c);
        *vec_push(&ret->list) =
            forecast_make(c, point_size(widest->point), curve_batch(widest), widest);
        for (const char *word; code == EXIT_OK && (word = strsep(&rest, ",")) != NULL;) {
            code = take_number("at", word, SPEC_MAX_IMPORTED, &n);
            if (code == EXIT_OK) {
                *vec_push(&ret->list) =
                    forecast_make(c, (double)n, job > 0 ? (double)job : NAN, NULL);
            }
        }
    }
    return code;
}

static void put_row(struct table *t, const struct predictions *p, const struct forecast *f)
{
    const struct figure *x = &f->throughput;
    const double measured = f->measured == NULL ? NAN : f->measured->throughput.estimate.value;
    _cleanup_(buf_done) struct buf name = BUF_INIT;
    prose_curve_put(&p->layout, f->curve, "", &name);
    if (name.len > 0) {
        table_text(t, "CURVE", "%s", buf_cstr(&name));
    }
    table_number(t, "WORKERS", "%.0f", f->n);
    table_known(t, "BATCH", !isnan(f->batch), "%.6g", f->batch);
    table_figure(t, "PREDICTED", x);
    table_interval(t, "95% INTERVAL", x);
    table_value(t, "STRAIGHT LINE", f->straight);
    table_value(t, "MEASURED", measured);
    table_percent(t, "OFF", x->estimate.known ? x->estimate.value / measured - 1 : NAN, true);
    table_end_row(t);
}

static void put_reason(struct sheet *s, const struct predictions *p, const struct forecast *f)
{
    struct buf text = BUF_INIT;
    prose_curve_put(&p->layout, f->curve, ", ", &text);
    buf_printf(&text, "%.0f workers: not predicted, since %s.", f->n, f->why);
    sheet_put_line(s, &sheet_paragraph, &text);
}

/* Of the curve of f, which the predictions have that leave no size out. */
static void put_law(struct sheet *s, const struct predictions *p, const struct forecast *f)
{
    struct buf text = BUF_INIT;
    buf_puts(&text, "Law: ");
    prose_curve_put(&p->layout, f->curve, ": ", &text);
    prose_law_put(f->curve, &text);
    buf_puts(&text, ". ");
    prose_residuals_put(f->curve, &text);
    sheet_put_line(s, &sheet_paragraph, &text);
}

static void sheet_predictions(struct sheet *s, const struct predictions *p)
{
    if (s->form == SHEET_JSON) {
        s->document = JSON_OBJECT_OF(
            {"apiVersion", json_string("benchd.io/v1alpha1")},
            {"kind", json_string("BenchmarkForecast")}, {"run", json_string(p->result->def->name)},
            {"assumptions", JSON_OBJECT_OF({"text", json_string(ASSUMED)})},
            {"laws", JSON_ARRAY_OF(vec_each (const struct curve, c, &p->result->curves.list),
                                   curve_law_to_json(c))},
            {"predictions",
             JSON_ARRAY_OF(vec_each (const struct forecast, f, &p->list), forecast_to_json(f))});
        return;
    }
    struct table *t = table_new();
    vec_each (const struct forecast, f, &p->list) {
        put_row(t, p, f);
    }
    sheet_put_run(s, p->result, NULL);
    sheet_line(s, &sheet_paragraph, "Assumed: %s.", ASSUMED);
    sheet_block(s, NULL);
    sheet_table(s, NULL, t, 2);
    vec_each (const struct forecast, f, &p->list) {
        if (f->why != NULL) {
            put_reason(s, p, f);
        }
    }
    sheet_block(s, NULL);
    vec_each (const struct forecast, f, &p->list) {
        if (f->measured != NULL && f->curve->law.state == SCALING_FITTED) {
            put_law(s, p, f);
        }
    }
    sheet_line(s, &sheet_soft,
               "In %s. A row with a measured figure was predicted by the other sizes. Straight "
               "line: from the smallest size.",
               p->list.items[0].throughput.unit);
}

static enum exit_code run(struct cli *cli)
{
    struct predictions p = {0};
    _cleanup_(backend_freep) struct backend *b = NULL;
    _cleanup_(loaded_run_done) struct loaded_run loaded = {0};
    enum exit_code code = backend_open(cli, &b);
    code = code == EXIT_OK ? b->ops->load_run(b, cli->args.words[0], &loaded) : code;
    code = code == EXIT_OK ? loaded_run_check(cli, &loaded) : code;
    if (code != EXIT_OK) {
        return code;
    }
    p.result = loaded.result;
    if (p.result->curves.list.len == 0) {
        return cli_error(EXIT_USAGE, "measure three numbers of workers or more, three trials each",
                         "'%s' has no two numbers of workers with a throughput and all else equal",
                         loaded.row.name);
    }
    layout_init(&p.layout, p.result);
    code = predict(cli, &p);
    code = code == EXIT_OK ? show_sheet(cli, sheet_predictions, &p) : code;
    vec_done_each(&p.list, forecast_done);
    layout_done(&p.layout);
    return code;
}

static const struct arg_opt opts[] = {
    {"at", 0, "N", "Numbers of workers, with commas; up to 4 times what was measured"},
    {"batch", 0, "N",
     "Samples of all workers in a step; default: as many on each as with the most workers"},
};

const struct verb verb_predict = {
    .name = "predict",
    .args = "RUN [--at N,...] [option...]",
    .summary = "Predict the throughput of more workers from the sizes of a run",
    .examples = "  benchctl predict 7k3fq --at 64,128\n"
                "  benchctl predict latest --local --at 16384 --batch 4096 -o json\n",
    .details = "It takes three measured sizes with three trials each. Where the model has\n"
               "nothing to say, there is a reason in place of a figure: samples on a worker\n"
               "that were not measured, more than 4 times the workers, parameter servers. The\n"
               "first row leaves the largest size out and predicts it by the others: it shows\n"
               "how far off a prediction is. Without a run of three sizes: simulate.",
    VERB_OPTS(opts),
    .formats = "text|markdown|json",
    .min_words = 1,
    .max_words = 1,
    .run = run,
};
