/* See log_reader.h. */
#include "run/log_reader.h"

#include <math.h>

#include "base/clock.h"
#include "base/mem.h"
#include "logparse/suggest.h"

struct log_reader {
    struct log_parser *parser;
    struct log_parser_params params;
    struct record_who who;
    log_reader_step_fn on_step;
    void *ctx;
    uint32_t n_warmup, n_measured; /* steps shown */
    int64_t begin_ns, last_ns;     /* time stamps of figures */
    bool has_begin;
    bool speaks_for_all; /* its steps are those of all trainers */
};

/* Samples and time whose quotient is the figure's throughput; false: it has none. */
static bool step_of(const struct log_reader *l, const struct log_figure *f, double *ret_samples,
                    double *ret_s)
{
    const double units = isnan(f->units) ? 0 : f->units;
    if (!isnan(f->rate)) {
        *ret_samples = units >= 1 ? units : ceil(f->rate);
        *ret_s = *ret_samples / f->rate;
    } else {
        *ret_samples = units;
        *ret_s = l->has_begin ? (double)(f->t_ns - l->last_ns) / 1e9 : 0;
    }
    return *ret_samples >= 1 && *ret_samples <= UINT32_MAX && *ret_s > 0 && *ret_s < 1e9;
}

static void on_figure(void *ctx, const struct log_figure *f)
{
    struct log_reader *l = ctx;
    const struct log_line_rule *line = &l->params.rule->lines.items[f->line];
    double samples, s;
    if (line->kind != LOG_KIND_STEP || f->rank > 0) {
        return; /* the view shows steps, of one process */
    }
    const bool is_step = step_of(l, f, &samples, &s);
    if (l->n_measured == 0) { /* the measured steps begin with the last figure before them */
        l->begin_ns = l->has_begin ? l->last_ns : f->t_ns;
    }
    l->last_ns = f->t_ns;
    l->has_begin = true;
    if (!is_step) {
        return;
    }
    l->speaks_for_all = line->scope != LOG_SCOPE_REPLICA;
    uint32_t *count = f->is_warmup ? &l->n_warmup : &l->n_measured;
    *count += f->steps >= 1 && f->steps < 1e9 ? (uint32_t)f->steps : 1;
    const struct record record = {
        .type = RECORD_STEP,
        .who = l->who,
        .step = {.step = *count - 1,
                 .warmup = f->is_warmup,
                 .t_ns = f->is_warmup ? 0 : f->t_ns - l->begin_ns,
                 .step_ns = (int64_t)(s * 1e9),
                 .samples = (uint32_t)samples,
                 .loss = f->loss},
    };
    l->on_step(l->ctx, &record);
}

struct log_reader *log_reader_new(const struct log_parser_params *params,
                                  const struct replica_id *id, log_reader_step_fn on_step,
                                  void *ctx)
{
    struct log_reader *l = xnew(struct log_reader);
    l->params = *params;
    l->params.on_figure = on_figure;
    l->params.ctx = l;
    l->params.cpu_ns = clock_thread_cpu_ns;
    l->who = (struct record_who){id->role, id->index, id->attempt.number};
    l->on_step = on_step;
    l->ctx = ctx;
    l->parser = log_parser_new(&l->params);
    return l;
}

void log_reader_free(struct log_reader *l)
{
    if (l != NULL) {
        log_parser_free(l->parser);
        free(l);
    }
}

void log_reader_feed(struct log_reader *l, enum log_stream stream, const char *data, size_t len,
                     int64_t t_ns)
{
    log_parser_feed(l->parser, stream, data, len, t_ns);
}

enum log_reader_steps log_reader_steps(const struct log_reader *l)
{
    const bool has_enough = l->params.end_steps > 0 && l->n_measured >= l->params.end_steps;
    return !has_enough         ? LOG_STEPS_TOO_FEW
           : l->speaks_for_all ? LOG_STEPS_ENOUGH_FOR_ALL
                               : LOG_STEPS_ENOUGH;
}

void log_reader_end_done(struct log_reader_end *e)
{
    summary_free(e->summary);
    free(e->why);
    json_decref(e->versions);
    json_decref(e->reading);
    *e = (struct log_reader_end){0};
}

void log_reader_end(struct log_reader *l, int64_t t_ns, struct log_reader_end *ret)
{
    log_parser_end(l->parser, t_ns);
    *ret = (struct log_reader_end){
        .versions = json_incref(log_parser_reading(l->parser)->versions),
        .reading = log_reading_to_json(log_parser_reading(l->parser)),
    };
    struct log_result result;
    if (log_parser_result(l->parser, &result) < 0) {
        struct buf why = BUF_INIT;
        log_parser_explain(l->parser, &why);
        ret->why = buf_take(&why);
        return;
    }
    ret->summary = xmemdup(&result.summary, sizeof(result.summary));
}

char *log_reader_advise(char *why_take, const char *output, size_t len,
                        const struct log_parser_params *who)
{
    struct buf out = BUF_INIT;
    if (who->rule != NULL) {
        buf_puts(&out, why_take == NULL ? "" : why_take);
        log_advise(output, len, who, &out);
    } else {
        log_explain_unread(output, len, who, &out);
    }
    free(why_take);
    return buf_take(&out);
}
