/* What the rule of a definition reads in the outputs of a trial. See try.h. */
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "base/vec_walk.h"
#include "ctl/try/try.h"
#include "logparse/advice.h"
#include "logparse/lines.h"
#include "result/number.h"
#include "result/result_parts.h"
#include "spec/log_rule.h"

/* ---- one output ---- */

bool try_states_rate(const struct try_output *o)
{
    return log_pattern_has(o->line->pattern, LOG_RATE) ||
           log_pattern_has(o->line->pattern, LOG_SAMPLES);
}

struct lines {
    struct try_output *output;
    const struct log_rule *rule;
    uint64_t n;
};

static void on_figure(void *ctx, const struct log_figure *f)
{
    const struct lines *l = ctx;
    const struct log_line_rule *line = &l->rule->lines.items[f->line];
    if (line->kind != LOG_KIND_INFO && f->rank <= 0 &&
        !(line->kind == LOG_KIND_STEP && isnan(f->steps))) {
        l->output->line = line;
        l->output->n_lines++;
        l->output->n_numbered += !isnan(f->step);
    }
}

static void on_line(void *ctx, const char *line, size_t len)
{
    struct lines *l = ctx;
    if (++l->n == l->output->last.number) {
        log_quote_put(&l->output->last, l->n, line, len);
    }
}

static void forget(struct try_output *o)
{
    log_parser_free(o->parser);
    summary_done(&o->result.summary);
    o->parser = NULL;
    o->has_figure = false;
    o->result = (struct log_result){0};
    o->n_lines = o->n_numbered = o->last.number = 0;
}

static void read_output(const struct try_trial *t, struct try_output *o)
{
    struct log_arrivals arrivals;
    struct log_parser_params params = try_params(t, o, &arrivals);
    struct lines lines = {.output = o, .rule = params.rule};
    forget(o);
    if (params.rule == NULL) {
        return;
    }
    params.on_figure = on_figure;
    params.ctx = &lines;
    o->parser = log_parser_new(&params);
    log_parser_read(o->parser, buf_cstr(&o->text), o->text.len);
    vec_each (const struct log_span, span, &log_parser_reading(o->parser)->spans) {
        const bool has_value = span->use == LOG_USE_STEP || span->use == LOG_USE_SUMMARY;
        o->last.number = has_value ? span->last : o->last.number;
    }
    log_lines_each(buf_cstr(&o->text), o->text.len, on_line, &lines);
    o->has_figure = log_parser_result(o->parser, &o->result) == 0;
}

/* ---- all outputs ---- */

void try_trial_done(struct try_trial *t)
{
    for (uint32_t i = 0; i < t->n; i++) {
        forget(&t->list[i]);
        buf_done(&t->list[i].text);
        vec_done(&t->list[i].parts);
    }
    free(t->list);
    run_def_free(t->def);
}

/* A figure of the job counts once, however many outputs have it. */
static void add_up(struct try_trial *t)
{
    double sum = 0, job_sum = 0;
    for (const struct try_output *o = t->list; o < t->list + t->n; o++) {
        t->n_printing += o->last.number > 0;
        t->first = t->first == NULL && o->last.number > 0 ? o : t->first;
        if (o->has_figure) {
            const bool is_job = o->result.summary.source.is_job;
            t->n_figures++;
            t->n_job += is_job;
            *(is_job ? &job_sum : &sum) += o->result.rate;
            const bool is_less_certain =
                t->shown != NULL && log_parser_reading(o->parser)->verdict >
                                        log_parser_reading(t->shown->parser)->verdict;
            t->shown = t->shown == NULL || is_less_certain ? o : t->shown;
        }
    }
    t->rate = t->n_job > 0 ? job_sum / t->n_job : sum;
}

void try_read(struct try_trial *t)
{
    for (uint32_t i = 0; i < t->n; i++) {
        read_output(t, &t->list[i]);
    }
    t->first = t->shown = NULL;
    t->n_printing = t->n_figures = t->n_job = 0;
    add_up(t);
    t->has_figure = t->n_job > 0 || (t->n_figures > 0 && t->n_figures == t->n);
    if (t->has_figure) {
        const struct log_line_rule *line = t->shown->line;
        t->unit = result_units[t->shown->result.unit];
        t->n_steps =
            line == NULL || line->kind == LOG_KIND_STEP ? t->shown->result.summary.steps : 0;
    }
}

void try_read_by(struct try_trial *t, struct run_def *def_take)
{
    struct run_def *old = t->def;
    t->def = def_take;
    try_read(t);
    run_def_free(old);
}

/* ---- what is printed ---- */

const char *try_role(const struct try_trial *t)
{
    return role_to_string(point_leading_role(&t->def->matrix.points[0]));
}

static void put_rate(const struct try_trial *t, struct buf *out)
{
    const struct log_rule *rule = t->def->spec->systems.items[0].log;
    if (t->n_steps > 0) {
        buf_printf(out, "%lld step%s found, ", (long long)t->n_steps, t->n_steps == 1 ? "" : "s");
    }
    number_format(t->rate, out);
    buf_printf(out, " %s by ", t->unit);
    if (rule == NULL) {
        buf_puts(out, "its records\n");
    } else {
        const bool is_own = log_rule_is_unnamed(rule);
        buf_printf(out, "%s%s (%s)\n", is_own ? "a rule in the definition" : "the rule ",
                   is_own ? "" : rule->name, t->shown->result.summary.source.method);
    }
}

/* The lines and the verdict of a figure that is a sum are those of one replica. */
static void put_reading(const struct try_trial *t, struct buf *out)
{
    const struct try_output *shown = t->shown;
    const bool is_sum = t->n_job == 0 && t->n > 1;
    if (is_sum) {
        buf_printf(out, "  of these, %s/%td alone:\n", try_role(t), shown - t->list);
    }
    log_reading_format(log_parser_reading(shown->parser), out);
    if (shown->line != NULL && shown->line->kind == LOG_KIND_STEP && !try_states_rate(shown) &&
        shown->result.unit == UNIT_SAMPLES) {
        buf_printf(out, "  batch: %lld samples a step, by batchSize alone; no line confirms it\n",
                   (long long)t->def->matrix.points[0].batch_size);
    }
    if (is_sum && system_is_copies(&t->def->spec->systems.items[0])) {
        buf_printf(out,
                   "  %u independent copies, as far as the definition shows: profile none does "
                   "not connect the processes\n",
                   t->n);
    }
}

static void explain(const struct try_trial *t, struct buf *out)
{
    const struct try_output *o = array_find(t->list, t->n, it, !it->has_figure);
    struct log_arrivals arrivals;
    const struct log_parser_params params = try_params(t, o, &arrivals);
    if (t->n_figures > 0) {
        buf_printf(out,
                   "%u of %u %ss printed figures; where one prints for all, add `scope: Each` "
                   "to the line of the rule (`scope: Job` if its figure is of all together)\n",
                   t->n_figures, t->n, try_role(t));
    }
    buf_printf(out, "%s/%td: ", try_role(t), o - t->list);
    if (o->parser == NULL) {
        log_explain_unread(buf_cstr(&o->text), o->text.len, &params, out);
    } else {
        log_parser_explain(o->parser, out);
        log_advise(buf_cstr(&o->text), o->text.len, &params, out);
    }
}

void try_put_figure(const struct try_trial *t, struct buf *out)
{
    if (!t->has_figure) {
        explain(t, out);
        return;
    }
    put_rate(t, out);
    if (t->shown != NULL) {
        put_reading(t, out);
    }
}
